"""A small database from a script of CREATE TABLE and INSERT, and its catalog as if nobody had described it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Final

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table

_KINDS: Final = {
    "INTEGER": ColumnKind.INTEGER,
    "REAL": ColumnKind.NUMBER,
    "TEXT": ColumnKind.TEXT,
    "DATE": ColumnKind.DATE,
    "DATETIME": ColumnKind.DATETIME,
    "BOOLEAN": ColumnKind.BOOLEAN,
}


def rows_of(script: str, sql: str) -> list[tuple[object, ...]]:
    """Return what a query gives over the script's rows."""
    database = sqlite3.connect(":memory:")
    database.executescript(script)
    return database.execute(sql).fetchall()


def catalog_of(script: str, held: Mapping[str, tuple[str, ...]], *, nullable: frozenset[str] = frozenset()) -> Catalog:
    """Return the catalog of a script's tables, whose first columns are their keys; `thing_id` refers to `things`, and so does what REFERENCES it.

    `held` are the values of columns that have few, by the columns' names.
    """
    database = sqlite3.connect(":memory:")
    database.executescript(script)
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    keys = {database.execute(f"PRAGMA table_info({name})").fetchone()[1]: name for name in names}

    def table(name: str) -> Table:
        shown = database.execute(f"PRAGMA table_info({name})").fetchall()
        own = shown[0][1]
        return Table(
            name=name,
            columns=tuple(
                Column(
                    name=column,
                    type=kind,
                    kind=_KINDS[kind],
                    nullable=column in nullable,
                    values=held.get(column, ()),
                    values_complete=column in held,
                )
                for _, column, kind, *_ in shown
            ),
            primary_key=(own,),
            foreign_keys=(
                *(
                    ForeignKey(columns=(column,), referred_table=keys[column], referred_columns=(column,))
                    for _, column, *_ in shown
                    if column in keys and column != own
                ),
                *(
                    ForeignKey(columns=(column,), referred_table=referred, referred_columns=(to,))
                    for _, _, referred, column, to, *_ in database.execute(f"PRAGMA foreign_key_list({name})")
                ),
            ),
        )

    return Catalog(connection="scripted", dialect=Dialect.SQLITE, tables=tuple(table(name) for name in names))
