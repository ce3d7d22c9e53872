"""A PostgreSQL as a host hands it out: over TLS on a port, with passwords, and with roles as people have them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.database_servers import PostgresServer, postgres_server
from tests.support.tls_in_front import in_front_of, own_certificate

PASSWORD: Final = "p@ss/word#1"
ROLES: Final = ("shop_reader", "shop_owner", "newcomer")
"""One that only reads, one that owns the tables, one without any grant."""
SCRIPT: Final = f"""
CREATE ROLE shop_reader LOGIN PASSWORD '{PASSWORD}';
CREATE ROLE shop_owner LOGIN PASSWORD '{PASSWORD}';
CREATE ROLE newcomer LOGIN PASSWORD '{PASSWORD}';
CREATE DATABASE webshop OWNER shop_owner;
\\c webshop
SET ROLE shop_owner;
CREATE TABLE customers (id integer PRIMARY KEY, full_name text NOT NULL, email text, city text);
CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer REFERENCES customers (id), amount numeric(10, 2),
  ordered_on date NOT NULL);
INSERT INTO customers VALUES (1, 'Ada Stone', 'ada@mail.example', 'Lyon'), (2, 'Bo Field', 'bo@mail.example', 'Paris'),
  (3, 'Cy Marsh', 'cy@mail.example', 'Lyon');
INSERT INTO orders SELECT n, 1 + n % 3, n * 2.5, CURRENT_DATE - n FROM generate_series(1, 6) n;
GRANT SELECT ON customers, orders TO shop_reader;
RESET ROLE;
"""


@dataclass(frozen=True)
class StrangersPostgres:
    """A running server that wants TLS and passwords."""

    server: PostgresServer
    port: int
    certificate: Path

    def url(self, role: str, *, quoted_password: str = "p%40ss%2Fword%231", parameters: str = "sslmode=require") -> str:
        """Return the address as a host's page shows it."""
        return f"postgres://{role}:{quoted_password}@127.0.0.1:{self.port}/webshop?{parameters}"


@contextlib.contextmanager
def strangers_postgres(folder: Path) -> Generator[StrangersPostgres]:
    """Run it for as long as the block lasts; the certificate that nobody signed stands in `folder`."""
    context = own_certificate(folder)
    with postgres_server() as server:
        server.execute(SCRIPT)
        rules = server.folder / "pg_hba.conf"
        asked = "".join(f"local all {role} scram-sha-256\n" for role in ROLES)
        rules.write_text(asked + rules.read_text())
        server.execute("SELECT pg_reload_conf();")
        socket_file = next(server.folder.glob(".s.PGSQL.*[0-9]"))
        ready: threading.Event = threading.Event()
        ports: list[int] = []
        loop = asyncio.new_event_loop()
        ended = asyncio.Event()

        async def serve() -> None:
            async with in_front_of(socket_file, context) as port:
                ports.append(port)
                ready.set()
                await ended.wait()

        thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
        thread.start()
        try:
            assert ready.wait(60), "nothing listens in front of the server"
            yield StrangersPostgres(server, ports[0], folder / "server.pem")
        finally:
            loop.call_soon_threadsafe(ended.set)
            thread.join(60)
