"""What the docs say of each engine is what the code does: no edge that is not listed, no engine that is oversold."""

from __future__ import annotations

from pathlib import Path

import pytest

from querybus.core.catalog import Dialect
from querybus.ops.metrics import Metrics
from querybus_executor.connections import BadConnections, parse_connections
from querybus_executor.engines import Engines
from querybus_executor.evidence import ENGINES, Engine, Evidence, engine_table

PAGE = Path(__file__).parents[3] / "docs" / "connections.md"
TESTS = {
    Dialect.SQLITE: "test_sqlite_edge.py",
    Dialect.DUCKDB: "test_duckdb_edge.py",
    Dialect.POSTGRESQL: "test_postgres_edge.py",
    Dialect.MYSQL: "test_mysql_edge.py",
}


def test_the_page_shows_the_list() -> None:
    assert engine_table() in PAGE.read_text()


def test_every_dialect_is_listed() -> None:
    assert {each.dialect for each in ENGINES} == set(Dialect)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda each: each.title)
def test_an_engine_has_an_edge_exactly_where_the_list_says_so(engine: Engine) -> None:
    url = engine.url or f"{engine.title.lower()}://"
    rest = "/file" if engine.dialect in (Dialect.SQLITE, Dialect.DUCKDB) else "reader:secret@host/database"
    read = {"connections": [{"name": "it", "url": url + rest}]}
    if engine.evidence is Evidence.GUARD_ONLY:
        with pytest.raises(BadConnections, match="there is no engine for"):
            parse_connections(read)
        return
    (database,) = Engines(children=1, reserved=1).connected(parse_connections(read), metrics=Metrics("t"))
    assert database.dialect is engine.dialect
    if engine.evidence is Evidence.EXECUTED:
        assert Path(__file__).with_name(TESTS[engine.dialect]).exists()
