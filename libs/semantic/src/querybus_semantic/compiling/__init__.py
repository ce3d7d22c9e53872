"""Metrics, dimensions and filters become one SQL statement: each fact at its own grain, then combined."""
