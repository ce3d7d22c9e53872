"""Adding, changing and removing connections: the connections file, its files of secrets, what a new database needs."""
