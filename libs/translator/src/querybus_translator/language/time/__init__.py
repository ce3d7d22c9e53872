"""Words for time: units, numbers of Chinese digits, and periods counted from a given day."""
