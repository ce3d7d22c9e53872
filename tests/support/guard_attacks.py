"""Statements that try to read what a reader may not see, made from shapes: kind by kind and dialect by dialect.

The reader of these statements may see the rows of `orders` of one tenant, and `region` without its column `boss`; the
tables `secret` and `k` are not in the catalog at all. `orders` has the columns id, tenant and note. `nested` makes
queries of few names that shadow each other, for comparisons with what an engine says it reads.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from querybus.core.catalog import Dialect

OF_EACH_MIN: Final = 40
"""Statements of each kind and dialect."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One statement and what it tries."""

    kind: str
    dialect: Dialect
    sql: str


_POSITIONS: Final = (
    "SELECT {0}",
    "SELECT id FROM orders WHERE {0} IS NOT NULL",
    "SELECT id, {0} AS x FROM orders",
    "SELECT id FROM orders ORDER BY {0}",
    "SELECT COUNT(*) FROM orders GROUP BY {0}",
    "SELECT id FROM orders GROUP BY id HAVING MAX({0}) IS NOT NULL",
    "SELECT o.id FROM orders AS o JOIN region AS r ON {0} IS NOT NULL",
    "SELECT (SELECT {0})",
    "SELECT * FROM (SELECT {0} AS x FROM orders) AS d",
    "WITH c AS (SELECT {0} AS x FROM orders) SELECT * FROM c",
    "SELECT 'a' UNION ALL SELECT {0}",
    "SELECT CASE WHEN {0} IS NOT NULL THEN 1 ELSE 0 END FROM orders",
    "SELECT MAX({0}) FROM orders",
    "SELECT COALESCE({0}, {0}) FROM region",
)


def _everywhere(expressions: tuple[str, ...]) -> Iterator[str]:
    for position in _POSITIONS:
        for expression in expressions:
            yield position.format(expression)


def _quotings(name: str, dialect: Dialect) -> tuple[str, ...]:
    mark = "`" if dialect in (Dialect.MYSQL, Dialect.BIGQUERY, Dialect.CLICKHOUSE) else '"'
    return name, name.upper(), f"{mark}{name}{mark}", f"{mark}{name.title()}{mark}"


def _table_behind_in(dialect: Dialect) -> Iterator[str]:
    targets = (
        "secret", "(secret)", "((secret))", "'secret'", '"secret"', "main.secret", "shop.secret", "secret.word",
        "(secret, secret)", "(SELECT * FROM secret)", "(TABLE secret)", "orders", "(orders)",
    )  # fmt: skip
    for target in targets:
        for operand in ("'LEAK'", "('LEAK')", "(1, 'other', 'LEAK')", "note"):
            for word in ("IN", "NOT IN"):
                source = " FROM orders" if operand == "note" else ""
                yield f"SELECT 1{source} WHERE {operand} {word} {target}"
                yield f"SELECT CASE WHEN {operand} {word} {target} THEN 'yes' END{source}"
    yield from ("SELECT 1 WHERE 'LEAK' GLOBAL IN secret", "SELECT 1 PREWHERE 'LEAK' IN secret")


def _with_name(dialect: Dialect) -> Iterator[str]:
    bodies = (
        "SELECT * FROM {0}", "SELECT 1 AS id", "SELECT * FROM {0} UNION ALL SELECT * FROM {0}", "SELECT * FROM other_one",
        "SELECT * FROM (SELECT * FROM {0}) AS d",
    )  # fmt: skip
    readers = (
        "SELECT * FROM {0}", "SELECT * FROM {0} AS a, {0} AS b", "SELECT * FROM (SELECT * FROM {0}) AS d",
        "SELECT (SELECT MAX(note) FROM {0})", "SELECT * FROM region WHERE id IN (SELECT id FROM {0})",
        "SELECT * FROM {0} UNION ALL SELECT * FROM {0}", "WITH inner_one AS (SELECT * FROM {0}) SELECT * FROM inner_one",
    )  # fmt: skip
    for name in ("orders", "secret"):
        for word in ("WITH", "WITH RECURSIVE"):
            for body in bodies:
                for reader in readers:
                    if not reader.startswith("WITH"):
                        yield f"{word} {name} AS ({body.format(name)}) {reader.format(name)}"
        for reader in readers:
            yield f"SELECT * FROM (WITH {name} AS (SELECT 1 AS id) SELECT * FROM {name}) AS d, ({reader.format(name)}) AS e"
            yield f"WITH a AS (WITH {name} AS (SELECT 1 AS id) SELECT * FROM {name}) {reader.format(name)}"
    if dialect is Dialect.CLICKHOUSE:
        for name in ("orders", "secret"):
            for reader in readers:
                yield f"WITH 1 AS {name} {reader.format(name)}"
                yield f"WITH (SELECT 1) AS {name} {reader.format(name)}"


