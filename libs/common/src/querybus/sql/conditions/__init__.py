"""The conditions, groups and periods of a query, as parts that can be named, said and changed."""
