"""Statements about hidden rows, made of a database's own tables: each shape of a query with each kind of condition.

A statement with a guess has a twin with another guess. No row of the reader meets either, so that both have to look the
same to that reader. Equal seeds make equal statements.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from querybus.core.catalog import Dialect
from querybus.engines import ENGINES
from querybus_cli.evaluation.hidden_rows.material import ExaminedTable, Guess, Join

ROWS_SHOWN: Final = 5
FAILING_SHARE: Final = 0.6

_SHAPES: Final[dict[str, str]] = {
    "guess first": "SELECT a.{k} FROM {T} AS a WHERE {p} AND {q}",
    "guess last": "SELECT a.{k} FROM {T} AS a WHERE {q} AND {p}",
    "either": "SELECT a.{k} FROM {T} AS a WHERE {p} OR {q}",
    "negation": "SELECT a.{k} FROM {T} AS a WHERE NOT ({p}) AND {q}",
    "case as condition": "SELECT a.{k} FROM {T} AS a WHERE CASE WHEN {p} AND {q} THEN 1 ELSE 0 END = 1",
    "case shown": "SELECT a.{k}, CASE WHEN {p} AND {q} THEN 1 ELSE 0 END AS v FROM {T} AS a",
    "aggregates": "SELECT COUNT(*) AS n, MIN(a.{k}) AS m, MAX(a.{c}) AS x FROM {T} AS a WHERE {p} OR {q}",
    "aggregate of a case": "SELECT SUM(CASE WHEN {p} AND {q} THEN 1 ELSE 0 END) AS n FROM {T} AS a",
    "distinct": "SELECT DISTINCT a.{c} FROM {T} AS a WHERE {p} OR {q}",
    "grouped": "SELECT a.{c}, COUNT(*) AS n FROM {T} AS a WHERE {q} GROUP BY a.{c}",
    "having": "SELECT a.{c} FROM {T} AS a WHERE {q} GROUP BY a.{c} HAVING SUM(CASE WHEN {p} THEN 1 ELSE 0 END) > 0",
    "window": "SELECT a.{k}, COUNT(*) OVER () AS n, ROW_NUMBER() OVER (ORDER BY a.{k}) AS r FROM {T} AS a WHERE {q}",
    "window of a case": "SELECT a.{k}, SUM(CASE WHEN {p} AND {q} THEN 1 ELSE 0 END) OVER () AS n FROM {T} AS a",
    "first rows": "SELECT a.{k} FROM {T} AS a WHERE {q} ORDER BY a.{k} {limit}",
    "order by the guess": "SELECT a.{k} FROM {T} AS a ORDER BY CASE WHEN {p} AND {q} THEN 0 ELSE 1 END, a.{k} {limit}",
    "join": "SELECT COUNT(*) AS n FROM {T} AS a JOIN {U} AS b ON {j} AND {p} AND {q}",
    "join, guess in where": "SELECT a.{k}, b.{l} FROM {T} AS a JOIN {U} AS b ON {j} WHERE {p} AND {q}",
    "left join": "SELECT b.{l}, a.{k} FROM {U} AS b LEFT JOIN {T} AS a ON {j} AND {p} AND {q}",
    "joined from the left": "SELECT COUNT(*) AS n FROM {T} AS a LEFT JOIN {U} AS b ON {j} AND {p} WHERE {q}",
    "full join": "SELECT COUNT(*) AS n FROM {T} AS a FULL JOIN {U} AS b ON {j} WHERE {p} OR {q}",
    "comma": "SELECT COUNT(*) AS n FROM {T} AS a, {U} AS b WHERE {j} AND {p} AND {q}",
    "self join": "SELECT COUNT(*) AS n FROM {T} AS a JOIN {T} AS c ON c.{k} = a.{k} WHERE {p} AND {q}",
    "exists": "SELECT b.{l} FROM {U} AS b WHERE EXISTS (SELECT 1 FROM {T} AS a WHERE {j} AND {p} AND {q})",
    "not exists": "SELECT b.{l} FROM {U} AS b WHERE NOT EXISTS (SELECT * FROM {T} AS a WHERE {j} AND {p} AND {q})",
    "exists anywhere": "SELECT b.{l} FROM {U} AS b WHERE EXISTS (SELECT 1 FROM {T} AS a WHERE {p} AND {q})",
    "in": "SELECT b.{l} FROM {U} AS b WHERE b.{l} IN (SELECT a.{k} FROM {T} AS a WHERE {p} AND {q})",
    "not in": "SELECT b.{l} FROM {U} AS b WHERE b.{l} NOT IN (SELECT a.{k} FROM {T} AS a WHERE {p} AND {q})",
    "three deep": "SELECT b.{l} FROM {U} AS b WHERE b.{l} IN (SELECT c.{k} FROM {T} AS c WHERE c.{k} IN "
    "(SELECT a.{k} FROM {T} AS a WHERE {q} OR {p}))",
    "derived": "SELECT a.{k} FROM (SELECT {cs} FROM {T} AS x) AS a WHERE {p} AND {q}",
    "derived under another table's name": "SELECT a.{k} FROM (SELECT {ucs} FROM {T} AS {u}) AS a WHERE {q} OR {p}",
    "with": "WITH w AS (SELECT {cs} FROM {T} AS x) SELECT a.{k} FROM w AS a WHERE {p} AND {q}",
    "with under another table's name": "WITH {u} AS (SELECT {cs} FROM {T} AS x) SELECT a.{k} FROM {u} AS a WHERE {q} OR {p}",
    "with beside the table": "WITH {u} AS (SELECT b.{l} FROM {U} AS b) SELECT COUNT(*) AS n FROM {T} AS a, {u} AS c WHERE {q}",
    "with in with": "WITH v AS (SELECT {cs} FROM {T} AS x), w AS (SELECT * FROM v) SELECT a.{k} FROM w AS a WHERE {p} OR {q}",
    "union": "SELECT a.{k} FROM {T} AS a WHERE {p} UNION ALL SELECT a.{k} FROM {T} AS a WHERE {q}",
    "except": "SELECT a.{k} FROM {T} AS a WHERE {q} EXCEPT SELECT a.{k} FROM {T} AS a WHERE {p}",
    "intersect": "SELECT a.{k} FROM {T} AS a WHERE {q} INTERSECT SELECT b.{l} FROM {U} AS b",
    "scalar": "SELECT (SELECT COUNT(*) FROM {T} AS a WHERE {p} AND {q}) AS n",
    "scalar of the other": "SELECT b.{l}, (SELECT COUNT(*) FROM {T} AS a WHERE {j} AND {p} AND {q}) AS n FROM {U} AS b",
    "scalar as condition": "SELECT b.{l} FROM {U} AS b WHERE (SELECT COUNT(*) FROM {T} AS a WHERE {p} AND {q}) = 0",
    "star beside a sub-query": "SELECT a.*, (SELECT COUNT(*) FROM {U} AS b) AS n FROM {T} AS a WHERE {q}",
    "star": "SELECT * FROM {T} AS a WHERE {q}",
    "lateral": "SELECT b.{l}, s.n FROM {U} AS b, LATERAL (SELECT COUNT(*) AS n FROM {T} AS a WHERE {j} AND {p} AND {q}) AS s",
    "more than all": "SELECT a.{k} FROM {T} AS a WHERE a.{k} >= ALL (SELECT b.{l} FROM {U} AS b) AND {p} AND {q}",
    "all of it": "SELECT a.{k}, a.{c} FROM {T} AS a WHERE {q} ORDER BY a.{k}",
    "count of all": "SELECT COUNT(*) AS n FROM {T} AS a",
}

_LIMIT: Final = f"LIMIT {ROWS_SHOWN}"
"""The check renders it in the words of the engine."""


@dataclass(frozen=True, slots=True)
class PolicyStatement:
    """One statement. `twin` is the same with another guess, or None where it has none. `tables` are those that it reads.

    `may_fail`: an engine may fail or warn of it, for the rows of the reader as well. `is_invalid`: it has a LIKE pattern that
    ends in its escape sign, which the SQL standard forbids; to refuse it is no harm.
    """

    shape: str
    sql: str
    twin: str | None
    tables: tuple[ExaminedTable, ...]
    may_fail: bool = False
    is_invalid: bool = False


def make_statements(
    tables: Sequence[ExaminedTable], joins: Sequence[Join], dialect: Dialect, *, count: int, seed: int
) -> Iterator[PolicyStatement]:
    """Yield that many statements, fewer where the tables give no more: every shape in turn, conditions as drawn."""
    chosen = random.Random(seed)  # noqa: S311 - draws test statements
    by_table = {table.bare_name: [join for join in joins if join.table is table] for table in tables}
    protected = [table for table in tables if table.guesses] or list(tables)
    harmless = {table.bare_name: list(_harmless(table)) for table in protected}
    failing = {table.bare_name: list(_failing(table, dialect)) for table in protected}
    made: set[str] = set()
    misses = 0
    while protected and len(made) < count and misses < 20 * len(_SHAPES):
        for shape, template in _SHAPES.items():
            table = chosen.choice(protected)
            others = by_table[table.bare_name]
            join = chosen.choice(others) if others else Join(table, table, f"a.{table.key} = b.{table.key}")
            may_fail = bool(failing[table.bare_name]) and chosen.random() < FAILING_SHARE
            condition = chosen.choice((failing if may_fail else harmless)[table.bare_name])
            statement = _make_statement(shape, template, join, condition, chosen)
            if statement is None or statement.sql in made:
                misses += 1
                continue
            misses = 0
            made.add(statement.sql)
            is_invalid = condition.endswith(_ending_in_escape(dialect))
            yield replace(statement, may_fail=may_fail, is_invalid=is_invalid)
            if len(made) >= count:
                return


def _make_statement(
    shape: str, template: str, join: Join, condition: str, chosen: random.Random
) -> PolicyStatement | None:
    table, other = join.table, join.other
    has_guess = "{p}" in template
    if (has_guess and not table.guesses) or ("*" in template.replace("(*)", "") and not table.shows_all):
        return None
    fields = {
        "T": table.name,
        "U": other.name,
        "u": _quoted_as(table.key, other.bare_name),
        "k": table.key,
        "l": other.key,
        "c": chosen.choice(table.columns),
        "cs": ", ".join(f"x.{column}" for column in table.columns),
        "ucs": ", ".join(f"{_quoted_as(table.key, other.bare_name)}.{column}" for column in table.columns),
        "j": join.condition,
        "q": f"({condition})",
        "limit": _LIMIT,
    }
    guess: Guess | None = chosen.choice(table.guesses) if has_guess else None
    tables = (table, other) if "{U}" in template else (table,)
    if guess is None:
        return PolicyStatement(shape, template.format(**fields), None, tables)
    sql, twin = (template.format(**fields, p=f"({part})") for part in (guess.hidden, guess.nobody))
    return PolicyStatement(shape, sql, twin, tables)


def _quoted_as(column: str, name: str) -> str:
    """Return a name in the quotes that a column's name has."""
    return f"{column[0]}{name}{column[-1]}"


