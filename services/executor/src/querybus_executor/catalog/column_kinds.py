"""Reduces an engine's type text, and values where the text says little, to one of our column kinds.

Pure. SQLite lets any column hold anything, so there the values decide wherever they contradict the declared type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from querybus.core.catalog import ColumnKind

# First match wins, so the narrower words stand first: POINT holds INT, TIMESTAMP holds TIME.
_BY_WORD: Final[tuple[tuple[re.Pattern[str], ColumnKind], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r"\]$|^(struct|map|list|union|array|row)\b", ColumnKind.JSON),
        (r"^(point|interval|geo|polygon|line)", ColumnKind.OTHER),
        (r"json", ColumnKind.JSON),
        (r"bool|^bit(\(1\))?$", ColumnKind.BOOLEAN),
        (r"datetime|timestamp", ColumnKind.DATETIME),
        (r"^date", ColumnKind.DATE),
        (r"^time", ColumnKind.TIME),
        (r"int|serial|^year", ColumnKind.INTEGER),
        (r"char|clob|text|string|enum|uuid", ColumnKind.TEXT),
        (r"blob|binary|bytea|bytes|^raw", ColumnKind.BYTES),
        (r"dec|numeric|number|real|floa|doub|money", ColumnKind.NUMBER),
    )
)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATETIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?")
_TIME: Final = re.compile(r"\d{2}:\d{2}(:\d{2}(\.\d+)?)?")
_TEMPORAL: Final = frozenset({ColumnKind.DATE, ColumnKind.DATETIME, ColumnKind.TIME})


def kind_of_type(type_text: str) -> ColumnKind:
    """Return the kind that a declared type means; OTHER where the text says nothing.

    >>> kind_of_type("VARCHAR2(20)"), kind_of_type("DECIMAL(19,4)"), kind_of_type("")
    (<ColumnKind.TEXT: 'text'>, <ColumnKind.NUMBER: 'number'>, <ColumnKind.OTHER: 'other'>)
    """
    return next((kind for pattern, kind in _BY_WORD if pattern.search(type_text.strip())), ColumnKind.OTHER)


def kind_of_values(values: Iterable[object]) -> ColumnKind:
    """Return the one kind that fits all values that are not None; OTHER for none at all or a mixture.

    Text counts as a date or time only in ISO form, because only then do an engine's date functions read it.
    """
    result = {_kind_of_value(value) for value in values if value is not None}
    if len(result) == 1:
        return result.pop()
    if result == {ColumnKind.INTEGER, ColumnKind.NUMBER}:
        return ColumnKind.NUMBER
    if result == {ColumnKind.DATE, ColumnKind.DATETIME}:
        return ColumnKind.DATETIME
    if result and result <= {ColumnKind.TEXT, *_TEMPORAL}:
        return ColumnKind.TEXT
    return ColumnKind.OTHER


def kind_of_column(type_text: str, values: Iterable[object]) -> ColumnKind:
    """Return the kind of a loosely typed column: what was declared, unless the values say otherwise.

    >>> kind_of_column("TEXT", ["2026-01-31"]), kind_of_column("DATE", ["May 3"]), kind_of_column("DATE", [])
    (<ColumnKind.DATE: 'date'>, <ColumnKind.TEXT: 'text'>, <ColumnKind.DATE: 'date'>)
    """
    declared = kind_of_type(type_text)
    sampled = [value for value in values if value is not None]
    held = kind_of_values(sampled)
    if not sampled:
        return declared
    match declared:
        case ColumnKind.OTHER:
            return held
        case ColumnKind.BOOLEAN:
            # Flags kept as 0 and 1 stay flags; 'Y' and 'N' are text to every comparison.
            return ColumnKind.BOOLEAN if all(item in (0, 1) for item in sampled) else held
        case ColumnKind.JSON | ColumnKind.BYTES:
            return declared
        case ColumnKind.NUMBER:
            # A DECIMAL column of whole prices so far is still one of numbers.
            return ColumnKind.NUMBER if held in (ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.OTHER) else held
        case _:
            return declared if held is ColumnKind.OTHER else held


def _kind_of_value(value: object) -> ColumnKind:
    match value:
        case bool():
            return ColumnKind.BOOLEAN
        case int():
            return ColumnKind.INTEGER
        case float():
            return ColumnKind.NUMBER
        case bytes():
            return ColumnKind.BYTES
        case str():
            if _DATE.fullmatch(value):
                return ColumnKind.DATE
            if _DATETIME.fullmatch(value):
                return ColumnKind.DATETIME
            return ColumnKind.TIME if _TIME.fullmatch(value) else ColumnKind.TEXT
        case _:
            return ColumnKind.OTHER
