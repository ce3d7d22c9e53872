"""Claims on whole kinds of attacks: what is approved gives on the full database just what it gives on a filtered copy.

The full database has rows of another tenant, a denied column and tables outside the catalog; the copy has none of them.
A difference, in rows or in whether the engine fails, is something that a reader learns of what is kept from him.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import urllib.error
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any

import asyncmy
import asyncpg
import duckdb
import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.sql.check import Checked, check, guard
from tests.support.database_servers import ClickhouseServer, clickhouse_server, mariadb_server, postgres_server
from tests.support.guard_attacks import OF_EACH_MIN, Attack, attacks, queries

ANN = Reader("acme", "ann")
POLICY = ConnectionPolicy(
    tables_allowed=("orders", "region"),
    row_filters={"orders": "tenant = :tenant"},
    columns_denied={"region": ("boss",)},
)
SCHEMAS = {Dialect.POSTGRESQL: "public", Dialect.DUCKDB: "main", Dialect.CLICKHOUSE: "shop", Dialect.MYSQL: "shop"}
FULL = """
CREATE TABLE orders (id INT, tenant VARCHAR(9), note VARCHAR(9));
INSERT INTO orders VALUES (1, 'acme', '1'), (2, 'acme', '2'), (4, 'other', 'LEAK');
CREATE TABLE region (id INT, name VARCHAR(9), boss VARCHAR(9));
INSERT INTO region VALUES (1, 'north', 'LEAK'), (2, 'south', 'LEAK');
CREATE TABLE secret (word VARCHAR(9)); INSERT INTO secret VALUES ('LEAK');
CREATE TABLE k (word VARCHAR(9)); INSERT INTO k VALUES ('LEAK');
"""
COPY = """
CREATE TABLE orders (id INT, tenant VARCHAR(9), note VARCHAR(9));
INSERT INTO orders VALUES (1, 'acme', '1'), (2, 'acme', '2');
CREATE TABLE region (id INT, name VARCHAR(9));
INSERT INTO region VALUES (1, 'north'), (2, 'south');
"""

Run = Callable[[str], Awaitable[Any]]


def catalog_of(dialect: Dialect) -> Catalog:
    tables = (
        Table(name="orders", columns=tuple(Column(name=name, type="TEXT") for name in ("id", "tenant", "note"))),
        Table(name="region", columns=tuple(Column(name=name, type="TEXT") for name in ("id", "name", "boss"))),
    )
    return Catalog(connection="shop", dialect=dialect, default_schema=SCHEMAS.get(dialect), tables=tables)


CATALOGS = {dialect: catalog_of(dialect) for dialect in Dialect}
ATTACKS = tuple(attacks())


def judged(sql: str, dialect: Dialect, policy: ConnectionPolicy = POLICY) -> Checked | Failure:
    return check(sql, dialect=dialect, catalog=CATALOGS[dialect], policy=policy, row_limit=100, reader=ANN)


def test_there_are_enough_statements_of_every_kind_for_every_dialect() -> None:
    counts = Counter((attack.kind, attack.dialect) for attack in ATTACKS)
    assert len(counts) % len(Dialect) == 0
    assert min(counts.values()) >= OF_EACH_MIN


@pytest.fixture(params=[pytest.param(10, id="each tenth"), pytest.param(1, id="all", marks=pytest.mark.slow)])
def some(request: pytest.FixtureRequest) -> tuple[Attack, ...]:
    """Return the attacks to try: a tenth of every kind where time is short."""
    return ATTACKS[:: request.param]


@pytest.mark.parametrize("dialect", list(Dialect))
def test_what_is_approved_is_approved_again_as_it_is_rendered(dialect: Dialect, some: tuple[Attack, ...]) -> None:
    for attack in some:
        result = judged(attack.sql, dialect) if attack.dialect is dialect else None
        if isinstance(result, Checked):
            assert set(result.tables) <= {"orders", "region"}, attack
            assert guard(result.sql, dialect, CATALOGS[dialect], POLICY, ANN) is None, attack


async def outcome(run: Run, sql: str) -> str:
    """What a reader gets to see, in an order of its own; of an error only that there was one."""
    try:
        rows = await run(sql)
    except (sqlite3.Error, duckdb.Error, asyncpg.PostgresError, asyncmy.errors.MySQLError, urllib.error.URLError):
        return "error"
    except RuntimeError:
        return "error"
    return repr(sorted(map(repr, rows)))


async def differing(
    dialect: Dialect, full: Run, copy: Run, some: tuple[Attack, ...]
) -> list[tuple[Attack, str, str, str]]:
    found: list[tuple[Attack, str, str, str]] = []
    approved = 0
    for attack in some:
        result = judged(attack.sql, dialect) if attack.dialect is dialect else None
        if not isinstance(result, Checked):
            continue
        approved += 1
        seen, expected = await outcome(full, result.sql), await outcome(copy, result.sql)
        if seen != expected or "LEAK" in seen.replace("'LEAK'" if "'LEAK'" in attack.sql else "\0", ""):
            found.append((attack, result.sql, seen, expected))
    # Were all refused, nothing would be compared.
    assert approved > OF_EACH_MIN * len(some) // len(ATTACKS)
    return found


def sqlite_run(script: str) -> Run:
    database = sqlite3.connect(":memory:")
    database.executescript(script)

    async def run(sql: str) -> Any:
        return database.execute(sql).fetchall()

    return run


def duckdb_run(script: str) -> Run:
    database = duckdb.connect(":memory:", config={"threads": 1, "autoinstall_known_extensions": False})
    database.execute(script)

    async def run(sql: str) -> Any:
        return database.execute(sql).fetchall()

    return run


async def test_on_sqlite_nothing_kept_from_the_reader_makes_a_difference(some: tuple[Attack, ...]) -> None:
    assert await differing(Dialect.SQLITE, sqlite_run(FULL), sqlite_run(COPY), some) == []


async def test_on_duckdb_nothing_kept_from_the_reader_makes_a_difference(some: tuple[Attack, ...]) -> None:
    assert await differing(Dialect.DUCKDB, duckdb_run(FULL), duckdb_run(COPY), some) == []


async def test_on_postgresql_nothing_kept_from_the_reader_makes_a_difference(some: tuple[Attack, ...]) -> None:
    with postgres_server() as server:
        server.execute("CREATE DATABASE filtered")
        server.execute(FULL)
        server.execute(COPY, "filtered")
        full, copy = await asyncpg.connect(server.url()), await asyncpg.connect(server.url(database="filtered"))
        try:
            assert await differing(Dialect.POSTGRESQL, full.fetch, copy.fetch, some) == []
        finally:
            await full.close()
            await copy.close()


async def test_on_mariadb_nothing_kept_from_the_reader_makes_a_difference(some: tuple[Attack, ...]) -> None:
    with mariadb_server() as server:
        server.execute(f"CREATE DATABASE shop; USE shop; {FULL}")
        server.execute(f"CREATE DATABASE filtered; USE filtered; {COPY}")
        connection = await asyncmy.connect(host="127.0.0.1", port=server.port, user="root", password="")

        async def full(sql: str) -> Any:
            async with connection.cursor() as cursor:
                await cursor.execute("USE shop")
                await cursor.execute(sql)
                return await cursor.fetchall()

        async def copy(sql: str) -> Any:
            async with connection.cursor() as cursor:
                await cursor.execute("USE filtered")
                await cursor.execute(sql.replace("shop.", "filtered.").replace("`shop`.", "`filtered`."))
                return await cursor.fetchall()

        try:
            assert await differing(Dialect.MYSQL, full, copy, some) == []
        finally:
            connection.close()


@pytest.fixture(scope="module")
def clickhouse() -> Generator[ClickhouseServer]:
    with clickhouse_server() as server:
        for schema, script in (("shop", FULL), ("filtered", COPY)):
            server.execute(f"CREATE DATABASE {schema}")
            own = (
                script.replace("VARCHAR(9)", "String")
                .replace("TABLE ", f"TABLE {schema}.")
                .replace("INTO ", f"INTO {schema}.")
            )
            for statement in filter(None, map(str.strip, own.split(";"))):
                engine = " ENGINE = MergeTree ORDER BY tuple()" if statement.startswith("CREATE") else ""
                server.execute(statement + engine)
        yield server


async def test_on_clickhouse_nothing_kept_from_the_reader_makes_a_difference(
    clickhouse: ClickhouseServer, some: tuple[Attack, ...]
) -> None:
    async def full(sql: str) -> Sequence[str]:
        return clickhouse.execute(f"{sql} FORMAT TSV", "shop").splitlines()

    async def copy(sql: str) -> Sequence[str]:
        return clickhouse.execute(f"{sql.replace('shop.', 'filtered.')} FORMAT TSV", "filtered").splitlines()

    assert await differing(Dialect.CLICKHOUSE, full, copy, some) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_relations_that_sqlite_and_duckdb_read_are_those_that_the_guard_decided(seed: int) -> None:
    """5,000 queries for each seed: 20,000 for each engine, none of which reads a table that was not decided on."""
    lite, duck = sqlite3.connect(":memory:"), duckdb.connect(":memory:")
    lite.executescript(FULL)
    duck.execute(FULL)
    read = set[str]()

    def note(action: int, table: str | None, *_: object) -> int:
        if action == sqlite3.SQLITE_READ and table in ("orders", "region", "secret", "k"):
            read.add(str(table))
        return sqlite3.SQLITE_OK

    lite.set_authorizer(note)
    compared = Counter[str]()
    for sql in queries(seed, 5_000):
        result = judged(sql, Dialect.SQLITE, ConnectionPolicy())
        if isinstance(result, Checked):
            read.clear()
            with contextlib.suppress(sqlite3.OperationalError):  # what was read until it failed counts
                lite.execute(result.sql).fetchmany(1)
            compared["sqlite"] += 1
            assert read <= set(result.tables), (sql, result.sql)
        result = judged(sql, Dialect.DUCKDB, ConnectionPolicy())
        if isinstance(result, Checked):
            try:
                plan = duck.execute(f"EXPLAIN (FORMAT json) {result.sql}").fetchall()[0][1]
            except duckdb.Error:
                continue
            compared["duckdb"] += 1
            named = json.dumps(json.loads(plan)).replace("memory.", "")
            planned = {name for name in ("orders", "region", "secret", "k") if f"main.{name}" in named}
            assert planned <= set(result.tables), (sql, result.sql)
    assert min(compared["sqlite"], compared["duckdb"]) > 1_200, compared


@pytest.mark.slow
async def test_the_relations_that_postgresql_plans_are_those_that_the_guard_decided() -> None:
    """The same 20,000 queries; what a plan names is what the server resolved."""
    with postgres_server() as server:
        server.execute(FULL)
        connection = await asyncpg.connect(server.url())
        compared = 0
        try:
            for seed in range(4):
                for sql in queries(seed, 5_000):
                    result = judged(sql, Dialect.POSTGRESQL, ConnectionPolicy())
                    if not isinstance(result, Checked):
                        continue
                    try:
                        plan = json.loads(await connection.fetchval(f"EXPLAIN (VERBOSE, FORMAT JSON) {result.sql}"))
                    except asyncpg.PostgresError:
                        continue
                    compared += 1
                    assert _relations(plan[0]["Plan"]) <= set(result.tables), (sql, result.sql)
        finally:
            await connection.close()
        assert compared > 4_000


def _relations(plan: dict[str, Any]) -> set[str]:
    below = (_relations(part) for part in plan.get("Plans", ()))
    return set[str]({plan["Relation Name"]} if "Relation Name" in plan else ()).union(*below)
