"""The executor on a real bus with the generated permissions: catalogs, dry runs, signed approvals, pages, cancel."""

from __future__ import annotations

import asyncio
import json
import secrets
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.application import Service
from querybus.bus.connection import Held
from querybus.bus.log.journal import Journal
from querybus.bus.log.publish import Stored, publish_event
from querybus.bus.log.sign import Signer, generate_keys
from querybus.bus.requests.rpc import DatabaseClient
from querybus.bus.stores.buckets import ConnectionStore
from querybus.bus.stores.catalogs import CatalogStore
from querybus.bus.stores.pages import PageStore, decode_page, page_sha256
from querybus.core.catalog import Catalog, Dialect
from querybus.core.envelope import Attempt, Envelope
from querybus.core.failure import FailureCode
from querybus.core.ids import time_ordered_id
from querybus.core.messages import (
    Approved,
    Concluded,
    Failed,
    Origin,
    Outcome,
)
from querybus.core.options import Options
from querybus.core.requests.rpc import ExplainRequest, ProbeRequest
from querybus.core.subjects import EventName, StageName, cancel_subject, refresh_subject, token
from querybus.core.topology import Sizes
from querybus.ops.clock import system_clock
from querybus_executor.app import build
from querybus_executor.settings import Settings

pytestmark = pytest.mark.connected

SHOP = "My_Shop"
SLOW = (
    "SELECT sum(a.id * b.id + c.id * d.id) AS s FROM orders AS a JOIN orders AS b ON a.id <> b.id"
    " JOIN orders AS c ON c.id <> b.id JOIN orders AS d ON d.id <> c.id LIMIT 1001"
)


@dataclass
class Bench:
    """A running executor and the users that a test plays."""

    bus: EmbeddedNats
    service: Service
    validator: Client
    gateway: Client
    file: Path

    async def approve(
        self, sql: str, *, sign: Signer | None = None, seconds: float = 20.0, **options: Any
    ) -> Envelope[Approved]:
        now = system_clock()
        envelope = Envelope[Approved](
            event=EventName.APPROVED,
            query_id=time_ordered_id(now, secrets.randbits(74)),
            thread_id=time_ordered_id(now, secrets.randbits(74)),
            tenant="acme",
            user="ann",
            audience="analyst",
            connection=SHOP,
            question="?",
            language="en",
            options=Options(**options),
            asked_at=now,
            deadline_at=now + int(seconds * 1_000),
            attempts=(Attempt(origin=Origin.MODEL, sql=sql, validated=True),),
            body=Approved(
                sql=sql,
                dialect=Dialect.SQLITE,
                origin=Origin.MODEL,
                tables=("orders",),
                row_limit=1_000,
                checked=("static",),
            ),
        )
        stored = await publish_event(
            self.validator.jetstream(),
            envelope,
            input_sequence=0,
            expected_last_sequence=0,
            until_ms=now + 3_000,
            sign=sign or Signer(self.bus.signing_key),
        )
        assert isinstance(stored, Stored)
        return envelope

    async def outcome(self, envelope: Envelope[Any], seconds: float = 60.0) -> Envelope[Any]:
        journal = Journal(Held(self.gateway))
        async with asyncio.timeout(seconds):
            while True:
                entries = await journal.query(envelope.tenant, envelope.query_id, thread=envelope.thread_id)
                if len(entries) > 1:
                    return entries[-1].envelope()
                await asyncio.sleep(0.02)


@asynccontextmanager
async def running(bus: EmbeddedNats, file: Path) -> AsyncGenerator[Service]:
    connections = file.with_name("connections.yaml")
    connections.write_text(json.dumps({"connections": [{"name": SHOP, "url": f"sqlite:///{file}"}]}))
    settings = Settings(
        nats_url=bus.url,
        nats_password=bus.password(StageName.EXECUTOR),  # type: ignore[arg-type]
        verify_key=bus.verify_key,
        connections_file=connections,
    )
    service = build(settings)
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    file = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT)")
        database.executemany("INSERT INTO orders VALUES (?, ?)", [(n, f"city {n % 7}") for n in range(250)])
        database.commit()
    small = 64 << 20
    limits = {f"{name}_bytes_max": small for name in ("events", "submit", "results", "dead")}
    async with EmbeddedNats(sync="2m", sizes=Sizes(**limits)) as bus:  # type: ignore[arg-type]
        await bus.migrate()
        validator, gateway = await bus.connect(StageName.VALIDATOR), await bus.connect(StageName.GATEWAY)
        async with running(bus, file) as service:
            yield Bench(bus, service, validator, gateway, file)
        await validator.close()
        await gateway.close()


async def catalog_with(store: CatalogStore, table: str) -> Catalog:
    async with asyncio.timeout(60):
        while True:
            catalog = await store.read(SHOP)
            if catalog is not None and catalog.table(table) is not None:
                return catalog
            await asyncio.sleep(0.02)


