"""One HTTP exchange with a model: clients, what an answer means, and whether a reply is whole."""
