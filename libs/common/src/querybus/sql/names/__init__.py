"""Which table a name means: the catalog by folded name, and the names in what runs."""
