"""What callers are shown: every public object as one type, and who may see which of its members."""