@pytest.mark.requirement("003.20", "003.24")
async def test_a_statement_is_counted_with_the_time_that_it_took(bench: Bench) -> None:
    metrics = bench.service.metrics
    names = {"querybus_database_calls_total": {"connection": SHOP, "purpose": "execute"}}
    names |= {"querybus_execution_seconds_count": {"dialect": "sqlite"}}
    names |= {"querybus_execution_seconds_sum": {"dialect": "sqlite"}}
    before = {name: metrics.value(name, **labels) for name, labels in names.items()}
    concluded = await bench.outcome(await bench.approve("SELECT count(*) AS counted FROM orders LIMIT 1001"))
    after = {name: metrics.value(name, **labels) - before[name] for name, labels in names.items()}
    duration_ms = concluded.attempts[-1].duration_ms
    assert duration_ms is not None
    assert after["querybus_database_calls_total"] == after["querybus_execution_seconds_count"] == 1
    assert after["querybus_execution_seconds_sum"] == pytest.approx(duration_ms / 1_000, rel=0.01)


async def test_an_approval_becomes_an_answer_whose_pages_others_can_read(bench: Bench) -> None:
    assert await bench.service.troubles() == {}
    envelope = await bench.approve("SELECT id, city FROM orders ORDER BY id LIMIT 1001", page_size=100)
    concluded = await bench.outcome(envelope)
    body = concluded.body
    assert isinstance(body, Concluded)
    assert (body.outcome, concluded.attempts[-1].executed) == (Outcome.ANSWERED, True)
    assert body.result is not None
    assert body.result.pages is not None
    assert (body.result.row_count, len(body.result.rows), body.result.pages.rows) == (250, 100, (250,))
    data = await PageStore(Held(bench.gateway)).get("acme", envelope.query_id, body.result.pages.run, 1)
    assert data is not None
    assert page_sha256(data) == body.result.pages.sha256[0]
    assert decode_page(data, 200, 201)[1][0] == (200, "city 4")


@pytest.mark.requirement("002.59")
async def test_an_approval_that_the_validator_did_not_sign_is_never_run(bench: Bench) -> None:
    stranger = Signer(generate_keys()[0])
    envelope = await bench.approve("SELECT id FROM orders LIMIT 1001", sign=stranger)
    honest = await bench.approve("SELECT count(*) AS c FROM orders LIMIT 1001")
    answered = await bench.outcome(honest)
    assert answered.body.result.rows == ((250,),)
    log = await Journal(Held(bench.gateway)).query("acme", envelope.query_id, thread=envelope.thread_id)
    assert len(log) == 1


async def test_a_signed_statement_that_the_guard_refuses_fails_and_changes_nothing(bench: Bench) -> None:
    failed = await bench.outcome(await bench.approve("DROP TABLE orders"))
    assert isinstance(failed.body, Failed)
    assert failed.body.code is FailureCode.SAFETY
    with closing(sqlite3.connect(bench.file)) as database:
        assert database.execute("SELECT count(*) FROM orders").fetchone() == (250,)


async def test_catalogs_are_there_at_the_start_and_follow_a_refresh(bench: Bench) -> None:
    generator = await bench.bus.connect(StageName.GENERATOR)
    store = CatalogStore(Held(generator))
    orders = (await catalog_with(store, "orders")).table("orders")
    assert orders is not None
    assert (orders.row_estimate, orders.columns[1].distinct_count) == (250, 7)
    connection = await ConnectionStore(Held(generator)).get(SHOP)
    assert connection is not None
    assert connection.dialect is Dialect.SQLITE
    with closing(sqlite3.connect(bench.file)) as database:
        database.execute("CREATE TABLE later (a)")
    await bench.gateway.publish(refresh_subject("acme", token(SHOP)))
    await catalog_with(store, "later")
    await generator.close()


async def test_the_validator_gets_an_explain_and_a_probe(bench: Bench) -> None:
    database = DatabaseClient(Held(bench.validator))
    soon = system_clock() + 5_000
    asked = {"query_id": "q", "tenant": "acme", "user": "ann", "dialect": Dialect.SQLITE, "deadline_at": soon}
    good = ExplainRequest.model_validate(asked | {"sql": "SELECT id FROM orders"})
    bad = good.model_copy(update={"sql": "SELECT nope FROM orders"})
    assert (await database.explain("acme", SHOP, good)).failure is None
    failure = (await database.explain("acme", SHOP, bad)).failure
    assert failure is not None
    assert failure.code is FailureCode.COLUMN_NOT_FOUND
    probe = ProbeRequest.model_validate(asked | {"sql": "SELECT id FROM orders"})
    reply = await database.probe("acme", SHOP, probe)
    assert reply.result is not None
    assert (reply.result.row_count, reply.result.truncated) == (10, True)


@pytest.mark.requirement("003.24")
async def test_a_cancel_ends_the_statement_in_the_database(bench: Bench) -> None:
    envelope = await bench.approve(SLOW)
    metrics = bench.service.metrics
    async with asyncio.timeout(60):
        while not metrics.value("querybus_database_calls_total", connection=SHOP, purpose="execute"):
            await asyncio.sleep(0.01)
    await bench.gateway.publish(cancel_subject("acme", envelope.query_id))
    async with asyncio.timeout(60):
        while not metrics.value("querybus_database_cancels_total", connection=SHOP):
            await asyncio.sleep(0.01)


async def test_a_statement_is_stopped_before_its_querys_deadline(bench: Bench) -> None:
    clock = asyncio.get_running_loop().time
    begun = clock()
    await bench.outcome(await bench.approve("SELECT COUNT(*) FROM orders"))
    # Long enough for this machine to begin with it.
    failed = await bench.outcome(await bench.approve(SLOW, seconds=6 + 4 * (clock() - begun)), seconds=200)
    assert isinstance(failed.body, Failed)
    assert failed.body.code is FailureCode.TIMEOUT
