"""Claims on every statement: rendering is stable, only queries pass, nothing crashes or hangs, nothing is written."""

from __future__ import annotations

import gc
import random
import re
import sqlite3
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import Checked, check
from querybus.sql.guard.allowed.nodes import STATEMENT_NODES
from querybus.sql.guard.rules import GUARD_RULES
from querybus.sql.parse import Statement, parse

STATEMENT_SECONDS_MAX = 0.5
"""CPU time of the cheapest of three tries; generous, because tests share their machine. `make bench-guard` measures it."""

TABLES = tuple(
    Table(name=name, columns=tuple(Column(name=column, type="TEXT") for column in columns), primary_key=("id",))
    for name, columns in (("customer", ("id", "name", "city")), ("purchase", ("id", "customer_id", "amount")))
)
CATALOGS = {dialect: Catalog(connection="shop", dialect=dialect, tables=TABLES) for dialect in Dialect}
POLICY = ConnectionPolicy()


def decide(sql: str, dialect: Dialect) -> Checked | Failure:
    for tries_left in (2, 1, 0):
        # The collector would walk what all earlier tests have left, which is no cost of the statement.
        gc.disable()
        started = time.thread_time()
        decision = check(sql, dialect=dialect, catalog=CATALOGS[dialect], policy=POLICY, row_limit=10)
        taken = time.thread_time() - started
        gc.enable()
        if taken < STATEMENT_SECONDS_MAX:
            break
        assert tries_left, sql[:300]
    if isinstance(decision, Failure):
        assert decision.facts.rule in GUARD_RULES
    else:
        only_reads(decision.sql, dialect)
    return decision


def only_reads(sql: str, dialect: Dialect) -> None:
    statement = parse(sql, dialect)
    assert isinstance(statement, Statement)
    if statement.tree is not None:
        result = [node for node in statement.tree.walk() if isinstance(node, (*STATEMENT_NODES, exp.Into, exp.Lock))]
        assert result == [], sql


# ---- a grammar of queries ------------------------------------------------------------------------------------------

names = st.sampled_from(["id", "name", "city", "amount", "c.id", "p.amount", "c.name", '"name"', "nosuch"])
literals = st.sampled_from(["1", "'x'", "'it''s'", "NULL", "2.5", "-3", "'drop table customer; --'"])
scalars = st.recursive(
    names | literals,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "||", "=", "<", ">=", "<>", "AND", "OR", "LIKE"]), inner).map(
            lambda item: f"({item[0]} {item[1]} {item[2]})"
        ),
        st.tuples(st.sampled_from(["upper", "abs", "coalesce", "max", "count", "length"]), inner).map(
            lambda element: f"{element[0]}({element[1]})"
        ),
        inner.map(lambda entry: f"CASE WHEN {entry} THEN 1 ELSE 2 END"),
        inner.map(lambda value: f"CAST({value} AS TEXT)"),
        inner.map(lambda candidate: f"({candidate} IN (SELECT id FROM customer))"),
        inner.map(lambda element_: f"(NOT {element_})"),
    ),
    max_leaves=6,
)
sources = st.sampled_from(
    [
        "customer c JOIN purchase p ON c.id = p.customer_id",
        "customer c, purchase p",
        "customer c LEFT JOIN purchase p USING (id)",
        "(SELECT * FROM customer) c, purchase p",
        "customer c NATURAL JOIN purchase p",
        "purchase p",
    ]
)
tails = st.sampled_from(["", "LIMIT 3", "ORDER BY 1", "ORDER BY 1 LIMIT 500 OFFSET 2", "GROUP BY 1", "LIMIT 1 + 1"])


@st.composite
def queries(draw: st.DrawFn) -> str:
    columns = ", ".join(draw(st.lists(scalars, min_size=1, max_size=3)))
    where = draw(st.one_of(st.just(""), scalars.map(lambda item: f"WHERE {item}")))
    query = f"SELECT {columns} FROM {draw(sources)} {where} {draw(tails)}"
    return draw(
        st.sampled_from(
            [
                query,
                f"WITH t AS ({query}) SELECT * FROM t",
                f"{query} UNION ALL SELECT 1",
                f"SELECT * FROM ({query}) AS t",
            ]
        )
    )


@pytest.mark.long
@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(sql=queries(), dialect=st.sampled_from(list(Dialect)))
def test_what_we_render_renders_as_itself(sql: str, dialect: Dialect) -> None:
    once = decide(sql, dialect)
    if isinstance(once, Checked):
        again = decide(once.sql, dialect)
        assert isinstance(again, Checked), (sql, once.sql, again)
        assert again.sql == once.sql


# ---- mutations of the fixtures -------------------------------------------------------------------------------------

