"""The lists of an engine's record against the engine's own: what runs here says itself which functions and tables it has.

Oracle, Snowflake and BigQuery do not run here: their lists are read from their manuals alone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.engines import ENGINES
from querybus.sql.check import check
from querybus.sql.guard.allowed.functions import LISTED
from querybus.sql.guard.allowed.system_names import is_system
from querybus.sql.parse import GRAMMARS
from tests.support.database_servers import clickhouse_server, mariadb_server, postgres_server

ARGUMENTS: Final = ("", "a", "a, a", "a, a, a", "a, 1", "'x', a")
FUNCTIONS_MIN: Final = 100


@dataclass(frozen=True)
class Own:
    """What an engine says of itself: functions, schemas, and relations that a statement reads without a schema."""

    dialect: Dialect
    functions: frozenset[str]
    schemas: frozenset[str]
    relations: frozenset[str]
    changing: frozenset[str]
    """Functions whose value may differ within one statement, or that do something."""


def _sqlite() -> Generator[Own]:
    opened = sqlite3.connect(":memory:")
    functions = {name.lower() for (name,) in opened.execute("SELECT name FROM pragma_function_list")}
    relations = {"sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema"}
    relations |= {f"pragma_{name}" for (name,) in opened.execute("SELECT name FROM pragma_pragma_list")}
    yield Own(Dialect.SQLITE, frozenset(functions), frozenset({"temp"}), frozenset(relations), frozenset())
    opened.close()


def _duckdb() -> Generator[Own]:
    opened = duckdb.connect()

    def names(sql: str) -> frozenset[str]:
        return frozenset(str(name).lower() for (name,) in opened.execute(sql).fetchall())

    functions = names("SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type <> 'pragma'")
    schemas = names("SELECT schema_name FROM duckdb_schemas() WHERE internal AND schema_name <> 'main'")
    bare = "SELECT view_name FROM duckdb_views() WHERE internal AND schema_name <> 'information_schema'"
    changing = names("SELECT function_name FROM duckdb_functions() WHERE has_side_effects OR stability = 'VOLATILE'")
    yield Own(Dialect.DUCKDB, functions, schemas, names(bare), changing)
    opened.close()


def _postgres() -> Generator[Own]:
    with postgres_server() as server:

        def names(sql: str) -> frozenset[str]:
            (text,) = json.loads(
                _only(
                    server.execute(f"\\t on\nSELECT json_build_array(coalesce(json_agg(n), '[]')) FROM ({sql}) s(n);")
                )
            )
            return frozenset(text)

        own = "FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace"
        yield Own(
            Dialect.POSTGRESQL,
            names(f"SELECT DISTINCT proname {own} AND proname ~ '^[a-z]'"),
            names("SELECT nspname FROM pg_namespace WHERE nspname <> 'public' AND nspname !~ '^pg_(temp|toast_temp)_'"),
            names(
                "SELECT relname FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v')"
            ),
            names(f"SELECT DISTINCT proname {own} AND provolatile = 'v'"),
        )


def _only(text: str) -> str:
    return next(line for line in text.splitlines() if line.strip().startswith("["))


def _mariadb() -> Generator[Own]:
    with mariadb_server() as server:

        def names(sql: str) -> frozenset[str]:
            return frozenset(line.strip().lower() for line in server.execute(sql).splitlines())

        yield Own(
            Dialect.MYSQL,
            names("SELECT function FROM information_schema.sql_functions;"),
            names("SELECT schema_name FROM information_schema.schemata;"),
            frozenset(),
            frozenset(),
        )


def _clickhouse() -> Generator[Own]:
    with clickhouse_server() as server:

        def names(sql: str) -> frozenset[str]:
            return frozenset(line.strip().lower() for line in server.execute(sql).splitlines())

        yield Own(
            Dialect.CLICKHOUSE,
            names("SELECT name FROM system.functions"),
            names("SELECT name FROM system.databases WHERE name <> 'default'"),
            frozenset(),
            frozenset(),
        )


OPENED: Final[dict[str, Callable[[], Generator[Own]]]] = {
    "SQLite": _sqlite,
    "DuckDB": _duckdb,
    "PostgreSQL": _postgres,
    "MariaDB": _mariadb,
    "ClickHouse": _clickhouse,
}


@pytest.fixture(scope="module", params=OPENED)
def own(request: pytest.FixtureRequest) -> Generator[Own]:
    yield from OPENED[str(request.param)]()


def passes(function: str, dialect: Dialect) -> bool:
    catalog = _CATALOGS[dialect]
    results: list[Any] = [
        check(
            f"SELECT {function}({arguments}) FROM t",
            dialect=dialect,
            catalog=catalog,
            policy=ConnectionPolicy(),
            row_limit=9,
        )
        for arguments in ARGUMENTS
    ]
    return not all(isinstance(result, Failure) for result in results)


_CATALOGS: Final = {
    dialect: Catalog(
        connection="c",
        dialect=dialect,
        default_schema="s",
        tables=(Table(name="t", columns=(Column(name="a", type="TEXT"),)),),
    )
    for dialect in Dialect
}


def is_listed(function: str, dialect: Dialect) -> bool:
    endings = ENGINES[dialect].aggregate_combinators
    return function in LISTED[dialect] or any(
        function.endswith(ending) and function.removesuffix(ending) in LISTED[dialect] for ending in endings
    )


def test_no_function_of_an_engine_passes_only_because_the_parser_has_a_type_for_it(own: Own) -> None:
    functions = sorted(function for function in own.functions if function.isidentifier())
    assert len(functions) >= FUNCTIONS_MIN
    unlisted = [function for function in functions if not is_listed(function, own.dialect)]
    assert unlisted
    assert [function for function in unlisted if passes(function, own.dialect)] == []


HARMLESS: Final = {
    Dialect.DUCKDB: frozenset(["random", "uuid", "uuidv4", "uuidv7", "gen_random_uuid"]),
    Dialect.POSTGRESQL: frozenset(
        ["random", "gen_random_uuid", "clock_timestamp", "timeofday", "uuidv4", "uuidv7", "random_normal"]
    ),
}
"""Functions that give another value with each call, and do nothing else."""


@pytest.mark.parametrize("own", ["DuckDB", "PostgreSQL"], indirect=True)
def test_of_functions_that_change_from_call_to_call_only_clocks_and_chance_pass(own: Own) -> None:
    assert own.changing
    assert {function for function in own.changing if passes(function, own.dialect)} <= HARMLESS[own.dialect]


def test_every_schema_and_table_of_an_engine_is_known_as_its_own(own: Own) -> None:
    assert own.schemas
    assert own.schemas - ENGINES[own.dialect].system_schemas == set()
    assert [name for name in sorted(own.relations) if not is_system(name, None, own.dialect)] == []


@pytest.mark.parametrize("dialect", Dialect)
def test_the_parser_reads_a_backslash_in_a_text_as_the_record_says(dialect: Dialect) -> None:
    (text,) = GRAMMARS[dialect].tokenize(r"'a\\b'")
    assert text.text == (r"a\b" if ENGINES[dialect].escapes_by_backslash else r"a\\b")
