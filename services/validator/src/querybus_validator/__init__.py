"""Proves a draft harmless and right by name before anything runs."""
