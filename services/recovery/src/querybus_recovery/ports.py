"""What recovery reads from outside: catalogs and the policies of connections, nothing else and nothing to write."""

from __future__ import annotations

from typing import Protocol

from querybus.core.catalog import Catalog
from querybus.core.policy import Connection


class Catalogs(Protocol):
    """Catalogs by connection."""

    async def read(self, connection: str) -> Catalog | None:
        """Return the connection's catalog, or None if there is none."""
        ...


class Connections(Protocol):
    """Connections by name."""

    async def get(self, name: str) -> Connection | None:
        """Return the connection, or None if there is none."""
        ...
