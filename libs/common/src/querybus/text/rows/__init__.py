"""Cells and rows on their way to people: exact values, readable figures, masked personal data."""
