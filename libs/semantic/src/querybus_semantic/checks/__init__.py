"""Is a layer true of its database: statements that measure it, and what their rows mean. Whoever has a database runs them."""
