"""How each column of an answer is shown: what its statement says of it, what its cells are, and the format of both."""
