"""Turns at the sessions or processes of each connection: no tenant can take all of one, however long its statements run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from querybus.engines import ENGINES
from querybus_executor.connections.config import ConnectionConfig
from querybus_executor.sharing.turns import Turns

SPARE_PLACES: Final = 1
"""Of each connection, for a tenant that runs nothing there. Embedded engines get a process more for it."""


class Configured(Protocol):
    """A connected database, of which only its entry is read."""

    @property
    def config(self) -> ConnectionConfig: ...


class ConnectionTurns:
    """The turns of each connection, made when a statement first asks for them. `children`: processes of an embedded engine."""

    def __init__(self, database: Callable[[str], Configured | None], *, children: int) -> None:
        self._database = database
        self._children = children
        self._turns: dict[tuple[str, int], Turns] = {}

    def of(self, connection: str) -> Turns | None:
        """Return the turns of that connection, or None where it is not configured."""
        database = self._database(connection)
        if database is None:
            return None
        places = self._places(database.config)
        key = (connection, places)
        if key not in self._turns:
            self._turns[key] = Turns(places, SPARE_PLACES)
        return self._turns[key]

    def _places(self, config: ConnectionConfig) -> int:
        """Return how many statements run at once, without the spare place."""
        if ENGINES[config.dialect].is_file:
            return self._children
        return max(1, config.pool.size + config.pool.overflow - SPARE_PLACES)
