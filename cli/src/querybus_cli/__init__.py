"""The `querybus` command."""
