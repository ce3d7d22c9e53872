"""Rules for text that is not of the dialect."""
