"""What a model said -> the one SQL text in it, in plain typography."""
