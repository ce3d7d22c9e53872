"""`/mcp`: what speaks the Model Context Protocol can ask, over the same use cases as every API."""
