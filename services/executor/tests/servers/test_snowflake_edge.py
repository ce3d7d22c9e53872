"""The edge of Snowflake against fakesnow, each in the environment that it needs. It is DuckDB underneath."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.database_servers import free_port, missing
from tests.support.engine_evidence import Evidence, shows

pytestmark = [
    pytest.mark.servers,
    shows("Snowflake", Evidence.EMULATED, "fakesnow, which is DuckDB underneath: no claim about Snowflake's semantics"),
]

ROOT = Path(__file__).resolve().parents[4]
ENVIRONMENTS = ROOT / "build" / "environments"
SERVER = """
import sys, time, fakesnow
with fakesnow.server(port=int(sys.argv[1])): time.sleep(3600)
"""
SETTING_UP = """
import sys, snowflake.connector
made = snowflake.connector.connect(user="fake", password="snow", account="fakesnow", host="127.0.0.1",
    port=int(sys.argv[1]), protocol="http", database="shop", schema="store")
for sql in sys.stdin.read().split(";"):
    if sql.strip(): made.cursor().execute(sql)
"""
FILL = """
CREATE DATABASE IF NOT EXISTS shop; CREATE SCHEMA IF NOT EXISTS shop.store; USE SCHEMA shop.store;
CREATE TABLE item (id INT, name VARCHAR, price NUMBER(10, 2), day DATE, made TIMESTAMP_NTZ, raw BINARY, ok BOOLEAN);
INSERT INTO item SELECT 1, 'eins', 19.90, '2026-01-31', '2026-01-31 09:05:00', NULL, TRUE;
INSERT INTO item SELECT 2, '二', 5, NULL, '2026-02-01 00:00:00', NULL, FALSE
"""
Ask = Callable[..., list[Any]]


def python(environment: str) -> Path:
    result = ENVIRONMENTS / environment / "bin" / "python"
    if not result.exists():
        missing("no environment of Snowflake's driver and stand-in: `make snowflake` sets them up")
    return result


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Generator[Ask]:
    fake, driver = python("fakesnow"), python("snowflake")
    home = tmp_path_factory.mktemp("home")
    port = free_port()
    bare = {"PATH": os.environ["PATH"], "HOME": str(home)}
    server = subprocess.Popen(
        [fake, "-c", SERVER, str(port)], env=bare, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=2).close()
                break
            except urllib.error.HTTPError:
                break
            except OSError:
                time.sleep(0.1)
        subprocess.run([fake, "-c", SETTING_UP, str(port)], input=FILL, text=True, check=True, env=bare, timeout=60)
        url = f"snowflake://fake:snow@fakesnow/SHOP/STORE?host=127.0.0.1&port={port}&protocol=http"
        paths = os.pathsep.join(
            str(ROOT / name) for name in ("libs/common/src", "libs/semantic/src", "services/executor/src")
        )

        def ask(*steps: dict[str, Any], **more: Any) -> list[Any]:
            done = subprocess.run(
                [driver, str(ROOT / "tests" / "support" / "snowflake_probe.py")],
                check=False,
                input=json.dumps({"url": url, "steps": steps, **more}),
                text=True,
                capture_output=True,
                env=bare | {"PYTHONPATH": paths},
                timeout=90,
            )
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout.splitlines()[-1])

        yield ask
    finally:
        server.kill()
        server.wait(timeout=30)


@pytest.mark.requirement("002.33")
def test_rows_come_with_their_types_and_limits(ask: Ask) -> None:
    plain, cut, few = ask(
        {"run": "SELECT id, name, price, day, made, ok FROM item ORDER BY id"},
        {"run": "SELECT id FROM item ORDER BY id", "rows_max": 1},
        {"run": "SELECT REPEAT('x', 4000) AS x FROM item", "bytes_max": 5_000},
    )
    assert plain["rows"] == [
        [1, "eins", 19.9, "2026-01-31", "2026-01-31 09:05:00", True],
        [2, "二", 5, None, "2026-02-01 00:00:00", False],
    ]
    assert [column[1] for column in plain["columns"]] == ["integer", "text", "number", "date", "datetime", "boolean"]
    assert (cut["rows"], cut["truncated"]) == ([[1]], True)
    assert (len(few["rows"]), few["cut_bytes"]) == (1, True)


def test_only_one_query_gets_through_and_nothing_changes(ask: Ask) -> None:
    attacks = (
        "DROP TABLE item", "DELETE FROM item", "INSERT INTO item (id) VALUES (3)", "SELECT 1; DROP TABLE item",
        "CREATE TABLE x (a INT)", "ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = 0", "CALL SYSTEM$WAIT(1)",
        "USE ROLE ACCOUNTADMIN", "COPY INTO @stage FROM item", "PUT file:///etc/passwd @stage", "SHOW GRANTS",
        "/* a */ TRUNCATE TABLE item", "EXECUTE IMMEDIATE 'DROP TABLE item'", "WITH PROCEDURE p() CALL p()",
    )  # fmt: skip
    *refused, rest = ask(*({"run": attack} for attack in attacks), {"run": "SELECT COUNT(*) FROM item"})
    assert {item["code"] for item in refused} <= {"permission", "multi_statement", "syntax_error"}
    assert rest["rows"] == [[2]]


def test_errors_are_reported_by_code(ask: Ask) -> None:
    table, column = ask({"run": "SELECT * FROM nosuch"}, {"run": "SELECT nosuch FROM item"})
    assert table["code"] == "table_not_found"
    assert column["code"] in ("column_not_found", "table_not_found")


def test_the_catalog_is_read_and_a_role_whose_rights_cannot_be_read_is_refused(ask: Ask) -> None:
    (catalog,) = ask({"catalog": True})
    assert [table["name"] for table in catalog["tables"]] == ["ITEM"]
    assert [column["name"] for column in catalog["tables"][0]["columns"]][:3] == ["ID", "NAME", "PRICE"]
    (refused,) = ask({"catalog": True}, role_may_write=False)
    assert (refused["code"], refused["rule"]) == ("connection", "role_may_write")
