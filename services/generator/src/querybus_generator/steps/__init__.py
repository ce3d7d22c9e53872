"""Steps of generation that need no model."""
