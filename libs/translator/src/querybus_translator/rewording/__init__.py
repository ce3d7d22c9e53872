"""Wordings that mean what other words say, put in their place before a question is read."""
