"""BigQuery through its client."""
