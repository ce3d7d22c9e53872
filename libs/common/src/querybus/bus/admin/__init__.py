"""What makes and keeps the bus: server, permissions, migration, backup, deletion, dead letters."""
