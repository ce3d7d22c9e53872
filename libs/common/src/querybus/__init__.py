"""QueryBus: answers questions about databases; the core, the bus, operations and the door to a model."""
