"""The part of a limit that all replicas share, asked for in one exchange by all calls that wait in this replica.

Without the counters' bus nothing is granted: a limit that cannot be counted is not kept. A replica that loses the bus for
longer than LEASE_MS while its calls still run may for that time be above the limit of calls at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from pydantic import ValidationError

from querybus.core.subjects import token
from querybus.llm.model_limits import AGAIN_MS_MIN, LEASE_MS, Counters, Grant, Limit, Wish, granted
from querybus.ops.clock import Clock, Jitter, system_clock, system_jitter
from querybus.ops.run import end

TRIES_MAX: Final = 8
RENEW_SECONDS: Final = LEASE_MS / 3_000
TROUBLE_SECONDS: Final = 0.5
CONFLICT_SECONDS: Final = 0.005


class SharedCounters(Protocol):
    """Small values that replicas change by turns."""

    async def read(self, key: str) -> tuple[bytes, int]: ...

    async def write(self, key: str, value: bytes, revision: int) -> bool: ...


@dataclass(eq=False, slots=True)
class _Waiting:
    tokens: int
    turn: asyncio.Future[None]


class SharedLimit:
    """One model key's limit, as this replica keeps it. Use `async with limit.call(tokens) as call: call.took = ...`."""

    def __init__(
        self,
        key: str,
        limit: Limit,
        counters: SharedCounters,
        *,
        replica: str,
        clock: Clock = system_clock,
        jitter: Jitter = system_jitter,
    ) -> None:
        self.limit = limit
        self._key = f"model.{token(key)}"
        self._counters = counters
        self._replica = replica
        self._clock = clock
        self._jitter = jitter
        self._waiting: deque[_Waiting] = deque()
        self._running = 0
        self._slots = 0
        self._owed = 0
        self._work: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    def call(self, tokens: int) -> Turn:
        """Return the turn of one call that takes about so many tokens."""
        return Turn(self, tokens)

    async def drain(self) -> None:
        """Give back what this replica holds."""
        if self._work is not None:
            await end(self._work)
            self._work = None
        if self._slots:
            self._running = 0
            await self._ask()

    async def enter(self, tokens: int) -> None:
        waiting = _Waiting(tokens, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._notify()
        try:
            await waiting.turn
        except asyncio.CancelledError:
            if waiting.turn.done() and not waiting.turn.cancelled():
                self._running -= 1
                self._notify()
            else:
                with suppress(ValueError):  # a turn that was cancelled may have left the line already
                    self._waiting.remove(waiting)
            raise

    def leave(self, owed_tokens: int) -> None:
        self._running -= 1
        self._owed += owed_tokens
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        if self._work is None or self._work.done():
            self._work = asyncio.get_running_loop().create_task(self._keep())

    async def _keep(self) -> None:
        """Ask while calls wait, renew while calls run, end when there is nothing left to hold."""
        while self._waiting or self._running or self._slots:
            self._changed.clear()
            grant = await self._ask()
            for _ in range(min(grant.requests, len(self._waiting))):
                self._running += 1
                self._waiting.popleft().turn.set_result(None)
            pause = grant.again_ms / 1_000 * (1 + self._jitter() / 4) if self._waiting else RENEW_SECONDS
            if self._waiting and grant.again_ms:
                await asyncio.sleep(pause)
            else:
                # A slot that comes free goes to the next in line at once.
                await self._wait(pause)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return

    async def _ask(self) -> Grant:
        for _ in range(TRIES_MAX):
            waiting, owed = tuple(self._waiting), self._owed
            read = await self._read()
            if read is not None:
                state, revision = read
                wish = Wish(len(waiting), sum(item.tokens for item in waiting), self._running, owed)
                after, grant = granted(state, self._replica, self.limit, wish, self._clock())
                if await self._write(after, revision):
                    self._slots = grant.slots
                    self._owed -= owed
                    return grant
            await asyncio.sleep(CONFLICT_SECONDS * (1 + self._jitter()))
        return Grant(0, self._slots, AGAIN_MS_MIN)

    async def _read(self) -> tuple[Counters, int] | None:
        try:
            data, revision = await self._counters.read(self._key)
        except Exception:  # noqa: BLE001 - a bus in trouble is waited for; the call's own time limit ends the wait
            await asyncio.sleep(TROUBLE_SECONDS)
            return None
        try:
            return (Counters.model_validate_json(data) if data else Counters()), revision
        except ValidationError:
            return Counters(), revision

    async def _write(self, after: Counters, revision: int) -> bool:
        try:
            return await self._counters.write(self._key, after.model_dump_json().encode(), revision)
        except Exception:  # noqa: BLE001 - not known to be stored counts as not stored: then less is granted, never more
            await asyncio.sleep(TROUBLE_SECONDS)
            return False


class Turn:
    """One call's turn. Set `took` to the tokens that it really took."""

    def __init__(self, limit: SharedLimit, tokens: int) -> None:
        self._limit = limit
        self._tokens = tokens
        self.took: int | None = None

    async def __aenter__(self) -> Turn:
        await self._limit.enter(self._tokens)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._limit.leave(0 if self.took is None else self.took - self._tokens)
