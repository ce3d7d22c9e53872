"""A view that repeats a table makes no question ambiguous: the table is meant, and the view where it adds what is asked."""

from __future__ import annotations

from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind
from querybus_translator import Translated, translate, translate_in_thread
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 6, 1)
DOCK = """
CREATE TABLE ports (port_id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE landings (landing_id INTEGER PRIMARY KEY, port_id INTEGER REFERENCES ports (port_id), landed_on DATE NOT NULL, tonnage REAL NOT NULL);
INSERT INTO ports VALUES (1, 'North'), (2, 'South');
INSERT INTO landings VALUES (1, 1, '2026-01-02', 10.0), (2, 1, '2026-01-09', 20.0), (3, 2, '2026-02-03', 40.0);
"""


def with_view(name: str, *more: Column) -> Catalog:
    """Return the dock's catalog with a view over its landings, which may have more columns."""
    catalog = catalog_of(DOCK, {})
    (landings,) = [table for table in catalog.tables if table.name == "landings"]
    plain = tuple(column.model_copy() for column in landings.columns)
    view = landings.model_copy(
        update={"name": name, "kind": "view", "columns": (*plain, *more), "primary_key": (), "foreign_keys": ()}
    )
    return Catalog(connection="dock", dialect=catalog.dialect, tables=(*catalog.tables, view))


def script(view: str, more: str = "") -> str:
    return f"{DOCK}\nCREATE VIEW {view} AS SELECT l.*{more} FROM landings l JOIN ports p ON p.port_id = l.port_id;"


@pytest.mark.parametrize("view", ["v_landings", "landings_view", "vw_landing", "landings_enriched", "mv_all_landings"])
@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many landings per month?", [("2026-01", 2), ("2026-02", 1)]),
        ("total tonnage per month", [("2026-01", 30.0), ("2026-02", 40.0)]),
        ("average tonnage per port", [("North", 15.0), ("South", 40.0)]),
        ("total tonnage in 2026", [(70.0,)]),
    ],
)
def test_the_table_is_asked_where_both_have_it(view: str, question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, with_view(view), today=TODAY)
    assert isinstance(found, Translated), found
    assert view not in found.sql
    assert sorted(rows_of(script(view), found.sql), key=str) == rows


def test_a_view_is_asked_for_what_only_it_has() -> None:
    captain = Column(name="skipper", type="TEXT", kind=ColumnKind.TEXT)
    found = translate("How many landings are there for each skipper?", with_view("v_landings", captain), today=TODAY)
    assert isinstance(found, Translated), found
    assert "v_landings" in found.sql
    assert rows_of(script("v_landings", ", 'Ann' AS skipper"), found.sql) == [("Ann", 3)]


def test_a_view_of_its_own_is_asked_as_before() -> None:
    found = translate("How many arrivals are there?", with_view("arrivals"), today=TODAY)
    assert isinstance(found, Translated), found
    assert "arrivals" in found.sql


def test_a_thread_stays_with_the_table() -> None:
    catalog = with_view("v_landings")
    found = translate_in_thread("and by month?", ["How many landings are there?"], catalog, today=TODAY)
    assert isinstance(found, Translated), found
    assert "v_landings" not in found.sql
