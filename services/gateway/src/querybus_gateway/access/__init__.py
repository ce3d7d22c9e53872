"""Who may come in and how often: keys, tokens, throttle, quotas."""
