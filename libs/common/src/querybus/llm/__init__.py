"""The one door to a chat model."""
