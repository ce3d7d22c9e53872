"""Reads `connections.yaml`: which databases there are, what may be done on them, and their names for people.

Unknown keys are refused, so a misspelt limit is never silently no limit. `${NAME}` in a URL stands for the
environment's variable of that name as it is, `${file:/path}` for a file's text, percent-encoded, without the line end:
the file itself holds no secret.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

import yaml
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, ValidationError, model_validator
from sqlalchemy.engine import URL, make_url

from querybus.core.catalog import Dialect, Language
from querybus.core.policy import Access, Connection, ConnectionPolicy
from querybus.engines import ENGINES
from querybus.sql.row_security import BadFilter, row_filter
from querybus_executor.connections.addresses.address import BadAddress
from querybus_executor.connections.addresses.local import read_address
from querybus_executor.connections.certificates import server_context
from querybus_executor.connections.database_url import DIALECTS, FILES
from querybus_executor.connections.described import BadDescriptionError, MeasureWord, Relation, Unit, read_described
from querybus_semantic.formats.document import BadFileError
from querybus_semantic.formats.entries import pieces_of
from querybus_semantic.formats.files import read_layers
from querybus_semantic.formats.problems import settings_problem, yaml_problem

_VARIABLE: Final = re.compile(r"\$\{(?:file:(?P<file>[^}]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*))\}")
SECRET_BYTES_MAX: Final = 64 << 10
DEPTH_MAX: Final = 20


class BadConnections(ValueError):
    """The connections cannot be used as configured; the message says where and why, without secrets."""


class PoolLimits(BaseModel):
    """How many connections to a server are kept and how long one is waited for."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    size: int = Field(default=20, ge=1, le=500)
    overflow: int = Field(default=10, ge=0, le=500, description="opened beyond `size` and closed again")
    wait_seconds: float = Field(default=30.0, gt=0)
    recycle_seconds: int = Field(default=3_600, ge=1, description="after which a connection is replaced")


