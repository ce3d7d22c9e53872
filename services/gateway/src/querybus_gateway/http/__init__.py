"""The HTTP API: requests to use cases, answers to JSON."""
