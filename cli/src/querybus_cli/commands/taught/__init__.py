"""What people teach: `querybus knowledge` and `querybus definitions`."""
