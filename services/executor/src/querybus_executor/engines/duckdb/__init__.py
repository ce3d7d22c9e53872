"""DuckDB in worker processes."""
