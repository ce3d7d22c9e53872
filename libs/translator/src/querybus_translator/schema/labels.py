"""By what people call the rows of a table: its name or title, first and last name together, else its key.

The words are those of the lexicon's group for names, in both languages; the shortest matching column name wins.
"""

from __future__ import annotations

import re
from typing import Final

from querybus.core.catalog import Column, ColumnKind, Table
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.names import is_han
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.writing.form import ColumnRef

_LABELS_MAX = 2
_YEAR: Final = re.compile(r"1[5-9]\d\d|20\d\d")


def labels(index: CatalogIndex, table: int, *, chinese: bool = False) -> tuple[ColumnRef, ...]:
    """Return the label column(s) of a table, at most two; empty if it has neither a name nor a key.

    A column with a display name in the question's language is judged by that name.
    """
    own = index.table(table)
    table_words = index.table_words[table]
    pairs: list[tuple[int, bool, ColumnRef]] = []
    foreign = {name for key in own.foreign_keys for name in key.columns}
    for number, column in enumerate(own.columns):
        if column.kind is not ColumnKind.TEXT:
            continue
        names = index.entry_of_column(table, number).names
        if chinese and column.display_names.get("zh"):
            names = tuple(name for name in names if is_han("".join(name))) or names
        rests = [_rest(name, table_words) for name in names if _is_label(name[-1])]
        if rests and column.name not in foreign and not (min(rests) and _is_of_others(index, own, table, number)):
            is_title = all(name[-1] == "title" for name in names)
            pairs.append((min(rests), is_title, ColumnRef(table, number)))
    if pairs:
        # A job's title is not what its holder is called.
        pairs = [item for item in pairs if not item[1]] or pairs
        least = min(item[0] for item in pairs)
        chosen = [ref for rest, _, ref in pairs if rest == least]
        # "First, middle and last name": the first and the last.
        halves = next((whole for ref in chosen if (whole := whole_name(index, ref))), ())
        if len(chosen) > 1 and halves and set(halves) <= set(chosen):
            return halves
        if len(chosen) == 1 and (whole := whole_name(index, chosen[0])):
            return whole
        if least == 0 or len(chosen) == 1:
            return tuple(chosen[:1])
        return tuple(chosen[:_LABELS_MAX])
    return (
        _called_alike(index, table)
        or _marked_by(index, table)
        or _stands_at(index, table)
        or _first_text(index, table)
        or key_columns(index, table)
    )


def _is_of_others(index: CatalogIndex, own: Table, table: int, number: int) -> bool:
    """An inspection's `inspector_name`: a name that most rows share with another names somebody else."""
    distinct, rows = own.columns[number].distinct_count, own.row_estimate
    repeats = distinct is not None and rows is not None and 0 < 2 * distinct <= rows
    return repeats and not whole_name(index, ColumnRef(table, number))


_MARKS: Final = frozenset(
    {"plate", "sku", "isbn", "registration", "serial", "reference", "number", "barcode", "tag", "callsign"}
)


def _called_alike(index: CatalogIndex, table: int) -> tuple[ColumnRef, ...]:
    """A model's model, a continent's continent: the text that is called as its rows are, where no two of them share it."""
    own = index.table(table)
    called = index.entries_of_table(table).names
    foreign = {name for key in own.foreign_keys for name in key.columns}
    found = [
        ColumnRef(table, number)
        for number, column in enumerate(own.columns)
        if column.kind is ColumnKind.TEXT
        and not column.personal
        and column.name not in {*foreign, *own.primary_key}
        and (own.row_estimate or 0) > 1
        and column.distinct_count == own.row_estimate
        and any(name in called for name in index.entry_of_column(table, number).names)
    ]
    return tuple(found) if len(found) == 1 else ()


def _marked_by(index: CatalogIndex, table: int) -> tuple[ColumnRef, ...]:
    """A truck's plate, a product's SKU: of rows that are known by a number alone the only text that no two of them share."""
    own = index.table(table)
    foreign = {name for key in own.foreign_keys for name in key.columns}
    named = {name for key in own.unique_keys if len(key) == 1 for name in key}
    found = [
        ColumnRef(table, number)
        for number, column in enumerate(own.columns)
        if column.kind is ColumnKind.TEXT
        and not column.personal
        and column.name not in {*foreign, *own.primary_key}
        and any(name[-1] in _MARKS for name in index.entry_of_column(table, number).names)
        and (column.name in named or ((own.row_estimate or 0) > 1 and column.distinct_count == own.row_estimate))
    ]
    return tuple(found) if len(found) == 1 else ()


_PLACES: Final = frozenset({"address", "street"})


