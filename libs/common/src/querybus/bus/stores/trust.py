"""Whether a cached key of a bucket may be trusted: a core subscription receives writes, and trust ends by itself.

What is received is a notification and no fact: the value itself is always read from the stream.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from querybus.bus.connection import Connected, reach

TRUST_SECONDS: Final = 30.0
"""How long a cached value is trusted without a look, should a notification be lost."""

KEYS_MIN: Final = 1_000
"""Keys that are remembered without a look at which of them are still needed."""

SETTLE_SECONDS: Final = 2.0
"""How long after a notification every read looks: the write that was announced may not be stored yet, or refused."""


class Watch:
    """Says whether a cached key may be trusted. Without `start` it never may, and every read looks."""

    def __init__(self, holder: Connected, bucket: str, keys: str, *, trust_seconds: float = TRUST_SECONDS) -> None:
        self._holder = holder
        self._trust_seconds = trust_seconds
        self._prefix = f"$KV.{bucket}."
        self._keys = keys
        self._checked: dict[str, float] = {}
        self._doubted_until: dict[str, float] = {}
        self._prune_at = KEYS_MIN
        self._reconnects = 0
        self._subscription: Subscription | None = None

    async def start(self) -> None:
        self._subscription = await self._holder.connection.subscribe(self._prefix + self._keys, cb=self._receive)
        await reach(self._holder.connection)

    async def drain(self) -> None:
        if self._subscription is not None:
            with suppress(nats.errors.Error):
                await self._subscription.unsubscribe()
            self._subscription = None

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def trusts(self, key: str) -> bool:
        if self._subscription is None or not self._holder.connection.is_connected:
            return False
        if self._holder.connection.stats["reconnects"] != self._reconnects:
            # Nothing was received in between.
            self._reconnects = self._holder.connection.stats["reconnects"]
            self._checked.clear()
        checked = self._checked.get(key)
        if checked is None or self.now() - checked > self._trust_seconds:
            return False
        return checked >= self._doubted_until.get(key, 0.0)

    def checked(self, key: str, at: float) -> None:
        self._checked[key] = at
        if len(self._checked) > self._prune_at:
            # What is older than its trust says nothing any more, as a doubt that has settled does.
            now = self.now()
            self._checked = {key: at for key, at in self._checked.items() if now - at <= self._trust_seconds}
            self._doubted_until = {key: until for key, until in self._doubted_until.items() if until > now}
            self._prune_at = max(KEYS_MIN, 2 * len(self._checked))

    async def _receive(self, message: Msg) -> None:
        self._doubted_until[message.subject.removeprefix(self._prefix)] = self.now() + SETTLE_SECONDS
