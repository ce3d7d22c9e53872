"""Claims on what passes: run by an all-powerful user on real engines without any protection, it changes nothing.

Drawn from a grammar, from the fixtures and, where it is there, from the corpus of attacks, each mutated, seeded. The
executor's own protection is not in play: what a statement could change is compared before and after.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import duckdb
import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import Checked, check
from tests.support.database_servers import mariadb_server, postgres_server

ROOT = Path(__file__).parents[4]
DATA = Path(os.environ.get("QUERYBUS_DATA", ROOT.parent / "shared" / "data"))
FIXTURES = Path(__file__).parents[1] / "sql"
STATEMENTS_MAX = 900
RUN_SECONDS_MAX = 1.0
CHECK_SECONDS_MAX = 0.5
"""CPU time of one check; the requirement is 0.1 s, tests share their machine."""
RAN_MIN = 60
PIECES = [
    "SELECT", "FROM customer", "UNION ALL SELECT 1", "WHERE 1 = 1", "INTO x", "FOR UPDATE", "; DROP TABLE customer",
    "RETURNING *", "nextval('s')", "set_config('a.b', 'c', false)", "pg_sleep(1)", "sleep(1)", "AS MATERIALIZED",
    "(DELETE FROM customer)", "@a := 1", "/*! DELETE */", "lo_create(1)", "getvariable('x')", "LIMIT 1", "'", "\"", "(", ")", "--",
    "query('DELETE FROM customer')", "read_csv('/etc/passwd')", "COLUMNS(*)", "LATERAL", "::regclass", "||", "name",
]  # fmt: skip
CATALOGS = {
    dialect: Catalog(
        connection="shop",
        dialect=dialect,
        default_schema={Dialect.DUCKDB: "main", Dialect.POSTGRESQL: "public", Dialect.MYSQL: "shop"}[dialect],
        tables=tuple(
            Table(
                name=name,
                columns=tuple(Column(name=column, type=kind) for column, kind in columns),
                primary_key=("id",),
            )
            for name, columns in (
                ("customer", (("id", "INTEGER"), ("name", "TEXT"), ("city", "TEXT"))),
                ("purchase", (("id", "INTEGER"), ("customer_id", "INTEGER"), ("amount", "INTEGER"))),
            )
        ),
    )
    for dialect in (Dialect.DUCKDB, Dialect.POSTGRESQL, Dialect.MYSQL)
}
MAKE = [
    "CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR(50), city VARCHAR(50))",
    "CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer_id INTEGER, amount INTEGER)",
    "INSERT INTO customer VALUES (1, 'Ann', 'Rome'), (2, 'Bo', 'Oslo'), (3, NULL, 'Rome')",
    "INSERT INTO purchase VALUES (1, 1, 5), (2, 1, 7), (3, 2, 9)",
]


def seeds(dialect: Dialect) -> list[str]:
    result = [
        body.partition("\n=> ")[0].strip()
        for name in ("allowed.sql", "refused.sql")
        for body in re.split(r"^--: .+\n", (FIXTURES / name).read_text(), flags=re.MULTILINE)[1:]
    ]
    corpus = DATA / "guard" / "statements.jsonl"
    if corpus.is_file():
        lines = [json.loads(line) for line in corpus.read_text().splitlines()]
        result += [line["sql"] for line in lines if line["dialect"] == dialect.value]
    return result


def statements(dialect: Dialect) -> Iterator[str]:
    """Give the statements, the same in every run."""
    known = seeds(dialect)
    chance = random.Random(f"unprotected {dialect}")
    yield from known
    for _ in range(STATEMENTS_MAX // 3):
        yield _drawn(chance)
    for _ in range(STATEMENTS_MAX):
        text = chance.choice(known) if chance.random() < 0.6 else _drawn(chance)
        for _ in range(chance.randint(1, 3)):
            at, to = sorted((chance.randint(0, len(text)), chance.randint(0, len(text))))
            match chance.randint(0, 3):
                case 0:
                    text = f"{text[:at]} {chance.choice(PIECES)} {text[at:]}"
                case 1:
                    text = text[:at] + text[min(to, at + 6) :]
                case 2:
                    text = f"{text} {chance.choice(PIECES)}"
                case _:
                    text = f"SELECT * FROM ({text}) AS x"
        yield text


def _drawn(chance: random.Random) -> str:
    columns = [
        "c.id",
        "c.name",
        "p.amount",
        "COUNT(*)",
        "SUM(p.amount)",
        "UPPER(c.name)",
        "CASE WHEN c.id > 1 THEN 1 END",
    ]
    conditions = ["1 = 1", "c.id > 1", "c.name LIKE 'A%'", "p.amount BETWEEN 1 AND 8", "c.city IS NULL",
                  "EXISTS (SELECT 1 FROM purchase q WHERE q.customer_id = c.id)"]  # fmt: skip
    return (
        f"SELECT {', '.join(chance.sample(columns, chance.randint(1, 3)))} FROM customer c "
        f"{chance.choice(['JOIN', 'LEFT JOIN', 'CROSS JOIN'])} purchase p "
        f"{chance.choice(['ON p.customer_id = c.id', 'USING (id)', ''])} WHERE {chance.choice(conditions)} "
        f"{chance.choice(['', 'ORDER BY 1', 'LIMIT 2', 'GROUP BY 1', 'GROUP BY c.id, c.name, p.amount'])}"
    )


def _checked_in_time(sql: str, dialect: Dialect) -> Checked | Failure:
    """Return the decision. A statement is too dear when it is so three times: once may be a collection of garbage."""
    seconds: list[float] = []
    while True:
        started = time.thread_time()
        decision = check(sql, dialect=dialect, catalog=CATALOGS[dialect], policy=ConnectionPolicy(), row_limit=20)
        seconds.append(time.thread_time() - started)
        if seconds[-1] < CHECK_SECONDS_MAX:
            return decision
        assert len(seconds) < 3, sql[:300]


def run_all(dialect: Dialect, run: Callable[[str], None], state: Callable[[], object]) -> None:
    """Run whatever passes and compare the state before, every so often, and after."""
    before = state()
    since: list[str] = []
    ran = 0
    for sql in statements(dialect):
        decision = _checked_in_time(sql, dialect)
        if isinstance(decision, Failure):
            continue
        assert isinstance(decision, Checked)
        since.append(decision.sql)
        with contextlib.suppress(duckdb.Error, asyncpg.PostgresError, asyncpg.InterfaceError, RuntimeError, OSError):
            run(decision.sql)
            ran += 1
        if len(since) >= 50:
            assert state() == before, since
            since.clear()
    assert state() == before, since
    assert ran >= RAN_MIN, ran


@pytest.mark.slow
def test_nothing_that_passes_changes_an_unprotected_duckdb(tmp_path: Path) -> None:
    opened = duckdb.connect(str(tmp_path / "shop.duckdb"), config={"threads": 1, "memory_limit": "512MB"})
    for item in MAKE:
        opened.execute(item)
    opened.execute("CREATE SEQUENCE s")

    def run(sql: str) -> None:
        timer = threading.Timer(RUN_SECONDS_MAX, opened.interrupt)
        timer.start()
        try:
            opened.execute(sql).fetchmany(50)
        finally:
            timer.cancel()

    def state() -> object:
        texts = [
            "SELECT * FROM customer ORDER BY id",
            "SELECT * FROM purchase ORDER BY id",
            "SELECT table_name FROM duckdb_tables() ORDER BY 1",
            "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1",
            "SELECT sequence_name, last_value FROM duckdb_sequences()",
            "SELECT type_name FROM duckdb_types() WHERE NOT internal ORDER BY 1",
            "SELECT name, value FROM duckdb_settings() ORDER BY 1",
            "SELECT database_name FROM duckdb_databases() ORDER BY 1",
            "SELECT name FROM duckdb_secrets()",
        ]
        kept = [opened.execute(text).fetchall() for text in texts]
        return kept, sorted(path.name for path in tmp_path.iterdir() if not path.name.endswith(".wal"))

    run_all(Dialect.DUCKDB, run, state)
    opened.close()


@pytest.mark.servers
def test_nothing_that_passes_changes_an_unprotected_postgresql(tmp_path: Path) -> None:
    with postgres_server() as server, asyncio.Runner() as loop:
        server.execute("CREATE DATABASE shop;")
        server.execute(";\n".join([*MAKE, "CREATE SEQUENCE s", ""]), "shop")
        opened: Any = loop.run(asyncpg.connect(server.url("postgres", "shop")))
        looking: Any = loop.run(asyncpg.connect(server.url("postgres", "shop")))
        loop.run(opened.execute(f"SET statement_timeout = {int(RUN_SECONDS_MAX * 1_000)}"))

        def run(sql: str) -> None:
            loop.run(asyncio.wait_for(opened.fetch(sql), 5))

        async def look() -> object:
            texts = [
                "SELECT * FROM customer ORDER BY id",
                "SELECT * FROM purchase ORDER BY id",
                "SELECT oid, relname, relkind FROM pg_class ORDER BY oid",
                "SELECT last_value, is_called FROM s",
                "SELECT rolname, rolsuper FROM pg_roles ORDER BY 1",
                "SELECT oid, proname FROM pg_proc WHERE oid > 16383 ORDER BY 1",
                "SELECT oid, typname FROM pg_type WHERE oid > 16383 ORDER BY 1",
                "SELECT oid FROM pg_largeobject_metadata",
                "SELECT extname FROM pg_extension ORDER BY 1",
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'",
                "SELECT pg_current_logfile()",
            ]
            own = await opened.fetch("SELECT name, setting FROM pg_settings WHERE source = 'session' ORDER BY 1")
            return [await looking.fetch(text) for text in texts], own

        run_all(Dialect.POSTGRESQL, run, lambda: loop.run(look()))
        loop.run(opened.close())
        loop.run(looking.close())


@pytest.mark.servers
def test_nothing_that_passes_changes_an_unprotected_mariadb() -> None:
    import asyncmy
    from asyncmy.errors import MySQLError

    with mariadb_server() as server, asyncio.Runner() as loop:
        server.execute("CREATE DATABASE shop; CREATE USER all_@'127.0.0.1'; GRANT ALL ON *.* TO all_@'127.0.0.1';")
        server.execute("USE shop;" + ";".join([*MAKE, ""]))
        opened: Any = loop.run(asyncmy.connect(host="127.0.0.1", port=server.port, user="all_", db="shop"))

        async def answer(sql: str) -> object:
            cursor = opened.cursor()
            try:
                await cursor.execute(sql)
                return await cursor.fetchall()
            finally:
                await cursor.close()

        loop.run(answer(f"SET SESSION max_statement_time = {RUN_SECONDS_MAX}"))
        loop.run(answer("COMMIT"))

        def run(sql: str) -> None:
            try:
                loop.run(answer(sql))
            except MySQLError as error:
                raise RuntimeError from error

        texts = (
            "SELECT * FROM shop.customer ORDER BY id; SELECT * FROM shop.purchase ORDER BY id; SHOW TABLES FROM shop;"
            "SELECT user, host FROM mysql.user ORDER BY 1, 2; SHOW DATABASES; SELECT name FROM mysql.proc;"
            "SHOW GLOBAL VARIABLES WHERE variable_name NOT IN ('timestamp', 'gtid_binlog_pos', 'rand_seed1');"
        )

        def state() -> object:
            own = loop.run(answer("SELECT variable_name, session_value FROM information_schema.system_variables WHERE "
                                  "variable_name NOT LIKE '%TIMESTAMP%' AND variable_name NOT LIKE 'RAND_SEED%' AND "
                                  "variable_name NOT LIKE '%INSERT_ID' AND variable_name NOT LIKE '%GTID%' AND "
                                  "variable_name NOT IN ('PSEUDO_THREAD_ID', 'WARNING_COUNT', 'ERROR_COUNT', 'IN_TRANSACTION')"))  # fmt: skip
            users = loop.run(answer("SELECT variable_name, variable_value FROM information_schema.user_variables"))
            return server.execute(texts), own, users

        run_all(Dialect.MYSQL, run, state)
        opened.close()
