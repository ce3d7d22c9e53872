"""A real bus, the real gateway, and the other stages by hand: what the connected tests of the APIs stand on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from nats.aio.client import Client

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.admin.permissions import Outsider
from querybus.bus.application import Service
from querybus.bus.client import BusClient
from querybus.bus.connection import Held, connect
from querybus.bus.log.journal import Entry, Journal
from querybus.bus.log.publish import Published, publish_event
from querybus.bus.pull import Message, PullLoop
from querybus.bus.stores.buckets import ConnectionStore, CredentialStore
from querybus.bus.stores.pages import PageStore
from querybus.core.catalog import ColumnKind, Dialect
from querybus.core.credential import Credential, key_hash, key_text
from querybus.core.envelope import Audience, Envelope, concluded, decode, drafted
from querybus.core.messages import (
    Concluded,
    Draft,
    Drafted,
    Finished,
    Origin,
    Outcome,
    PagesAddress,
    Result,
    ResultColumn,
)
from querybus.core.policy import Connection
from querybus.core.subjects import EventName, StageName
from querybus.ops.clock import system_clock
from querybus.text.plain_answer import plain_finished
from querybus_gateway.app import build
from querybus_gateway.http.server import HttpApi
from querybus_gateway.settings import Settings

SECRET_NAME = "zq_secret_column"
SQL = f"SELECT {SECRET_NAME} FROM zq_secret_table"

# tenant, credential, user, audience
PEOPLE: tuple[tuple[str, str, str, Audience], ...] = (
    ("acme", "web", "ann", "business"),
    ("acme", "lab", "bob", "analyst"),
    ("acme", "desk", "bob", "business"),
    ("other", "web", "eve", "business"),
)
OUTSIDERS = {(tenant, name): Outsider(tenant, name, user, audience) for tenant, name, user, audience in PEOPLE}


def key_of(tenant: str, credential: str) -> str:
    return key_text(tenant, credential, f"secret-of-{credential}")


@dataclass
class ApiStack:
    """The gateway with hand-made stages."""

    bus: EmbeddedNats
    gateway: Service
    connections: dict[StageName, Client] = field(default_factory=dict[StageName, Client])

    @property
    def address(self) -> str:
        return next(part.address for part in self.gateway.parts if isinstance(part, HttpApi))

    def http(
        self, tenant: str = "acme", credential: str = "web", *, address: str | None = None, **options: Any
    ) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {key_of(tenant, credential)}"}
        return httpx.AsyncClient(base_url=address or self.address, headers=headers, timeout=40, **options)

    @asynccontextmanager
    async def replica(self, **settings: Any) -> AsyncGenerator[str]:
        """Give the address of another replica."""
        service = build(settings_of(self.bus, **settings))
        await service.start()
        try:
            yield next(part.address for part in service.parts if isinstance(part, HttpApi))
        finally:
            await service.stop()

    @asynccontextmanager
    async def client(self, tenant: str = "acme", credential: str = "web") -> AsyncGenerator[BusClient]:
        outsider = OUTSIDERS[tenant, credential]
        async with BusClient.connected(self.bus.url, outsider, key_of(tenant, credential)) as client:
            yield client

    @asynccontextmanager
    async def outside(self, tenant: str = "acme", credential: str = "web") -> AsyncGenerator[Client]:
        """Give a bare connection with an outsider's rights."""
        outsider = OUTSIDERS[tenant, credential]
        connection = await connect(self.bus.url, outsider.name, key_of(tenant, credential), inbox=outsider.inbox)
        try:
            yield connection
        finally:
            await connection.close()

    async def put_person(self, credential: str, user: str, tenant: str = "acme", **more: Any) -> None:
        """Add a key of `key_of` for another person."""
        key = key_hash(key_of(tenant, credential))
        known = CredentialStore(Held(await self.user(StageName.GATEWAY)))
        await known.put(Credential(name=credential, tenant=tenant, user=user, key_sha256=key, **more))

    async def user(self, stage: StageName) -> Client:
        if stage not in self.connections:
            self.connections[stage] = await self.bus.connect(stage)
        return self.connections[stage]

    async def journal(self) -> Journal:
        return Journal(Held(await self.user(StageName.GATEWAY)))

    async def log(self, query: str, tenant: str = "acme") -> tuple[Entry, ...]:
        return await (await self.journal()).query(tenant, query)

    async def events(self, query: str, tenant: str = "acme") -> list[str]:
        return [str(event.address.event) for event in await (await self.journal()).events(tenant, query)]

    async def publish(self, stage: StageName, envelope: Envelope[Any], after: Entry) -> Published:
        js = (await self.user(stage)).jetstream()
        return await publish_event(
            js,
            envelope,
            input_sequence=after.sequence,
            expected_last_sequence=after.sequence,
            until_ms=system_clock() + 20_000,
        )

    async def draft(self, query: str, tenant: str = "acme") -> None:
        last = (await self.log(query, tenant))[-1]
        draft = Draft(sql=SQL, dialect=Dialect.SQLITE, origin=Origin.BUILTIN)
        await self.publish(StageName.GENERATOR, drafted(last.envelope(), Drafted(draft=draft)), last)

    async def conclude(
        self, query: str, outcome: Outcome = Outcome.ANSWERED, tenant: str = "acme", result: Result | None = None
    ) -> None:
        last = (await self.log(query, tenant))[-1]
        await self.publish(StageName.GENERATOR, conclusion(last.envelope(), outcome, result), last)

    async def finish(self, query: str, tenant: str = "acme", **answer: Any) -> Envelope[Finished]:
        last = (await self.log(query, tenant))[-1]
        finished = plain_finished(last.envelope())
        changed = finished.body.answer.model_copy(update=answer)
        finished = finished.with_body(finished.body.model_copy(update={"answer": changed}))
        await self.publish(StageName.PRESENTER, finished, last)
        return finished

    async def answer(self, query: str, tenant: str = "acme", result: Result | None = None) -> None:
        """Bring a query from wherever it is to its end."""
        await self.conclude(query, tenant=tenant, result=result)
        await self.finish(query, tenant)

    @asynccontextmanager
    async def stages(self) -> AsyncGenerator[None]:
        """Let every question be answered at once while the block runs."""

        async def think(message: Message) -> None:
            event = EventName(message.subject.rpartition(".")[2])
            envelope = decode(event, message.data)
            stage = StageName.GENERATOR if event is EventName.ASKED else StageName.PRESENTER
            made = conclusion(envelope) if event is EventName.ASKED else plain_finished(envelope)
            js = (await self.user(stage)).jetstream()
            await publish_event(
                js,
                made,
                input_sequence=message.sequence,
                expected_last_sequence=message.sequence,
                until_ms=system_clock() + 20_000,
            )
            await message.ack()

        loops = [
            PullLoop(Held(await self.user(stage)), stream="QUERYBUS", durable=stage, slots=8, handle=think)
            for stage in (StageName.GENERATOR, StageName.PRESENTER)
        ]
        for loop in loops:
            await loop.start()
        try:
            yield
        finally:
            for loop in loops:
                await loop.drain()

    async def pages(self, query: str, tenant: str = "acme") -> PageStore:
        return PageStore(Held(await self.user(StageName.EXECUTOR)))

    async def until(self, query: str, event: EventName, seconds: float = 30, tenant: str = "acme") -> tuple[Entry, ...]:
        """Return the log once it holds the event."""
        async with asyncio.timeout(seconds):
            while True:
                log = await self.log(query, tenant)
                if any(entry.address.event is event for entry in log):
                    return log
                await asyncio.sleep(0.02)

    async def close(self) -> None:
        await self.gateway.stop()
        for connection in self.connections.values():
            await connection.close()


