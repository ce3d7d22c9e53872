"""What the translator writes for PostgreSQL, run there: what no other engine shows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest

from querybus.core.catalog import Catalog, Dialect
from querybus_translator import Translated, translate
from tests.support.database_servers import PostgresServer, driver, postgres_server
from tests.support.engine_evidence import ON_POSTGRES
from tests.support.scripted_catalog import catalog_of

pytestmark = [pytest.mark.servers, ON_POSTGRES]

TODAY = date(2026, 6, 1)
MOORINGS = """
CREATE TABLE quays (quay_id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE moorings (mooring_id INTEGER PRIMARY KEY, quay_id INTEGER REFERENCES quays (quay_id), moored_on DATE NOT NULL, toll REAL NOT NULL);
INSERT INTO quays VALUES (1, 'North'), (2, 'South');
"""
DAYS = [f"2025-{1 + (n * 7) % 12:02}-{1 + n % 28:02}" for n in range(240)]


@pytest.fixture(scope="module")
def server() -> Any:
    with postgres_server() as started:
        started.execute("CREATE DATABASE harbour;")
        rows = ", ".join(f"({n}, {1 + n % 2}, '{day}', {n}.5)" for n, day in enumerate(DAYS))
        started.execute(
            f"{MOORINGS}\nINSERT INTO moorings VALUES {rows};\nCREATE VIEW v_moorings AS SELECT * FROM moorings;\nANALYZE;",
            "harbour",
        )
        yield started


def rows_of(server: PostgresServer, question: str, *, with_view: bool = False) -> Sequence[tuple[Any, ...]]:
    catalog: Catalog = catalog_of(MOORINGS, {}).model_copy(update={"dialect": Dialect.POSTGRESQL})
    if with_view:
        view = catalog.tables[-1].model_copy(update={"name": "v_moorings", "kind": "view", "foreign_keys": ()})
        catalog = catalog.model_copy(update={"tables": (*catalog.tables, view)})
    found = translate(question, catalog, today=TODAY)
    assert isinstance(found, Translated), (question, found)

    async def asked() -> list[tuple[Any, ...]]:
        connection = await driver("asyncpg", "postgres").connect(server.url(database="harbour"))
        try:
            return [tuple(row) for row in await connection.fetch(found.sql)]
        finally:
            await connection.close()

    return asyncio.run(asked())


@pytest.mark.parametrize(
    "question", ["How many moorings per month in 2025?", "total toll of moorings per month", "每月有多少moorings？"]
)
def test_months_come_in_their_order(server: PostgresServer, question: str) -> None:
    months = [row[0] for row in rows_of(server, question)]
    assert len(months) == 12
    assert months == sorted(months)


def test_groups_of_a_time_and_something_else_come_by_time_first(server: PostgresServer) -> None:
    rows = rows_of(server, "How many moorings are there per month and quay?")
    (at,) = [place for place, cell in enumerate(rows[0]) if str(cell).startswith("2025")]
    assert [row[at] for row in rows] == sorted(row[at] for row in rows)


def test_an_order_that_is_asked_for_goes_before_that_of_time(server: PostgresServer) -> None:
    figures = [row[-1] for row in rows_of(server, "total toll of moorings per month, highest first")]
    assert figures == sorted(figures, reverse=True)


def test_a_view_beside_its_table_makes_no_month_ambiguous(server: PostgresServer) -> None:
    question = "total toll per month"
    assert len(rows_of(server, question)) == 12
    assert rows_of(server, question, with_view=True) == rows_of(server, question)
