"""Nothing discloses rows that a reader may not see: an answer is the one of a database that never held them.

Each statement is checked for its reader and run twice: over everybody's rows, and over a copy with the reader's rows
alone. Outcome, code, words, notes, rows and counts have to be equal on every engine.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.ops.metrics import Metrics
from querybus.sql.check import Checked, check
from querybus_executor.connections.config import parse_connections
from querybus_executor.engines.registry import Engines
from querybus_executor.ports import Purpose
from querybus_executor.results.hidden_values import engine_warnings, without_values
from tests.support.database_servers import ClickhouseServer, clickhouse_server

SERVERS = ("postgres", "mariadb", "clickhouse")
ENGINES = ("sqlite", "duckdb", *(pytest.param(name, marks=pytest.mark.servers) for name in SERVERS))
READER = Reader("acme", "ann")
BY_TENANT = {
    "row_filters": {
        "customers": "tenant_id = :tenant",
        "orders": "tenant_id = :tenant AND status <> 'void'",
        "items": "order_id IN (SELECT id FROM orders WHERE tenant_id = :tenant)",
    },
    "columns_masked": {"customers": ["email"], "orders": ["status"]},
}
BY_LOOKUP = {
    "row_filters": {
        "orders": "customer_id IN (SELECT id FROM customers WHERE tenant_id = :tenant)",
        "items": "order_id IN (SELECT id FROM orders WHERE tenant_id = :tenant)",
        "customers": "lower(tenant_id) = lower(:tenant)",
    }
}
POLICIES = {"by tenant": BY_TENANT, "by lookup": BY_LOOKUP}
CUSTOMERS = [
    (
        n,
        ("acme", "globex")[n % 2],
        f"{('A', 'LEAKB')[n % 2]}-name-{n}",
        f"mail{n}@x.example",
        10.5 * n + 90_000 * (n % 2),
    )
    for n in range(40)
]
ORDERS = [
    (n, ("acme", "globex")[n % 2], n % 40, 7.25 * n + 90_000 * (n % 2), ("open", "paid", "void")[n % 3],
     f"2026-0{n % 9 + 1}-11 10:00:00", f"{('A', 'LEAKB')[n % 2]} note {n}")
    for n in range(120)
]  # fmt: skip
ITEMS = [(n, n % 120, n % 7) for n in range(200)]

HIDDEN = ("o.note LIKE 'LEAKB note 1'", "o.amount > 90500", "o.customer_id = 13", "o.id = 21")
HARMLESS = ("o.id > 5", "o.amount < 500", "o.placed >= '2026-03-01'", "o.note = 'A note 2'", "o.customer_id IN (2, 4)")
MAY_FAIL = (
    "o.note = 5",
    "o.note IN (1, 2)",
    "o.note = TRUE",
    "o.amount = o.note",
    "o.placed = o.note",
    "o.note BETWEEN 1 AND 5",
    "o.note + 1 > 0",
    "CAST(o.note AS INTEGER) = 5",
    "1 / (o.amount - 90007.25) > 0",
    "o.note LIKE 'LEAKB note 1\\'",
    "o.amount LIKE '9%'",
    "EXISTS (SELECT 1 FROM customers AS c WHERE c.id = o.note)",
    "o.note IN (SELECT c.id FROM customers AS c)",
    "o.id = (SELECT c.id FROM customers AS c WHERE c.name LIKE 'LEAKB%')",
    "o.placed > 'no date'",
    "o.id = 'no number'",
)
SHAPES = (
    "SELECT o.id FROM orders AS o WHERE {hidden} AND {other}",
    "SELECT o.id FROM orders AS o WHERE {other} AND {hidden}",
    "SELECT COUNT(*) AS n FROM orders AS o JOIN customers AS c ON c.id = o.customer_id AND {hidden} AND {other}",
    "SELECT c.id FROM customers AS c WHERE EXISTS (SELECT 1 FROM orders AS o WHERE {hidden} AND {other})",
    "SELECT c.id FROM customers AS c WHERE c.id IN (SELECT o.customer_id FROM orders AS o WHERE {hidden} AND {other})",
    "SELECT d.id FROM (SELECT o.id, o.note, o.amount, o.placed, o.customer_id FROM orders AS o) AS o "
    "JOIN customers AS d ON d.id = o.customer_id WHERE {hidden} AND {other}",
)
STATEMENTS = [
    shape.format(hidden=HIDDEN[number % len(HIDDEN)], other=other)
    for number, (other, shape) in enumerate(itertools.product((*MAY_FAIL, *HARMLESS), SHAPES))
] + [f"SELECT o.id FROM orders AS o WHERE {hidden} AND {other}" for hidden in HIDDEN for other in MAY_FAIL]
FURTHER = (
    "SELECT COUNT(*) AS n FROM orders",
    "SELECT tenant_id, COUNT(*) AS n FROM orders GROUP BY tenant_id",
    "SELECT status, note FROM orders ORDER BY id",
    "SELECT COUNT(*) AS n, MAX(amount) AS m, MIN(note) AS t FROM orders",
    "SELECT i.id FROM items AS i JOIN orders AS o ON o.id = i.order_id WHERE o.note = 5 AND o.note LIKE 'LEAKB%'",
    "SELECT o.id FROM orders AS o JOIN items AS i USING (id) WHERE i.qty > 2",
    "SELECT email, name FROM customers ORDER BY id",
)
TYPES = {
    "sqlite": ("INTEGER", "TEXT", "NUMERIC", "TIMESTAMP"),
    "duckdb": ("INTEGER", "VARCHAR", "DECIMAL(12,2)", "TIMESTAMP"),
    "postgres": ("INTEGER", "VARCHAR(60)", "DECIMAL(12,2)", "TIMESTAMP"),
    "mariadb": ("INTEGER", "VARCHAR(60)", "DECIMAL(12,2)", "DATETIME"),
    "clickhouse": ("Int32", "Nullable(String)", "Decimal(12,2)", "DateTime"),
}


SHOWING_OTHERS = {
    "sqlite": (
        ["CREATE VIRTUAL TABLE own_fts USING fts5(note)", "INSERT INTO own_fts SELECT note FROM orders"],
        ("own_fts", "own_fts_content", "own_fts_data"),
    ),
    "duckdb": (["CREATE VIEW shown AS SELECT * FROM orders"], ("shown",)),
    "postgres": (
        ["CREATE VIEW shown AS SELECT * FROM orders", "CREATE MATERIALIZED VIEW kept AS SELECT * FROM orders"],
        ("shown", "kept"),
    ),
    "mariadb": (
        ["CREATE TABLE part (id INT) ENGINE=MyISAM", "CREATE TABLE parts (id INT) ENGINE=MERGE UNION=(part)"],
        ("parts",),
    ),
    "clickhouse": (
        [
            "CREATE TABLE parts AS hidden_all.orders ENGINE = Merge('hidden_all', '^orders$')",
            "CREATE TABLE buffered AS hidden_all.orders "
            "ENGINE = Buffer('hidden_all', 'orders', 1, 10, 100, 10, 100, 10000, 100000)",
        ],
        ("parts", "buffered"),
    ),
}
"""Tables that show the rows of other tables, made in the database of everybody's rows; none of them may be read."""


