"""Rows as they come: limits, pages, totals, what an engine says beside them."""
