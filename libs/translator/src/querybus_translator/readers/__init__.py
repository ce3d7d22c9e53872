"""What each part of a question says: targets, conditions, orders, times."""
