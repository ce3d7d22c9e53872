"""All services on one machine, and the demo database."""
