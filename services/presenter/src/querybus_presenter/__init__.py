"""Words every outcome for its reader; the last stage of a query."""
