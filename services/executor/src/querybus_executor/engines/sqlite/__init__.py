"""SQLite in worker processes."""
