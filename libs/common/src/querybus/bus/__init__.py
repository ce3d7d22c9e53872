"""The only code that knows NATS and FastStream, beside the composition roots."""
