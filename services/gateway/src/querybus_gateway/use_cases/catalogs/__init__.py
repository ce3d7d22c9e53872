"""What a caller may see of the connections: what stands in them, what their owner's words mean, what could be asked."""
