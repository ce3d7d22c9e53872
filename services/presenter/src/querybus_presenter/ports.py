"""What the presenter reads from outside: the catalog, for labels and for the names that must not show."""

from __future__ import annotations

from typing import Protocol

from querybus.core.catalog import Catalog


class Catalogs(Protocol):
    """Catalogs by connection."""

    async def read(self, connection: str) -> Catalog | None:
        """Return the connection's catalog, or None if there is none or it cannot be had in time; never raises."""
        ...