class ConnectionConfig(BaseModel):
    """One entry of the file, as `connections:` lists it."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[\w.-]{1,64}$")
    url: SecretStr = Field(description="a URL, libpq keywords or a path; ${NAME} is taken from the environment")
    write_url: SecretStr | None = Field(
        default=None, description="for confirmed changes: the same database through a role that may make them"
    )
    description: str = ""
    access: Access = Access.READ_ONLY
    policy: ConnectionPolicy = ConnectionPolicy()
    display_names: Mapping[str, Mapping[Language, str]] = Field(
        default={}, description="`table` or `table.column` -> language -> name"
    )
    synonyms: Mapping[str, tuple[str, ...]] = Field(default={}, description="`table` or `table.column` -> other words")
    measure_words: Mapping[str, MeasureWord] = Field(
        default={}, description="table -> what its rows are counted in in Chinese: 位, 笔, 件"
    )
    units: Mapping[str, Unit] = Field(
        default={}, description="`table.column` -> what its amounts are in: CNY, or {en: days, zh: 天}"
    )
    descriptions: Mapping[str, str] = Field(
        default={}, description="`table` or `table.column` -> what it holds, where the database has no comment"
    )
    relations: tuple[Relation, ...] = Field(
        default=(), description="`orders.customer_id = customers.id`: a reference that the database does not declare"
    )
    described: Path | None = Field(
        default=None,
        description="a file of `querybus connections describe` that its owner has read; this entry outweighs it",
    )
    glossary: Mapping[str, str] = Field(default={}, description="business term -> its meaning")
    definitions: Path | None = Field(
        default=None, description="an Ossie file of what the owner's words mean: metrics, dimensions, relations"
    )
    today: dt.date | None = Field(default=None, description="the day that counts as today, for data that stands still")
    personal: tuple[str, ...] = Field(default=(), description="`table` or `table.column` of which no value is kept")
    not_personal: tuple[str, ...] = Field(
        default=(), description="`table` or `table.column` whose name looks personal and that is not"
    )
    without_values: tuple[str, ...] = Field(default=(), description="`table` or `table.column` not to be sampled")
    values: bool = Field(default=True, description="keep frequent values of text columns in the catalog")
    pool: PoolLimits = PoolLimits()
    role_may_write: bool = Field(default=False, description="take a database role that could change data")
    catalog_seconds: float = Field(default=3_600.0, gt=0, description="how often the catalog is read again")
    _url_notes: tuple[str, ...] = PrivateAttr(default=())
    _url_variables: tuple[str, ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _access_once(self) -> ConnectionConfig:
        if "access" in self.policy.model_fields_set:
            raise ValueError("`access` stands beside `name`, not in `policy`")
        return self

    @model_validator(mode="after")
    def _native_where_it_holds(self) -> ConnectionConfig:
        if not self.policy.native:
            return self
        if not ENGINES[self.dialect].takes_readers:
            able = " and ".join(engine.title for engine in ENGINES.values() if engine.takes_readers)
            raise ValueError(
                f"`policy.native` names readers to {able} alone, not to {ENGINES[self.dialect].title}: "
                "leave it out; `row_filters` hold without it"
            )
        if not any(rules.row_filters for rules in (self.policy, *self.policy.tenants.values())):
            raise ValueError(
                "`policy.native` needs `row_filters`: they stay as the second wall, and hide the planner's figures"
            )
        return self

    @cached_property
    def definition_pieces(self) -> Mapping[str, str]:
        """What the file of definitions holds, piece by piece; read once. BadConnections says what is wrong with it."""
        if self.definitions is None:
            return {}
        try:
            layers = read_layers([self.definitions.read_text(encoding="utf-8")], "ossie", self.name)
        except (OSError, UnicodeDecodeError, BadFileError) as error:
            raise BadConnections(f"{self.definitions.name}: {error}") from error
        if len(layers) != 1:
            raise BadConnections(f"{self.definitions.name}: one model is expected, it holds {len(layers)}")
        return dict(pieces_of(layers[0][0]))

    def with_urls(
        self, urls: Mapping[str, SecretStr], notes: tuple[str, ...], variables: tuple[str, ...] = ()
    ) -> ConnectionConfig:
        """Return the entry with its URLs in QueryBus's own form, the notes about them and the variables that filled them."""
        result = self.model_copy(update=urls)
        result._url_notes, result._url_variables = notes, variables  # noqa: SLF001 - of its own class
        return result

    @property
    def url_variables(self) -> tuple[str, ...]:
        """The names of the environment's variables and files from which the URL was filled."""
        return self._url_variables

    @property
    def url_notes(self) -> tuple[str, ...]:
        """What the URL says that is read otherwise than it is written, for its owner."""
        return self._url_notes

    @property
    def applied_policy(self) -> ConnectionPolicy:
        """The policy with the entry's access."""
        return self.policy.model_copy(update={"access": self.access})

    @cached_property
    def parsed_url(self) -> URL:
        """The URL, checked when the file was read."""
        return make_url(self.url.get_secret_value())

    @property
    def writing_url(self) -> URL:
        """The URL for confirmed changes, checked when the file was read."""
        return self.parsed_url if self.write_url is None else make_url(self.write_url.get_secret_value())

    @property
    def dialect(self) -> Dialect:
        """The dialect that the URL names."""
        return DIALECTS[self.parsed_url.get_backend_name()]

    @property
    def reads_files(self) -> bool:
        """Whether it is a folder or file of tables (CSV, Parquet, Excel) instead of a database."""
        return self.parsed_url.get_backend_name() == FILES

    @property
    def file_path(self) -> Path:
        """The absolute path of an embedded database's file."""
        return Path(self.parsed_url.database or "").absolute()

    def public(self) -> Connection:
        """Return the connection as the other services know it."""
        return Connection(
            name=self.name, dialect=self.dialect, description=self.description, policy=self.applied_policy
        )


