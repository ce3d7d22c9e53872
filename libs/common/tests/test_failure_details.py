"""What an analyst and a model read of a refusal: the code and a detail in standard database English."""

from __future__ import annotations

import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.sql.check import check

CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.POSTGRESQL,
    default_schema="public",
    tables=(
        Table(name="customers", columns=tuple(Column(name=name, type="TEXT") for name in ("id", "name", "email"))),
        Table(name="orders", columns=tuple(Column(name=name, type="TEXT") for name in ("id", "customer_id", "total"))),
    ),
)
POLICY = ConnectionPolicy(columns_denied={"customers": ("email",)})


@pytest.mark.parametrize(
    ("sql", "code", "detail"),
    [
        (
            "SELEC name FROM customers",
            FailureCode.SYNTAX_ERROR,
            "syntax error: the statement does not begin with SELECT or WITH",
        ),
        ("SELECT 1; SELECT 2", FailureCode.MULTI_STATEMENT, "2 statements where one is allowed"),
        ("SELECT name FROM clients", FailureCode.TABLE_NOT_FOUND, "table clients does not exist"),
        ("SELECT nam FROM customers", FailureCode.COLUMN_NOT_FOUND, "column nam does not exist"),
        ("SELECT c.nam FROM customers AS c", FailureCode.COLUMN_NOT_FOUND, "column nam does not exist"),
        ("SELECT x.name FROM customers", FailureCode.MISSING_ALIAS, "missing FROM-clause entry for table x"),
        ("SELECT id FROM customers, orders", FailureCode.AMBIGUOUS_COLUMN, "column reference id is ambiguous"),
        (
            "SELECT frobnicate(name) FROM customers",
            FailureCode.FUNCTION_NOT_FOUND,
            "function frobnicate does not exist or is not allowed in postgres",
        ),
        ("SELECT pg_read_file('/etc/passwd')", FailureCode.SAFETY, "function pg_read_file is not allowed"),
        ("DROP TABLE customers", FailureCode.SAFETY, "DROP is not allowed; only queries are"),
        ("SELECT name INTO copy FROM customers", FailureCode.SAFETY, "INTO is not allowed in SELECT"),
        (
            "SELECT name FROM customers FOR UPDATE",
            FailureCode.SAFETY,
            "FOR UPDATE or FOR SHARE is not allowed in SELECT",
        ),
        ("SELECT email FROM customers", FailureCode.PERMISSION, "permission denied for column"),
        (
            "SELECT " + "(" * 300 + "1" + ")" * 300,
            FailureCode.TOO_COMPLEX,
            "the statement is nested more than 40 levels deep",
        ),
        ("SELECT repeat('x', 1000000000)", FailureCode.COST, "a size above 10,000 is not allowed"),
    ],
)
def test_a_refusal_is_said_in_database_english(sql: str, code: FailureCode, detail: str) -> None:
    result = check(
        sql,
        dialect=Dialect.POSTGRESQL,
        catalog=CATALOG,
        policy=POLICY,
        row_limit=100,
        reader=Reader("acme", "ann"),
    )
    assert isinstance(result, Failure)
    assert (result.code, result.detail) == (code, detail)
