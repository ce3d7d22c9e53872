"""Request and reply: calls of outside clients, explain and probe between services."""