def _folding(dialect: Dialect) -> Iterator[str]:
    # Letters that lower() of some language folds to an ASCII letter, and letters that only some engines fold at all.
    names = ("\u212a", "K", "ſecret", "SECRET", "ＳＥＣＲＥＴ", "ｋ", "ORDERſ", "order\u0455", "ORDERS", "OrDeRs")
    for name in names:
        for other in ("k", "secret", "orders"):
            yield f"WITH {name} AS (SELECT 1 AS id) SELECT * FROM {other}"
            yield f'WITH "{name}" AS (SELECT 1 AS id) SELECT * FROM {other}'
            yield f"SELECT * FROM {name} AS {other}, {other} AS b"
            yield f"SELECT {other}.* FROM (SELECT 1 AS id) AS {name}, orders AS {other}"
        for quoted in _quotings(name, dialect):
            yield f"SELECT * FROM {quoted}"


def _other_schema(dialect: Dialect) -> Iterator[str]:
    schemas = ("public", "main", "shop", "other", "information_schema", "pg_catalog", "temp", "system", "sys", "mysql")
    for schema in schemas:
        for table in ("secret", "orders", "tables", "k"):
            for quoted in _quotings(table, dialect)[:3:2]:
                yield f"SELECT * FROM {schema}.{quoted}"
                yield f"SELECT * FROM region WHERE id IN (SELECT id FROM {schema}.{quoted})"
        yield f"SELECT {schema}.secret.word FROM orders"
    yield from (f"SELECT * FROM orders.{schema}" for schema in schemas)


def _denied_column(dialect: Dialect) -> Iterator[str]:
    names = _quotings("boss", dialect)
    for name in names:
        yield from _everywhere((f"(SELECT MAX({name}) FROM region)",))
        yield from (
            f"SELECT {name} FROM region", f"SELECT r.{name} FROM region AS r", f"SELECT region.{name} FROM region",
            f"SELECT id FROM region ORDER BY {name}", f"SELECT id FROM region WHERE {name} = 'LEAK'",
            f"SELECT a.id FROM region AS a JOIN region AS b ON a.{name} = b.{name}",
            f"SELECT a.id FROM region AS a JOIN region AS b USING ({name})",
        )  # fmt: skip
    yield from (
        "SELECT * FROM region", "SELECT r.* FROM region AS r", "SELECT region FROM region", "SELECT r FROM region AS r",
        "SELECT * FROM region AS r (a, b, c)", "SELECT c FROM region AS r (a, b, c)", "SELECT * FROM orders NATURAL JOIN region",
        "SELECT o.* FROM orders AS o, (SELECT * FROM region) AS r", "SELECT x.* FROM (SELECT r.* FROM region AS r) AS x",
        "SELECT (SELECT r.boss FROM region AS r WHERE r.id = o.id) FROM orders AS o", "SELECT COUNT(boss) FROM region",
        "SELECT * FROM region UNION ALL SELECT 1, 'a', 'b'", "SELECT 1, 'a', 'b' UNION ALL SELECT * FROM region",
        "SELECT (SELECT o.*) FROM region AS o", "SELECT * FROM (orders AS o JOIN region AS r ON o.id = r.id)",
    )  # fmt: skip


