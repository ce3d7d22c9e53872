"""The process that makes one DuckDB file of a folder's tables, for the hardened worker to open read-only.

Parquet becomes views, everything else is copied with its types sniffed over the whole file. DuckDB may touch the
folder and the file's own place only. It imports DuckDB, the standard library, charset-normalizer and, for Excel,
python-calamine.
A request on standard input is `{"root", "target", "sources": [{"table", "kind", "paths", "is_partitioned"}]}`; the reply
is `{"tables": [{"table", "label"}], "unread": [[file, reason]]}`.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb

from querybus.ops.sandbox import enter_sandbox, offered_walls
from querybus_executor.engines.duckdb.tables.encodings import utf8_file
from querybus_executor.engines.duckdb.tables.excel import COLUMNS_MAX, ROWS_MAX, SHEETS_MAX, table_of_sheet

MEMORY_BYTES_MAX: Final = 4 << 30
MEMORY_LIMIT: Final = "1GB"
REASON_LENGTH_MAX: Final = 200


def build(request: dict[str, Any]) -> dict[str, Any]:
    """Make the file at `target` and return which tables it holds and which files could not be read."""
    root, target = str(request["root"]), Path(request["target"])
    target.unlink(missing_ok=True)
    # What it spills and converts lies beside the target.
    enter_sandbox(offered_walls(), reads=[root], writes=[str(target.parent)])
    database = duckdb.connect(str(target), config={"memory_limit": MEMORY_LIMIT, "threads": 2})
    # It would print one before the answer.
    database.execute("SET enable_progress_bar = false")
    database.execute("SET TimeZone = 'UTC'")
    database.execute("SET autoinstall_known_extensions = false")
    database.execute("SET autoload_known_extensions = false")
    database.execute(f"SET allowed_directories = [{_text(root)}, {_text(str(target.parent))}]")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    tables: list[dict[str, str]] = []
    unread: list[list[str]] = []
    for source in request["sources"]:
        try:
            made = _excel if source["kind"] == "excel" else _table
            tables += [{"table": name, "label": label} for name, label in made(database, source, target.parent)]
        except (duckdb.Error, OSError, ValueError, ImportError) as error:
            unread.append([Path(source["paths"][0]).name, _reason(error, root)])
    database.execute("CHECKPOINT")
    database.close()
    return {"tables": tables, "unread": unread}


def _table(database: duckdb.DuckDBPyConnection, source: dict[str, Any], folder: Path) -> Iterator[tuple[str, str]]:
    if source["kind"] == "parquet":
        _read_files(database, source, source["paths"])
    else:
        with TemporaryDirectory(dir=folder) as converted:
            _read_files(database, source, [utf8_file(path, Path(converted)) for path in source["paths"]])
    yield source["table"], source["label"]


def _read_files(database: duckdb.DuckDBPyConnection, source: dict[str, Any], files: Sequence[str]) -> None:
    paths = "[" + ", ".join(map(_text, files)) + "]"
    partitions = "true" if source["is_partitioned"] else "false"
    options = f"union_by_name = true, hive_partitioning = {partitions}"
    name = _quoted(source["table"])
    if source["kind"] == "parquet":
        database.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({paths}, {options})")  # noqa: S608 - quoted
    else:
        reader = "read_json" if source["kind"] == "json" else "read_csv"
        reading = f"{reader}({paths}, {options}, sample_size = -1)"
        database.execute(f"CREATE TABLE {name} AS SELECT * FROM {reading}")  # noqa: S608 - quoted


def _excel(database: duckdb.DuckDBPyConnection, source: dict[str, Any], folder: Path) -> Iterator[tuple[str, str]]:
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise ImportError("Excel files need pip install 'querybus-executor[excel]'") from None
    book = CalamineWorkbook.from_path(source["paths"][0])
    sheets = book.sheet_names[:SHEETS_MAX]
    found = 0
    for sheet in sheets:
        part = book.get_sheet_by_name(sheet)
        if part.total_height > ROWS_MAX or part.total_width > 10 * COLUMNS_MAX:
            raise ValueError(f"the sheet {sheet} has more than {ROWS_MAX} rows or {10 * COLUMNS_MAX} columns")
        made = table_of_sheet(part.to_python(skip_empty_area=True))
        if made is None:
            continue
        names, types, rows = made
        rest = (
            ""
            if len(sheets) == 1
            else "_" + "".join(sign if sign.isalnum() else "_" for sign in sheet.lower()).strip("_")
        )
        file = folder / "sheet.csv"
        with file.open("w", newline="", encoding="utf-8") as written:
            csv.writer(
                written, quoting=csv.QUOTE_NOTNULL if sys.version_info >= (3, 12) else csv.QUOTE_MINIMAL
            ).writerows(rows)
        columns = (
            "{" + ", ".join(f"{_text(name)}: {_text(kind)}" for name, kind in zip(names, types, strict=True)) + "}"
        )
        reading = f"read_csv({_text(str(file))}, header = false, auto_detect = false, delim = ',', columns = {columns},"
        reading += " quote = '\"', escape = '\"')"
        name = _quoted(source["table"] + rest)
        database.execute(f"CREATE TABLE {name} AS SELECT * FROM {reading}")  # noqa: S608 - quoted
        file.unlink()
        found += 1
        yield source["table"] + rest, source["label"] if len(sheets) == 1 else f"{source['label']} {sheet}"
    if not found:
        raise ValueError("no sheet holds a table with a header")


def _reason(error: Exception, root: str) -> str:
    """Return an error's first line without the folder's path."""
    if isinstance(error, duckdb.Error) and ("unicode" in str(error).lower() or "utf-8" in str(error).lower()):
        return "its text is not UTF-8: save it as UTF-8"
    lines = str(error).replace(root + os.sep, "").strip().splitlines() or [type(error).__name__]
    return lines[0][:REASON_LENGTH_MAX]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def main() -> None:
    """Answer the one request."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    sys.stdout.write(json.dumps(build(json.load(sys.stdin))))
