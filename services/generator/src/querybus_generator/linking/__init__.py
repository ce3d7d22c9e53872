"""Which tables and columns a question is about."""
