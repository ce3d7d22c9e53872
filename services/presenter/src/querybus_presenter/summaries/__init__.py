"""Results in a sentence."""
