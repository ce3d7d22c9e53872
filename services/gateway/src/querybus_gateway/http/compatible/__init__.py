"""The protocols of other people's clients over the use cases, so that they work unchanged: OpenAI, LangGraph, MCP."""
