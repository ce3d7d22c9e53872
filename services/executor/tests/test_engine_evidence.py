"""What the docs say of each engine is what the code does: no edge that is not listed, no engine that is oversold."""

from __future__ import annotations

from pathlib import Path

import pytest

from querybus.core.catalog import Dialect
from querybus.ops.metrics import Metrics
from querybus_executor.connections import parse_connections
from querybus_executor.driver import DriverMissing, driver_module
from querybus_executor.engines import Engines
from querybus_executor.evidence import ENGINES, Engine, Evidence, engine_table

PAGE = Path(__file__).parents[3] / "docs" / "connections.md"


def test_the_page_shows_the_list() -> None:
    assert engine_table() in PAGE.read_text()


def test_every_dialect_is_listed() -> None:
    assert {each.dialect for each in ENGINES} == set(Dialect)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda each: each.title)
def test_an_engine_has_an_edge_and_tests_that_show_what_the_list_says(engine: Engine) -> None:
    if engine.dialect is Dialect.SNOWFLAKE:
        pytest.skip("its driver lives in an environment of its own: test_snowflake_edge.py runs there")
    rest = "/file" if engine.dialect in (Dialect.SQLITE, Dialect.DUCKDB) else "reader:secret@host/database"
    configs = parse_connections({"connections": [{"name": "it", "url": engine.url + rest}]})
    (database,) = Engines(children=1, reserved=1).connected(configs, metrics=Metrics("t"))
    assert database.dialect is engine.dialect
    shown = Path(__file__).with_name(engine.tests).read_text()
    needs_server = engine.evidence is Evidence.EXECUTED and engine.dialect not in (Dialect.SQLITE, Dialect.DUCKDB)
    assert ("pytest.mark.servers" in shown) is (needs_server or engine.title == "MySQL")


@pytest.mark.parametrize("extra", ["clickhouse", "oracle", "bigquery", "snowflake"])
def test_a_missing_driver_is_named_with_what_brings_it(extra: str) -> None:
    with pytest.raises(DriverMissing, match=rf"{extra}"):
        driver_module(f"no_such_driver_of_{extra}", extra)
