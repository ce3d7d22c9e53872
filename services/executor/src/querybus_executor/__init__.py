"""The only way to the databases: hardened, bounded, read-only by force."""
