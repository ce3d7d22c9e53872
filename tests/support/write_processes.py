"""The processes that this one has started to make a change in a file of SQLite or DuckDB."""

from __future__ import annotations

import os
from pathlib import Path


def writing_processes() -> list[int]:
    """Return their process ids."""
    numbers: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                status = (folder / "stat").read_text().rpartition(")")[2].split()
                is_own = int(status[1]) == os.getpid() and b"write_worker" in (folder / "cmdline").read_bytes()
            except (OSError, IndexError, ValueError):
                continue
            if is_own:
                numbers.append(int(folder.name))
    return numbers
