"""`querybus connections test` names the one thing that is wrong."""

from __future__ import annotations

import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from querybus_cli.app import app
from querybus_executor.connections.diagnose import diagnose
from querybus_executor.connections.trouble import Trouble
from tests.support.database_servers import MariadbServer, PostgresServer
from tests.support.tls_in_front import in_front_of, own_certificate

PRODUCTION = {"QUERYBUS_ENVIRONMENT": "production"}


def listed(folder: Path, url: str, **more: str) -> Path:
    file = folder / "connections.yaml"
    extra = "".join(f"\n    {key}: {value}" for key, value in more.items())
    file.write_text(f"connections:\n  - name: it\n    url: {url}{extra}\n")
    return file


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    file = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(file)) as made:
        made.execute("CREATE TABLE t (a)")
    return file


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


async def test_a_connection_that_works_is_said_to(shop: Path, tmp_path: Path) -> None:
    result = await diagnose(listed(tmp_path, f"sqlite:///{shop}"), "it")
    assert (result.trouble, result.tables) == (None, 1)


async def test_what_is_wrong_before_anything_is_opened_is_named(shop: Path, tmp_path: Path) -> None:
    assert (await diagnose(tmp_path / "no.yaml", "it")).trouble is Trouble.FILE
    unset = await diagnose(listed(tmp_path, "postgresql://a:${NO_SUCH_VARIABLE}@h/d"), "it", {})
    assert (unset.trouble, "NO_SUCH_VARIABLE" in unset.detail) == (Trouble.FILE, True)
    other = await diagnose(listed(tmp_path, f"sqlite:///{shop}"), "other")
    assert (other.trouble, "it has it" in other.detail) == (Trouble.UNKNOWN, True)


@pytest.mark.parametrize("url", ["sqlite:///{}/none.sqlite", "duckdb:///{}/none.duckdb", "sqlite:///{}/text"])
async def test_a_file_that_is_missing_or_no_database_is_named_with_its_path(tmp_path: Path, url: str) -> None:
    (tmp_path / "text").write_text("no database " * 100)
    result = await diagnose(listed(tmp_path, url.format(tmp_path)), "it")
    assert (result.trouble, str(tmp_path) in result.detail) == (Trouble.DATABASE_FILE, True)


@pytest.mark.parametrize("engine", ["postgresql", "mariadb"])
async def test_nobody_at_the_port_and_a_name_of_no_host_are_distinguished(tmp_path: Path, engine: str) -> None:
    refused = await diagnose(listed(tmp_path, f"{engine}://u:p@127.0.0.1:{free_port()}/d"), "it")
    assert refused.trouble is Trouble.UNREACHABLE, refused
    unknown = await diagnose(listed(tmp_path, f"{engine}://u:p@no-such-host.invalid/d"), "it")
    assert unknown.trouble in (Trouble.HOST, Trouble.UNREACHABLE), unknown


def test_the_command_lists_and_tests_without_showing_a_secret(shop: Path, tmp_path: Path) -> None:
    file = listed(tmp_path, f"sqlite:///{shop}")
    runner = CliRunner()
    shown = runner.invoke(app, ["connections", "list", "--file", str(file)])
    assert (shown.exit_code, shown.output.split()) == (0, ["it", "sqlite", "read_only"])
    works = runner.invoke(app, ["connections", "test", "it", "--file", str(file)])
    assert (works.exit_code, works.output.splitlines()[0]) == (0, "it: works, sqlite, 1 table")
    broken = runner.invoke(app, ["connections", "test", "it", "--file", str(listed(tmp_path, "sqlite:////none/x"))])
    assert (broken.exit_code, "database_file" in broken.output) == (1, True)


