"""`querybus connect` takes what people have and ends in a checked answer, or in words that lead on."""

from __future__ import annotations

import asyncio
import json
import shlex
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from querybus.llm.settings import ModelServiceSettings
from querybus_cli.app import app
from querybus_cli.connecting.dialogue import Dialogue
from querybus_cli.connecting.target import read_target
from querybus_executor.connections.config import load_connections
from tests.support.database_servers import PostgresServer, postgres_server
from tests.support.scripted_model import ScriptedModel, fail, say
from tests.support.tls_in_front import in_front_of, own_certificate

TABLES = """
CREATE TABLE customers (id integer PRIMARY KEY, name text NOT NULL, email text, city text);
CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer REFERENCES customers (id), amount numeric(10, 2));
INSERT INTO customers VALUES (1, 'Ann', 'a@x.org', 'Lyon'), (2, 'Bob', 'b@x.org', 'Paris'), (3, 'Cid', 'c@x.org', 'Lyon');
INSERT INTO orders VALUES (1, 1, 10.50), (2, 1, 20);
"""
UGLY = "CREATE TABLE TBL_QXZW (QXZW_ID integer, NM_X text, QZ integer); INSERT INTO TBL_QXZW VALUES (1, 'a', 2);"
pytestmark = pytest.mark.connected


def steps_of(*arguments: str, exit_code: int = 0, env: Mapping[str, str] | None = None) -> dict[str, dict[str, Any]]:
    result = CliRunner().invoke(app, ["connect", *arguments, "--json"], env=env)
    assert result.exit_code == exit_code, (result.output, result.exception)
    return {step["step"]: step for step in json.loads(result.stdout)["steps"]}


@pytest.fixture(autouse=True)
def no_model_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def nothing(settings: ModelServiceSettings) -> list[object]:
        return []

    monkeypatch.setattr("querybus_cli.connecting.model.local_servers", nothing)
    for name in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "QUERYBUS_LLM_BASE_URL",
        "QUERYBUS_LLM_MODEL",
        "PGHOST",
        "PGDATABASE",
        "PGPASSWORD",
        "DATABASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def sqlite_shop(folder: Path, script: str = TABLES) -> Path:
    file = folder / "shop.sqlite"
    with closing(sqlite3.connect(file)) as made:
        made.executescript(script)
    return file


def test_a_sqlite_file_ends_in_an_answer_that_agrees_with_a_direct_count(tmp_path: Path) -> None:
    steps = steps_of(str(sqlite_shop(tmp_path)))
    assert steps["database"]["tables"] == 2
    assert set(steps["personal"]["columns"]) == {"customers.name", "customers.email"}
    assert steps["names"]["readable_share"] == 1
    assert steps["question"]["answer"] == steps["question"]["counted"] == 3
    assert [item.name for item in load_connections(tmp_path / "connections.yaml")] == ["shop"]
    # The same once more changes nothing; another file of the same name gets another one.
    before = (tmp_path / "connections.yaml").read_text()
    assert steps_of(str(tmp_path / "shop.sqlite"))["file"]["name"] == "shop"
    assert (tmp_path / "connections.yaml").read_text() == before


@pytest.mark.slow
def test_names_that_cannot_be_read_lead_to_describe(tmp_path: Path) -> None:
    (tmp_path / "Our shop").mkdir()
    file = sqlite_shop(tmp_path / "Our shop", UGLY)
    steps = steps_of(str(file), "--name", "clinic")
    assert steps["names"]["state"] == "note"
    # The command works as it stands: by the connection, which has its password.
    words = shlex.split(steps["names"]["lines"][0].split(" drafts ")[0])
    assert words[:5] == ["querybus", "connections", "describe", "--connection", "clinic"]
    done = CliRunner().invoke(app, words[1:])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "clinic.described.yaml").is_file()
    assert "querybus describe" in steps["question"]["lines"][0]


def test_a_file_that_is_no_database_and_an_address_without_a_database_write_nothing(tmp_path: Path) -> None:
    for argument in ("none.sqlite", "postgresql://127.0.0.1:1/d", "ftp://x"):
        result = CliRunner().invoke(app, ["connect", argument, "--no-start"])
        assert result.exit_code != 0
    assert not (tmp_path / "connections.yaml").exists()
    assert not (tmp_path / ".querybus").exists()


@pytest.mark.slow
def test_a_model_is_named_kept_and_tried_and_what_is_wrong_with_it_is_said(tmp_path: Path) -> None:
    shop = str(sqlite_shop(tmp_path))
    with ScriptedModel(say("SELECT 1"), models=("text-embedding", "good:1b")) as server:
        found = steps_of(shop, env={"QUERYBUS_LLM_BASE_URL": server.base_url})
        assert (found["model"]["state"], found["model"]["model"]) == ("ok", "good:1b")
    with ScriptedModel(fail(401)) as server:
        env = {"QUERYBUS_LLM_BASE_URL": server.base_url, "QUERYBUS_LLM_MODEL": "m"}
        refused = steps_of(shop, env=env)
    assert refused["model"]["state"] == "note"
    assert "QUERYBUS_LLM_API_KEY" in refused["model"]["text"]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        running.execute(
            f"CREATE DATABASE sales;\n\\c sales\n{TABLES}"
            "CREATE ROLE reader LOGIN PASSWORD 'p@ss/word'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;"
            "CREATE ROLE stranger LOGIN; CREATE ROLE owner LOGIN; CREATE DATABASE owned OWNER owner;"
        )
        rules = running.folder / "pg_hba.conf"
        rules.write_text(f"local all reader scram-sha-256\n{rules.read_text()}")
        running.execute("SELECT pg_reload_conf();")
        yield running


