"""Claims on the first hour with an own PostgreSQL: TLS, passwords, an owner's role, no grants; each end leads on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from querybus.core.failure import Failure, FailureCode
from querybus.ops.metrics import Metrics
from querybus_cli.app import app
from querybus_executor.connections.config import parse_connections
from querybus_executor.connections.diagnose import Finding, Step, StepName, StepState, diagnose
from querybus_executor.connections.trouble import Trouble
from querybus_executor.engines.registry import Engines
from tests.support.postgres_over_tcp import PASSWORD, PostgresOverTcp, postgres_over_tcp

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresOverTcp]:
    with postgres_over_tcp() as running:
        yield running


def listed(folder: Path, url: str) -> Path:
    file = folder / "connections.yaml"
    file.write_text(json.dumps({"connections": [{"name": "sales", "url": url}]}))
    return file


async def found(folder: Path, url: str, **environment: str) -> Finding:
    return await diagnose(listed(folder, url), "sales", environment)


def step(finding: Finding, name: StepName) -> Step:
    return next(step for step in finding.steps if step.name is name)


async def test_what_a_host_hands_out_works_at_once(server: PostgresOverTcp, tmp_path: Path) -> None:
    result = await found(tmp_path, server.url("reader"))
    assert (result.trouble, result.tables, result.warnings, result.may_write) == (None, 2, (), "")
    assert [item.state for item in result.steps] == [StepState.OK] * len(StepName)
    assert step(result, StepName.TLS).detail.startswith("TLSv1")
    checked = await found(tmp_path, server.url("reader", more=f"sslmode=verify-full&sslrootcert={server.authority}"))
    assert checked.trouble is None, checked


async def test_libpq_keywords_the_environment_and_a_passwords_file_work_as_well(
    server: PostgresOverTcp, tmp_path: Path
) -> None:
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"127.0.0.1:{server.port}:sales:reader:{PASSWORD}\n")
    passwords.chmod(0o600)
    text = f"host=127.0.0.1 port={server.port} dbname=sales sslmode=require passfile={passwords}"
    assert (await found(tmp_path, text, PGUSER="reader")).trouble is None
    refused = await found(tmp_path, text.replace("pgpass", "none"), PGUSER="reader")
    assert (refused.trouble, "PGPASSFILE" in refused.detail) == (Trouble.CREDENTIALS, True)


async def test_a_role_without_grants_gets_the_grants_for_this_database_and_role_and_they_are_enough(
    server: PostgresOverTcp, tmp_path: Path
) -> None:
    result = await found(tmp_path, server.url("stranger"))
    assert (result.trouble, result.tables) == (Trouble.NO_TABLES, 0)
    assert "GRANT USAGE ON SCHEMA shop TO stranger;" in result.missing
    command = ["connections", "test", "sales", "--file", str(tmp_path / "connections.yaml")]
    shown = await asyncio.to_thread(CliRunner().invoke, app, command)
    assert (shown.exit_code, "GRANT SELECT ON ALL TABLES IN SCHEMA shop TO stranger;" in shown.output) == (1, True)
    server.execute("\n".join(result.missing) + "SET ROLE owner; CREATE TABLE shop.later (a int);")
    try:
        assert (await found(tmp_path, server.url("stranger"))).tables == 3
    finally:
        server.execute("DROP TABLE shop.later; DROP OWNED BY stranger;")


async def test_the_statements_for_a_role_that_only_reads_make_one(server: PostgresOverTcp, tmp_path: Path) -> None:
    trial = await found(tmp_path, server.url("owner"))
    assert (trial.trouble, len(trial.warnings)) == (None, 1)
    server.execute("\n".join(trial.reader).replace("'...'", f"'{PASSWORD}'"))
    try:
        better = await found(tmp_path, server.url("querybus_reader"))
        assert (better.trouble, better.warnings, better.tables) == (None, (), 2)
    finally:
        server.execute("DROP OWNED BY querybus_reader; DROP ROLE querybus_reader;")


@pytest.mark.parametrize(
    ("user", "database", "password", "more", "trouble", "failed", "words"),
    [
        ("owner", "sales", "wrong", "sslmode=require", Trouble.CREDENTIALS, StepName.PASSWORD, "user or the password"),
        (
            "owner",
            "none",
            PASSWORD,
            "sslmode=require",
            Trouble.DATABASE,
            StepName.DATABASE,
            "does not know the database",
        ),
        ("owner", "sales", PASSWORD, "sslmode=disable", Trouble.TLS, StepName.TLS, "write sslmode=require"),
        ("owner", "sales", PASSWORD, "sslmode=verify-full", Trouble.TLS, StepName.TLS, "sslrootcert=FILE"),
        ("owner", "bare", PASSWORD, "sslmode=require", Trouble.NO_TABLES, StepName.TABLES, "holds no table"),
    ],
)
async def test_each_fault_names_its_step_its_cause_its_setting_and_the_next_command(
    server: PostgresOverTcp, tmp_path: Path,
    user: str, database: str, password: str, more: str, trouble: Trouble, failed: StepName, words: str,
) -> None:  # fmt: skip
    result = await found(tmp_path, server.url(user, database, password, more))
    assert (result.trouble, step(result, failed).state) == (trouble, StepState.FAILED)
    assert words in result.detail
    assert "of the connection sales" in result.setting
    assert result.next_command == f"querybus connections test sales --file {tmp_path / 'connections.yaml'}"
    assert PASSWORD not in str(result)
    names = list(StepName)
    later = [item.state for item in result.steps[names.index(failed) + 1 :]]
    assert set(later) <= {StepState.NOT_REACHED}


async def test_to_a_question_a_fault_of_the_setup_differs_from_a_server_that_is_away(
    server: PostgresOverTcp,
) -> None:
    entries = [
        {"name": "wrong", "url": server.url("owner", password="wrong")},
        {"name": "bare", "url": server.url("stranger")},
    ]
    engines = Engines(children=1, reserved=1)
    databases = engines.connected(parse_connections({"connections": entries}, {}), metrics=Metrics("test"))
    try:
        wrong, bare = [await database.catalog() for database in databases]
    finally:
        await engines.drain()
    assert isinstance(wrong, Failure)
    assert isinstance(bare, Failure)
    assert (wrong.code, bare.code) == (FailureCode.SETUP, FailureCode.SETUP)
    assert "Setting: the user and password of `url` of the connection wrong" in wrong.detail
    assert "GRANT SELECT ON ALL TABLES IN SCHEMA shop TO stranger;" in bare.detail
    assert str(server.port) not in wrong.detail
