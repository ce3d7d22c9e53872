"""Looks at a database that somebody wants to ask, before it is added: does it work, what is personal, which names can be read.

It goes the executor's own way. One table is counted, so that the first question's answer can be compared with that count.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Table
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.ops.metrics import Metrics
from querybus.sql.check import check
from querybus.text.labels import count_readable_names
from querybus.text.readable_name import readable_name
from querybus.text.words import plural
from querybus_executor.catalog.personal_columns import LooksPersonal, list_personal
from querybus_executor.connections.addresses.local import read_address
from querybus_executor.connections.config import parse_connections
from querybus_executor.connections.databases import ConnectedDatabase
from querybus_executor.connections.diagnose import Finding, diagnose_config
from querybus_executor.engines.registry import Engines
from querybus_executor.ports import Purpose

COUNT_SECONDS_MAX: Final = 5.0
COUNTED_TABLES_MAX: Final = 5
ROWS_COUNTED_MAX: Final = 5_000_000
"""A larger table is not counted for a first question."""


@dataclass(frozen=True, slots=True)
class CountedTable:
    """A table's rows, counted directly, and the question that asks for the same figure."""

    question: str
    rows: int


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found; `catalog` is None where the database could not be read."""

    finding: Finding
    catalog: Catalog | None = None
    counted: tuple[CountedTable, ...] = ()

    @property
    def personal(self) -> tuple[LooksPersonal, ...]:
        """The columns that are personal or look so, in the order of the schema."""
        return () if self.catalog is None else list_personal(self.catalog)

    @property
    def readable_share(self) -> float | None:
        """The share of the names of tables and columns that can be read as words, None without any name."""
        if self.catalog is None or not self.catalog.tables:
            return None
        readable, names = count_readable_names(self.catalog)
        return readable / names


async def examine(
    entry: Mapping[str, Any], password: str | None = None, environment: Mapping[str, str] = os.environ
) -> Examination:
    """Return what is found of the database of an entry that stands in no file yet; BadConnections for an unusable entry."""
    url = str(entry["url"])
    if password is not None:
        url = read_address(url, environment).url.set(password=password).render_as_string(hide_password=False)
    (config,) = parse_connections({"connections": [{**entry, "url": url}]}, environment)
    is_production = environment.get("QUERYBUS_ENVIRONMENT") == "production"
    finding = await diagnose_config(config, refuses_writing_roles=is_production)
    if finding.trouble is not None:
        return Examination(finding)
    engines = Engines(children=1, reserved=1)
    (database,) = engines.connected([config], metrics=Metrics("connections-test"))
    try:
        catalog = await database.catalog()
        if isinstance(catalog, Failure):
            return Examination(finding)
        counted = [item async for item in _counted(database, catalog)]
        return Examination(finding, catalog, tuple(counted))
    finally:
        await engines.drain()


async def _counted(database: ConnectedDatabase, catalog: Catalog) -> AsyncIterator[CountedTable]:
    for table in list(_readable_tables(catalog))[:COUNTED_TABLES_MAX]:
        name = exp.to_identifier(table.name, quoted=True)
        schema = exp.to_identifier(table.schema_name, quoted=True) if table.schema_name else None
        sql = exp.select("COUNT(*)").from_(exp.Table(this=name, db=schema)).sql(dialect=catalog.dialect.value)
        allowed = check(sql, dialect=catalog.dialect, catalog=catalog, policy=ConnectionPolicy(), row_limit=1)
        if isinstance(allowed, Failure):
            continue
        rows = await database.run(allowed.sql, rows_max=1, seconds_max=COUNT_SECONDS_MAX, purpose=Purpose.EXECUTE)
        if not isinstance(rows, Failure) and rows.rows and int(str(rows.rows[0][0])) > 0:
            yield CountedTable(f"How many {_plural_name(table)} are there?", int(str(rows.rows[0][0])))


def _readable_tables(catalog: Catalog) -> Iterator[Table]:
    """Yield the tables whose names can be read, those first that others refer to."""
    referred = [key.referred_table for table in catalog.tables for key in table.foreign_keys]
    for table in sorted(catalog.tables, key=lambda item: (item.kind != "table", -referred.count(item.name))):
        if _plural_name(table) and (table.row_estimate or 0) <= ROWS_COUNTED_MAX:
            yield table


def _plural_name(table: Table) -> str:
    name = table.display_names.get("en") or readable_name(table.name, "en")
    return plural(name[:1].lower() + name[1:]) if name else ""
