"""A process with the gRPC API starts children, such as those that draw charts, without a word of the library."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FORKING = """
import asyncio, os
from querybus_gateway.app import build
from querybus_gateway.settings import Settings

async def main():
    service = build(Settings(nats_url="nats://127.0.0.1:1", nats_password="none", grpc_port=0, log_level="error"))
    api = next(part for part in service.parts if part.name == "grpc")
    await api.start()
    import grpc
    async with grpc.aio.insecure_channel(api.address) as channel:
        await channel.channel_ready()
        if (child := os.fork()) == 0:
            os._exit(0)
        print(os.waitpid(child, 0)[1])
    await api.drain()

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_fork_beside_the_grpc_api_is_silent() -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GRPC_")}
    done = subprocess.run(
        [sys.executable, "-c", FORKING], env=clean, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["0"]), done.stderr
    assert "fork" not in done.stderr + done.stdout
