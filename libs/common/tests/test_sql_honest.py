"""Claims on what people and attackers write, per dialect: honest analysis passes, the rest is refused.

`sql/honest.txt` and `sql/hostile.txt` hold one statement a line under the name of its dialect. ClickHouse's and
BigQuery's spelling of set operations, and quotes that differ, are put in here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import Checked, check, check_in_doubt

FOLDER = Path(__file__).parent / "sql"
COLUMNS = {
    "orders": "id INT, customer_id INT, order_date DATE, created_at TIMESTAMP, amount DECIMAL, status TEXT, payload JSON, tags TEXT[]",
    "customers": "id INT, name TEXT, city TEXT, email TEXT, manager_id INT, created_at TIMESTAMP",
    "prices": "symbol TEXT, ts TIMESTAMP, price DOUBLE",
    "sales": "region TEXT, quarter TEXT, revenue DOUBLE, year INT",
}  # fmt: skip
TABLES = tuple(
    Table(
        name=name,
        columns=tuple(Column(name=column.split()[0], type=column.split()[1]) for column in columns.split(", ")),
        primary_key=("id",) if columns.startswith("id") else (),
    )
    for name, columns in COLUMNS.items()
)
CATALOGS = {dialect: Catalog(connection="shop", dialect=dialect, tables=TABLES) for dialect in Dialect}
SPELT: dict[Dialect, tuple[tuple[str, str], ...]] = {
    Dialect.MYSQL: (('"delete"', "`delete`"),),
    Dialect.CLICKHOUSE: (("UNION SELECT", "UNION DISTINCT SELECT"),),
    Dialect.ORACLE: ((") t WHERE r", ") WHERE r"),),
    Dialect.BIGQUERY: (
        ('"delete"', "`delete`"),
        ("VARCHAR(20)", "STRING"),
        (" EXCEPT SELECT", " EXCEPT DISTINCT SELECT"),
        ("UNION SELECT", "UNION DISTINCT SELECT"),
    ),
}


def statements(name: str) -> Iterator[tuple[Dialect, str]]:
    dialects: list[Dialect] = []
    for line in (FOLDER / name).read_text().splitlines():
        if line.startswith("-- "):
            dialects = list(Dialect) if line == "-- every dialect" else [Dialect(line[3:])]
            continue
        for dialect in dialects:
            sql = line
            for ours, theirs in SPELT.get(dialect, ()):
                sql = sql.replace(ours, theirs)
            yield dialect, sql


@pytest.mark.long
@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.requirement("000.14")
def test_honest_analysis_passes(dialect: Dialect) -> None:
    refused = {
        sql: f"{decision.code}: {decision.detail}"
        for statement, sql in statements("honest.txt")
        if statement is dialect
        and isinstance(
            decision := check(
                sql, dialect=dialect, catalog=CATALOGS[dialect], policy=ConnectionPolicy(), row_limit=100
            ),
            Failure,
        )
    }
    assert refused == {}


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.requirement("002.59")
def test_what_reaches_out_costs_too_much_or_is_not_known_is_refused(dialect: Dialect) -> None:
    passed = {
        sql: decision.sql
        for statement, sql in statements("hostile.txt")
        if statement is dialect
        and isinstance(
            decision := check_in_doubt(
                sql, dialect=dialect, catalog=CATALOGS[dialect], policy=ConnectionPolicy(), row_limit=100
            ),
            Checked,
        )
    }
    assert passed == {}
