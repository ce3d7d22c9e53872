"""A business reader on every engine: of a table that holds one e-mail address, that column is masked and no other."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import pytest_asyncio

from querybus_cli.local.local_stack import Stack, StackPlan
from tests.support.database_servers import clickhouse_server, mariadb_server, postgres_server
from tests.support.engine_evidence import ON_CLICKHOUSE, ON_DUCKDB, ON_MARIADB, ON_POSTGRES, ON_SQLITE

pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

ENGINES = (
    pytest.param("postgres", marks=[pytest.mark.servers, ON_POSTGRES]),
    pytest.param("duckdb", marks=ON_DUCKDB),
    pytest.param("mariadb", marks=[pytest.mark.servers, ON_MARIADB]),
    pytest.param("clickhouse", marks=[pytest.mark.servers, ON_CLICKHOUSE]),
    pytest.param("sqlite", marks=ON_SQLITE),
)
ACCOUNTS = "(id INTEGER, name VARCHAR(40), country VARCHAR(40), owner_email VARCHAR(60), opened_on DATE, seats INTEGER)"
ROWS = (
    "(1, 'Nordwind Foods', 'Norway', 'ida@nordwind.example', '2026-01-05', 4)",
    "(2, 'Blue Harbour', 'Chile', 'leo@harbour.example', '2026-01-19', 9)",
    "(3, 'Alder Works', 'Norway', 'mia@alder.example', '2026-02-11', 2)",
    "(4, 'Quartz Labs', 'Chile', 'tom@quartz.example', '2026-02-12', 7)",
    "(5, 'Fern and Sons', 'Norway', 'una@fern.example', '2026-03-02', 5)",
)
STAFF = "(id INTEGER, full_name VARCHAR(40), team VARCHAR(40))"
PEOPLE = ("(1, 'Ines Okafor', 'support')", "(2, 'Paul Lindt', 'support')", "(3, 'Rui Mori', 'sales')")
PATIENTS = "(pat_id INTEGER, nm_last VARCHAR(40), nm_first VARCHAR(40), dob DATE, ward VARCHAR(20))"
PATIENT_ROWS = ("(1, 'Okoye', 'Ada', '1971-03-04', 'north')", "(2, 'Brandt', 'Jo', '1980-05-06', 'south')")
SCRIPT = (
    f"CREATE TABLE accounts {ACCOUNTS}",
    f"INSERT INTO accounts VALUES {', '.join(ROWS)}",
    f"CREATE TABLE staff {STAFF}",
    f"INSERT INTO staff VALUES {', '.join(PEOPLE)}",
    f"CREATE TABLE tbl_pat {PATIENTS}",
    f"INSERT INTO tbl_pat VALUES {', '.join(PATIENT_ROWS)}",
)
OTHER_SCHEMA = (
    "CREATE SCHEMA audit",
    "CREATE TABLE audit.visits (id INTEGER, ward VARCHAR(20), email VARCHAR(60))",
    "INSERT INTO audit.visits VALUES (1, 'north', 'a@b.example'), (2, 'north', 'c@d.example'), (3, 'south', 'e@f.example')",
)


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("readers")
    with contextlib.closing(sqlite3.connect(folder / "s.sqlite")) as file:
        file.executescript(";".join(SCRIPT))
    with duckdb.connect(str(folder / "d.duckdb")) as opened:
        for item in (*SCRIPT, *OTHER_SCHEMA):
            opened.execute(item)
    with postgres_server() as postgres, mariadb_server() as mariadb, clickhouse_server() as clickhouse:
        grants = "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA audit TO reader;" + "".join(
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader;" for schema in ("public", "audit")
        )
        statements = ";\n".join((*SCRIPT, *OTHER_SCHEMA))
        postgres.execute(f"CREATE DATABASE saas;\n\\c saas\n{statements};\n{grants}")
        mariadb.execute(
            f"CREATE DATABASE saas; USE saas; {';'.join(SCRIPT)};"
            "CREATE USER reader@'127.0.0.1'; GRANT SELECT ON saas.* TO reader@'127.0.0.1';"
        )
        clickhouse.execute("CREATE DATABASE saas")
        for item in SCRIPT:
            made = f"{item} ENGINE = MergeTree ORDER BY tuple()" if item.startswith("CREATE") else item
            clickhouse.execute(made, "saas")
        yield {
            "postgres": postgres.url("reader", "saas"),
            "mariadb": mariadb.url("reader", "saas"),
            "clickhouse": clickhouse.url("saas"),
            "sqlite": f"sqlite:///{folder}/s.sqlite",
            "duckdb": f"duckdb:///{folder}/d.duckdb",
        }


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack(urls: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    file: Path = tmp_path_factory.mktemp("business") / "connections.yaml"
    entries = [{"name": name, "url": url, "role_may_write": name == "clickhouse"} for name, url in urls.items()]
    file.write_text(json.dumps({"connections": entries}))
    async with Stack(StackPlan(file, sync="2m", serves_http=False)) as made:
        yield made


async def rows_of(stack: Stack, connection: str, question: str) -> list[list[Any]]:
    """Return the rows of the answer to a business reader."""
    async with stack.client("business") as client:
        body = {"question": question, "connection": connection, "wait_seconds": 50}
        reply = await client.call("ask", body, timeout_seconds=60)
    assert reply["outcome"] == "answered", reply
    return sorted(reply["rows"], key=str)


@pytest.mark.parametrize("engine", ENGINES)
async def test_what_is_grouped_by_a_plain_column_keeps_its_labels(stack: Stack, engine: str) -> None:
    assert await rows_of(stack, engine, "number of accounts per country") == [["Chile", 2], ["Norway", 3]]
    assert await rows_of(stack, engine, "number of staff per team") == [["sales", 1], ["support", 2]]


@pytest.mark.parametrize("engine", ENGINES)
async def test_months_and_sums_of_such_a_table_are_shown(stack: Stack, engine: str) -> None:
    months = await rows_of(stack, engine, "number of accounts per month")
    assert [row[-1] for row in months] == [2, 2, 1], months
    assert not any("*" in str(cell) for row in months for cell in row), months
    assert await rows_of(stack, engine, "total seats of accounts") == [[27]]


@pytest.mark.parametrize("engine", ENGINES)
async def test_of_a_list_contact_data_and_names_of_persons_are_masked_and_companies_are_not(
    stack: Stack, engine: str
) -> None:
    listed = await rows_of(stack, engine, "show name, country and owner email of accounts")
    text = str(listed)
    assert "Quartz Labs" in text
    assert "Norway" in text
    assert "***" in text
    assert ".example" not in text
    people = str(await rows_of(stack, engine, "what are the team and full name of each staff?"))
    assert "support" in people
    assert "Okafor" not in people
    patients = await rows_of(stack, engine, "show nm last, nm first and ward of tbl pat")
    assert [row[-1] for row in patients] == ["south", "north"], patients
    assert "Okoye" not in str(patients)
    assert await rows_of(stack, engine, "number of pat per ward") == [["north", 1], ["south", 1]]


@pytest.mark.parametrize("engine", ENGINES[:2])
async def test_a_table_of_another_schema_is_masked_and_shown_by_its_own_columns(stack: Stack, engine: str) -> None:
    assert await rows_of(stack, engine, "number of visits per ward") == [["north", 2], ["south", 1]]
    listed = str(await rows_of(stack, engine, "list ward and email of visits"))
    assert "north" in listed
    assert ".example" not in listed
