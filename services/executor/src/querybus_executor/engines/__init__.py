"""One package an engine: how it is opened, hardened, read and written."""
