"""What a statement may do: lists of functions, nodes and rules, and the decision by them."""
