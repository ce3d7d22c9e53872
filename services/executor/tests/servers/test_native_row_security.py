"""PostgreSQL's own row security under `policy.native`: each statement names its reader, and no other statement's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.ops.metrics import Metrics
from querybus.sql.check import Checked, check
from querybus_executor.connections.config import BadConnections, parse_connections
from querybus_executor.engines.postgres.write import PostgresWriter
from querybus_executor.engines.registry import Engines
from querybus_executor.ports import Purpose, Rows, reading_for
from querybus_executor.write import Written
from tests.support.database_servers import PostgresServer, postgres_server

pytestmark = pytest.mark.servers

ACME, GLOBEX = Reader("acme", "ann"), Reader("globex", "bob")
POLICY = {"native": True, "row_filters": {"sale": "tenant = :tenant", "note": "person = :user"}}
SCRIPT = """DROP DATABASE IF EXISTS secured; CREATE DATABASE secured;
DROP ROLE IF EXISTS plain; CREATE ROLE plain LOGIN; DROP ROLE IF EXISTS passing; CREATE ROLE passing LOGIN BYPASSRLS;
\\c secured
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
CREATE TABLE sale (id int PRIMARY KEY, tenant text, total int);
CREATE TABLE note (id int PRIMARY KEY, person text);
INSERT INTO sale SELECT n, CASE n % 2 WHEN 0 THEN 'acme' ELSE 'globex' END, n * 10 FROM generate_series(1, 40) AS n;
INSERT INTO note SELECT n, CASE n % 4 WHEN 0 THEN 'ann' ELSE 'bob' END FROM generate_series(1, 40) AS n;
ALTER TABLE sale ENABLE ROW LEVEL SECURITY;
ALTER TABLE note ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON sale USING (tenant = current_setting('querybus.tenant', true));
CREATE POLICY own ON note USING (person = current_setting('querybus.user', true));
GRANT SELECT ON sale, note TO plain, passing;
DROP ROLE IF EXISTS changing; CREATE ROLE changing LOGIN; GRANT SELECT, UPDATE ON sale TO changing;
"""
ALL = "SELECT id, tenant FROM sale"
"""Without a row filter: what it shows, the database alone decides."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        running.execute(SCRIPT)
        yield running


async def opened(server: PostgresServer, user: str) -> AsyncIterator[Any]:
    entry = {
        "name": "secured",
        "url": server.url(user, "secured"),
        "policy": POLICY,
        "pool": {"size": 1, "overflow": 0},
    }
    engines = Engines(children=1, reserved=1)
    (database,) = engines.connected(parse_connections({"connections": [entry]}), metrics=Metrics("t"))
    yield database
    await engines.drain()


@pytest.fixture
async def database(server: PostgresServer) -> AsyncIterator[Any]:
    async for result in opened(server, "plain"):
        yield result


@pytest.fixture
async def bypassing(server: PostgresServer) -> AsyncIterator[Any]:
    async for result in opened(server, "passing"):
        yield result


async def run(database: Any, sql: str, reader: Reader | None, seconds_max: float = 20.0) -> Rows | Failure:
    with nullcontext() if reader is None else reading_for(reader):
        return await database.run(sql, rows_max=100, seconds_max=seconds_max, purpose=Purpose.EXECUTE)


async def tenants_seen(database: Any, reader: Reader) -> set[str]:
    found = await run(database, ALL, reader)
    assert isinstance(found, Rows), found
    assert found.row_count == 20
    return {str(row[1]) for row in found.rows}


async def test_each_reader_sees_their_own_rows_on_one_shared_session(database: Any) -> None:
    for _ in range(3):
        assert await tenants_seen(database, ACME) == {"acme"}
        assert await tenants_seen(database, GLOBEX) == {"globex"}
    seen = await asyncio.gather(*(tenants_seen(database, (ACME, GLOBEX)[number % 2]) for number in range(20)))
    assert seen == [{"acme"}, {"globex"}] * 10
    notes = await run(database, "SELECT person FROM note", ACME)
    assert isinstance(notes, Rows)
    assert {row[0] for row in notes.rows} == {"ann"}


@pytest.mark.parametrize(
    "sql", ["SELECT 1 / (total - total) FROM sale", "SELECT nothing FROM sale", "SELECT id FROM nowhere"]
)
async def test_an_error_leaves_no_reader_behind(database: Any, sql: str) -> None:
    assert isinstance(await run(database, sql, ACME), Failure)
    assert await tenants_seen(database, GLOBEX) == {"globex"}
    nobody = await run(database, ALL, None)
    assert isinstance(nobody, Failure)


