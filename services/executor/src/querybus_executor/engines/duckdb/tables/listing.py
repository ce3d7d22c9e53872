"""Which tables a file or folder holds: one for each file, one for a folder of partitions, named for SQL. Reads no contents."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FILES_MAX: Final = 5_000
FOLDERS_DEEP_MAX: Final = 6
LOADED_BYTES_MAX: Final = 2 << 30
"""Of all files but Parquet, which are copied; Parquet is read where it is."""
NAME_LENGTH_MAX: Final = 60

KINDS: Final = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet",
    ".jsonl": "json", ".ndjson": "json", ".json": "json", ".xlsx": "excel", ".xlsm": "excel",
}  # fmt: skip
_PACKED: Final = (".gz", ".zst")
_PARTITION: Final = re.compile(r"[^=/]+=[^/]*")
_TAKEN_PREFIX: Final = re.compile(r"duckdb_|pragma_|sqlite_|pg_|\d", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TableSource:
    """One table to be: its name in SQL, its label for people, its files of one kind."""

    table: str
    label: str
    kind: str
    paths: tuple[str, ...]
    is_partitioned: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """What was found. `state` changes with every file's name, size or time; `unread`: files that are none, with why."""

    root: Path
    sources: tuple[TableSource, ...]
    unread: tuple[tuple[str, str], ...]
    state: tuple[tuple[str, int, int], ...]


class TooMuch(Exception):
    """The folder holds more than is read; the message names the limit."""


def kind_of(path: Path) -> str | None:
    """Return the kind of a file of tables by its name, or None.

    >>> kind_of(Path("a.csv.gz")), kind_of(Path("b.PARQUET")), kind_of(Path("notes.md"))
    ('csv', 'parquet', None)
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _PACKED:
        inner = KINDS.get(suffixes[-2]) if len(suffixes) > 1 else None
        return inner if inner in ("csv", "json") else None
    return KINDS.get(suffixes[-1]) if suffixes else None


def list_tables(source: Path) -> Listing:
    """Return the tables of a file or folder; TooMuch where a limit is reached, OSError where it cannot be listed.

    Links are followed only to places inside the folder, and nothing whose name begins with a dot or underscore is read.
    """
    root = source.resolve(strict=True)
    is_one = root.is_file()
    folder = root.parent if is_one else root
    files = [root] if is_one else sorted(_files(folder, folder, 0))
    if len(files) > FILES_MAX:
        raise TooMuch(f"the folder holds more than {FILES_MAX} files: connect one of its folders")
    state: list[tuple[str, int, int]] = []
    unread: list[tuple[str, str]] = []
    groups: dict[tuple[str, str], list[Path]] = {}
    loaded = 0
    for file in files:
        shown = str(file.relative_to(folder))
        kind = kind_of(file) or ("csv" if is_one else None)
        if not file.resolve().is_relative_to(folder):
            unread.append((shown, "a link that leads out of the folder"))
            continue
        if kind is None:
            continue
        stat = file.stat()
        state.append((shown, stat.st_size, stat.st_mtime_ns))
        loaded += 0 if kind == "parquet" else stat.st_size
        groups.setdefault((_table_place(shown), kind), []).append(file)
    if loaded > LOADED_BYTES_MAX:
        raise TooMuch(f"the files other than Parquet hold more than {LOADED_BYTES_MAX >> 30} GB: save them as Parquet")
    names: set[str] = set()
    sources: list[TableSource] = []
    for (place, kind), paths in groups.items():
        name = _free(_name(place), names)
        is_partitioned = any(_PARTITION.search(str(path.relative_to(folder))) for path in paths)
        label = re.sub(r"[/_]+", " ", place).strip()
        sources.append(TableSource(name, label, kind, tuple(map(str, paths)), is_partitioned))
    return Listing(folder, tuple(sources), tuple(unread), tuple(state))


def _files(folder: Path, root: Path, depth: int) -> Iterator[Path]:
    if depth > FOLDERS_DEEP_MAX:
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith((".", "_", "~$")):
                continue
            path = Path(entry.path)
            if entry.is_symlink() and not path.resolve().is_relative_to(root):
                if entry.is_file():
                    yield path
                continue
            if entry.is_dir():
                yield from _files(path, root, depth + 1)
            elif entry.is_file():
                yield path


def _table_place(shown: str) -> str:
    """Return what a table is named after: the file without its suffixes, or the folder above its partitions.

    >>> _table_place("rides/year=2024/a.parquet"), _table_place("sub/t.csv.gz"), _table_place("year=2024/a.parquet")
    ('rides', 'sub/t', 'partitions')
    """
    parts = shown.split("/")
    partition = next((number for number, part in enumerate(parts[:-1]) if _PARTITION.fullmatch(part)), None)
    if partition is not None:
        return "/".join(parts[:partition]) or "partitions"
    stem = parts[-1]
    while Path(stem).suffix.lower() in (*KINDS, *_PACKED):
        stem = Path(stem).stem
    return "/".join((*parts[:-1], stem))


def _name(place: str) -> str:
    """Return a name for SQL.

    >>> _name("Sales 2024 (final)"), _name("sub/2023-10"), _name("订单 表")
    ('sales_2024_final', 'sub_2023_10', '订单_表')
    """
    name = re.sub(r"\W+", "_", place.lower()).strip("_")[:NAME_LENGTH_MAX].strip("_") or "table"
    return f"t_{name}" if _TAKEN_PREFIX.match(name) else name


def _free(name: str, names: set[str]) -> str:
    free, number = name, 2
    while free in names:
        free, number = f"{name}_{number}", number + 1
    names.add(free)
    return free
