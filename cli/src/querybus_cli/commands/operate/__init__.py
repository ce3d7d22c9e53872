"""Commands for whoever runs QueryBus for others: the bus, its log, backups, dead letters."""
