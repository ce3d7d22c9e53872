"""Which columns say in words what a row of a table is: its name, its title, a person's first and last name."""

from __future__ import annotations

from typing import Final

from querybus.core.catalog import Column, ColumnKind, Table
from querybus.text.similarity import plain, words
from querybus.text.words import singular

_NAMES: Final = ("name", "title", "label")
_FIRST: Final = frozenset({"first", "given", "personal", "f", "fore"})
_LAST: Final = frozenset({"last", "family", "l", "sur"})
_WHOLE: Final = {"firstname": "first", "fname": "first", "givenname": "first", "forename": "first"} | {
    "lastname": "last", "lname": "last", "surname": "last", "familyname": "last",
}  # fmt: skip


def holder_of(table: Table, value: str) -> Column | None:
    """Return the one column of texts that has the value among its known ones, case ignored."""
    holding = [column for column in _texts(table) if value.casefold() in (known.casefold() for known in column.values)]
    return holding[0] if len(holding) == 1 else None


def label_of(table: Table, *also: str) -> Column | None:
    """Return the column that names the table's rows: called name or title or as the table, or its only text.

    `also` are other names that the rows go by, as a column that refers to them is called.
    """
    texts = _texts(table)
    own = {singular(plain(name)) for name in (table.name, *also)}
    for name in _NAMES:
        exact = [text for text in texts if plain(text.name) in (name, *(one + name for one in own))]
        if len(exact) == 1:
            return exact[0]
    named = [text for text in texts if singular(plain(text.name)) in own or "name" in words(text.name)]
    return named[0] if len(named) == 1 else texts[0] if len(texts) == 1 else None


def parts_of_name(table: Table) -> tuple[Column, Column] | None:
    """Return the columns of the first and of the last name of a table of persons."""
    first = [column for column in _texts(table) if _part(column.name) == "first"]
    last = [column for column in _texts(table) if _part(column.name) == "last"]
    return (first[0], last[0]) if len(first) == len(last) == 1 else None


def _part(name: str) -> str | None:
    if plain(name) in _WHOLE:
        return _WHOLE[plain(name)]
    said = words(name)
    if len(said) < 2 or said[-1] != "name":
        return None
    return "first" if said[-2] in _FIRST else "last" if said[-2] in _LAST else None


def _texts(table: Table) -> list[Column]:
    keys = {name.lower() for key in table.foreign_keys for name in key.columns}
    return [column for column in table.columns if column.kind is ColumnKind.TEXT and column.name.lower() not in keys]
