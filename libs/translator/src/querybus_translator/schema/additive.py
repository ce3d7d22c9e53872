"""Which columns hold figures that add up over rows: amounts and fees, what happened on a day, how many of something."""

from __future__ import annotations

from querybus.core.catalog import ColumnKind
from querybus.text.readable_name import spoken_name
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.stems import base_form
from querybus_translator.schema.index import CatalogIndex

_PAIR = 2
_TEMPORAL = frozenset({ColumnKind.DATE, ColumnKind.DATETIME})


def is_additive(index: CatalogIndex, table: int, column: int) -> bool:
    """Return whether a column is called as what is summed: amount, fee, quantity; of what happened on a day, its cost and time."""
    words = lexicon()
    names = index.entry_of_column(table, column).names
    heads = {name[-1] for name in names}
    # "Total price" of a row is what it comes to.
    if not heads.isdisjoint(words.additive) or any("total" in name for name in names):
        return True
    if "count" in heads and not index.is_key(table, column):
        return True
    keys = index.table(table).foreign_keys
    is_event = bool(keys) and any(item.kind in _TEMPORAL for item in index.table(table).columns)
    # What is noted of a pair, the hours of an employee on a project, is of one of many as well.
    if not is_event and len(keys) < _PAIR:
        return False
    return not heads.isdisjoint(words.additive_in_events) or is_number_of(index, table, column)


def is_number_of(index: CatalogIndex, table: int, column: int) -> bool:
    """Return whether a column says how many: seats, nights, adults. Stars and points of a scale are none."""
    named = index.column(table, column)
    words = spoken_name(named.name).lower().split()
    # "Households affected" are households.
    head = words[-2] if len(words) > 1 and words[-1].endswith("ed") else words[-1] if words else ""
    is_several = base_form(head) != head and not head.endswith(("ss", "us", "is")) and head not in _SCALES
    return named.kind is ColumnKind.INTEGER and is_several and not index.is_key(table, column)


def is_scale(text: str) -> bool:
    """Return whether words for several end with those of a scale: "grades", of which a sum says nothing."""
    return text.lower().split()[-1] in _SCALES - {"stars", "years"}


_SCALES = frozenset({"stars", "years", "degrees", "percents", "levels", "ranks", "grades"})
