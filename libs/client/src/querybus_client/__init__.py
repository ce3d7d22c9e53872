"""A small typed client of the gateway's HTTP door."""
