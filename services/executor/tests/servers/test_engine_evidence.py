"""What the docs say of each engine is what its tests show: no edge without tests, no engine that is oversold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from querybus.core.catalog import Dialect
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import parse_connections
from querybus_executor.engines.drivers import DriverMissing, driver_module
from querybus_executor.engines.registry import Engines
from tests.support.database_servers import driver
from tests.support.engine_evidence import ENGINES, Engine, Evidence, shows, table

ROOT = Path(__file__).parents[4]


@pytest.mark.slow
def test_the_page_shows_the_table_that_the_tests_make() -> None:
    driver("oracledb", "oracle")
    driver("google.cloud.bigquery", "bigquery")
    program = "import sys; sys.path[:0] = ['.', 'docs']; from tables import engines_table; print(engines_table())"
    made = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    shown = (ROOT / "docs" / "connections.md").read_text()
    assert made.stdout.strip() in shown, "run `make docs` and commit what changed"
    assert shown.count("executed against |") == made.stdout.count("executed against |")


def test_every_dialect_is_one_of_an_engine() -> None:
    assert {engine.dialect for engine in ENGINES} == set(Dialect)


def test_tests_that_contradict_each_other_make_no_table(request: pytest.FixtureRequest) -> None:
    one, other = request.node, request.session.items[0]
    assert "SQLite" not in table([])
    for evidence, tried_on in ((Evidence.EXECUTED, "here"), (Evidence.COMPILED, "there")):
        one.add_marker(shows("SQLite", evidence, tried_on))
    with pytest.raises(ValueError, match="SQLite"):
        table([one, other])
    with pytest.raises(ValueError, match="no engine"):
        shows("Postgre", Evidence.EXECUTED, "here")


@pytest.mark.parametrize("engine", ENGINES, ids=lambda item: item.title)
def test_an_engine_has_an_edge(engine: Engine) -> None:
    if engine.dialect is Dialect.SNOWFLAKE:
        pytest.skip("its driver lives in an environment of its own: test_snowflake_edge.py runs there")
    rest = "/file" if engine.dialect in (Dialect.SQLITE, Dialect.DUCKDB) else "reader:secret@host/database"
    configs = parse_connections({"connections": [{"name": "it", "url": engine.url + rest}]})
    (database,) = Engines(children=1, reserved=1).connected(configs, metrics=Metrics("t"))
    assert database.dialect is engine.dialect


@pytest.mark.parametrize("extra", ["clickhouse", "oracle", "bigquery", "snowflake"])
def test_a_missing_driver_is_named_with_what_brings_it(extra: str) -> None:
    with pytest.raises(DriverMissing, match=rf"{extra}"):
        driver_module(f"no_such_driver_of_{extra}", extra)
