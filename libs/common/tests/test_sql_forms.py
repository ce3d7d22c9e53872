"""Forms that people write and the parser does not know: allowed, with the rows that the engine gives for them itself."""

from __future__ import annotations

import sqlite3
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import Checked, check_in_doubt

_DATA: Final = tomllib.loads((Path(__file__).parent / "sql" / "forms.toml").read_text())
_TABLES: Final[dict[str, list[str]]] = _DATA.pop("tables")
CASES: Final = [
    pytest.param(Dialect(dialect), sql, id=f"{kind}-{dialect}-{number}")
    for kind, by_dialect in _DATA.items()
    for dialect, statements in by_dialect.items()
    for number, sql in enumerate(statements)
]
_ROWS: Final = 6


def _catalog(dialect: Dialect) -> Catalog:
    tables: list[Table] = []
    for written, columns in _TABLES.items():
        schema, _, name = written.rpartition(".")
        pairs = (column.split(" ") for column in columns)
        known = tuple(Column(name=column, type=kind) for column, kind in pairs)
        tables.append(Table(name=name, schema_name=schema or None, columns=known))
    return Catalog(connection="forms", dialect=dialect, tables=tuple(tables))


def _check(sql: str, dialect: Dialect, **policy: Any) -> Checked | Failure:
    return check_in_doubt(
        sql, dialect=dialect, catalog=_catalog(dialect), policy=ConnectionPolicy(**policy), row_limit=1_000
    )


def _value(kind: str, at: int) -> object:
    return {"INTEGER": at % 4, "VARCHAR": str(at % 3), "DATE": f"2024-0{at % 3 + 1}-11"}[kind] if at < _ROWS else None


def _engine(dialect: Dialect) -> Callable[[str], list[tuple[Any, ...]]]:
    base: Any = sqlite3.connect(":memory:") if dialect is Dialect.SQLITE else duckdb.connect(":memory:")
    for name, columns in _TABLES.items():
        if "." not in name:
            base.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            for at in range(_ROWS + 1):
                values = [_value(column.split(" ")[1], at) for column in columns]
                base.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(values))})", values)
    return lambda sql: base.execute(sql).fetchall()


@pytest.mark.parametrize(("dialect", "sql"), CASES)
def test_a_form_of_an_engine_is_allowed_and_gives_the_rows_of_the_engine(dialect: Dialect, sql: str) -> None:
    checked = _check(sql, dialect)
    assert isinstance(checked, Checked), f"{checked.code}: {checked.detail}"
    if dialect in (Dialect.SQLITE, Dialect.DUCKDB):
        rows = _engine(dialect)
        assert sorted(map(str, rows(checked.sql))) == sorted(map(str, rows(sql))), checked.sql


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        ({"columns_denied": {"web.events_20240101": ("user_id",)}}, FailureCode.PERMISSION),
        ({"columns_masked": {"web.events_20240102": ("user_id",)}}, FailureCode.PERMISSION),
        ({"row_filters": {"web.events_20240101": "user_id = 1"}}, FailureCode.PERMISSION),
        ({"tables_allowed": ("web.events_20240101", "web.pages")}, FailureCode.PERMISSION),
        ({"schemas_allowed": ("shop",)}, FailureCode.PERMISSION),
        ({"schemas_allowed": ("web",)}, None),
        ({"columns_denied": {"staff": ("pay",)}}, None),
    ],
)
def test_a_wildcard_is_read_where_every_table_of_it_may_be_read(
    policy: dict[str, Any], code: FailureCode | None
) -> None:
    checked = _check("SELECT COUNT(user_id) FROM `web.events_*`", Dialect.BIGQUERY, **policy)
    assert (checked.code if isinstance(checked, Failure) else None) is code


@pytest.mark.parametrize("rows", ["UNNEST(ARRAY[1])", "generate_series(1, 1)"])
def test_a_list_that_is_called_as_a_denied_column_does_not_reveal_the_column(rows: str) -> None:
    checked = _check(f"SELECT pay FROM staff, {rows} AS pay", Dialect("postgres"), columns_denied={"staff": ("pay",)})
    assert isinstance(checked, Failure)
    assert checked.code is FailureCode.PERMISSION


@pytest.mark.parametrize("dialect", [Dialect.ORACLE, Dialect.BIGQUERY])
def test_a_plan_that_an_engine_cannot_give_so_is_not_supported_and_no_danger(dialect: Dialect) -> None:
    checked = _check("EXPLAIN SELECT name FROM staff", dialect)
    assert isinstance(checked, Failure)
    assert checked.code is FailureCode.SYNTAX_ERROR


def test_a_wildcard_that_no_table_matches_is_an_unknown_table() -> None:
    checked = _check("SELECT COUNT(*) FROM `web.orders_*`", Dialect.BIGQUERY)
    assert isinstance(checked, Failure)
    assert checked.code is FailureCode.TABLE_NOT_FOUND


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT min FROM (SUMMARIZE staff)",
        "SELECT column_name FROM (SUMMARIZE SELECT * FROM staff)",
        "SELECT team FROM (PIVOT staff ON name USING SUM(id))",
        "PIVOT staff ON name USING SUM(id) ORDER BY team",
        "WITH s AS (SELECT * FROM (SUMMARIZE staff)) SELECT max FROM s",
    ],
)
def test_a_denied_column_is_in_no_summary_and_no_pivot(sql: str) -> None:
    checked = _check(sql, Dialect.DUCKDB, columns_denied={"staff": ("pay",)})
    assert isinstance(checked, Failure)
    assert checked.code is FailureCode.PERMISSION


def test_a_summary_of_a_masked_column_shows_the_mask() -> None:
    checked = _check("SELECT min FROM (SUMMARIZE staff)", Dialect.DUCKDB, columns_masked={"staff": ("name",)})
    assert isinstance(checked, Checked)
    rows = _engine(Dialect.DUCKDB)
    assert ("***",) in rows(checked.sql)
