"""Prompts as text files, and the code that fills them."""