def script_of(engine: str, *, own: bool) -> list[str]:
    """Return the statements that make the three tables, with everybody's rows or the reader's alone."""
    integer, text, money, moment = TYPES[engine]
    of = " ENGINE = MergeTree ORDER BY id" if engine == "clickhouse" else ""
    acme = {row[0] for row in ORDERS if row[1] == "acme"}
    tables = {
        "customers": (f"id {integer}, tenant_id {text}, name {text}, email {text}, balance {money}", CUSTOMERS),
        "orders": (
            f"id {integer}, tenant_id {text}, customer_id {integer}, amount {money}, status {text}, placed {moment}, "
            f"note {text}",
            ORDERS,
        ),
        "items": (f"id {integer}, order_id {integer}, qty {integer}", ITEMS),
    }
    script: list[str] = []
    for name, (columns, rows) in tables.items():
        kept = [row for row in rows if not own or (row[1] in acme if name == "items" else row[1] == "acme")]
        script += [f"CREATE TABLE {name} ({columns}){of}", f"INSERT INTO {name} VALUES {', '.join(map(str, kept))}"]
    return script if own else script + SHOWING_OTHERS[engine][0]


def made(engine: str, folder: Path, request: pytest.FixtureRequest, *, own: bool) -> str:
    """Make the tables and return the URL of their database."""
    script, name = script_of(engine, own=own), "hidden_own" if own else "hidden_all"
    file = folder / f"{name}.{engine}"
    if engine == "sqlite":
        with closing(sqlite3.connect(file)) as opened:
            opened.executescript(";".join(script))
        return f"sqlite:///{file}"
    if engine == "duckdb":
        import duckdb

        with duckdb.connect(str(file)) as opened:
            for item in script:
                opened.execute(item)
        return f"duckdb:///{file}"
    server: Any = request.getfixturevalue(engine)
    if engine == "clickhouse":
        server.execute(f"CREATE DATABASE IF NOT EXISTS {name}")
        for table in (*SHOWING_OTHERS[engine][1], "items", "orders", "customers"):
            server.execute(f"DROP TABLE IF EXISTS {name}.{table}")
        for item in script:
            server.execute(item.replace("TABLE ", f"TABLE {name}.").replace("INSERT INTO ", f"INSERT INTO {name}."))
        return str(server.url(name))
    joined = ";".join(script)
    if engine == "postgres":
        server.execute(f"DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name};\n\\c {name}\n{joined}; ANALYZE;")
        return str(server.url(database=name))
    server.execute(
        f"DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}; USE {name}; {joined}; ANALYZE TABLE orders;"
    )
    return str(server.url("root", name))


