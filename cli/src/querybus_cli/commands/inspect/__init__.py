"""Commands that show how a question or a statement is read, without running it."""
