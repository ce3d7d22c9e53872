"""Queries, verbs and stages for tests on a real bus: the smallest envelopes that pass, and workers that count."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from nats.aio.client import Client

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.broker import BusBroker
from querybus.bus.connection import Held
from querybus.bus.log.journal import Journal
from querybus.bus.log.publish import Published, Stored, publish_event
from querybus.bus.stage import stage
from querybus.bus.stage_policy import Runtime, StagePolicy
from querybus.core.catalog import Dialect
from querybus.core.envelope import Envelope, concluded, drafted
from querybus.core.ids import time_ordered_id
from querybus.core.messages import (
    Answer,
    Asked,
    Concluded,
    Draft,
    Drafted,
    Finished,
    Origin,
    Outcome,
)
from querybus.core.subjects import EventName, StageName
from querybus.core.topology import Sizes
from querybus.ops.clock import system_clock
from querybus.ops.metrics import Metrics

SMALL = 64 * 1_024 * 1_024


def sizes(**more: Any) -> Sizes:
    """Return sizes for a test's bus; `ack_wait_seconds` by stage may be given."""
    limits = ("events", "submit", "results", "dead")
    values: dict[str, Any] = {f"{name}_bytes_max": SMALL for name in limits}
    return Sizes(**(values | more))


def new_id() -> str:
    return time_ordered_id(system_clock(), secrets.randbits(74))


def asked(*, seconds: float = 120.0, **header: Any) -> Envelope[Asked]:
    now = system_clock()
    query = header.get("query_id", new_id())
    values: dict[str, Any] = {
        "event": EventName.ASKED,
        "query_id": query,
        "thread_id": query,
        "tenant": "acme",
        "user": "ann",
        "audience": "analyst",
        "connection": "shop",
        "question": "How many customers are there?",
        "language": "en",
        "asked_at": now,
        "deadline_at": now + int(seconds * 1_000),
        "body": Asked(),
    }
    return Envelope[Asked](**(values | header))


def a_draft(envelope: Envelope[Any]) -> Envelope[Drafted]:
    draft = Draft(sql="SELECT count(*) FROM customer", dialect=Dialect.SQLITE, origin=Origin.MODEL)
    return drafted(envelope, Drafted(draft=draft))


def a_conclusion(
    envelope: Envelope[Any], outcome: Outcome = Outcome.REPLIED, stage: StageName = StageName.GENERATOR
) -> Envelope[Concluded]:
    return concluded(envelope, Concluded(outcome=outcome, stage=stage, reply="hello"))


def a_finish(envelope: Envelope[Any]) -> Envelope[Finished]:
    return envelope.with_body(Finished(answer=Answer(outcome=envelope.body.outcome, language="en", message="done")))


async def ask(gateway: Client, envelope: Envelope[Any] | None = None, **more: Any) -> tuple[Envelope[Any], int]:
    """Publish a first event; return it and its sequence."""
    envelope = envelope or asked(**more)
    stored = await append(gateway, envelope, 0)
    assert isinstance(stored, Stored)
    return envelope, stored.sequence


async def append(connection: Client, envelope: Envelope[Any], sequence: int, **more: Any) -> Published:
    """Publish an event of a query whose log ends with `sequence`."""
    values: dict[str, Any] = {
        "input_sequence": sequence,
        "expected_last_sequence": sequence,
        "until_ms": system_clock() + 3_000,
    }
    return await publish_event(connection.jetstream(), envelope, **(values | more))


@dataclass
class Verb:
    """A verb that counts, and that answers what `think` makes of the envelope."""

    think: Callable[[Envelope[Any]], Awaitable[Any]]
    calls: list[str] = field(default_factory=list)
    deliveries: list[int] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    started: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, envelope: Envelope[Any], delivery: Any) -> Any:
        self.calls.append(envelope.query_id)
        self.deliveries.append(delivery.deliveries)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        self.started.set()
        try:
            return await self.think(envelope)
        finally:
            self.running -= 1


def drafting(seconds: float = 0.0) -> Verb:
    async def think(envelope: Envelope[Any]) -> Any:
        await asyncio.sleep(seconds)
        return a_draft(envelope)

    return Verb(think)


def broker_of(bus: EmbeddedNats, name: StageName) -> BusBroker:
    return BusBroker(bus.url, user=name, password=bus.password(name))


@asynccontextmanager
async def running(
    bus: EmbeddedNats, name: StageName, verb: Any, *, slots: int = 4, drain_seconds: float = 2.0, **more: Any
):
    """Run one stage on its own connection; yields its metrics."""
    metrics = Metrics(name)
    broker = broker_of(bus, name)
    await broker.connect()
    part = stage(
        broker,
        verb,
        StagePolicy(name=name, **more),
        Runtime(metrics=metrics, jitter=lambda: 0.0),
        slots=slots,
        drain_seconds=drain_seconds,
    )
    await part.start()
    try:
        yield Running(metrics, broker, part)
    finally:
        await part.drain()
        await broker.stop()


@dataclass
class Running:
    metrics: Metrics
    broker: BusBroker
    part: Any


async def until(condition: Callable[[], Awaitable[bool]] | Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until the condition holds; AssertionError if it does not within the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = condition()
        if await answer if isinstance(answer, Awaitable) else answer:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"not within {seconds} s")


async def log_of(connection: Client, envelope: Envelope[Any]) -> list[str]:
    """Return the events of a query's log, oldest first (the last of each kind)."""
    entries = await Journal(Held(connection)).query(envelope.tenant, envelope.query_id)
    return [entry.address.event.value for entry in entries]
