"""What people write for a database, each form read into one address: URLs, keyword strings, the environment, files."""
