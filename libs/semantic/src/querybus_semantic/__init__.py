"""What an owner's words mean: a layer of metrics, dimensions, filters and relations, read from files and compiled to SQL."""
