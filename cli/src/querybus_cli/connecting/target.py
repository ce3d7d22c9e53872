"""Which database is meant: by the argument, by libpq's environment, or as typed; and what it is to be called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from querybus_cli.connecting.dialogue import Dialogue
from querybus_cli.runtime import UsageError, usage
from querybus_executor.connections.addresses.address import Address
from querybus_executor.connections.addresses.local import read_address
from querybus_executor.connections.set_up.file_edit import name_of_database
from querybus_executor.connections.set_up.file_text import entries_of

_LIBPQ: Final = ("PGSERVICE", "PGHOST", "PGHOSTADDR", "PGDATABASE")
_PASSWORD: Final = "PGPASSWORD"  # noqa: S105 - the name of a variable
_URL: Final = "DATABASE_URL"
_EXAMPLES: Final = (
    "postgresql://user:password@host/database, a SQLite or DuckDB file, or a folder of CSV or Parquet files"
)


@dataclass(frozen=True, slots=True)
class Target:
    """A database to connect. `url` holds no password."""

    name: str
    url: str
    password: str | None
    is_new: bool = True

    @property
    def entry(self) -> dict[str, Any]:
        """Its entry of the connections file, so far."""
        return {"name": self.name, "url": self.url}


def read_target(
    address: str | None, name: str | None, file: Path, dialogue: Dialogue, environment: Mapping[str, str]
) -> Target:
    """Return the database that is meant; UsageError says what to type."""
    if address is None:
        address = _database_url(dialogue, environment) or _libpq_address(dialogue, environment)
        address = address or dialogue.text(f"Which database? {_EXAMPLES}\n")
    if not address:
        raise UsageError(f"say which database: querybus connect ADDRESS, which is {_EXAMPLES}")
    read: Address = usage(read_address, address, environment)
    if read.is_file and not Path(str(read.url.database)).exists():
        raise UsageError(f"there is no file or folder {address}: say {_EXAMPLES}")
    for note in read.notes:
        dialogue.say("address", "note", note)
    url, password = read.url.set(password=None).render_as_string(hide_password=False), read.url.password
    if password is None and read.url.get_backend_name() == "postgresql" and environment.get(_PASSWORD):
        url, password = _with_libpq_password(url, environment[_PASSWORD], file, dialogue)
    entries = usage(entries_of, file.read_text(encoding="utf-8")) if file.is_file() else []
    wanted = name or name_of_database(url)
    for item in entries:
        if item.get("name") != wanted:
            continue
        if _without_secret(str(item.get("url"))) == _without_secret(url):
            return Target(wanted, str(item["url"]) if password is None else url, password, is_new=False)
        if name is not None:
            raise UsageError(
                f"{file} has a connection {name} already: choose another --name, or `querybus connections remove {name}`"
            )
    names = {str(item.get("name")) for item in entries}
    number = 2
    while name is None and wanted in names:
        wanted, number = f"{name_of_database(url)}-{number}", number + 1
    return Target(wanted, url, password)


def _with_libpq_password(url: str, password: str, file: Path, dialogue: Dialogue) -> tuple[str, str | None]:
    """Return the URL and the password to keep; where it is not to be kept, the URL names the variable."""
    if dialogue.confirm(f"{_PASSWORD} is set. Keep the password in a file of your own beside {file}?", default=True):
        dialogue.say("password", "note", f"the password of {_PASSWORD} is kept in a file with mode 600 beside {file}")
        return url, password
    dialogue.say("password", "note", f"the entry names {_PASSWORD}: set it wherever `querybus up` runs")
    head, _, rest = url.partition("://")
    user, at, place = rest.rpartition("@")
    return f"{head}://{user}:${{{_PASSWORD}}}@{place}" if at else url, None


def _database_url(dialogue: Dialogue, environment: Mapping[str, str]) -> str | None:
    url = environment.get(_URL)
    if url and dialogue.confirm(f"The environment's {_URL} names a database. Connect it?", default=True):
        return url
    return None


def _libpq_address(dialogue: Dialogue, environment: Mapping[str, str]) -> str | None:
    named = [variable for variable in _LIBPQ if environment.get(variable)]
    if not named:
        return None
    shown = ", ".join(f"{variable}={environment[variable]}" for variable in named)
    if not dialogue.confirm(f"The environment names a PostgreSQL ({shown}). Connect it?", default=True):
        return None
    return "postgresql://"


def _without_secret(url: str) -> str:
    return re.sub(r"^([\w+.-]+://[^:@/?#]*):(?:\$\{[^}]*\}|[^@/])*@", r"\1@", url)
