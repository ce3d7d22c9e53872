"""The event log: fenced publishing, reading, signatures."""