def _function_as_column(dialect: Dialect) -> Iterator[str]:
    sources = (
        "unnest(ARRAY['select to_tsvector(word) from secret']) AS f", "generate_series(1, 2) AS f",
        "(SELECT 'select to_tsvector(word) from secret' AS f) AS d", "string_to_table('a,b', ',') AS f",
        "region AS f", "json_each('[1]') AS f", "(VALUES ('select word from secret')) AS f",
    )  # fmt: skip
    functions = (
        "ts_stat",
        "pg_sleep",
        "query_to_xml",
        "current_setting",
        "pg_read_file",
        "row_to_json",
        "file",
        "sleep",
    )
    for source in sources:
        for function in functions:
            yield f"SELECT f.{function} FROM {source}"
            yield f"SELECT (f).{function} AS {function} FROM {source}"
            yield f"SELECT id FROM orders WHERE EXISTS (SELECT f.{function} FROM {source})"


def _function_by_name(dialect: Dialect) -> Iterator[str]:
    functions = ("file", "sleep", "url", "readfile", "load_file", "getenv", "current_setting", "pg_read_file", "system")
    for function in functions:
        yield f"SELECT * APPLY({function}) FROM (SELECT '/etc/passwd' AS p)"
        yield f"SELECT COLUMNS('.*') APPLY({function}) FROM (SELECT '/etc/passwd' AS p)"
        yield f"WITH 1 AS one SELECT arrayMap({function}, ['/etc/passwd'])"
        yield f"SELECT list_transform(['/etc/passwd'], x -> {function}(x))"
        yield f"SELECT list_transform(['/etc/passwd'], {function})"
        yield f"SELECT {function}('/etc/passwd')"
        yield f"SELECT note FROM orders WHERE {function}('/etc/passwd') IS NOT NULL"


def _side_channel(dialect: Dialect) -> Iterator[str]:
    number = {Dialect.CLICKHOUSE: "toInt32(note)", Dialect.BIGQUERY: "CAST(note AS INT64)"}.get(
        dialect, "CAST(note AS INTEGER)"
    )
    text = "'LEAK'"
    expressions = (
        number, f"1 / (CASE WHEN note = {text} THEN 0 ELSE 1 END)", f"1 / (LENGTH(note) - LENGTH({text}))",
        "(SELECT r.id FROM region AS r WHERE r.id <= 2 AND orders.note LIKE 'LEA%')",
        "MOD(1, CASE WHEN tenant = 'other' THEN 0 ELSE 1 END)",
    )  # fmt: skip
    for expression in expressions:
        yield f"SELECT {expression} AS x FROM orders"
        yield f"SELECT id FROM orders WHERE {expression} > 0"
        yield f"SELECT x FROM (SELECT {expression} AS x FROM orders) AS z WHERE x > 0"
        yield f"WITH z AS (SELECT {expression} AS x FROM orders) SELECT MAX(x) FROM z"
        yield f"SELECT id FROM orders ORDER BY {expression}"
        yield f"SELECT MAX({expression}) FROM orders"
        yield f"SELECT orders.id FROM orders JOIN region ON {expression} = region.id"
        yield f"SELECT r.id FROM region AS r WHERE EXISTS (SELECT 1 FROM orders WHERE {expression} = r.id)"
        yield f"SELECT id, SUM({expression}) OVER (ORDER BY id) FROM orders"


def _string_ends_early(dialect: Dialect) -> Iterator[str]:
    # Statements whose texts end elsewhere for whoever reads a backslash, a doubled quote or a comment differently.
    openings = ("'\\'", "'a\\'", "'a''\\'", "'\\\\'", "E'\\''", "U&'\\0027'", "'a' -- '", "'a' /* '", "$$'$$", "N'\\'")
    tails = (
        " UNION ALL SELECT word FROM secret --", ", ' FROM orders UNION ALL SELECT word FROM secret -- '",
        " AS a, ' UNION ALL SELECT word FROM secret --' AS b FROM orders", " || (SELECT MAX(word) FROM secret) -- '",
        " AS a, ' FROM secret --' AS c FROM orders", " */ UNION ALL SELECT word FROM secret /* '",
    )  # fmt: skip
    for opening in openings:
        for tail in tails:
            yield f"SELECT {opening}{tail}"