@dataclass(frozen=True)
class Twins:
    """The database with everybody's rows, and the one with the reader's alone."""

    engine: str
    everybody: Any
    own: Any
    catalog: Catalog


@pytest.fixture(scope="module")
def clickhouse() -> Iterator[ClickhouseServer]:
    with clickhouse_server() as running:
        yield running


@pytest.fixture(params=POLICIES.values(), ids=list(POLICIES))
def policy(request: pytest.FixtureRequest) -> dict[str, Any]:
    rules: dict[str, Any] = request.param
    return rules


@pytest.fixture(params=ENGINES)
async def twins(request: pytest.FixtureRequest, policy: dict[str, Any], tmp_path: Path) -> AsyncIterator[Twins]:
    engine = str(request.param)
    entries = [
        {
            "name": "own" if own else "everybody",
            "url": await asyncio.to_thread(made, engine, tmp_path, request, own=own),
            "role_may_write": True,
            "policy": policy,
            "pool": {"size": 2, "overflow": 0},
        }
        for own in (False, True)
    ]
    engines = Engines(children=4, reserved=1)
    everybody, own = engines.connected(parse_connections({"connections": entries}), metrics=Metrics("t"))
    await engines.start()
    catalog = await everybody.catalog()
    assert isinstance(catalog, Catalog), catalog
    yield Twins(engine, everybody, own, catalog)
    await engines.drain()


async def reported(database: Any, checked: Checked, policy: ConnectionPolicy) -> object:
    """Return everything that a reader learns of a run."""
    found = await database.run(checked.sql, rows_max=500, seconds_max=20.0, purpose=Purpose.EXECUTE)
    if isinstance(found, Failure):
        failure = without_values(found, policy)
        return failure.code, failure.detail, failure.facts
    warnings = engine_warnings(found.warnings, policy, has_hidden_rows=checked.has_hidden_rows)
    return sorted(map(str, found.rows)), found.row_count, found.truncated, warnings


async def test_an_answer_is_that_of_a_database_without_the_hidden_rows(twins: Twins, policy: dict[str, Any]) -> None:
    rules = ConnectionPolicy.model_validate(policy)
    run, differ = 0, list[str]()
    # Each policy tries every other statement. The server that stands in for ClickHouse takes them one at a time, each for
    # a good part of a second.
    tried = STATEMENTS[policy is BY_LOOKUP :: 6 if twins.engine == "clickhouse" else 2]
    for sql in (*tried, *FURTHER):
        checked = check(
            sql, dialect=twins.catalog.dialect, catalog=twins.catalog, policy=rules, row_limit=100, reader=READER
        )
        if isinstance(checked, Failure):
            continue
        run += 1
        everybody, own = await reported(twins.everybody, checked, rules), await reported(twins.own, checked, rules)
        if everybody != own:
            differ.append(f"{sql}\n  {checked.sql}\n  everybody: {everybody}\n  own: {own}")
    assert run > len(tried) // 3, f"only {run} statements ran"
    assert differ == [], f"{len(differ)} of {run} disclose hidden rows:\n" + "\n".join(differ[:5])


async def test_a_table_that_shows_another_ones_rows_is_refused(twins: Twins, policy: dict[str, Any]) -> None:
    for table in SHOWING_OTHERS[twins.engine][1]:
        refused = check(
            f"SELECT * FROM {table}",
            dialect=twins.catalog.dialect,
            catalog=twins.catalog,
            policy=ConnectionPolicy.model_validate(policy),
            row_limit=100,
            reader=READER,
        )
        assert isinstance(refused, Failure), table


async def test_a_plan_over_hidden_rows_is_refused(twins: Twins, policy: dict[str, Any]) -> None:
    prefix = "EXPLAIN QUERY PLAN" if twins.engine == "sqlite" else "EXPLAIN"
    refused = check(
        f"{prefix} SELECT id FROM orders WHERE amount > 800000",
        dialect=twins.catalog.dialect,
        catalog=twins.catalog,
        policy=ConnectionPolicy.model_validate(policy),
        row_limit=100,
        reader=READER,
    )
    assert isinstance(refused, Failure)
    assert refused.code is FailureCode.PERMISSION
