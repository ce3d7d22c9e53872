"""Three real nats-servers as one cluster on loopback, every stream with three copies; used like a single one.

It survives the death of one server, as a cluster of production does. All three run on one machine and one disk, so it
shows what happens when a server dies, not what a network between them costs.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from nats.aio.client import Client
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError

from querybus.bus.admin.embedded_server import EmbeddedNats, EmbeddedNatsError, Membership, Sync, new_passwords
from querybus.bus.admin.issuer import generate_issuer
from querybus.bus.admin.migrate import MigrateError, migrate
from querybus.bus.connection import OnError, connect
from querybus.core.topology import Sizes, topology
from querybus_cli.local.ports import free_ports

SERVERS: Final = 3
READY_SECONDS_MAX: Final = 30.0
_ASK_SECONDS_MAX: Final = 2.0
_PAUSE_SECONDS: Final = 0.1


class EmbeddedCluster:
    """An `async with` cluster; `kill` and `revive` take one server away and bring it back."""

    def __init__(self, tenants: Sequence[str], *, store: Path, sizes: Sizes, sync: Sync = "always") -> None:
        """`sizes` are those of one copy; the cluster keeps SERVERS of each."""
        self.sizes = replace(sizes, replicas=SERVERS)
        passwords, issuer = new_passwords(), generate_issuer()
        ports = free_ports(SERVERS)
        secret = secrets.token_urlsafe(24)
        self.servers = tuple(
            EmbeddedNats(
                tenants,
                store=store / f"n{number}",
                sync=sync,
                sizes=self.sizes,
                passwords=passwords,
                issuer=issuer,
                membership=Membership(f"n{number}", port, tuple(item for item in ports if item != port), secret),
            )
            for number, port in enumerate(ports, 1)
        )
        first = self.servers[0]
        self.tenants = first.tenants
        self.signing_key, self.verify_key = first.signing_key, first.verify_key
        self.issuer_key = first.issuer_key

    @property
    def url(self) -> str:
        """The addresses of all servers, separated by commas."""
        return ",".join(server.url for server in self.servers)

    @property
    def monitoring_url(self) -> str:
        return ",".join(server.monitoring_url for server in self.servers)

    def password(self, user: str) -> str:
        """Return the password of a user of the account BUS; KeyError for any other."""
        return self.servers[0].password(user)

    async def connect(self, user: str, *, on_error: OnError | None = None) -> Client:
        """Return a plain connection as a user of the account BUS, to any server."""
        return await connect(self.url, user, self.password(user), on_error=on_error)

    async def migrate(self) -> tuple[str, ...]:
        """Create or update streams, durables and buckets; return what was changed.

        While the cluster chooses a leader nobody answers, or a server counts as away that has just come, so it is
        begun again: what is made already stays.
        """
        until = time.monotonic() + READY_SECONDS_MAX
        connection = await self.connect("migrate")
        try:
            while True:
                try:
                    return await migrate(connection, topology(self.sizes, self.tenants))
                except (TimeoutError, MigrateError) as error:
                    passes = isinstance(error, TimeoutError) or "no suitable peers" in str(error)
                    if not passes or time.monotonic() > until:
                        raise
                await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            await connection.close()

    async def __aenter__(self) -> EmbeddedCluster:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start all servers and return once they are one cluster; EmbeddedNatsError if they do not become one."""
        try:
            await asyncio.gather(*(server.start() for server in self.servers))
            await self.settled()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop every server."""
        await asyncio.gather(*(server.stop() for server in self.servers))

    async def leader_of(self, stream: str) -> EmbeddedNats:
        """Return the server that leads a stream just now; EmbeddedNatsError if none comes to lead it.

        While the cluster chooses a leader for its own business nobody answers, and while the stream's chooses one the
        answer names none: both pass, so it is asked again.
        """
        until = time.monotonic() + READY_SECONDS_MAX
        connection = await self.connect("migrate")
        try:
            while True:
                with contextlib.suppress(NatsTimeoutError, NoRespondersError):
                    reply = await connection.request(f"$JS.API.STREAM.INFO.{stream}", b"", timeout=_ASK_SECONDS_MAX)
                    if name := json.loads(reply.data).get("cluster", {}).get("leader"):
                        return self.servers[int(name.removeprefix("n")) - 1]
                if time.monotonic() > until:
                    raise EmbeddedNatsError(f"nobody leads {stream}; the log is {self.servers[0].log_file}")
                await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            await connection.close()

    async def settled(self) -> None:
        """Wait until every server that runs has the cluster's leader and is up to date with it."""
        until = time.monotonic() + READY_SECONDS_MAX
        for server in self.servers:
            while server.pid is not None and not await asyncio.to_thread(_is_healthy, server.monitoring_url):
                if time.monotonic() > until:
                    raise EmbeddedNatsError(f"the cluster does not settle; the log is {server.log_file}")
                await asyncio.sleep(_PAUSE_SECONDS)


def _is_healthy(monitoring_url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{monitoring_url}/healthz", timeout=2) as answer:
            return bool(json.load(answer).get("status") == "ok")
    except (OSError, ValueError):
        return False