def _query_as_array(dialect: Dialect) -> Iterator[str]:
    queries_ = (
        "(SELECT groupArray(note) FROM orders)", "(SELECT groupArray(1) FROM secret)", "(SELECT groupArray(word) FROM secret)",
        "(SELECT groupArray(boss) FROM region)", "(SELECT * FROM secret)", "(SELECT groupArray(o.note) FROM orders AS o)",
        "(SELECT groupArray(note) FROM region JOIN orders ON 1 = 1)", "(WITH c AS (SELECT * FROM orders) SELECT note FROM c)",
    )  # fmt: skip
    for query in queries_:
        yield f"SELECT n FROM orders ARRAY JOIN {query} AS n"
        yield f"SELECT n FROM region LEFT ARRAY JOIN {query} AS n"
        yield f"SELECT n FROM orders ARRAY JOIN [1] AS x, {query} AS n"
        yield f"SELECT n FROM orders ARRAY JOIN arrayConcat({query}, []) AS n"
        yield f"SELECT n FROM orders ARRAY JOIN arrayMap(x -> {query}, [1]) AS n"
        yield f"SELECT n FROM (SELECT 1 AS id) AS d ARRAY JOIN {query} AS n"
    yield "SELECT n FROM orders ARRAY JOIN secret AS n"
    yield "SELECT n FROM orders ARRAY JOIN secret.word AS n"


KINDS: Final[dict[str, Callable[[Dialect], Iterator[str]]]] = {
    "a table behind IN": _table_behind_in,
    "a WITH table with a table's name": _with_name,
    "letters that fold": _folding,
    "another schema": _other_schema,
    "a denied column": _denied_column,
    "a function named as a column": _function_as_column,
    "a function by its bare name": _function_by_name,
    "an error of a hidden row": _side_channel,
    "a text that ends early": _string_ends_early,
    "a query as an array": _query_as_array,
}


def attacks() -> Iterator[Attack]:
    """Yield every statement of every kind for every dialect."""
    for kind, make in KINDS.items():
        for dialect in Dialect:
            for sql in dict.fromkeys(make(dialect)):
                yield Attack(kind, dialect, sql)


_NAMES: Final = ("orders", "orders", "region", "region", "a", "k")


def nested(source: random.Random, depth: int = 3) -> str:
    """Return a query of nested WITH tables, set operations, derived tables and IN over few names."""
    name, other = source.choice(_NAMES), source.choice(_NAMES)
    if depth == 0:
        return source.choice((f"SELECT id FROM {name}", f"SELECT {name}.id FROM {name}", "SELECT 1 AS id"))
    one, two = nested(source, depth - 1), nested(source, depth - 1)
    recursive = source.choice(("", "RECURSIVE "))
    shapes = [
        f"WITH {recursive}{name} AS ({one}), {other}2 AS (SELECT id FROM {other}) SELECT id FROM {other}2",
        f"WITH {recursive}{name} AS ({one}) SELECT {name}.id FROM {name}",
        f"WITH {recursive}{name} AS ({one} UNION ALL SELECT id FROM {name} WHERE id < 0) SELECT id FROM {name}",
        f"SELECT id FROM ({one}) AS {name}",
        f"SELECT {name}.id FROM ({one}) AS {name} JOIN {other} ON {name}.id = {other}.id",
        f"SELECT id FROM {name} WHERE id IN ({one})",
        f"SELECT id FROM {other} WHERE EXISTS ({one})",
        f"SELECT id FROM {other} AS {name} WHERE (SELECT MAX(id) FROM ({one}) AS {other}) > 0",
        f"SELECT id FROM ({one}) AS {name} UNION ALL SELECT id FROM ({two}) AS {other}",
    ]
    if not two.startswith("WITH"):
        shapes.append(f"WITH {recursive}{name} AS ({one}) {two}")
    return source.choice(shapes)


def queries(seed: int, count: int) -> Iterator[str]:
    """Yield so many different queries of `nested`, the same for the same seed."""
    source = random.Random(seed)

    def fresh() -> Iterator[str]:
        seen = set[str]()
        while True:
            sql = nested(source, source.choice((1, 2, 2, 3)))
            if sql not in seen:
                seen.add(sql)
                yield sql

    yield from islice(fresh(), count)
