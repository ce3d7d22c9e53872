"""A model's reply -> the statement in the connection's dialect, and what the model says of it."""
