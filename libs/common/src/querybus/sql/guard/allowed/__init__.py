"""Lists of what a statement may hold: nodes with their arguments, functions by dialect."""