async def test_neither_does_a_cancelled_or_timed_out_statement(database: Any) -> None:
    slow = asyncio.create_task(run(database, "SELECT pg_sleep(30) FROM sale", ACME))
    await asyncio.sleep(0.5)
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    assert await tenants_seen(database, GLOBEX) == {"globex"}
    late = await run(database, "SELECT pg_sleep(30) FROM sale", ACME, seconds_max=0.5)
    assert isinstance(late, Failure)
    assert late.code is FailureCode.TIMEOUT
    assert await tenants_seen(database, GLOBEX) == {"globex"}


async def test_a_statement_without_a_reader_is_refused(database: Any) -> None:
    refused = await run(database, ALL, None)
    assert isinstance(refused, Failure)
    assert refused.code is FailureCode.PERMISSION
    assert "policy.native" in refused.detail
    assert isinstance(await database.explain(ALL, seconds_max=5.0), Failure)


async def test_a_reader_s_name_is_a_value_and_never_a_text_of_the_statement(database: Any) -> None:
    for name in ("acme'; RESET ALL; --", "acme\\", "acme' OR 'a' = 'a", ""):
        found = await run(database, ALL, Reader(name, "ann"))
        assert isinstance(found, Rows)
        assert found.row_count == 0
    assert await tenants_seen(database, ACME) == {"acme"}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT set_config('querybus.tenant', 'globex', false) FROM sale",
        "SELECT id FROM sale WHERE set_config('querybus.tenant', 'globex', true) = 'globex'",
        "SELECT current_setting('querybus.tenant') FROM sale",
        "SET querybus.tenant = 'globex'",
        "SET ROLE passing",
        "RESET ALL",
    ],
)
async def test_no_statement_names_a_reader_itself(database: Any, sql: str) -> None:
    catalog = await database.catalog()
    assert isinstance(catalog, Catalog), catalog
    refused = check(
        sql,
        dialect=catalog.dialect,
        catalog=catalog,
        policy=ConnectionPolicy.model_validate(POLICY),
        row_limit=100,
        reader=ACME,
    )
    assert isinstance(refused, Failure)


async def test_the_text_filter_stays_as_the_second_wall(database: Any) -> None:
    catalog = await database.catalog()
    assert isinstance(catalog, Catalog), catalog
    checked = check(
        ALL,
        dialect=catalog.dialect,
        catalog=catalog,
        policy=ConnectionPolicy.model_validate(POLICY),
        row_limit=100,
        reader=ACME,
    )
    assert isinstance(checked, Checked)
    assert "'acme'" in checked.sql
    as_another = await run(database, checked.sql, GLOBEX)
    assert isinstance(as_another, Rows)
    assert as_another.row_count == 0


async def test_a_user_to_whom_row_security_does_not_apply_is_refused_at_the_start(bypassing: Any) -> None:
    refused = await bypassing.catalog()
    assert isinstance(refused, Failure)
    assert "row security does not hold for the user passing on public.note" in refused.detail


async def test_a_confirmed_change_names_its_reader_as_well(server: PostgresServer, database: Any) -> None:
    entry = {
        "name": "secured",
        "url": server.url("plain", "secured"),
        "write_url": server.url("changing", "secured"),
        "access": "read_write",
        "policy": POLICY,
    }
    writer = PostgresWriter(parse_connections({"connections": [entry]})[0])
    change = "UPDATE sale SET total = total + 1"
    try:
        nobody = await writer.write(change, rows_affected_max=100, seconds_max=10.0)
        assert isinstance(nobody, Failure)
        assert nobody.code is FailureCode.PERMISSION
        with reading_for(ACME):
            written = await writer.write(change, rows_affected_max=100, seconds_max=10.0)
        assert isinstance(written, Written), written
        assert written.rows_affected == 20
    finally:
        await writer.close()
    changed = await run(database, "SELECT id FROM sale WHERE total % 10 = 1", GLOBEX)
    assert isinstance(changed, Rows)
    assert changed.row_count == 0


@pytest.mark.parametrize(
    ("url", "policy", "why"),
    [
        ("mysql://reader@db/shop", POLICY, "names readers to PostgreSQL alone"),
        ("sqlite:///shop.db", POLICY, "names readers to PostgreSQL alone, not to SQLite"),
        ("postgresql://reader@db/shop", {"native": True}, "needs `row_filters`"),
    ],
)
def test_where_it_cannot_hold_the_file_is_refused(url: str, policy: dict[str, Any], why: str) -> None:
    with pytest.raises(BadConnections, match=why):
        parse_connections({"connections": [{"name": "shop", "url": url, "policy": policy}]})
