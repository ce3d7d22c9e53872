"""What a caller may see of the connections: their names, what stands in them, and what could be asked.

An analyst sees names, types and keys as far as the connection's policy goes for the tenant. A business reader sees
what people call things, and nothing that has no such name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from querybus.bus.log.publish import BusTrouble
from querybus.core.catalog import Catalog, Column, Language, Table
from querybus.core.credential import Credential
from querybus.core.policy import Connection
from querybus.sql.names.visible_catalog import visible
from querybus.text.disclosure import leaks
from querybus.text.labels import column_label, table_label
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.queries import BUS_RETRY_SECONDS

_TROUBLE = Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)


class KnownConnections(Protocol):
    """What every service may know of the databases. Raises BusTrouble."""

    async def get(self, name: str) -> Connection | None: ...

    async def all(self) -> Sequence[Connection]: ...


class KnownCatalogs(Protocol):
    """The catalogs. Raises BusTrouble."""

    async def read(self, connection: str) -> Catalog | None: ...


class Refreshes(Protocol):
    """Where the executors are asked to read a catalog again; lossy."""

    async def refresh(self, tenant: str, connection: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Seen:
    """A catalog as its reader may see it, and the whole of it, none of whose names a label may give away."""

    seen: Catalog
    whole: Catalog


class Catalogs:
    """The connections and their catalogs, as each caller may see them."""

    def __init__(self, connections: KnownConnections, catalogs: KnownCatalogs, refreshes: Refreshes) -> None:
        self._connections = connections
        self._catalogs = catalogs
        self._refreshes = refreshes

    async def connections(self, credential: Credential) -> Json | Problem:
        """Return the caller's connections: `{connections: [{name, description, dialect}]}`."""
        try:
            known = await self._connections.all()
        except BusTrouble:
            return _TROUBLE
        return {"connections": [_connection(item, credential) for item in known if _is_own(item, credential)]}

    async def connection(self, name: str, credential: Credential) -> Json | Problem:
        """Return one of the caller's connections."""
        result = await self._known(name, credential)
        return result if isinstance(result, Problem) else _connection(result, credential)

    async def refresh(self, name: str, credential: Credential) -> Json | Problem:
        """Ask for the connection's tables and columns to be read again, which takes a moment; for analysts."""
        known = await self._known(name, credential)
        if isinstance(known, Problem):
            return known
        if not _is_analyst(credential):
            return Problem(ProblemCode.SCOPE, "analysts ask for a catalog to be read again")
        await self._refreshes.refresh(credential.tenant, name)
        return _connection(known, credential)

    async def catalog(self, name: str, credential: Credential, language: Language) -> Json | Problem:
        """Return what stands in a connection: `{connection, tables: [...], glossary}`."""
        result = await self.seen(name, credential)
        if isinstance(result, Problem):
            return result
        if credential.audience == "analyst":
            tables = [_table(table, result.whole, language) for table in result.seen.tables]
        else:
            tables = _topics(result, language)
        return {
            "connection": name,
            "tables": tables,
            "glossary": dict(result.seen.glossary) if _is_analyst(credential) else {},
        }

    async def _known(self, name: str, credential: Credential) -> Connection | Problem:
        missing = Problem(ProblemCode.NOT_FOUND, "there is no such connection for this credential")
        if credential.connections is not None and name not in credential.connections:
            return missing
        try:
            connection = await self._connections.get(name)
        except BusTrouble:
            return _TROUBLE
        return connection if connection is not None and _is_own(connection, credential) else missing

    async def seen(self, name: str, credential: Credential) -> Seen | Problem:
        connection = await self._known(name, credential)
        if isinstance(connection, Problem):
            return connection
        try:
            catalog = await self._catalogs.read(name)
        except BusTrouble:
            return _TROUBLE
        if catalog is None:
            return Problem(ProblemCode.NOT_FOUND, "this connection has not been read yet")
        return Seen(visible(catalog, connection.policy.of(credential.tenant)), catalog)


def _is_own(connection: Connection, credential: Credential) -> bool:
    is_listed = credential.connections is None or connection.name in credential.connections
    return is_listed and connection.policy.serves(credential.tenant)


def _is_analyst(credential: Credential) -> bool:
    return credential.audience == "analyst"


def _connection(connection: Connection, credential: Credential) -> Json:
    # An operator's words about a database may be technical; business readers get those that are not.
    is_plain = _is_analyst(credential) or not leaks(connection.description, None, "en")
    view: Json = {"name": connection.name, "description": connection.description if is_plain else ""}
    if _is_analyst(credential):
        view |= {"dialect": connection.dialect.value, "access": connection.policy.of(credential.tenant).access.value}
    return view


def _table(table: Table, catalog: Catalog, language: Language) -> Json:
    return {
        "name": table.name,
        "schema": table.schema_name,
        "kind": table.kind,
        "label": table_label(table, language, catalog),
        "comment": table.comment,
        "row_estimate": table.row_estimate,
        "primary_key": list(table.primary_key),
        "foreign_keys": [
            {
                "columns": list(key.columns),
                "referred_schema": key.referred_schema,
                "referred_table": key.referred_table,
                "referred_columns": list(key.referred_columns),
            }
            for key in table.foreign_keys
        ],
        "columns": [_column(column, catalog, language) for column in table.columns],
    }


def _column(column: Column, catalog: Catalog, language: Language) -> Json:
    return {
        "name": column.name,
        "type": column.type,
        "kind": column.kind.value,
        "nullable": column.nullable,
        "label": column_label(column, catalog, language),
        "comment": column.comment,
    }


def _topics(known: Seen, language: Language) -> list[Json]:
    """Return tables and columns that people have a name for."""
    catalog = known.whole
    items: list[Json] = []
    for table in known.seen.tables:
        label = table_label(table, language, catalog)
        if label is None:
            continue
        named = ((column_label(column, catalog, language), column.kind.value) for column in table.columns)
        columns = [{"label": name, "kind": kind} for name, kind in named if name is not None]
        items.append({"label": label, "columns": columns})
    return items
