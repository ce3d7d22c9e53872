"""Follows the connections file and the files that it names, of secrets, descriptions and definitions: what changes in them holds without a restart.

A file is read whole and checked before anything is swapped; one that cannot be used keeps what is there and is said in
the log, once for each state of the files. What did not change keeps its sessions and its catalog.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus.ops.run import end
from querybus_executor.connections.config import BadConnections, ConnectionConfig, files_of, load_connections
from querybus_executor.connections.databases import Connected, ConnectedDatabase
from querybus_executor.engines.drivers import DriverMissing
from querybus_executor.engines.registry import Engines

LOOK_SECONDS: Final = 2.0

State = tuple[tuple[str, int, int, int], ...]
_log = get_log(__name__)


class Publisher(Protocol):
    """Who lists the connections and reads their catalogs."""

    async def adopt(self, added: Sequence[ConnectedDatabase], removed: Sequence[ConnectedDatabase]) -> None: ...


class ConnectionsReload:
    """The part that looks at the files. `replaced` learns of every new set of connections."""

    def __init__(
        self,
        path: Path,
        *,
        engines: Engines,
        databases: Connected,
        backup: Publisher,
        metrics: Metrics,
        replaced: Callable[[Sequence[ConnectionConfig]], None] = lambda _: None,
        load: Callable[[Path], tuple[ConnectionConfig, ...]] = load_connections,
    ) -> None:
        self.name = "connections-file"
        self._path = path
        self._engines = engines
        self._databases = databases
        self._backup = backup
        self._metrics = metrics
        self._replaced = replaced
        self._load = load
        self._files = files_of(path)
        self._seen = _state(self._files)
        self._looking: asyncio.Task[None] | None = None
        self._releasing: set[asyncio.Task[None]] = set()
        self._problem: str | None = None

    async def start(self) -> None:
        """Look from now on."""
        self._looking = asyncio.get_running_loop().create_task(self._look())

    async def drain(self) -> None:
        """Look no more."""
        await end(*([self._looking] if self._looking else []), *self._releasing)

    async def ping(self) -> str | None:
        """Return None: with a file that cannot be used the old connections go on; `problem` says what is wrong."""
        return None

    @property
    def problem(self) -> str | None:
        """What is wrong with the files as they are now, or None."""
        return self._problem

    async def check(self) -> bool:
        """Look once; return whether the connections were replaced."""
        # What it names is read out of the file again only when some file has changed.
        if await asyncio.to_thread(_state, self._files) == self._seen:
            return False
        self._files = await asyncio.to_thread(files_of, self._path)
        self._seen = await asyncio.to_thread(_state, self._files)
        try:
            configs = await asyncio.to_thread(self._load, self._path)
            await self._swap(configs)
        except (BadConnections, DriverMissing) as error:
            self._problem = str(error)
            _log.error("connections.refused", file=self._path.name, problem=self._problem)
            return False
        self._problem = None
        return True

    async def _swap(self, configs: Sequence[ConnectionConfig]) -> None:
        known = {item.config.name: item for item in self._databases.all}
        changed = [
            config for config in configs if config.name not in known or _differs(known[config.name].config, config)
        ]
        added = self._engines.connected(changed, metrics=self._metrics)
        made = {item.config.name: item for item in added}
        now = [made.get(config.name) or known[config.name] for config in configs]
        removed = [item for item in self._databases.all if item not in now]
        self._databases.replace(now)
        self._replaced(configs)
        _log.info("connections.replaced", added=sorted(made), removed=sorted(item.config.name for item in removed))
        await self._backup.adopt(added, removed)
        for item in removed:
            task = asyncio.get_running_loop().create_task(self._engines.release(item))
            self._releasing.add(task)
            task.add_done_callback(self._releasing.discard)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.check()
            except Exception as error:  # noqa: BLE001 - the next look may find better; the old connections go on
                _log.error("connections.unread", error=type(error).__name__)


def _differs(old: ConnectionConfig, new: ConnectionConfig) -> bool:
    """Whether an entry or what its file of definitions holds has changed."""
    return old != new or old.definition_pieces != new.definition_pieces


def _state(files: Sequence[Path]) -> State:
    pairs: list[tuple[str, int, int, int]] = []
    for file in files:
        try:
            stat = file.stat()
        except OSError:
            pairs.append((str(file), 0, 0, 0))
        else:
            pairs.append((str(file), stat.st_ino, stat.st_mtime_ns, stat.st_size))
    return tuple(pairs)
