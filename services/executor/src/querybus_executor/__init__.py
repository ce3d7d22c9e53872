"""The only door to the databases: hardened, bounded, read-only by force."""
