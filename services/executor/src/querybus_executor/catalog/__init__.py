"""Reading catalogs and publishing them."""