_FIXTURES = Path(__file__).parent / "sql"
SEEDS = [
    body.partition("\n=> ")[0].strip()
    for name in ("allowed.sql", "refused.sql")
    for body in re.split(r"^--: .+\n", (_FIXTURES / name).read_text(), flags=re.MULTILINE)[1:]
]
PIECES = [
    *"()[]{};,.:*'\"`@$#!~^&|<>=-+/%\\\n",
    "/*",
    "*/",
    "--",
    "::",
    "->",
    "||",
    "$$",
    *[
        "SELECT",
        "FROM",
        "WHERE",
        "JOIN",
        "UNION",
        "WITH",
        "AS",
        "INTO",
        "FOR",
        "UPDATE",
        "DELETE",
        "DROP",
        "INSERT",
        "LIMIT",
        "NULL",
        "CASE",
        "END",
        "LATERAL",
        "VALUES",
    ],
    "\x00",
    "\u00a0",
    "\ud800",
    "ﬀ",
    "表",
]


def mutated(chance: random.Random) -> str:
    text = chance.choice(SEEDS)
    for _ in range(chance.randint(1, 6)):
        at, to = sorted((chance.randint(0, len(text)), chance.randint(0, len(text))))
        match chance.randint(0, 5):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:at] + f" {chance.choice(PIECES)} " + text[at:]
            case 2:
                text = text[:at] + chance.choice(PIECES) * chance.choice((2, 30, 700)) + text[at:]
            case 3:
                text = text[:at] + text[at:to] * chance.choice((2, 20)) + text[to:]
            case 4:
                text = f"({text})" if chance.random() < 0.5 else f"{text} {chance.choice(SEEDS)}"
            case _:
                text = text[:at] + chance.choice(SEEDS)[: to - at] + text[to:]
    return text[:21_000]


@pytest.mark.long
@pytest.mark.parametrize("dialect", list(Dialect))
def test_no_mutation_crashes_hangs_or_passes_as_anything_but_a_query(dialect: Dialect) -> None:
    chance = random.Random(f"querybus {dialect}")
    for _ in range(400):
        decide(mutated(chance), dialect)


# ---- what nests, repeated ------------------------------------------------------------------------------------------

REPEATED = [
    "(",
    "[",
    "ARRAY[",
    "CASE WHEN ",
    "NOT ",
    "- ",
    "~",
    "DATE(",
    "CAST(",
    "coalesce(",
    "x -> ",
    "{'a': ",
    "EXISTS (SELECT 1 WHERE ",
    "INTERVAL ",
    "(SELECT ",
]
APPENDED = [
    "::int",
    " + 1",
    " || 'x'",
    " AND 1",
    " -> 'a'",
    "[1]",
    ".a",
    " = 1",
    " COLLATE x",
    " IS NULL",
    " UNION SELECT 1",
]


@pytest.mark.long
@pytest.mark.parametrize("dialect", list(Dialect))
def test_no_repetition_stalls_the_parser_or_the_renderer(dialect: Dialect) -> None:
    for times in (10, 38, 390, 5_000):
        for piece in REPEATED:
            closing = ")" if "(" in piece else "]" if "[" in piece else "}" if "{" in piece else ""
            decide(f"SELECT {piece * times}1{closing * times}"[:20_000], dialect)
        for piece in APPENDED:
            decide(f"SELECT id{piece * times}"[:20_000], dialect)
        for join in (" JOIN customer", " STRAIGHT_JOIN customer", ", customer", " JOIN customer USING (id)"):
            decide(f"SELECT 1 FROM purchase{join * times}"[:20_000], dialect)
    for seed in ("a", "a + a"):
        chain = ", ".join(f"{seed.replace('a', f'a{at - 1}')} AS a{at}" for at in range(1, 60))
        decide(f"SELECT id AS a0, {chain} FROM customer", dialect)
    stars = ", ".join(f"t{at} AS (SELECT *, * FROM t{at - 1})" for at in range(1, 40))
    decide(f"WITH t0 AS (SELECT * FROM customer), {stars} SELECT * FROM t39", dialect)


# ---- a real database without protection ----------------------------------------------------------------------------


def test_nothing_that_passes_changes_an_unprotected_sqlite_database(tmp_path: Path) -> None:
    path = tmp_path / "open.sqlite"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(
        "CREATE TABLE customer (id, name, city); CREATE TABLE purchase (id, customer_id, amount);"
        "INSERT INTO customer VALUES (1, 'a', 'b'), (2, 'c', 'd'); INSERT INTO purchase VALUES (1, 1, 5);"
    )
    connection.set_progress_handler(lambda: 1 if time.thread_time() > limit[0] else 0, 10_000)
    limit = [0.0]
    before = list(connection.iterdump())
    files = set(tmp_path.iterdir())
    chance = random.Random("open")
    ran = 0
    for statement in [*SEEDS, *(mutated(chance) for _ in range(400))]:
        decision = decide(statement, Dialect.SQLITE)
        if isinstance(decision, Checked):
            limit[0] = time.thread_time() + 1.0
            try:
                connection.execute(decision.sql).fetchall()
                ran += 1
            except sqlite3.Error:
                pass
            assert not connection.in_transaction, decision.sql
    assert ran > 20
    assert list(connection.iterdump()) == before
    assert set(tmp_path.iterdir()) == files
    assert connection.execute("PRAGMA database_list").fetchall()[0][1] == "main"
