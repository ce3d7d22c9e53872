"""Two databases of one schema: everybody's rows, and the rows of one reader alone; with policies between them."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.ops.metrics import Metrics
from querybus.sql.check import Checked
from querybus_cli.evaluation.hidden_rows.statements import PolicyStatement
from querybus_cli.evaluation.hidden_rows.trial import Figures, Learnt, Trial, leak_of
from querybus_executor.connections.config import parse_connections
from querybus_executor.engines.registry import Engines

READER = Reader("acme", "ann")
BY_TENANT = {
    "row_filters": {
        "customers": "tenant_id = :tenant",
        "orders": "tenant_id = :tenant AND status <> 'void'",
        "items": "order_id IN (SELECT id FROM orders WHERE tenant_id = :tenant AND status <> 'void')",
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
"""Tables that show the rows of other tables, made in both databases; none of them may be read."""


def script_of(engine: str, *, own: bool, policy: Mapping[str, Any] = BY_LOOKUP, copies: int = 1) -> list[str]:
    """Return the statements that make the three tables, with everybody's rows or the reader's alone."""
    integer, text, money, moment = TYPES[engine]
    of = " ENGINE = MergeTree ORDER BY id" if engine == "clickhouse" else ""
    without_void = "void" in policy["row_filters"]["orders"]
    acme = {row[0] for row in ORDERS if row[1] == "acme" and not (without_void and row[4] == "void")}
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
        kept = [row for row in rows if not own or _is_own(name, row, acme)]
        if name == "orders":
            kept = [(row[0] + number * len(ORDERS), *row[1:]) for number in range(copies) for row in kept]
        script += [f"CREATE TABLE {name} ({columns}){of}", f"INSERT INTO {name} VALUES {', '.join(map(str, kept))}"]
    others = SHOWING_OTHERS[engine][0]
    return script + ([statement.replace("hidden_all", "hidden_own") for statement in others] if own else others)


def _is_own(table: str, row: tuple[Any, ...], orders: set[int]) -> bool:
    if table == "customers":
        return row[1] == "acme"
    return row[1 if table == "items" else 0] in orders


def make_database(
    engine: str, folder: Path, server: Any, *, own: bool, policy: Mapping[str, Any] = BY_LOOKUP, copies: int = 1
) -> str:
    """Make the tables in a file of the folder, or on the server of that engine, and return the URL of their database."""
    script, name = script_of(engine, own=own, policy=policy, copies=copies), "hidden_own" if own else "hidden_all"
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

    @staticmethod
    def for_own(checked: Checked) -> Checked:
        """Return a statement that was checked for everybody's database as it reads on the other: by that one's own name."""
        return replace(checked, sql=checked.sql.replace("hidden_all", "hidden_own"))

    async def learn_of_own(self, trial: Trial, checked: Checked) -> Learnt:
        """Return what a reader learns of a statement over the reader's rows alone, in the words of everybody's database."""
        learnt = await trial.learn(self.for_own(checked), self.own)
        return replace(learnt, detail=learnt.detail.replace("hidden_own", "hidden_all"))


async def compare_with_twin(
    twins: Twins,
    policy: ConnectionPolicy,
    statements: Iterable[PolicyStatement],
    on_statement: Callable[[], object] = lambda: None,
) -> Figures:
    """Run each statement over everybody's rows and over the reader's alone, and count what differs and what is refused.

    What runs over the reader's rows as it was written says which statements are harmless, and what they mean.
    """
    trial, figures = Trial(twins.everybody, twins.catalog, policy, READER), Figures()
    for statement in statements:
        figures.count_made(statement.shape)
        on_statement()
        plain = trial.check_without_protection(statement.sql)
        meant = None if isinstance(plain, Failure) else await twins.learn_of_own(trial, plain)
        is_harmless = meant is not None and meant.is_answer and not statement.is_invalid
        checked = trial.check(statement.sql)
        if isinstance(checked, Failure):
            figures.refused += 1
            if is_harmless:
                figures.count_refusal(statement.shape, checked.detail)
            continue
        everybody, own = await trial.learn(checked), await twins.learn_of_own(trial, checked)
        figures.count_learnt(everybody)
        leaked = leak_of(statement, everybody, own)
        if leaked is not None:
            figures.count_leak(leaked)
        elif is_harmless and not statement.may_fail and not everybody.is_answer:
            figures.count_refusal(statement.shape, f"{everybody.code}: {everybody.detail}")
        elif is_harmless and everybody.is_answer and "*" not in statement.sql.replace("(*)", ""):
            assert meant is not None
            assert everybody.rows == meant.rows, f"{statement.sql} means otherwise: {checked.sql}"
    return figures


@asynccontextmanager
async def opened_twins(
    engine: str, policy: dict[str, Any], folder: Path, server: Any, *, copies: int = 1
) -> AsyncGenerator[Twins]:
    """Make both databases, the orders so many times, and open them under a policy."""
    entries = [
        {
            "name": "own" if own else "everybody",
            "url": await asyncio.to_thread(
                make_database, engine, folder, server, own=own, policy=policy, copies=copies
            ),
            "role_may_write": True,
            "policy": policy,
            "pool": {"size": 2, "overflow": 0},
        }
        for own in (False, True)
    ]
    engines = Engines(children=4, reserved=1)
    everybody, own = engines.connected(parse_connections({"connections": entries}), metrics=Metrics("t"))
    await engines.start()
    try:
        catalog = await everybody.catalog()
        assert isinstance(catalog, Catalog), catalog
        yield Twins(engine, everybody, own, catalog)
    finally:
        await engines.drain()
