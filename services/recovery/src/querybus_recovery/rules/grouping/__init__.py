"""Rules for grouping and aggregates."""
