"""A catalog as the translator needs it: index, nodes, joins, labels, roles."""
