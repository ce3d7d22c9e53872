"""One maker a kind of chart: a plot, or None where the kind would mislead."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Final

from querybus.core.messages import Scalar
from querybus_presenter.charts.shape import QUARTER_STARTS, Facet, Number, Role, Shape
from querybus_presenter.charts.style import RING_HOLE, RING_RADIUS

BARS_MAX: Final = 30


BARS_KEPT: Final = 20


PARTS_MIN: Final = 2


PARTS_MAX: Final = 6


POINTS_MAX: Final = 500


LINE_POINTS_MIN: Final = 3


SCATTER_POINTS_MIN: Final = 5


HISTOGRAM_ROWS_MIN: Final = 12


SERIES_MAX: Final = 8


GROUPS_MAX: Final = 12


CELLS_MAX: Final = 40


LABEL_LENGTH_MAX: Final = 14


NAMES_BESIDE_MIN: Final = 6
"""From so many names on bars lie, each beside its name."""


ALIKE_MAX: Final = 20
"""Amounts are drawn on one axis if the largest of one is at most so many times that of the other."""


DIGITS_BEYOND_SHOWN: Final = 4
"""So many more digits than are shown of a number say where its mark stands."""


class Kind(StrEnum):
    """The kinds of pictures."""

    BAR = "bar"
    LINE = "line"
    AREA = "area"
    PIE = "pie"
    SCATTER = "scatter"
    HISTOGRAM = "histogram"
    HEATMAP = "heatmap"
    NUMBER = "number"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Plot:
    """A specification in the making."""

    kind: Kind
    mark: Mapping[str, object]
    values: Sequence[Mapping[str, Scalar]]
    encoding: Mapping[str, object]
    notes: tuple[tuple[str, Mapping[str, object]], ...] = field(default=())


def bars(shape: Shape) -> Plot | None:
    amounts, places = shape.of(Role.AMOUNT), places_of(shape)
    if len(amounts) != 1 or len(places) != 1 or not is_full(shape, 2) or shape.rows < 2:
        return None
    y, x = amounts[0], places[0]
    if not _is_plain(x) or y.has_gaps:
        return None
    values = values_of(shape, [x, y])
    notes: list[tuple[str, Mapping[str, object]]] = []
    is_ordered = x.role in (Role.TIME, Role.ORDER)
    if is_ordered:
        if len(values) > BARS_MAX or not shape.is_whole:
            return None
        values = in_order(values, x)
    elif not shape.is_whole or len(values) > BARS_MAX:
        falling = _falling(y)
        if not shape.is_whole and not falling:
            return None
        if not falling:
            values = sorted(values, key=lambda item: -float(item[y.label] or 0))
        values = values[:BARS_KEPT]
        key = "smallest" if falling == "up" else "largest"
        notes.append((key, {"shown": len(values), "count": f"{shape.row_count:,}"}))
    sort: object = None if is_ordered or _falling(y) else "-y"
    is_wide = any(_width(str(value[x.label])) > LABEL_LENGTH_MAX for value in values)
    is_flat = not is_ordered and (is_wide or len(values) >= NAMES_BESIDE_MIN)
    where = axis(x, "ordinal" if is_ordered else "nominal", sort="-x" if is_flat and sort == "-y" else sort)
    amount = amount_of(y, zero=True)
    encoding = {"y": where, "x": amount} if is_flat else {"x": where, "y": amount}
    return Plot(Kind.BAR, {"type": "bar"}, values, encoding, notes=tuple(notes))


def grouped_bars(shape: Shape) -> Plot | None:
    amounts, places = shape.of(Role.AMOUNT), places_of(shape)
    if not is_full(shape, len(amounts) + len(places)) or not shape.is_whole or shape.rows < 2:
        return None
    if any(amount.has_gaps for amount in (*amounts, *places)):
        return None
    if len(places) == 1 and len(amounts) in (2, 3) and shape.rows <= GROUPS_MAX and _is_plain(places[0]):
        if not _are_alike(amounts):
            return None
        x, (key, value) = places[0], _fresh_names(shape)
        values = _long(in_order(values_of(shape, [x, *amounts]), x), x, amounts, (key, value))
        encoding = {
            "x": axis(x, "ordinal" if x.keys else "nominal", sort=None),
            "xOffset": {"field": key, "sort": None},
            "y": {"field": value, "type": "quantitative", "title": None, "scale": {"zero": True}},
            "color": {"field": key, "type": "nominal", "title": None, "sort": None},
        }
        return Plot(Kind.BAR, {"type": "bar"}, values, encoding)
    if len(places) == 2 and len(amounts) == 1:
        x, group = places if places[0].distinct >= places[1].distinct else places[::-1]
        is_small = x.distinct <= GROUPS_MAX and group.distinct <= 4
        if not is_small or not is_crossed(x, group):
            return None
        values = in_order(values_of(shape, [x, group, amounts[0]]), x)
        encoding = {
            "x": axis(x, "ordinal" if x.keys else "nominal", sort=None),
            "xOffset": {"field": field_of(group.label)},
            "y": amount_of(amounts[0], zero=True),
            "color": axis(group, "nominal"),
        }
        return Plot(Kind.BAR, {"type": "bar"}, values, encoding)
    return None


def line(shape: Shape, kind: Kind) -> Plot | None:
    amounts, steps = shape.of(Role.AMOUNT), shape.of(Role.TIME, Role.ORDER)
    if len(amounts) != 1 or len(steps) != 1 or not is_full(shape, 2) or not shape.is_whole:
        return None
    x, y = steps[0], amounts[0]
    if not LINE_POINTS_MIN <= shape.rows <= POINTS_MAX or not _is_plain(x) or y.has_gaps:
        return None
    if kind is Kind.AREA and not is_positive(y):
        return None
    values = in_order(values_of(shape, [x, y]), x)
    encoding = {"x": step_of(x), "y": amount_of(y, zero=kind is Kind.AREA)}
    return Plot(kind, stroke(kind, len(values)), values, encoding)


def several_lines(shape: Shape, kind: Kind) -> Plot | None:
    """Return one line for each of a few amounts of like size."""
    amounts, steps = shape.of(Role.AMOUNT), shape.of(Role.TIME, Role.ORDER)
    if kind is Kind.AREA or len(steps) != 1 or not 2 <= len(amounts) <= 4 or not shape.is_whole:
        return None
    x = steps[0]
    if not is_full(shape, 1 + len(amounts)) or not LINE_POINTS_MIN <= shape.rows <= POINTS_MAX or not _is_plain(x):
        return None
    if any(amount.has_gaps for amount in amounts) or not _are_alike(amounts):
        return None
    key, value = _fresh_names(shape)
    encoding = {
        "x": step_of(x),
        "y": {"field": value, "type": "quantitative", "title": None, "scale": {"zero": False}},
        "color": {"field": key, "type": "nominal", "title": None, "sort": None},
    }
    values = _long(in_order(values_of(shape, [x, *amounts]), x), x, amounts, (key, value))
    return Plot(kind, stroke(kind, shape.rows), values, encoding)


def pie_of(shape: Shape) -> Plot | None:
    amounts, places = shape.of(Role.AMOUNT), places_of(shape)
    if len(amounts) != 1 or len(places) != 1 or not is_full(shape, 2) or not shape.is_whole:
        return None
    part, of = amounts[0], places[0]
    known = [number for number in part.numbers if number is not None]
    if not PARTS_MIN <= shape.rows <= PARTS_MAX or len(known) != shape.rows or any(item <= 0 for item in known):
        return None
    # Averages are no parts of a whole; shares are, if they make up one.
    if not _is_plain(of) or not (part.may_add_up or part.is_part_of_whole):
        return None
    encoding = {
        "theta": {"field": field_of(part.label), "type": "quantitative", "title": part.label, "stack": True},
        # In the order of the values: those of a step as they follow, others by size.
        "color": axis(of, "nominal", sort=None, legend={"title": None, "orient": "right"}),
        "order": {"field": field_of(part.label), "type": "quantitative", "sort": "descending"},
    }
    values = in_order(values_of(shape, [of, part]), of)
    if not of.keys:
        values.sort(key=lambda item: -float(item[part.label] or 0))
    whole = math.fsum(float(item) for item in known)
    for item in values:
        item[of.label] = f"{item[of.label]} · {float(item[part.label] or 0) * 100 / whole:.1f}%"
    return Plot(
        Kind.PIE,
        {"type": "arc", "innerRadius": RING_HOLE, "outerRadius": RING_RADIUS, "stroke": "white"},
        values,
        encoding,
    )


def scatter(shape: Shape) -> Plot | None:
    place = place_of(shape)
    amounts = list(place) if place else shape.of(Role.AMOUNT)
    if len(amounts) != 2 or shape.rows < SCATTER_POINTS_MIN or shape.of(Role.TIME):
        return None
    x, y = amounts
    if place is None and (x.distinct < 3 or y.distinct < 3):
        return None
    names = [item for item in shape.of(Role.CATEGORY) if not item.has_gaps]
    values = [
        value for value in values_of(shape, [*names, x, y]) if value[x.label] is not None and value[y.label] is not None
    ]
    notes: list[tuple[str, Mapping[str, object]]] = []
    if len(values) < shape.rows:
        notes.append(("without_gaps", {"count": f"{shape.rows - len(values):,}"}))
    if len(values) > POINTS_MAX:
        step = len(values) / POINTS_MAX
        values = [values[int(n * step)] for n in range(POINTS_MAX)]
    if len(values) < SCATTER_POINTS_MIN:
        return None
    if len(values) < shape.row_count and (not shape.is_whole or shape.rows > POINTS_MAX):
        notes.append(("sample", {"shown": f"{len(values):,}", "count": f"{shape.row_count:,}"}))
    groups = [name for name in names if 2 <= name.distinct <= SERIES_MAX and name.distinct * 2 <= shape.rows]
    encoding: dict[str, object] = {"x": amount_of(x, zero=False), "y": amount_of(y, zero=False)}
    if groups:
        encoding["color"] = axis(groups[0], "nominal")
    return Plot(Kind.SCATTER, {"type": "point", "filled": True}, values, encoding, notes=tuple(notes))


def histogram(shape: Shape) -> Plot | None:
    amounts = shape.of(Role.AMOUNT)
    if len(amounts) != 1:
        return None
    only = amounts[0]
    known = [number for number in only.numbers if number is not None]
    if len(known) < HISTOGRAM_ROWS_MIN or len(set(known)) < 3:
        return None
    notes: list[tuple[str, Mapping[str, object]]] = []
    if len(known) < shape.rows:
        notes.append(("without_gaps", {"count": f"{shape.rows - len(known):,}"}))
    if not shape.is_whole:
        notes.append(("sample", {"shown": f"{len(known):,}", "count": f"{shape.row_count:,}"}))
    values = [{only.label: _plain(item)} for item in known]
    encoding = {
        "x": {"field": field_of(only.label), "type": "quantitative", "bin": True, "title": only.label},
        "y": {"aggregate": "count", "type": "quantitative", "scale": {"zero": True}},
    }
    return Plot(Kind.HISTOGRAM, {"type": "bar"}, values, encoding, notes=tuple(notes))


def heatmap(shape: Shape) -> Plot | None:
    amounts, places = shape.of(Role.AMOUNT), places_of(shape)
    if len(amounts) != 1 or len(places) != 2 or not is_full(shape, 3) or not shape.is_whole or shape.rows < 4:
        return None
    x, y = places
    if any(item.has_gaps for item in (x, y, amounts[0])) or not is_crossed(x, y):
        return None
    if not 2 <= x.distinct <= CELLS_MAX or not 2 <= y.distinct <= CELLS_MAX:
        return None
    # Most cells must have a value: a matrix of holes shows nothing.
    if shape.rows * 3 < x.distinct * y.distinct:
        return None
    encoding = {
        "x": axis(x, "ordinal" if x.keys else "nominal", sort=_steps(x)),
        "y": axis(y, "ordinal" if y.keys else "nominal", sort=_steps(y)),
        "color": {"field": field_of(amounts[0].label), "type": "quantitative", "title": amounts[0].label},
    }
    return Plot(Kind.HEATMAP, {"type": "rect"}, values_of(shape, [x, y, amounts[0]]), encoding)


def places_of(shape: Shape) -> list[Facet]:
    """Return what amounts can be distinguished by; an id only if nothing better distinguishes them."""
    result = shape.of(Role.TIME, Role.ORDER, Role.CATEGORY)
    return result or shape.of(Role.IDENTITY)


def place_of(shape: Shape) -> tuple[Facet, Facet] | None:
    """Return longitude and latitude of a map, if both are there."""
    amounts = shape.of(Role.AMOUNT)
    east = next((amount for amount in amounts if amount.is_longitude), None)
    north = next((amount for amount in amounts if amount.is_latitude), None)
    return (east, north) if east and north and shape.rows >= SCATTER_POINTS_MIN else None


def is_full(shape: Shape, used: int) -> bool:
    """Whether a picture of so many columns leaves out nothing but ids."""
    return used == len(shape.facets) or used == len(shape.facets) - len(shape.of(Role.IDENTITY))


def _is_plain(x: Facet) -> bool:
    """Whether each row has its own place."""
    return not x.has_gaps and x.distinct == len(x.cells)


def is_crossed(x: Facet, group: Facet) -> bool:
    pairs = {(str(a), str(b)) for a, b in zip(x.cells, group.cells, strict=True)}
    return len(pairs) == len(x.cells)


def is_positive(y: Facet) -> bool:
    return all(number is not None and number >= 0 for number in y.numbers)


def _are_alike(amounts: Sequence[Facet]) -> bool:
    """Whether amounts can share one axis without one of them vanishing."""
    peaks = [max(abs(float(number)) for number in one.numbers if number is not None) for one in amounts]
    return min(peaks) > 0 and max(peaks) <= ALIKE_MAX * min(peaks)


def _falling(y: Facet) -> str:
    """Return `down` or `up` if the rows came sorted by the amount, else nothing."""
    known = [number for number in y.numbers if number is not None]
    if all(a >= b for a, b in pairwise(known)):
        return "down"
    return "up" if all(a <= b for a, b in pairwise(known)) else ""


def values_of(shape: Shape, used: Sequence[Facet]) -> list[dict[str, Scalar]]:
    columns = [(item.label, _cells(item)) for item in used]
    return [{label: cells[n] for label, cells in columns} for n in range(shape.rows)]


def _cells(used: Facet) -> Sequence[Scalar]:
    if not used.numbers or (used.numbers is used.cells and not any(type(cell) is float for cell in used.cells)):
        return used.cells
    digits = used.format.digits + DIGITS_BEYOND_SHOWN
    return [None if number is None else _rounded(_plain(number), digits) for number in used.numbers]


def _rounded(number: float, digits: int) -> int | float:
    """Return a number without the noise of adding floats."""
    return round(number, digits) if isinstance(number, float) else number


def in_order(values: list[dict[str, Scalar]], x: Facet) -> list[dict[str, Scalar]]:
    if not x.keys:
        return values
    ranked = sorted(zip(x.keys, range(len(values)), strict=True), key=lambda item: (item[0] is None, item[0], item[1]))
    return [values[n] for _, n in ranked]


def _steps(x: Facet) -> list[Scalar] | None:
    """Return the values of an axis in their own order; None keeps the order of the rows."""
    if not x.keys:
        return None
    cells = _cells(x)
    ranked = sorted(
        {key: cell for key, cell in zip(x.keys, cells, strict=True) if key is not None}.items(),
        key=lambda item: item[0],
    )
    return [cell for _, cell in ranked]


MONTH_FORMAT: Final = "%b %Y"
QUARTER_FORMAT: Final = "Q%q %Y"


def step_of(x: Facet) -> Mapping[str, object]:
    if x.is_dated:
        # Dates without a zone are read as UTC; shown in UTC they stay on their day.
        return axis(x, "temporal", scale={"type": "utc"}, **_ticks(x))
    return axis(x, "ordinal", sort=None)


def _ticks(x: Facet) -> Mapping[str, object]:
    """Return the axis of dates that stand for months or years: a tick for each, called as the month or the year."""
    if x.grain == "day":
        return {}
    if x.grain == "year":
        return {"axis": {"tickCount": "year", "format": "%Y", "labelOverlap": True}}
    are_quarters = all(str(cell)[5:7] in QUARTER_STARTS for cell in x.cells if cell is not None)
    every = {"interval": "month", "step": 3 if are_quarters else 1}
    if x.grain == "quarter":
        return {"axis": {"tickCount": every, "format": QUARTER_FORMAT, "labelOverlap": True}}
    return {"axis": {"tickCount": every, "format": MONTH_FORMAT, "labelOverlap": True}}


def axis(used: Facet, kind: str, **more: object) -> Mapping[str, object]:
    return {"field": field_of(used.label), "type": kind, "title": used.label, **more}


def amount_of(used: Facet, *, zero: bool) -> Mapping[str, object]:
    return {
        "field": field_of(used.label),
        "type": "quantitative",
        "title": used.label,
        "scale": {"zero": zero},
    }


def stroke(kind: Kind, points: int) -> Mapping[str, object]:
    return {"type": kind.value, "point": points <= 60}


def _long(
    values: list[dict[str, Scalar]], x: Facet, amounts: Sequence[Facet], names: tuple[str, str]
) -> list[dict[str, Scalar]]:
    """Return one line for each amount of each row."""
    series, value = names
    return [{x.label: item[x.label], series: one.label, value: item[one.label]} for item in values for one in amounts]


def _fresh_names(shape: Shape) -> tuple[str, str]:
    """Return names for the series and its amounts that no label has."""
    taken = {facet.label for facet in shape.facets}
    names: list[str] = []
    for name in ("series", "value"):
        while name in taken:
            name += "_"  # noqa: PLW2901
        names.append(name)
    return names[0], names[1]


def field_of(label: str) -> str:
    """Return a label as Vega-Lite reads a field: signs of a path in it are taken literally."""
    return re.sub(r"([\\.\[\]'\"])", r"\\\1", label)


def label_in(field: str) -> str:
    """Return the label that a field was made of.

    >>> label_in(field_of("a.b [c]"))
    'a.b [c]'
    """
    return re.sub(r"\\(.)", r"\1", field)


def _width(text: str) -> int:
    return sum(2 if ord(character) > 0x2E7F else 1 for character in text)


def _plain(amount: Number) -> int | float:
    if isinstance(amount, int | float):
        return amount
    return int(amount) if amount == amount.to_integral_value() and abs(amount) < 1 << 53 else _finite(float(amount))


def _finite(amount: float) -> float:
    return amount if math.isfinite(amount) else math.copysign(1e308, amount)
