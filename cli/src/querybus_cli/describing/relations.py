"""References that a database does not declare: found by name, kept only where every value was found on the other side.

Each candidate costs two statements through the guard; at most CANDIDATES_MAX are looked at, and who runs them bounds each in time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, ColumnKind, Table
from querybus.text.words import singular
from querybus_cli.operations.measuring import NotRunError, RowsOf

CANDIDATES_MAX: Final = 200
_KEYS: Final = frozenset({ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.TEXT})


@dataclass(frozen=True, slots=True)
class Measured:
    """A reference `table.column = other.key`, and of how many rows every one was found."""

    relation: str
    rows: int


def candidates(catalog: Catalog) -> Iterator[tuple[Table, Column, Table, Column]]:
    """Yield columns that are called as another table's single key, or as that table and its key."""
    keyed = [
        (table, key)
        for table in catalog.tables
        if len(table.primary_key) == 1 and (key := table.column(table.primary_key[0])) is not None
    ]
    for table in catalog.tables:
        declared = {name for key in table.foreign_keys for name in key.columns}
        own = table.primary_key if len(table.primary_key) == 1 else ()
        for column in table.columns:
            if column.name in declared or column.name in own or column.kind not in _KEYS or table.kind != "table":
                continue
            for other, key in keyed:
                if other is not table and key.kind is column.kind and _is_named_for(column.name, other, key.name):
                    yield table, column, other, key


def _is_named_for(column: str, other: Table, key: str) -> bool:
    plain, table = column.replace("_", "").lower(), other.name.replace("_", "").lower()
    bare = key.replace("_", "").lower()
    called = {f"{singular(table)}{bare}", f"{table}{bare}"}
    if bare.startswith((singular(table), table)) and bare != table:
        called.add(bare)
    if bare in ("id", "code", "no", "number", "key"):
        called |= {f"{singular(table)}id", f"{table}id"}
    return plain in called


def measured(catalog: Catalog, rows_of: RowsOf) -> tuple[list[Measured], list[str]]:
    """Return the references that hold for every row, and of those that were not measured why."""
    kept: list[Measured] = []
    skipped: list[str] = []
    for number, (table, column, other, key) in enumerate(candidates(catalog)):
        relation = f"{table.name}.{column.name} = {other.name}.{key.name}"
        if number >= CANDIDATES_MAX:
            skipped.append(f"{relation}: only {CANDIDATES_MAX} are looked at")
            break
        try:
            rows, missing = (_figure(rows_of(sql)) for sql in _statements(table, column.name, other, key.name, catalog))
        except NotRunError as error:
            skipped.append(f"{relation}: {error}")
            continue
        if rows > 0 and missing == 0:
            kept.append(Measured(relation, rows))
    return kept, skipped


def _figure(rows: Sequence[Sequence[object]]) -> int:
    return int(str(rows[0][0])) if rows and rows[0] else 0


def _statements(table: Table, column: str, other: Table, key: str, catalog: Catalog) -> tuple[str, str]:
    """Return what counts the filled rows, and those of them that have nothing on the other side."""
    one, two = (
        exp.Table(
            this=exp.to_identifier(item.name, quoted=True),
            db=exp.to_identifier(item.schema_name, quoted=True) if item.schema_name else None,
        )
        for item in (table, other)
    )
    own, held = (
        exp.column(exp.to_identifier(column, quoted=True), "a"),
        exp.column(exp.to_identifier(key, quoted=True), "b"),
    )
    filled = exp.select("COUNT(*)").from_(exp.alias_(one, "a", table=True)).where(own.is_(exp.null()).not_())
    pairs = exp.select("1").from_(exp.alias_(two, "b", table=True)).where(exp.EQ(this=held, expression=own.copy()))
    missing = filled.copy().where(exp.Exists(this=pairs).not_())
    dialect = catalog.dialect.value
    return filled.sql(dialect=dialect), missing.sql(dialect=dialect)