@pytest.mark.servers
def test_a_postgresql_with_a_password_is_connected_and_the_password_stands_in_no_file_of_others(
    server: PostgresServer, tmp_path: Path
) -> None:
    address = f"postgres://reader:p%40ss%2Fword@/sales?host={server.folder}"
    steps = steps_of(address)
    assert steps["database"]["state"] == "ok", steps
    assert steps["question"]["answer"] == 3, steps
    text = (tmp_path / "connections.yaml").read_text()
    assert "ss/word" not in text
    assert "ss%2Fword" not in text
    assert "p@ss" not in json.dumps(steps)


@pytest.mark.servers
def test_a_wrong_password_is_said_and_nothing_is_written(server: PostgresServer, tmp_path: Path) -> None:
    steps = steps_of(f"postgres://reader:wrong@/sales?host={server.folder}", exit_code=5)
    assert steps["database"]["trouble"] == "credentials"
    assert not (tmp_path / "connections.yaml").exists()


@pytest.mark.servers
def test_libpqs_environment_names_the_database(server: PostgresServer, tmp_path: Path) -> None:
    env = {"PGHOST": str(server.folder), "PGDATABASE": "sales", "PGUSER": "reader", "PGPASSWORD": "p@ss/word"}
    steps = steps_of(env=env)
    assert (steps["database"]["tables"], steps["file"]["name"]) == (2, "sales")
    text = (tmp_path / "connections.yaml").read_text()
    assert "p@ss" not in text
    assert "${file:" in text, "another shell, without PGPASSWORD, starts the stack as well"
    assert steps["password"]["text"].startswith("the password of PGPASSWORD is kept in a file with mode 600")


def test_a_password_of_the_environment_is_kept_or_named_as_the_person_says(tmp_path: Path) -> None:
    environment = {"PGPASSWORD": "p@ss/word"}
    kept = read_target("postgresql://ann@h/sales", None, tmp_path / "c.yaml", Dialogue(as_json=True), environment)
    assert (kept.url, kept.password) == ("postgresql://ann@h/sales", "p@ss/word")

    class No(Dialogue):
        def confirm(self, question: str, *, default: bool) -> bool:
            return False

    named = read_target("postgresql://ann@h/sales", None, tmp_path / "c.yaml", No(as_json=True), environment)
    assert (named.url, named.password) == ("postgresql://ann:${PGPASSWORD}@h/sales", None)


def test_database_url_of_the_environment_is_connected(tmp_path: Path) -> None:
    steps = steps_of(env={"DATABASE_URL": f"sqlite:///{sqlite_shop(tmp_path)}"})
    assert steps["file"]["name"] == "shop"


def test_a_path_is_kept_without_steps_upwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sqlite_shop(tmp_path)
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    steps_of("../shop.sqlite")
    assert f"{tmp_path}/shop.sqlite" in (tmp_path / "below/connections.yaml").read_text()


@pytest.mark.servers
def test_tls_is_used_as_the_address_asks(server: PostgresServer, tmp_path: Path) -> None:
    context = own_certificate(tmp_path)
    socket_file = next(path for path in server.folder.glob(".s.PGSQL.*") if path.suffix != ".lock")

    async def both() -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
        async with in_front_of(socket_file, context) as port, in_front_of(socket_file, None) as plain:
            address = "postgres://reader:p%40ss%2Fword@127.0.0.1:{}/sales?sslmode=require"
            good = await asyncio.to_thread(steps_of, address.format(port))
            bad = await asyncio.to_thread(steps_of, address.format(plain), "--name", "plain", exit_code=5)
            return good, bad

    good, bad = asyncio.run(both())
    assert good["question"]["answer"] == 3
    assert bad["database"]["trouble"] == "tls"


@pytest.mark.servers
def test_a_role_that_may_write_is_connected_with_a_warning_and_the_way_to_a_better_one(
    server: PostgresServer, tmp_path: Path
) -> None:
    steps = steps_of(f"postgres://postgres@/sales?host={server.folder}")
    assert steps["database"]["state"] == "note"
    assert steps["database"]["warnings"]
    assert any("GRANT SELECT" in line for line in steps["database"]["reader"]), steps["database"]
    assert steps["question"]["answer"] == 3
    assert (tmp_path / "connections.yaml").exists()


@pytest.mark.servers
def test_a_role_without_grants_is_given_the_statements_for_this_database_and_nothing_is_written(
    server: PostgresServer, tmp_path: Path
) -> None:
    steps = steps_of(f"postgres://stranger@/sales?host={server.folder}", exit_code=5)
    assert steps["database"]["trouble"] == "no_tables"
    statements = "\n".join(steps["database"]["missing"])
    assert "GRANT SELECT" in statements
    assert "stranger" in statements
    assert not (tmp_path / "connections.yaml").exists()


@pytest.mark.slow
def test_a_duckdb_file_is_connected(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(tmp_path / "bikes.duckdb") as made:
        made.execute("CREATE TABLE trips AS SELECT range AS id, 'Lyon' AS city FROM range(5)")
    assert steps_of(str(tmp_path / "bikes.duckdb"))["question"]["answer"] == 5
    assert [item.name for item in load_connections(tmp_path / "connections.yaml")] == ["bikes"]
