"""Writes the SQL: a chat model where one is configured, the built-in translator where not."""
