"""Files of tables (CSV, TSV, Parquet, JSON lines, Excel) as one read-only DuckDB over their folder alone."""
