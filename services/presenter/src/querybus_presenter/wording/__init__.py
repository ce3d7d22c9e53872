"""Labels, options, explanations and confirmations in words of the reader."""
