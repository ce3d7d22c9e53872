"""EXPLAIN and probe by request and reply, between the validator and the executor as the permissions allow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.connection import Held, reach
from querybus.bus.requests.rpc import DatabaseClient, serve_database
from querybus.core.catalog import Dialect
from querybus.core.failure import FailureCode
from querybus.core.messages import Result, ResultColumn
from querybus.core.requests.rpc import ExplainReply, ExplainRequest, ProbeReply, ProbeRequest
from querybus.core.subjects import StageName, token
from querybus.ops.clock import system_clock
from tests.connected.queries import broker_of, new_id, sizes, until

pytestmark = pytest.mark.connected


@pytest.fixture
async def bus() -> AsyncIterator[EmbeddedNats]:
    async with EmbeddedNats(sync="2m", sizes=sizes()) as server:
        await server.migrate()
        yield server


@pytest.fixture
async def client(bus: EmbeddedNats) -> AsyncIterator[DatabaseClient]:
    connection = await bus.connect(StageName.VALIDATOR)
    yield DatabaseClient(Held(connection))
    await connection.close()


class Database:
    def __init__(self, seconds: float = 0.0, hanging: str | None = None) -> None:
        """Each question takes `seconds`, one of the connection `hanging` longer than any deadline."""
        self.seconds = seconds
        self.hanging = hanging
        self.asked: list[tuple[str, str, str]] = []
        self.running = 0
        self.most_running = 0

    async def explain(self, tenant: str, connection: str, request: ExplainRequest) -> ExplainReply:
        self.asked.append((tenant, connection, request.sql))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await asyncio.sleep(30 if connection == self.hanging else self.seconds)
        finally:
            self.running -= 1
        if request.sql == "boom":
            raise RuntimeError("secret")
        return ExplainReply(rows_estimate=7)

    async def probe(self, tenant: str, connection: str, request: ProbeRequest) -> ProbeReply:
        self.asked.append((tenant, connection, request.sql))
        rows = tuple((number,) for number in range(request.rows_max))
        return ProbeReply(result=Result(columns=(ResultColumn(name="n"),), rows=rows, row_count=len(rows)))


@asynccontextmanager
async def serving(bus: EmbeddedNats, database: Database, slots: int = 4):
    broker = broker_of(bus, StageName.EXECUTOR)
    part = serve_database(broker, explain=database.explain, probe=database.probe, slots=slots)
    await broker.connect()
    await part.start()
    await reach(broker.connection)
    try:
        yield part
    finally:
        await part.drain()
        await broker.stop()


def request(sql: str = "SELECT 1", seconds: float = 5.0) -> ExplainRequest:
    deadline = system_clock() + int(seconds * 1_000)
    return ExplainRequest(query_id=new_id(), sql=sql, dialect=Dialect.SQLITE, deadline_at=deadline)


async def test_the_executors_word_reaches_the_validator(bus, client):
    database = Database()
    async with serving(bus, database):
        reply = await client.explain("Acme Ltd.", "shop", request())
    assert reply.rows_estimate == 7
    assert reply.failure is None
    assert database.asked == [(token("Acme Ltd."), "shop", "SELECT 1")]


async def test_a_probe_brings_rows(bus, client):
    async with serving(bus, Database()):
        ask = ProbeRequest(**request().model_dump(), rows_max=3)
        reply = await client.probe("acme", "shop", ask)
    assert reply.result is not None
    assert reply.result.rows == ((0,), (1,), (2,))


async def test_no_executor_is_a_failure_of_the_connection(client):
    reply = await client.explain("acme", "shop", request(seconds=1.5))
    assert reply.failure is not None
    assert reply.failure.code is FailureCode.CONNECTION


async def test_an_executor_that_comes_back_in_a_moment_is_waited_for(bus, client):
    asking = asyncio.create_task(client.explain("acme", "shop", request()))
    await asyncio.sleep(2.5)
    async with serving(bus, Database()):
        assert (await asking).failure is None


async def test_an_executor_whose_databases_are_not_open_yet_is_waited_for(bus, client):
    database = Database()
    broker = broker_of(bus, StageName.EXECUTOR)
    part = serve_database(broker, explain=database.explain, probe=database.probe, slots=4)
    await broker.connect()
    asking = asyncio.create_task(client.explain("acme", "shop", request()))
    await asyncio.sleep(0.3)
    assert not database.asked
    await part.start()
    assert (await asking).failure is None
    await part.drain()
    await broker.stop()


async def test_an_executor_that_dies_over_a_request_is_replaced_within_its_deadline(bus):
    validator = await bus.connect(StageName.VALIDATOR)
    client = DatabaseClient(Held(validator), silent_seconds_max=1.5)
    doomed = Database(seconds=30)
    broker = broker_of(bus, StageName.EXECUTOR)
    part = serve_database(broker, explain=doomed.explain, probe=doomed.probe, slots=4)
    await broker.connect()
    await part.start()
    asking = asyncio.create_task(client.explain("acme", "shop", request(seconds=20)))
    await until(lambda: bool(doomed.asked))
    # As a killed process does: no beat, no answer, no farewell.
    assert part._beating is not None
    part._beating.cancel()
    await broker.connection.close()
    async with serving(bus, database := Database()):
        assert (await asking).failure is None
    assert len(database.asked) == 1
    await validator.close()


async def test_a_request_that_takes_long_is_not_asked_twice(bus):
    validator = await bus.connect(StageName.VALIDATOR)
    client = DatabaseClient(Held(validator), silent_seconds_max=1.5)
    database = Database(seconds=2.5)
    async with serving(bus, database, slots=1):
        # The second waits for the only place, and receives the same beats.
        replies = await asyncio.gather(*(client.explain("acme", "shop", request(seconds=20)) for _ in range(2)))
    assert [reply.failure for reply in replies] == [None, None]
    assert len(database.asked) == 2
    await validator.close()


async def test_a_statement_that_outlives_the_deadline_is_a_timeout(bus, client):
    async with serving(bus, Database(seconds=30)):
        reply = await client.explain("acme", "shop", request(seconds=0.3))
    assert reply.failure is not None
    assert reply.failure.code is FailureCode.TIMEOUT


async def test_what_is_asked_too_late_is_not_asked(bus, client):
    database = Database()
    async with serving(bus, database):
        reply = await client.explain("acme", "shop", request(seconds=-1))
    assert reply.failure is not None
    assert reply.failure.code is FailureCode.EXPIRED
    assert database.asked == []


async def test_an_exception_is_reported_without_its_text(bus, client):
    async with serving(bus, Database()):
        reply = await client.explain("acme", "shop", request("boom"))
    assert reply.failure is not None
    assert reply.failure.code is FailureCode.INTERNAL
    assert "secret" not in reply.failure.detail


async def test_no_more_statements_run_than_there_are_slots(bus, client):
    database = Database(seconds=0.02)
    async with serving(bus, database, slots=3):
        replies = await asyncio.gather(*(client.explain("acme", "shop", request()) for _ in range(30)))
    assert all(reply.failure is None for reply in replies)
    assert database.most_running == 3


async def test_a_connection_whose_database_hangs_fills_its_own_places_only(bus, client):
    database = Database(hanging="away")
    async with serving(bus, database, slots=1):
        hanging = [asyncio.create_task(client.explain("acme", "away", request(seconds=5))) for _ in range(10)]
        await until(lambda: database.running == 1)
        assert (await client.explain("acme", "shop", request())).failure is None
        assert not any(task.done() for task in hanging)
        codes = {(await item).failure.code for item in hanging}
    # One has the only place until its deadline, the others never get it.
    assert codes <= {FailureCode.TIMEOUT, FailureCode.EXPIRED, FailureCode.CONNECTION}


async def test_rubbish_is_answered_and_not_asked(bus):
    database = Database()
    validator = await bus.connect(StageName.VALIDATOR)
    async with serving(bus, database):
        answer = await validator.request("querybus.v1.rpc.database.acme.shop.explain", b"[]", timeout=30)
    reply = ExplainReply.model_validate_json(answer.data)
    assert reply.failure is not None
    assert reply.failure.code is FailureCode.INTERNAL
    assert database.asked == []
    await validator.close()


async def test_nobody_but_the_validator_is_received(bus):
    errors: list[str] = []

    async def note(error: Exception) -> None:
        errors.append(str(error))

    database = Database()
    generator = await bus.connect(StageName.GENERATOR, on_error=note)
    async with serving(bus, database):
        reply = await DatabaseClient(Held(generator)).explain("acme", "shop", request(seconds=0.5))
    assert reply.failure is not None
    assert database.asked == []
    assert any("permissions violation" in error for error in errors)
    await generator.close()