class _File(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    connections: tuple[ConnectionConfig, ...]


def load_connections(path: Path, environment: Mapping[str, str] = os.environ) -> tuple[ConnectionConfig, ...]:
    """Return the entries of the file; BadConnections says what is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadConnections(f"{path.name} cannot be read: {type(error).__name__}") from error
    if (deep := _deep_line(text)) is not None:
        raise BadConnections(f"{path.name}: line {deep} is nested more than {DEPTH_MAX} levels deep")
    try:
        read = yaml.load(text, yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise BadConnections(f"{path.name} {yaml_problem(error)}") from error
    for entry, key, beside in _named_files(read, path):
        entry[key] = str(beside)
    return parse_connections(read, environment, path.parent, text)


def _deep_line(text: str) -> int | None:
    """Return the first line that is nested deeper than DEPTH_MAX; what does not parse is reported by the parser."""
    depth = 0
    try:
        for event in yaml.parse(text, yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEPTH_MAX:
                return event.start_mark.line + 1 if event.start_mark is not None else 1
    except yaml.YAMLError:
        return None
    return None


def _named_files(read: object, path: Path) -> Iterator[tuple[dict[str, Any], str, Path]]:
    """Yield the entries that name a file, with the file: beside the connections file where it stands there."""
    connections = cast("Any", read).get("connections") if isinstance(read, dict) else None
    for entry in cast("list[object]", connections) if isinstance(connections, list) else ():
        for key in ("described", "definitions"):
            named = cast("dict[str, Any]", entry).get(key) if isinstance(entry, dict) else None
            if isinstance(named, str):
                beside = path.parent / named
                yield cast("dict[str, Any]", entry), key, beside if beside.exists() else Path(named)


def parse_connections(
    read: object, environment: Mapping[str, str] = os.environ, folder: Path | None = None, text: str = ""
) -> tuple[ConnectionConfig, ...]:
    """Return the entries of what a file in `folder` holds; BadConnections says what is wrong with them, by the lines of `text`."""
    problems: list[str] = []
    filled = _filled(read, environment, problems)
    if problems:
        raise BadConnections("\n".join(problems))
    try:
        entries = _File.model_validate(filled).connections
    except ValidationError as error:
        raise BadConnections(settings_problem(error, _File, text)) from None
    variables = _variables(read)
    entries = tuple(
        _with_description(_with_address(entry, environment, folder, problems, variables[number]))
        for number, entry in enumerate(entries)
    )
    if problems:
        raise BadConnections("\n".join(problems))
    for entry in entries:
        # A file that cannot be read is said at the start, not when a question comes.
        _ = entry.definition_pieces
    for number, entry in enumerate(entries):
        problem = _certificates_problem(entry) or _write_problem(entry) or _policy_problem(entry)
        if problem is None and any(other.name == entry.name for other in entries[:number]):
            problem = "another connection has this name"
        if problem is not None:
            problems.append(f"connection {entry.name}: {problem}")
    if problems:
        raise BadConnections("\n".join(problems))
    return entries


def _with_address(
    entry: ConnectionConfig,
    environment: Mapping[str, str],
    folder: Path | None,
    problems: list[str],
    variables: tuple[str, ...],
) -> ConnectionConfig:
    """Return the entry with its URLs in QueryBus's own form."""
    changes: dict[str, SecretStr] = {}
    notes: tuple[str, ...] = ()
    for key in ("url", "write_url"):
        written: SecretStr | None = getattr(entry, key)
        if written is None:
            continue
        try:
            address = read_address(written.get_secret_value(), environment, folder)
        except BadAddress as error:
            problems.append(f"connection {entry.name}: {key}: {error}")
            continue
        changes[key] = SecretStr(address.text)
        notes += tuple(f"{key}: {note}" for note in address.notes)
    return entry.with_urls(changes, notes, variables)


def _with_description(entry: ConnectionConfig) -> ConnectionConfig:
    """Return the entry with what the file that it names says of the database."""
    if entry.described is None:
        return entry
    try:
        said = read_described(entry.described)
    except BadDescriptionError as error:
        raise BadConnections(f"connection {entry.name}: {error}") from error
    merged: dict[str, Any] = {
        name: {**getattr(said, name), **getattr(entry, name)}
        for name in ("display_names", "measure_words", "units", "synonyms", "descriptions")
    }
    lists = {name: (*getattr(said, name), *getattr(entry, name)) for name in ("personal", "not_personal", "relations")}
    return entry.model_copy(update=merged | lists)


def _filled(read: object, environment: Mapping[str, str], problems: list[str]) -> object:
    """Return the file with the variables in its URLs replaced."""
    if not isinstance(read, dict) or not isinstance(cast("Any", read).get("connections"), list):
        return cast("object", read)
    file = cast("dict[str, Any]", read)
    entries: list[object] = []
    for number, entry in enumerate(cast("list[object]", file["connections"])):
        if not isinstance(entry, dict):
            entries.append(entry)
            continue
        values = dict(cast("dict[str, Any]", entry))
        for key in ("url", "write_url"):
            url = values.get(key)
            if isinstance(url, str):
                found: list[str] = []
                values[key] = _VARIABLE.sub(lambda match, found=found: _secret(match, environment, found), url)
                problems += [f"connections[{number}].{key}: {item}" for item in found]
        entries.append(values)
    return {**file, "connections": entries}


def _variables(read: object) -> list[tuple[str, ...]]:
    """Return for each entry the variables and files that its URL names."""
    entries = cast("list[dict[str, Any]]", cast("Any", read)["connections"])
    return [
        tuple(f"${{{match['name']}}}" if match["name"] else match["file"] for match in _VARIABLE.finditer(entry["url"]))
        for entry in entries
    ]


def _secret(match: re.Match[str], environment: Mapping[str, str], problems: list[str]) -> str:
    name, path = match["name"], match["file"]
    if name is not None:
        if name not in environment:
            problems.append(f"the environment has no variable {name}")
        return environment.get(name, "")
    try:
        with Path(path).open(encoding="utf-8") as file:
            return quote(file.read(SECRET_BYTES_MAX).rstrip("\r\n"), safe="")
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"the secret's file {path} cannot be read: {type(error).__name__}")
        return ""