def conclusion(
    envelope: Envelope[Any], outcome: Outcome = Outcome.ANSWERED, result: Result | None = None
) -> Envelope[Concluded]:
    rows = Result(
        columns=(ResultColumn(name=SECRET_NAME, kind=ColumnKind.TEXT),), rows=(("上海",), ("Rome",)), row_count=2
    )
    answered = outcome is Outcome.ANSWERED
    body = Concluded(
        outcome=outcome,
        stage=StageName.GENERATOR,
        sql=SQL if answered else None,
        detail=f"about {SECRET_NAME}",
        result=(result or rows) if answered else None,
    )
    return concluded(envelope, body)


def pages_of(run: str, hashes: tuple[str, ...], size: int) -> PagesAddress:
    return PagesAddress(run=run, count=len(hashes), page_size=size, sha256=hashes)


def settings_of(bus: EmbeddedNats, **more: Any) -> Settings:
    values: dict[str, Any] = {
        "nats_url": bus.url,
        "nats_password": bus.password("gateway"),
        "purge_password": bus.password("purge"),
        "bus_issuer_key": bus.issuer_key,
        "disconnect_password": bus.password("disconnect"),
        "tenants": bus.tenants,
        "drain_seconds": 2,
        # Every test comes from one address, and many bring wrong keys.
        "key_guesses_max": 10_000,
    }
    return Settings(**(values | more))


@asynccontextmanager
async def api_stack(**settings: Any) -> AsyncGenerator[ApiStack]:
    """Give a bus with permissions, connections and credentials, and a gateway on it."""
    async with EmbeddedNats(["acme", "other"], sync="2m") as bus:
        await bus.migrate()
        executor = await bus.connect("executor")
        store = ConnectionStore(Held(executor))
        for name in ("shop", "crm"):
            await store.write(Connection(name=name, dialect=Dialect.SQLITE))
        await executor.close()
        gateway = await bus.connect("gateway")
        registry = CredentialStore(Held(gateway))
        for tenant, credential, user, audience in PEOPLE:
            await registry.put(
                Credential.model_validate(
                    {
                        "name": credential,
                        "tenant": tenant,
                        "user": user,
                        "audience": audience,
                        "key_sha256": key_hash(key_of(tenant, credential)),
                    }
                )
            )
        await gateway.close()
        stack = ApiStack(bus, build(settings_of(bus, **settings)))
        await stack.gateway.start()
        try:
            yield stack
        finally:
            await stack.close()


def frames_of(text: str) -> list[dict[str, str]]:
    """Return the frames of a body of server-sent events."""
    frames: list[dict[str, str]] = []
    for block in text.split("\n\n"):
        fields = [line.partition(": ") for line in block.splitlines() if line and not line.startswith(":")]
        if fields:
            frames.append({name: value for name, _, value in fields})
    return frames


def data_of(frame: dict[str, str]) -> dict[str, Any]:
    return json.loads(frame["data"])
