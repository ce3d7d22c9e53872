"""Ends the connections to the bus that came in with a key that is void by now: revoked, replaced, or for other readers.

It looks whenever the registry changes, and once a minute for what was missed. Each replica does it: a connection that is
gone already is no trouble.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final, Protocol

from querybus.bus.admin.connections import MayStay
from querybus.bus.admin.permissions import account_of
from querybus.bus.log.publish import BusTrouble
from querybus.core.topology import CREDENTIALS
from querybus.ops.log import get_log
from querybus.ops.run import end
from querybus_gateway.access.bus_tokens import connection_name
from querybus_gateway.ports import Credentials, Progress

SECONDS_BETWEEN: Final = 60.0
SETTLE_SECONDS: Final = 0.5
"""Between hearing of a change and looking: a change is heard before it is stored."""

_log = get_log(__name__)


class Connections(Protocol):
    """The connections of outsiders to the bus."""

    async def end_unless(self, may_stay: MayStay) -> int: ...


class Disconnect:
    """The loop of one replica. A part."""

    def __init__(
        self, connections: Connections, notices: Progress, credentials: Credentials, *, tenants: tuple[str, ...]
    ) -> None:
        """`tenants` are tokens of those that have an account."""
        self.name = "disconnect"
        self._connections = connections
        self._notices = notices
        self._credentials = credentials
        self._tenants = {account_of(tenant): tenant for tenant in tenants}
        self._changed = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._running = asyncio.create_task(self._run())

    async def drain(self) -> None:
        if self._running is not None:
            await end(self._running)

    async def ping(self) -> str | None:
        return "ended" if self._running is None or self._running.done() else None

    async def _run(self) -> None:
        async with self._notices.receive(f"$KV.{CREDENTIALS}.*.*", lambda _: self._changed.set()):
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(SECONDS_BETWEEN):
                        await self._changed.wait()
                    await asyncio.sleep(SETTLE_SECONDS)
                self._changed.clear()
                try:
                    ended = await self._connections.end_unless(self._may_stay)
                except BusTrouble as trouble:
                    _log.warning("disconnect.failed", error=str(trouble))
                else:
                    if ended:
                        _log.info("disconnect.ended", connections=ended)

    async def _may_stay(self, account: str, name: str) -> bool:
        tenant = self._tenants.get(account)
        if tenant is None:
            return True
        credential = await self._credentials.get(tenant, name.removeprefix(f"{tenant}.").partition(".")[0])
        return credential is not None and connection_name(credential) == name
