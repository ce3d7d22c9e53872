"""`querybus connect`: from a database's address to a first answer that was checked."""
