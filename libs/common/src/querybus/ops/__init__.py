"""Settings, logs, traces, metrics, and the life of a process."""
