"""`/openai/v1`: what speaks OpenAI's chat completions or responses can ask, over the same use cases as every API."""
