"""The values: a layer of definitions, a request for numbers, and a refusal that says what is missing."""