@pytest.mark.servers
async def test_on_postgresql_login_database_and_rights_are_distinguished(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async def trouble(url: str, **more: str) -> Trouble | None:
        return (await diagnose(listed(tmp_path, url, **more), "it")).trouble

    assert await trouble(postgres.url("nobody")) is Trouble.CREDENTIALS
    assert await trouble(postgres.url("postgres", "no_such_database")) is Trouble.DATABASE
    postgres.execute("CREATE TABLE seen (a int)")
    assert (await diagnose(listed(tmp_path, postgres.url()), "it", PRODUCTION)).trouble is Trouble.ROLE_MAY_WRITE
    trial = await diagnose(listed(tmp_path, postgres.url()), "it")
    assert (trial.trouble, "superuser" in trial.may_write, len(trial.warnings)) == (None, True, 1)
    assert (await diagnose(listed(tmp_path, postgres.url(), role_may_write="true"), "it", PRODUCTION)).trouble is None


@pytest.mark.servers
@pytest.mark.parametrize(
    ("server", "asked", "expected"),
    [
        ("without TLS", "require", Trouble.TLS),
        ("without TLS", "disable", None),
        ("with TLS", "require", None),
        ("with TLS", "verify-full", Trouble.TLS),
        ("with TLS", "verify-full&ssl_ca={own}", None),
    ],
)
async def test_a_server_without_tls_and_a_certificate_that_nobody_trusts_are_reported(
    postgres: PostgresServer, tmp_path: Path, server: str, asked: str, expected: Trouble | None
) -> None:
    context = own_certificate(tmp_path) if server == "with TLS" else None
    socket_file = next(path for path in postgres.folder.glob(".s.PGSQL.*") if path.suffix != ".lock")
    async with in_front_of(socket_file, context) as port:
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres?ssl={asked.format(own=tmp_path / 'server.pem')}"
        result = await diagnose(listed(tmp_path, url, role_may_write="true"), "it")
    assert (None if result.trouble is Trouble.NO_TABLES else result.trouble) is expected, result


@pytest.mark.servers
async def test_on_mariadb_a_certificate_is_looked_at_where_its_authority_is_named(
    mariadb: MariadbServer, tmp_path: Path
) -> None:
    own_certificate(tmp_path)
    mariadb.execute("CREATE DATABASE IF NOT EXISTS told;")
    for authority, expected in ((mariadb.folder / "server.pem", None), (tmp_path / "server.pem", Trouble.TLS)):
        url = f"{mariadb.url('root', 'told')}?ssl_ca={authority}"
        result = await diagnose(listed(tmp_path, url, role_may_write="true"), "it")
        assert (None if result.trouble is Trouble.NO_TABLES else result.trouble) is expected, result


async def test_an_authority_that_cannot_be_read_or_is_not_used_is_reported_of_the_file(tmp_path: Path) -> None:
    for url, words in (
        ("mariadb://u@h/d?ssl_ca=/no/such/file", "ssl_ca, ssl_cert and ssl_key cannot be read"),
        (f"postgresql://u@h/d?ssl=disable&ssl_ca={tmp_path}/x", "verify-full"),
        (f"postgresql://u@h/d?ssl=require&ssl_ca={tmp_path}/x", "ssl_ca, ssl_cert and ssl_key cannot be read"),
    ):
        result = await diagnose(listed(tmp_path, url), "it")
        assert (result.trouble, words in result.detail) == (Trouble.FILE, True), result


@pytest.mark.servers
async def test_on_mariadb_login_database_and_rights_are_distinguished(mariadb: MariadbServer, tmp_path: Path) -> None:
    mariadb.execute("CREATE DATABASE IF NOT EXISTS told;")

    async def trouble(url: str, **more: str) -> Trouble | None:
        return (await diagnose(listed(tmp_path, url, **more), "it")).trouble

    assert await trouble(mariadb.url("nobody", "told")) is Trouble.CREDENTIALS
    assert await trouble(mariadb.url("root", "no_such_database")) is Trouble.DATABASE
    assert await trouble(mariadb.url("root", "told")) is Trouble.NO_TABLES
    mariadb.execute("CREATE TABLE told.seen (a int);")
    url = mariadb.url("root", "told")
    assert (await diagnose(listed(tmp_path, url), "it", PRODUCTION)).trouble is Trouble.ROLE_MAY_WRITE
    trial = await diagnose(listed(tmp_path, url), "it")
    assert (trial.trouble, len(trial.warnings), "CREATE USER" in trial.reader[0]) == (None, 1, True)
    assert (await diagnose(listed(tmp_path, url, role_may_write="true"), "it", PRODUCTION)).trouble is None
