"""A function runs only if the list of the very engine has it: that the parser has a type for it is not enough."""

from __future__ import annotations

import re

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import check
from querybus.sql.guard.allowed.functions import KNOWN, LISTED

CALL = re.compile(r"\b([A-Za-z_]\w*)\(")
LANGUAGE = {
    "any",
    "of",
    "cast",
    "try_cast",
    "safe_cast",
    "exists",
    "in",
    "values",
    "interval",
    "over",
    "as",
    "using",
    "by",
    "on",
}
"""Words of the language that stand before a bracket."""
TYPES = re.compile(
    r"\b(?:decimal|numeric|number|varchar\d?|n?char|text|string|timestamp\w*|datetime\w*|time|float|double|int\w*|bigint"
    r"|nullable|array|map|struct|tuple|lowcardinality|fixedstring|date\w*|binary|varbinary|bytes)\(",
    re.IGNORECASE,
)


def catalog_of(dialect: Dialect) -> Catalog:
    columns = tuple(Column(name=name, type="TEXT", kind=ColumnKind.TEXT) for name in ("a", "b"))
    return Catalog(connection="c", dialect=dialect, tables=(Table(name="t", columns=columns),))


def checked(sql: str, dialect: Dialect, policy: ConnectionPolicy) -> str | None:
    found = check(sql, dialect=dialect, catalog=catalog_of(dialect), policy=policy, row_limit=10)
    return None if isinstance(found, Failure) else found.sql


@pytest.mark.parametrize("dialect", Dialect)
def test_what_the_parser_knows_passes_only_under_a_listed_name(dialect: Dialect) -> None:
    passed, strange = 0, dict[str, str]()
    for kind in sorted(KNOWN, key=lambda item: item.__name__):
        for name in getattr(kind, "sql_names", list)():
            for arguments in ("a", "a, b"):
                sql = checked(f"SELECT {name}({arguments}) AS x FROM t", dialect, ConnectionPolicy())
                if sql is None:
                    continue
                passed += 1
                called = {found.lower() for found in CALL.findall(TYPES.sub(" ", sql))}
                if unlisted := called - LISTED[dialect] - LANGUAGE:
                    strange[sql] = ", ".join(sorted(unlisted))
    assert passed > 80, f"only {passed} calls passed"
    assert strange == {}


@pytest.mark.parametrize(
    ("dialect", "name"),
    [
        (Dialect.POSTGRESQL, "SPLIT_TO_TABLE"),
        (Dialect.POSTGRESQL, "HOUR"),
        (Dialect.MYSQL, "INITCAP"),
        (Dialect.MYSQL, "SPLIT_PART"),
        (Dialect.ORACLE, "ARRAY_LAST"),
        (Dialect.SNOWFLAKE, "UNIX_MICROS"),
        (Dialect.BIGQUERY, "REGR_VALX"),
    ],
)
def test_a_function_of_the_databases_own_passes_only_where_the_connection_names_it(dialect: Dialect, name: str) -> None:
    sql = f"SELECT {name}(a, b) AS x FROM t"
    assert checked(sql, dialect, ConnectionPolicy()) is None
    allowed = [f"SELECT {name}({arguments}) AS x FROM t" for arguments in ("a", "a, b")]
    policy = ConnectionPolicy(functions_allowed=(name.lower(),))
    assert any(checked(one, dialect, policy) is not None for one in allowed)
