"""Shuts the child process of one embedded database in: its file, the program itself, and nothing else of the machine.

It imports the standard library only. A process is shut in before its engine opens the file, so the engine reads no byte
of a database outside. Walls cannot be moved afterwards: where the file was replaced, or its views read files beside it,
the process says `STALE` and the executor asks a new one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from querybus.ops.sandbox import enter_sandbox, offered_walls

STALE: Final = "StaleProcess"
"""The name of the error of a process that is shut in with other files than it needs; its text is a folder or empty."""


class Stale(Exception):
    """The process is shut in with other files; `folder`: which the next one has to be able to read."""

    def __init__(self, folder: str = "") -> None:
        super().__init__(folder)


class Confinement:
    """What this process is shut in with; nothing before the first file is opened."""

    _inside: tuple[object, ...] | None = None
    holds_files = False
    """Whether other files are out of reach by now."""

    @classmethod
    def enter(cls, path: str, *, inode: object, reads: Sequence[str], writes: Sequence[str] = ()) -> None:
        """Shut the process in for a file; Stale if it is already, and for another one."""
        wanted = (path, inode, tuple(reads), tuple(writes))
        if cls._inside is not None:
            if cls._inside[:2] != wanted[:2] and cls.holds_files:
                raise Stale
            return
        walls = offered_walls()
        enter_sandbox(walls, reads=reads, writes=writes)
        cls._inside, cls.holds_files = wanted, walls.landlock > 0


def sqlite_files(path: str) -> tuple[list[str], list[str]]:
    """Return what SQLite reads and what it changes when it only reads this file.

    In write-ahead mode readers share an index beside the file. Where none is there yet SQLite makes it, for which it
    needs the folder.
    """
    shared = [f"{path}-wal", f"{path}-shm"]
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - children start fast
            is_write_ahead = file.read(20)[18:20] == b"\x02\x02"
    except OSError:
        is_write_ahead = False
    if not is_write_ahead:
        return [path, f"{path}-journal"], []
    missing = not all(os.path.exists(item) for item in shared)  # noqa: PTH110
    return [path], [os.path.dirname(os.path.realpath(path))] if missing else shared  # noqa: PTH120
