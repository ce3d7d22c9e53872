"""Limits that a text alone can be held to: what it may cost, how many rows it may return."""
