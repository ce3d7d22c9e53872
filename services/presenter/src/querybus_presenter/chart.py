"""A Vega-Lite specification for the clear shapes: a category with a number (bars), a time with a number (a line).

Never misleading: bars start at zero, time is in order, nothing is left out, and any other shape has no chart. Fields
are named by label, so a business reader's chart holds no column name. Limits: ROWS_MAX rows, all of them at hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from querybus.core.catalog import ColumnKind
from querybus.core.messages import Scalar
from querybus_presenter.values import NUMERIC, TEMPORAL, date_in_words, is_year, number

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
BARS_MAX: Final = 30
ROWS_MAX: Final = 500
ROWS_MIN: Final = 2
POINTS_MIN: Final = 3
_IDENTITY = re.compile(r"(?:^|[\W_])(?:id|no|code|key|number|zip)$|编号$|[a-z]Id$|[a-z]ID$")
_CATEGORIES: Final = frozenset({ColumnKind.TEXT, ColumnKind.BOOLEAN, ColumnKind.OTHER})

Rows = Sequence[Sequence[Scalar]]


def chart(
    names: Sequence[str], kinds: Sequence[ColumnKind], labels: Sequence[str], rows: Rows
) -> Mapping[str, object] | None:
    """Return the chart of a whole result, or None where none is clear.

    `names` decide what a number is (an id is nothing to draw); only `labels` are shown.
    """
    if len(labels) != 2 or not ROWS_MIN <= len(rows) <= ROWS_MAX:
        return None
    measures = [n for n in (0, 1) if is_measure(names[n], labels[n], kinds[n], [row[n] for row in rows])]
    if measures not in ([0], [1]):
        return None
    y = measures[0]
    x = 1 - y
    amounts = [number(row[y]) for row in rows]
    places = [row[x] for row in rows]
    if None in amounts or None in places or len({str(each) for each in places}) != len(places):
        return None
    values = [
        {labels[x]: place, labels[y]: _plain(amount)}
        for place, amount in zip(places, amounts, strict=True)
        if amount is not None
    ]
    if kinds[x] in TEMPORAL and all(date_in_words(str(each), "en") for each in places):
        return _line(labels[x], labels[y], values, "temporal") if len(rows) >= POINTS_MIN else None
    if kinds[x] in NUMERIC:
        if not (is_year(names[x]) or is_year(labels[x])) or len(rows) < POINTS_MIN:
            return None
        return _line(labels[x], labels[y], values, "ordinal")
    if kinds[x] in _CATEGORIES and len(rows) <= BARS_MAX:
        return _spec("bar", values, _axis(labels[x], "nominal", sort=None), _amount(labels[y], zero=True))
    return None


def is_measure(name: str, label: str, kind: ColumnKind, cells: Sequence[Scalar]) -> bool:
    """Return whether a column holds amounts: numbers that are neither ids nor years."""
    if is_year(name) or is_year(label) or _IDENTITY.search(name):
        return False
    known = [number(each) for each in cells if each is not None]
    return bool(known) and None not in known and (kind in NUMERIC or _is_untyped_amount(kind, cells))


def _is_untyped_amount(kind: ColumnKind, cells: Sequence[Scalar]) -> bool:
    # Engines with few types tell nothing of a computed column, but its cells are numbers.
    return kind is ColumnKind.OTHER and all(isinstance(each, int | float) for each in cells if each is not None)


def _line(x: str, y: str, values: list[dict[str, Scalar]], kind: str) -> Mapping[str, object]:
    ordered = sorted(values, key=lambda each: str(each[x]))
    return _spec("line", ordered, _axis(x, kind), _amount(y, zero=False))


def _spec(
    mark: str, values: list[dict[str, Scalar]], x: Mapping[str, object], y: Mapping[str, object]
) -> Mapping[str, object]:
    drawn: Mapping[str, object] = {"type": mark, "point": True} if mark == "line" else {"type": mark}
    return {"$schema": SCHEMA, "data": {"values": values}, "mark": drawn, "encoding": {"x": x, "y": y}}


def _axis(label: str, kind: str, **more: object) -> Mapping[str, object]:
    return {"field": _field(label), "type": kind, "title": label, **more}


def _amount(label: str, *, zero: bool) -> Mapping[str, object]:
    return {"field": _field(label), "type": "quantitative", "title": label, "scale": {"zero": zero}}


def _field(label: str) -> str:
    """Return a label as Vega-Lite reads a field: signs of a path in it are taken literally."""
    return re.sub(r"([\\.\[\]'\"])", r"\\\1", label)


def _plain(amount: object) -> int | float:
    text = str(amount)
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
