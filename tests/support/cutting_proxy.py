"""A proxy in front of an HTTP server that cuts its first connection in the middle of a stream of events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


@asynccontextmanager
async def cutting(address: str, cut_after: int | None) -> AsyncGenerator[str]:
    """Give the address of a proxy that cuts its first connection behind so many frames of a stream."""
    target = urlsplit(address)
    is_cut = cut_after is None

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal is_cut
        up_reader, up_writer = await asyncio.open_connection(target.hostname, target.port)

        async def upward() -> None:
            while data := await reader.read(65_536):
                up_writer.write(data)
                await up_writer.drain()
            # The client has left: the server ends its side as well.
            up_writer.close()

        going_up = asyncio.create_task(upward())
        frames = 0
        try:
            while data := await up_reader.read(65_536):
                for piece in _ends_kept(data):
                    frames += piece.startswith(b"event:") or b"\nevent:" in piece
                    writer.write(piece)
                    if not is_cut and cut_after is not None and frames >= cut_after:
                        is_cut = True
                        await writer.drain()
                        return
                await writer.drain()
        finally:
            going_up.cancel()
            writer.close()
            up_writer.close()

    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def _ends_kept(data: bytes) -> list[bytes]:
    """Split behind the end of each frame; together the parts are the data."""
    parts = data.split(b"\n\n")
    return [*(part + b"\n\n" for part in parts[:-1]), parts[-1]]
