"""By what people call the rows of a table: its name or title, first and last name together, else its key.

The words are those of the lexicon's group for names, in both languages; the shortest matching column name wins.
"""

from __future__ import annotations

from querybus.core.catalog import ColumnKind
from querybus_generator.translator.form import ColumnRef
from querybus_generator.translator.index import CatalogIndex
from querybus_generator.translator.lexicon import lexicon
from querybus_generator.translator.names import is_han

_LABELS_MAX = 2


def labels(index: CatalogIndex, table: int, *, chinese: bool = False) -> tuple[ColumnRef, ...]:
    """Return the label column(s) of a table, at most two; empty if it has neither a name nor a key.

    A column with a display name in the question's language is judged by that name.
    """
    words = lexicon().label_words
    own = index.table(table)
    table_words = {word for name in index.entries_of_table(table).names for word in name}
    found: list[tuple[int, int, ColumnRef]] = []
    foreign = {name for key in own.foreign_keys for name in key.columns}
    for number, column in enumerate(own.columns):
        if column.kind is not ColumnKind.TEXT:
            continue
        names = index.entry_of_column(table, number).names
        if chinese and column.display_names.get("zh"):
            names = tuple(each for each in names if is_han("".join(each))) or names
        for name in names:
            if column.name in foreign or not _is_label(name[-1]):
                continue
            if name[-1] in words or not is_han(name[-1]):
                rest = len([each for each in name[:-1] if each not in table_words])
            else:
                rest = 1
            found.append((rest, number, ColumnRef(table, number)))
            break
    if found:
        least = min(each[0] for each in found)
        chosen = [ref for rest, _, ref in found if rest == least]
        if least == 0 or len(chosen) == 1:
            return tuple(chosen[:1])
        return tuple(chosen[:_LABELS_MAX])
    return key_columns(index, table)


def _is_label(word: str) -> bool:
    """Chinese names hold the word without a gap: 书名."""
    words = lexicon().label_words
    return word in words or (is_han(word) and any(word.endswith(each) for each in words))


def key_columns(index: CatalogIndex, table: int) -> tuple[ColumnRef, ...]:
    """Return the columns of a table's primary key, if it is a single one."""
    own = index.table(table)
    if len(own.primary_key) != 1:
        return ()
    places = {each.name: place for place, each in enumerate(own.columns)}
    return (ColumnRef(table, places[own.primary_key[0]]),) if own.primary_key[0] in places else ()
