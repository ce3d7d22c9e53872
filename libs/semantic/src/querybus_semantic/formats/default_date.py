"""The date that rows are counted by, in formats that cannot name it: the only one, or the one called after the table."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from querybus.text.words import stem
from querybus_semantic.formats.document import Report
from querybus_semantic.layer.definitions import TIME_TYPES, Field

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_GENERIC: Final = frozenset({"at", "date", "datetime", "day", "dt", "on", "time", "timestamp", "ts", "utc"})
_STEM_LETTERS_MIN: Final = 4


def default_date(dataset: str, fields: Collection[Field], path: str, report: Report) -> str:
    """Return the date field of a dataset that needs no naming, "" where several fit; a choice or its lack is listed.

    Shipments are dated by `shipped_on`, not by `delivered_on`; orders with `created_at` and `paid_at` by neither.
    """
    times = [field.name for field in fields if field.is_time]
    if len(times) <= 1:
        return "".join(times)
    days = [field.name for field in fields if field.is_time and field.type in TIME_TYPES]
    if len(days) == 1:
        # A year that is a number is a date in its role only.
        return days[0]
    named = [name for name in times if _is_named_after(name, dataset)]
    if len(named) == 1:
        report.list(path, f"names no default date; it is {named[0]}, called after {dataset}, of {', '.join(times)}")
        return named[0]
    report.list(path, f"names no default date of {', '.join(times)}: a period must say which one it is of")
    return ""


def _is_named_after(field: str, dataset: str) -> bool:
    own = [word for word in _words(field) if word not in _GENERIC]
    of = [stem(word) for word in _words(dataset)]
    return bool(own) and all(any(_is_same(stem(word), other) for other in of) for word in own)


def _is_same(left: str, right: str) -> bool:
    """Whether one stem begins the other: ship of shipped, shipment of shipments."""
    shorter, longer = sorted((left, right), key=len)
    return len(shorter) >= _STEM_LETTERS_MIN and longer.startswith(shorter)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]
