"""ClickHouse over HTTP."""
