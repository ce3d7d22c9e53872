"""The bus API: calls of outside clients over NATS, and the durable queue of questions."""
