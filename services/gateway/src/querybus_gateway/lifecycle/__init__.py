"""What happens to accepted queries: queue, waiting, expiry, answers."""
