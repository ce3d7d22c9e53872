"""Key-value buckets with typed values."""
