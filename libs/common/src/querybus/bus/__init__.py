"""The only code that knows NATS and FastStream, beside the composition roots."""

from querybus.ops.start import without_package

# For websockets, which nothing here uses, the client loads all of aiohttp, as long as the rest of it takes.
with without_package("aiohttp"):
    import nats.aio.transport

_ = nats.aio.transport
