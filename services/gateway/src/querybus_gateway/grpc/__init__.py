"""The gRPC API: the contract of proto/querybus/v1 over the same use cases."""
