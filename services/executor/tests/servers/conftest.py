"""Database servers that the executor's tests share: each is started once per run, and only where a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.database_servers import MariadbServer, PostgresServer, mariadb_server, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariadbServer]:
    with mariadb_server() as server:
        yield server
