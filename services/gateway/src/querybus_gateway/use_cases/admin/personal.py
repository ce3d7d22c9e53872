"""Which columns of a connection hold personal data, as it was recognised and as its owner decided."""

from __future__ import annotations

from typing import Protocol

from querybus.bus.log.publish import BusTrouble
from querybus.core.catalog import Catalog
from querybus.core.credential import Credential
from querybus.core.policy import Connection, ConnectionPolicy
from querybus_gateway.problems import Problem
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.admin.asked import TROUBLE, KnownNames, refusal


class KnownConnections(Protocol):
    """The connections. Raises BusTrouble."""

    async def get(self, name: str) -> Connection | None: ...


class KnownCatalogs(Protocol):
    """The catalogs. Raises BusTrouble."""

    async def read(self, connection: str) -> Catalog | None: ...


class PersonalColumns:
    """The personal columns of a tenant's connections. What is decided about them stands in the owner's described file."""

    def __init__(self, names: KnownNames, connections: KnownConnections, catalogs: KnownCatalogs) -> None:
        self._names = names
        self._connections = connections
        self._catalogs = catalogs

    async def listed(self, credential: Credential, name: str) -> Json | Problem:
        """Return `{connection, shown_to_business, columns}`: table, column, kind, in the order of the schema."""
        try:
            if (refused := await refusal(credential, name, self._names)) is not None:
                return refused
            connection = await self._connections.get(name)
            catalog = await self._catalogs.read(name)
        except BusTrouble:
            return TROUBLE
        policy = connection.policy.of(credential.tenant) if connection is not None else ConnectionPolicy()
        return {
            "connection": name,
            "shown_to_business": policy.personal_for_business == "shown",
            "columns": [
                {
                    "table": table.name,
                    "column": column.name,
                    "kind": "person_name" if column.person_name else "contact",
                }
                for table in (catalog.tables if catalog is not None else ())
                for column in table.columns
                if column.personal
            ],
        }
