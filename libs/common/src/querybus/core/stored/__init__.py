"""What the key-value buckets hold beside catalogs and connections: batches, threads, preferences, models."""