def files_of(path: Path) -> tuple[Path, ...]:
    """Return the connections file and the files that it names: of secrets, descriptions and definitions. What changes in one counts."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return (path,)
    secrets = (Path(match["file"]) for match in _VARIABLE.finditer(text) if match["file"])
    try:
        read = None if _deep_line(text) is not None else yaml.load(text, yaml.CSafeLoader)
    except yaml.YAMLError:
        read = None
    return (path, *secrets, *(beside for _, _, beside in _named_files(read, path)))


def _write_problem(entry: ConnectionConfig) -> str | None:
    if entry.reads_files and entry.access is not Access.READ_ONLY:
        return "files are only read: leave out `access`"
    if entry.write_url is None:
        return None
    if entry.access is Access.READ_ONLY:
        return "`write_url` is for connections whose `access` is read_write or full"
    backend = entry.writing_url.get_backend_name()
    if ENGINES[entry.dialect].is_file or DIALECTS[backend] is not entry.dialect:
        return "`write_url` names another role of the same server"
    return None


def _policy_problem(entry: ConnectionConfig) -> str | None:
    """Return which row filter cannot be used, as far as its text says; its columns are checked when it is used."""
    for rules in (entry.policy, *entry.policy.tenants.values()):
        for table, condition in rules.row_filters.items():
            try:
                row_filter(condition, entry.dialect)
            except BadFilter as error:
                return f"the row filter of {table}: {error}"
    return None


def _certificates_problem(entry: ConnectionConfig) -> str | None:
    try:
        server_context(entry.parsed_url)
    except OSError as error:
        return f"url: the certificates of ssl_ca, ssl_cert and ssl_key cannot be read ({type(error).__name__})"
    return None
