"""A private PostgreSQL as a host hands it out: on a port of this machine, with TLS, passwords and roles."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support.database_servers import free_port, missing
from tests.support.tls_in_front import own_certificate

PASSWORD: Final = "w0rd@/#"
_ROLES: Final = f"""
CREATE ROLE owner LOGIN PASSWORD '{PASSWORD}';
CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}';
CREATE ROLE stranger LOGIN PASSWORD '{PASSWORD}';
CREATE ROLE boss SUPERUSER LOGIN PASSWORD '{PASSWORD}';
CREATE DATABASE sales OWNER owner;
CREATE DATABASE bare OWNER owner;
"""
_TABLES: Final = """
SET ROLE owner;
CREATE SCHEMA shop;
CREATE TABLE shop.customer (id int PRIMARY KEY, name text, city text);
CREATE TABLE shop.orders (id int PRIMARY KEY, customer_id int REFERENCES shop.customer, amount numeric(10,2), placed date);
INSERT INTO shop.customer SELECT n, 'Customer ' || n, (ARRAY['Rome','Oslo','Bern'])[n % 3 + 1] FROM generate_series(1, 30) n;
INSERT INTO shop.orders SELECT n, n % 30 + 1, n, date '2026-01-01' + n FROM generate_series(1, 90) n;
RESET ROLE;
GRANT USAGE ON SCHEMA shop TO reader;
GRANT SELECT ON ALL TABLES IN SCHEMA shop TO reader;
"""
_HBA: Final = """
local all all trust
hostssl all all 127.0.0.1/32 scram-sha-256
"""
"""Without TLS nobody comes in over the port."""


@dataclass(frozen=True)
class PostgresOverTcp:
    """A running server. Roles: owner, reader, stranger (no grants), boss (superuser), all with PASSWORD."""

    folder: Path
    port: int
    programs: Path

    @property
    def authority(self) -> Path:
        """The certificate's file, which is its own authority."""
        return self.folder / "server.pem"

    def url(self, user: str, database: str = "sales", password: str = PASSWORD, more: str = "sslmode=require") -> str:
        """Return a URL of libpq, with the password's signs as they are."""
        return f"postgres://{user}:{password}@127.0.0.1:{self.port}/{database}?{more}"

    def execute(self, script: str, database: str = "sales") -> str:
        """Run a script as the superuser."""
        command = [
            self.programs / "psql",
            "-X",
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
            "-At",
            "-U",
            "postgres",
            "-p",
            str(self.port),
        ]
        command += ["-h", str(self.folder), "-d", database]
        return subprocess.run(command, input=script, text=True, capture_output=True, check=True, timeout=60).stdout


def debian_programs() -> Path:
    """Return the folder of the newest PostgreSQL that Debian's package brought."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if not folders:
        missing("no PostgreSQL with TLS: Debian's package postgresql brings it")
    return folders[-1]


def own_account() -> dict[str, Any]:
    """Return how a program is started that refuses to run as root."""
    return {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}


@contextlib.contextmanager
def postgres_over_tcp() -> Generator[PostgresOverTcp]:
    """Run such a server for as long as the block lasts."""
    programs = debian_programs()
    # A socket's path is at most 107 bytes long, so the folder stands right under the system's own.
    with tempfile.TemporaryDirectory(prefix="qb-tcp-") as name:
        folder, port = Path(name), free_port()
        own_certificate(folder)
        (folder / "server.pem").chmod(0o600)
        for path in (folder, folder / "server.pem"):
            if os.geteuid() == 0:
                shutil.chown(path, "postgres", "postgres")
        folder.chmod(0o755)
        data = folder / "data"
        init = [programs / "initdb", "--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres", "-D", data]
        subprocess.run(init, check=True, capture_output=True, timeout=120, **own_account())
        (data / "pg_hba.conf").write_text(_HBA)
        pem = folder / "server.pem"
        settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": folder, "fsync": "off",
                    "ssl": "on", "ssl_cert_file": pem, "ssl_key_file": pem}  # fmt: skip
        command = [programs / "postgres", "-D", data, *(f"--{key}={value}" for key, value in settings.items())]
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **own_account())
        try:
            result = PostgresOverTcp(folder, port, programs)
            ready = [programs / "pg_isready", "-h", str(folder), "-p", str(port), "-t", "60", "-q"]
            for _ in range(600):
                if subprocess.run(ready, check=False, timeout=70).returncode == 0:
                    break
                time.sleep(0.1)
            result.execute(_ROLES, "postgres")
            result.execute(_TABLES)
            yield result
        finally:
            running.send_signal(signal.SIGINT)
            running.wait(timeout=60)
