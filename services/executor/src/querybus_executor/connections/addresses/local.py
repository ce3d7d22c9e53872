"""Reads an address that may be a path or name a service: the one place that looks at files for it."""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sqlalchemy.engine import URL

from querybus_executor.connections.addresses.address import Address, BadAddress, folded
from querybus_executor.connections.database_url import FILES, KEYWORDS, read_url, service_name

_HEAD_BYTES: Final = 4_096
_SQLITE: Final = b"SQLite format 3\0"
_DUCKDB: Final = b"DUCK"
"""Stands behind the first eight bytes of a file."""
_OLD_EXCEL: Final = bytes.fromhex("d0cf11e0a1b11ae1")
_PACKED: Final = (b"PK\x03\x04", b"\x1f\x8b", b"PAR1")
"""Excel's and other zip files, gzip, Parquet: what a file of tables may begin with besides text."""
_SUFFIXES: Final = {
    **dict.fromkeys((".sqlite", ".sqlite3", ".db", ".db3", ".s3db"), "sqlite"),
    **dict.fromkeys((".duckdb", ".ddb"), "duckdb"),
    **dict.fromkeys((".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json", ".xlsx", ".gz", ".pq", ".txt"), FILES),
}
"""What a path means at which there is no file yet."""


def read_address(text: str, environment: Mapping[str, str] = os.environ, folder: Path | None = None) -> Address:
    """Return the address that a URL, a keyword string or a path gives; BadAddress says what to write instead.

    A path is looked for in `folder` first, where it is given, then in the working folder.
    """
    text = text.strip()
    if not text:
        raise BadAddress("the address is empty: write a URL, or the path of a file or folder")
    path = Path(text).expanduser()
    if folder is not None and not path.is_absolute() and (folder / path).exists():
        path = folder / path
    if "://" not in text and not KEYWORDS.match(text) and (path.exists() or _is_path(text)):
        return _path_address(path, text)
    service = service_name(text, environment)
    keywords = {} if service is None else _service_keywords(service, environment)
    return read_url(text, environment, keywords)


def _is_path(text: str) -> bool:
    """Whether a text at which no file stands is meant as a path all the same."""
    is_scheme = ":" in text and len(text.partition(":")[0]) > 1
    return not is_scheme and ("/" in text or Path(text).suffix.lower() in _SUFFIXES or text.startswith("~"))


def _path_address(path: Path, text: str) -> Address:
    # A link stays one, so that it may point at a newer file later.
    path = path.resolve() if ".." in path.parts else path.absolute()
    if path.is_dir():
        return Address(URL.create(FILES, database=str(path)))
    kind = kind_of_file(path) if path.is_file() else _SUFFIXES.get(path.suffix.lower(), FILES)
    if kind is None:
        raise BadAddress(
            f"{text} is neither a SQLite nor a DuckDB file, nor a table as CSV, Parquet, JSON lines or Excel"
        )
    if kind == "xls":
        raise BadAddress(f"{text} is an Excel file of before 2007: save it as .xlsx")
    return Address(URL.create(kind, database=str(path)))


def kind_of_file(path: Path) -> str | None:
    """Return `sqlite`, `duckdb`, `files` or `xls` by how a file begins, whatever it is called; None for no such thing."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return _SUFFIXES.get(path.suffix.lower(), FILES)
    if head.startswith(_SQLITE) or (not head and _SUFFIXES.get(path.suffix.lower()) != FILES):
        return "sqlite"
    if head[8:12] == _DUCKDB:
        return "duckdb"
    if head.startswith(_OLD_EXCEL):
        return "xls"
    if head.startswith(_PACKED) or b"\0" not in head or head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return FILES
    return None


def _service_keywords(name: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return what libpq's service file says of a service; BadAddress names the files that were looked at."""
    home = environment.get("HOME")
    named = environment.get("PGSERVICEFILE")
    files = [Path(named)] if named else [Path(home) / ".pg_service.conf"] if home else []
    if environment.get("PGSYSCONFDIR"):
        files.append(Path(environment["PGSYSCONFDIR"]) / "pg_service.conf")
    for file in files:
        parser = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=",), comment_prefixes=("#",))
        try:
            parser.read_string(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, configparser.Error):
            continue
        if parser.has_section(name):
            return {folded(keyword): value for keyword, value in parser[name].items()}
    looked = " and ".join(map(str, files)) or "PGSERVICEFILE and ~/.pg_service.conf"
    raise BadAddress(f"the service {name!r} stands in no service file ({looked}): write it there, or write a URL")
