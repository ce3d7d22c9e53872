"""How tables refer to each other: declared foreign keys, and keys that are only implied by their names.

An implied key is a column that bears the name of another table's single key, or of the table itself, and its kind.
Limits: routes of at most ROUTE_MAX joins; composite keys are followed only where they are declared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from querybus.core.catalog import Catalog, Table
from querybus.sql.edit import CatalogKey
from querybus.text.similarity import plain
from querybus.text.words import singular

ROUTE_MAX: Final = 4
LINKS_PER_TABLE_MAX: Final = 40
_BARE: Final = frozenset({"id", "key", "code", "name", "no", "number"})


@dataclass(frozen=True, slots=True)
class Link:
    """One way to join from a table to another; `multiplies`: one row here may meet several there."""

    table: str
    columns: tuple[str, ...]
    other: str
    other_columns: tuple[str, ...]
    is_declared: bool
    multiplies: bool

    @property
    def doubt(self) -> float:
        return 0.0 if self.is_declared else 0.3


def links_of(catalog: Catalog, table: str) -> tuple[Link, ...]:
    """Return the joins that lead from a table, declared ones first."""
    return _links(CatalogKey(catalog)).get(table.lower(), ())


def owners_of(catalog: Catalog, column: str) -> tuple[Table, ...]:
    """Return the tables that have a column of that name, case ignored."""
    return _owners(CatalogKey(catalog)).get(column.lower(), ())


def between(catalog: Catalog, one: str, other: str) -> list[Link]:
    """Return the direct joins from one table to another, declared ones only if there are any."""
    result = [link for link in links_of(catalog, one) if link.other.lower() == other.lower()]
    return [item for item in result if item.is_declared] or result


def paths(catalog: Catalog, start: str, *, multiplying: bool = False) -> Iterator[tuple[Link, ...]]:
    """Yield the joins of one and of two steps that lead from a table to others, shorter ones first."""
    first = [(link,) for link in links_of(catalog, start) if multiplying or not link.multiplies]
    yield from first
    for (link,) in first:
        for further in links_of(catalog, link.other):
            if (multiplying or not further.multiplies) and further.other.lower() not in (
                start.lower(),
                link.table.lower(),
            ):
                yield (link, further)


def routes(catalog: Catalog, start: str, end: str) -> list[tuple[Link, ...]]:
    """Return the shortest ways of joins from a table to another over declared keys, of at most ROUTE_MAX joins."""
    ways: list[tuple[Link, ...]] = [()]
    visited = {start.lower()}
    for _ in range(ROUTE_MAX):
        ways = [
            (*way, link)
            for way in ways
            for link in links_of(catalog, way[-1].other if way else start)
            if link.is_declared and link.other.lower() not in visited
        ]
        arrived = [way for way in ways if way[-1].other.lower() == end.lower()]
        if arrived:
            return arrived
        visited |= {way[-1].other.lower() for way in ways}
    return []


def reporting(catalog: Catalog, link: Link) -> tuple[str, ...]:
    """Return the referring columns of a key where there are several keys between its tables."""
    if len(between(catalog, link.table, link.other)) < 2:
        return ()
    return link.other_columns if link.multiplies else link.columns


@lru_cache(maxsize=16)
def _owners(key: CatalogKey) -> dict[str, tuple[Table, ...]]:
    result: dict[str, list[Table]] = defaultdict(list)
    for table in key.catalog.tables:
        for column in table.columns:
            result[column.name.lower()].append(table)
    return {name: tuple(tables) for name, tables in result.items()}


@lru_cache(maxsize=16)
def _links(key: CatalogKey) -> dict[str, tuple[Link, ...]]:
    catalog = key.catalog
    result: dict[str, list[Link]] = defaultdict(list)
    seen: set[tuple[str, str, str, str]] = set()

    def add(child: Table, columns: Sequence[str], parent: Table, keys: Sequence[str], *, is_declared: bool) -> None:
        mark = (child.name, ",".join(columns).lower(), parent.name, ",".join(keys).lower())
        if mark in seen or (child.name == parent.name):
            return
        seen.add(mark)
        result[child.name.lower()].append(
            Link(child.name, tuple(columns), parent.name, tuple(keys), is_declared, multiplies=False)
        )
        result[parent.name.lower()].append(
            Link(parent.name, tuple(keys), child.name, tuple(columns), is_declared, not is_unique(child, columns))
        )

    for child in catalog.tables:
        for foreign_key in child.foreign_keys:
            parent = catalog.referred(foreign_key, child)
            if parent is not None and len(foreign_key.columns) == len(foreign_key.referred_columns):
                add(child, foreign_key.columns, parent, foreign_key.referred_columns, is_declared=True)
    keyed: dict[str, list[Table]] = defaultdict(list)
    named: dict[str, list[Table]] = defaultdict(list)
    for table in catalog.tables:
        if len(table.primary_key) == 1:
            keyed[plain(table.primary_key[0])].append(table)
            named[singular(plain(table.name))].append(table)
    for child in catalog.tables:
        taken = {name.lower() for foreign_key in child.foreign_keys for name in foreign_key.columns}
        for column in child.columns:
            name = plain(column.name)
            if column.name.lower() in taken or name in _BARE:
                continue
            for parent in (*keyed.get(name, ()), *named.get(singular(name), ())):
                known = parent.column(parent.primary_key[0])
                is_own_key = child.primary_key == (column.name,)
                if known is not None and known.kind is column.kind and not is_own_key:
                    add(child, (column.name,), parent, parent.primary_key, is_declared=False)
    return {
        name: tuple(sorted(value, key=lambda link: not link.is_declared)[:LINKS_PER_TABLE_MAX])
        for name, value in result.items()
    }


def is_unique(table: Table, columns: Sequence[str]) -> bool:
    """Return whether no two rows of the table can have the same values in these columns."""
    given = {column.lower() for column in columns}
    keys = [table.primary_key, *table.unique_keys]
    return any(bool(key) and {column.lower() for column in key} <= given for key in keys)
