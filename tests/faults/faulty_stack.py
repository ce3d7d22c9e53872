"""The real stack in one process with faults put in front of its verbs, question by question.

Every service is built by its own composition root; only the `think` of each stage is wrapped. Nothing else is
replaced: bus, permissions, fence, settlement, sweeper, database and the model's API are those of production.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest

from querybus.bus.admin.embedded_server import EmbeddedBus
from querybus.bus.connection import Held
from querybus.bus.log.journal import Entry, Journal
from querybus.bus.stage_policy import Runtime, StagePolicy
from querybus.core.envelope import Delivery, Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.subjects import EventName, StageName, message_id
from querybus.ops.metrics import Metrics
from querybus_cli.local.local_stack import TENANT, Stack, StackPlan
from tests.support.scripted_model import ScriptedModel, Seen, Step, say

THINKERS = tuple(name for name in StageName if name is not StageName.GATEWAY)
CONNECTION = "shop"
PATIENCE_SECONDS = 280.0


@dataclass
class Fault:
    """What happens instead of a verb, the first `times` times (None: always)."""

    kind: Literal["failure", "exception", "hang"]
    times: int | None = None
    code: FailureCode = FailureCode.INTERNAL
    struck: int = 0
    wait_seconds: float = 0.0

    async def strike(self) -> Failure | None:
        """Do it, or return None when it is over."""
        if self.times is not None and self.struck >= self.times:
            return None
        self.struck += 1
        match self.kind:
            case "failure":
                return Failure.of(self.code, "injected")
            case "exception":
                await asyncio.sleep(self.wait_seconds)
                raise RuntimeError("injected")
            case "hang":
                await asyncio.sleep(3_600)
        return None


Faults = Mapping[StageName, Fault]


Before = Callable[["FaultyStack", Envelope[Any], int], Awaitable[None]]


class Context:
    """The model: scripted by question, else each time another statement that is right."""

    def __init__(self) -> None:
        self.scripts: dict[str, list[Step]] = {}
        self._said = 0

    def __call__(self, seen: Seen) -> Step:
        for question, steps in self.scripts.items():
            if question in seen.text:
                return steps.pop(0) if len(steps) > 1 else steps[0]
        # Never the same text twice, or recovery would see a repetition and end the query early.
        self._said += 1
        return say(f"SELECT COUNT(*) AS n{self._said} FROM customers")


@dataclass
class FaultyStack:
    """A running stack and what a test wants to see of it."""

    stack: Stack
    bus: EmbeddedBus
    context: Context
    model: ScriptedModel
    database: Path
    faults: dict[str, Faults]
    metrics: dict[StageName, Metrics] = field(default_factory=dict[StageName, Metrics])
    settlements: dict[StageName, Any] = field(default_factory=dict[StageName, Any])
    before: dict[StageName, Before] = field(default_factory=dict[StageName, Any])
    """What is done before a stage's verb, whatever the question."""

    async def ask(self, question: str, **options: Any) -> dict[str, Any]:
        """Ask as an analyst and wait for the answer, far longer than the stack may take; TimeoutError."""
        request = {"question": question, "connection": CONNECTION, "options": options, "wait_seconds": 30}
        async with asyncio.timeout(PATIENCE_SECONDS), self.stack.client("analyst") as client:
            reply = await client.call("ask", request)
            while "outcome" not in reply:
                reply = await client.call("answer", {"query_id": reply["query_id"], "wait_seconds": 30})
            return reply

    async def log(self, query_id: str) -> tuple[Entry, ...]:
        """Return every event of a query."""
        connection = await self.bus.connect(StageName.GATEWAY)
        try:
            return await Journal(Held(connection)).events(TENANT, query_id)
        finally:
            await connection.close()

    async def unsettled(self) -> dict[str, int]:
        """Return the stages whose consumer holds messages that are not settled."""
        connection = await self.bus.connect("migrate")
        try:
            js = connection.jetstream(timeout=30)
            infos = {name: await js.consumer_info("QUERYBUS", name) for name in StageName}
        finally:
            await connection.close()
        waiting = {name.value: (info.num_pending or 0) + (info.num_ack_pending or 0) for name, info in infos.items()}
        return {name: count for name, count in waiting.items() if count}


def assert_linear(log: tuple[Entry, ...]) -> None:
    """Assert that each event was made from the one before it, by its message id, and that the log ended once."""
    before = 0
    for entry in log:
        assert entry.message_id == message_id(entry.address.query, entry.address.event, before), entry
        before = entry.sequence
    events = [entry.address.event for entry in log]
    assert events.count(EventName.FINISHED) == 1, events
    assert events.count(EventName.CONCLUDED) == 1, events
    assert events[-2:] == [EventName.CONCLUDED, EventName.FINISHED], events


@asynccontextmanager
async def faulty_stack(directory: Path) -> AsyncGenerator[FaultyStack]:
    """Run the stack; faults and the model's scripts may be set at any time before their question is asked."""
    database = directory / "shop.sqlite"
    with sqlite3.connect(database) as connection:
        connection.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);"
            "INSERT INTO customers VALUES (1,'Ann','Lyon'),(2,'Bob','Paris'),(3,'Cid','Lyon');"
        )
    connections = directory / "connections.yaml"
    connections.write_text(json.dumps({"connections": [{"name": CONNECTION, "url": f"sqlite:///{database}"}]}))
    context = Context()
    with ScriptedModel(context) as model, pytest.MonkeyPatch.context() as patch:
        address = {"llm_base_url": model.base_url}
        # The breaker is for a model that is down for everybody.
        extra = {StageName.GENERATOR: {**address, "llm_breaker_failures": "1000"}, StageName.RECOVERY: address}
        stack = Stack(StackPlan(connections_file=connections, sync="2m", extra=extra))
        place = FaultyStack(stack, stack._bus, context, model, database, {})
        for name in THINKERS:
            app: Any = importlib.import_module(f"querybus_{name}.app")
            patch.setattr(app, "stage", partial(_stage, app.stage, place))
        async with stack:
            yield place


def _stage(real: Any, place: FaultyStack, broker: Any, think: Any, policy: StagePolicy, runtime: Runtime, **more: Any):
    name = policy.name

    async def thought(envelope: Envelope[Any], delivery: Delivery) -> Any:
        before = place.before.get(name)
        if before is not None:
            await before(place, envelope, delivery.sequence)
        fault = place.faults.get(envelope.question, {}).get(name)
        failure = None if fault is None else await fault.strike()
        return await think(envelope, delivery) if failure is None else failure

    made = real(broker, thought, policy, runtime, **more)
    place.metrics[name] = runtime.metrics
    place.settlements[name] = made._settlement
    return made
