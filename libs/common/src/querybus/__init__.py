"""QueryBus: answers questions about databases; the core, the bus, operations and the API to a model."""

__version__ = "0.1.0"
