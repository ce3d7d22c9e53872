"""A uvicorn whose loop runs once a second while nothing comes; its own runs ten times, in each of six services."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import FrameType
from typing import Final

import uvicorn

TICK_SECONDS: Final = 1.0


class QuietServer(uvicorn.Server):
    """A server that waits for its end instead of looking for it."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ending = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def leave(self) -> None:
        """Let `serve` close and return; from the server's own loop."""
        self.should_exit = True
        self._ending.set()

    async def leaving(self) -> None:
        """Return once the server was asked to end, before what runs has ended."""
        await self._ending.wait()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal to end. Called between any two instructions, so the loop is called from outside."""
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._ending.set)

    async def main_loop(self) -> None:
        """Keep the date of replies until the end."""
        self._loop = asyncio.get_running_loop()
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), TICK_SECONDS)