def _harmless(table: ExaminedTable) -> Iterator[str]:
    """Yield conditions over the alias `a` that fail for no value of a row."""
    yield f"a.{table.key} > 5"
    yield f"a.{table.key} IS NOT NULL"
    yield "1 = 1"
    for name in (f"a.{column}" for column in table.numbers):
        yield f"{name} < 500"
        yield f"{name} BETWEEN 2 AND 60"
        yield f"{name} IN (2, 4, 6)"
        yield f"ROUND({name}) > 5"
        yield f"ABS({name}) + 1 > 3"
        yield f"{name} = (SELECT MAX(b.{table.key}) FROM {table.name} AS b)"  # noqa: S608 - a draft; it is checked
    for name in (f"a.{column}" for column in table.texts):
        yield f"{name} > 'm'"
        yield f"{name} LIKE '%2'"
        yield f"UPPER({name}) = LOWER({name})"
        yield f"LENGTH({name}) > 3"
        yield f"SUBSTR({name}, 1, 1) = 'A'"
        yield f"COALESCE({name}, 'x') <> 'x'"
    for name in (f"a.{column}" for column in table.times):
        yield f"{name} >= '2024-03-01'"
        yield f"{name} IS NULL OR {name} < '2031-01-01'"


def _failing(table: ExaminedTable, dialect: Dialect) -> Iterator[str]:
    """Yield conditions over the alias `a` that an engine may fail or warn of for the value of a row."""
    integer = ENGINES[dialect].integer_type
    for name in (f"a.{column}" for column in table.numbers):
        yield f"{name} LIKE '9%'"
        yield f"{name} = 'no number'"
        yield f"SQRT({name} - 50) >= 0"
        yield f"{name} = (SELECT b.{table.key} FROM {table.name} AS b WHERE b.{table.key} > 5)"  # noqa: S608 - a draft
        for guess in table.guesses:
            column, _, value = guess.hidden.partition(" = ")
            if column == name:
                yield f"1 / ({name} - {value}) > 0"
                yield f"CAST({name} * 100000000000000 AS {integer}) > 0"
    for name in (f"a.{column}" for column in table.texts):
        yield f"{name} = 5"
        yield f"{name} IN (1, 2)"
        yield f"{name} BETWEEN 1 AND 5"
        yield f"{name} + 1 > 0"
        yield f"CAST({name} AS {integer}) = 5"
        yield f"{name} LIKE {_ending_in_escape(dialect)}"
        yield f"{name} IN (SELECT b.{table.key} FROM {table.name} AS b)"  # noqa: S608 - a draft
        for number in table.numbers[:2]:
            yield f"a.{number} = {name}"
    for name in (f"a.{column}" for column in table.times):
        yield f"{name} > 'no date'"
        for text in table.texts[:2]:
            yield f"{name} = a.{text}"


def _ending_in_escape(dialect: Dialect) -> str:
    return "'LEA%\\\\'" if ENGINES[dialect].escapes_by_backslash else "'LEA%\\'"
