"""SQL text to a decision and back: parse, facts, guard, names, row security, limits, rendering. Pure."""