def _stands_at(index: CatalogIndex, table: int) -> tuple[ColumnRef, ...]:
    """A building's address: what stands somewhere is known by it, where nothing else in its rows is of a person."""
    own = index.table(table)
    personal = [number for number, column in enumerate(own.columns) if column.personal]
    at = [
        number
        for number, column in enumerate(own.columns)
        if column.kind is ColumnKind.TEXT
        and any(name[-1] in _PLACES for name in index.entry_of_column(table, number).names)
    ]
    is_of_person = not set(personal) <= set(at) or table == index.people_table
    return (ColumnRef(table, at[0]),) if len(at) == 1 and not is_of_person else ()


def _first_text(index: CatalogIndex, table: int) -> tuple[ColumnRef, ...]:
    """An owner's company, an exhibition's theme: of rows that have a number the text behind it that no two of them share."""
    own = index.table(table)
    texts = [number for number, column in enumerate(own.columns) if column.kind is ColumnKind.TEXT]
    is_contact = bool(texts) and own.columns[texts[0]].personal_kind == "contact"
    if not texts or is_contact or (own.row_estimate or 0) < 2 or texts[0] > 1:
        return ()
    column = own.columns[texts[0]]
    foreign = {name for key in own.foreign_keys for name in key.columns}
    # What persons are called is not counted.
    is_unique = column.distinct_count == own.row_estimate or column.personal_kind == "name"
    if column.name in {*foreign, *own.primary_key} or not is_unique:
        return ()
    return (ColumnRef(table, texts[0]),)


def whole_name(index: CatalogIndex, half: ColumnRef) -> tuple[ColumnRef, ...]:
    """Return first and last name where a column is one of them and its table has the other; empty for any other column."""
    halves: dict[str, ColumnRef] = {}
    for number in range(len(index.table(half.table).columns)):
        words = {word for name in index.entry_of_column(half.table, number).names for word in name}
        for which, known in _HALVES:
            if not words.isdisjoint(known):
                halves.setdefault(which, ColumnRef(half.table, number))
    return (halves["first"], halves["last"]) if len(halves) == 2 and half in halves.values() else ()


_HALVES = (
    ("first", frozenset({"first", "fname", "given", "forename", "firstname"})),
    ("last", frozenset({"last", "lname", "sur", "surname", "family", "lastname"})),
)


def known_by(index: CatalogIndex, table: int, *, chinese: bool = False) -> tuple[ColumnRef, ...]:
    """Return what people know the rows of a table by: its label, or its number with when, how much and in what state."""
    named = labels(index, table, chinese=chinese)
    own = index.table(table)
    # A name may be the key as well.
    is_number = bool(named) and not _is_label(index.entry_of_column(table, named[0].column).names[0][-1])
    is_mark = bool(named) and named == _marked_by(index, table)
    if not is_mark and (named != key_columns(index, table) or not is_number):
        return named
    kinds = ((ColumnKind.DATE, ColumnKind.DATETIME), (ColumnKind.NUMBER, ColumnKind.INTEGER), (ColumnKind.TEXT,))
    chosen: list[ColumnRef] = []
    for some, most in zip(kinds, _KNOWN_BY, strict=True):
        columns = [
            ColumnRef(table, number)
            for number, column in enumerate(own.columns)
            if column.kind in some and not column.personal and not index.is_key(table, number)
            if ColumnRef(table, number) not in named
        ]
        chosen += columns[:most]
    return (*named, *chosen)


_KNOWN_BY = (1, 2, 2)
"""So many dates, figures and words stand beside a number."""


def _rest(name: tuple[str, ...], table_words: frozenset[str]) -> int:
    """How many words of a label's name say more than the table and the label word do."""
    if is_han(name[-1]) and name[-1] not in lexicon().label_words:
        return 1
    return sum(1 for part in name[:-1] if part not in table_words)


def _is_label(word: str) -> bool:
    """Chinese names hold the word without a gap: 书名."""
    words = lexicon().label_words
    return word in words or (is_han(word) and any(word.endswith(item) for item in words))


def key_columns(index: CatalogIndex, table: int) -> tuple[ColumnRef, ...]:
    """Return the columns of a table's primary key, if it is a single one."""
    own = index.table(table)
    if len(own.primary_key) != 1:
        return ()
    places = {column.name: place for place, column in enumerate(own.columns)}
    return (ColumnRef(table, places[own.primary_key[0]]),) if own.primary_key[0] in places else ()


def holds_years(column: Column) -> bool:
    """Return whether a column says when: by its type, or as whole numbers of four digits."""
    ends = (column.profile.value_min, column.profile.value_max) if column.profile is not None else ()
    is_year = column.kind is ColumnKind.INTEGER and bool(ends) and all(end and _YEAR.fullmatch(end) for end in ends)
    return is_year or column.kind in (ColumnKind.DATE, ColumnKind.DATETIME)
