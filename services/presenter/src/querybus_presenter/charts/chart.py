"""The picture that a result's shape asks for, as a Vega-Lite specification: nine kinds, none of them misleading.

Bars and areas start at zero, pies have few positive parts of one whole, time is in order, and what is left out is
said. A person may ask for a kind by name; where it would mislead, the fitting one is drawn and the reason is said.
Fields are named by label, so a business reader's chart holds no column name. Limits: POINTS_MAX points, no picture file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final

from querybus.core.messages import Scalar
from querybus_presenter.charts.shape import Facet, Number, Role, Shape
from querybus_presenter.wording.texts import Texts

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
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
ALIKE_MAX: Final = 20
"""Amounts are drawn on one axis if the largest of one is at most so many times that of the other."""

CHINESE_TIME: Final[Mapping[str, object]] = {
    "dateTime": "%Y年%-m月%-d日 %H:%M:%S",
    "date": "%Y年%-m月%-d日",
    "time": "%H:%M:%S",
    "periods": ["上午", "下午"],
    "days": ["星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"],
    "shortDays": ["周日", "周一", "周二", "周三", "周四", "周五", "周六"],
    "months": [f"{month}月" for month in range(1, 13)],
    "shortMonths": [f"{month}月" for month in range(1, 13)],
}
"""What a renderer calls months and days on a Chinese axis; without it they are English."""


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
class Drawn:
    """A picture: its kind, its specification (None for a table), and what the reader must know of it."""

    kind: Kind
    spec: Mapping[str, object] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Plot:
    """A specification in the making."""

    kind: Kind
    mark: Mapping[str, object]
    values: Sequence[Mapping[str, Scalar]]
    encoding: Mapping[str, object]
    notes: tuple[tuple[str, Mapping[str, object]], ...] = field(default=())


_TABLE: Final = Drawn(Kind.TABLE)

_ASKED: Final = (
    (Kind.HISTOGRAM, r"histogram|直方图|频率分布图"),
    (Kind.HEATMAP, r"heat\s?map|热力图|热图"),
    (Kind.SCATTER, r"scatter(?:\s?plots?|\s?charts?|\s?graphs?)?|bubble chart|散点图"),
    (Kind.PIE, r"(?:pie|donut|doughnut)[\s-]?(?:chart|graph|plot|diagram)s?|饼状?图|圆饼图|环形图|饼形图"),
    (Kind.AREA, r"area[\s-]?(?:chart|graph|plot)s?|面积图"),
    (Kind.LINE, r"(?:line|trend)[\s-]?(?:chart|graph|plot|diagram)s?|折线图?|曲线图?|线图|趋势图"),
    (Kind.BAR, r"(?:bar|column)[\s-]?(?:chart|graph|plot|diagram)s?|柱状图|柱形图|条形图|柱图"),
    (Kind.NUMBER, r"big number|single number|数字卡片|大数字"),
    (Kind.TABLE, r"(?:以|用|按|成|做成|显示为)\s*(?:表格|列表)|表格形式"),
)
_NAMED: Final = tuple(
    (kind, re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])", re.IGNORECASE)) for kind, words in _ASKED
)
_AS = re.compile(
    r"\b(?:as|into|in|with|using|by means of)\s+(?:an?|the|some)?\s*(pie|donut|bars?|lines?|area|scatter|histogram|heat\s?map|table)"
    r"(?:\s+please)?\s*(?:[.?!,;。]|$)",
    re.IGNORECASE,
)
_SHARES = re.compile(
    r"\bshares?\b|\bpercent(?:age)?s?\b|\bproportions?\b|\bbreakdown\b|\bmake\s?up\b|占比|比例|份额|构成|百分比",
    re.IGNORECASE,
)
_CUMULATIVE = re.compile(r"cumulative|running[\s_]total|accumulated|累计", re.IGNORECASE)


def asked_kind(question: str) -> Kind | None:
    """Return the kind of picture that a question asks for by name, or None.

    >>> asked_kind("sales by city as a pie"), asked_kind("画成折线图"), asked_kind("which bar has the best wine?")
    (<Kind.PIE: 'pie'>, <Kind.LINE: 'line'>, None)
    """
    for kind, pattern in _NAMED:
        if pattern.search(question):
            return kind
    match = _AS.search(question)
    if match is None:
        return None
    word = re.sub(r"\s", "", match[1].lower())
    return {"donut": Kind.PIE, "bars": Kind.BAR, "lines": Kind.LINE}.get(word) or Kind(word)


def chart(shape: Shape, texts: Texts, question: str = "") -> Drawn:
    """Return the picture of a result; a table where no picture is clear."""
    asked = asked_kind(question)
    if asked is Kind.TABLE:
        return _TABLE
    plot = _of_kind(asked, shape) if asked else None
    refused: tuple[str, ...] = ()
    if asked and plot is None:
        refused = (texts.chart[f"not_{asked}"],)
    plot = plot or _fitting(shape, question)
    if plot is None:
        return Drawn(Kind.TABLE, notes=refused)
    notes = (*refused, *(texts.chart[key].format(**facts) for key, facts in plot.notes))
    return Drawn(plot.kind, _spec(plot, texts, notes), notes)


def _of_kind(kind: Kind, shape: Shape) -> _Plot | None:
    """Return a picture of one kind, or None if it would mislead or say nothing."""
    match kind:
        case Kind.BAR:
            return _bars(shape) or _grouped_bars(shape)
        case Kind.LINE | Kind.AREA:
            return _line(shape, kind) or _series(shape, kind) or _several_lines(shape, kind)
        case Kind.PIE:
            return _pie(shape)
        case Kind.SCATTER:
            return _scatter(shape)
        case Kind.HISTOGRAM:
            return _histogram(shape)
        case Kind.HEATMAP:
            return _heatmap(shape)
        case Kind.NUMBER:
            return _number(shape)
        case Kind.TABLE:
            return None


def _fitting(shape: Shape, question: str) -> _Plot | None:
    """Return the picture that the shape asks for."""
    if shape.rows == 1:
        return _number(shape)
    amounts = shape.of(Role.AMOUNT)
    steps = shape.of(Role.TIME, Role.ORDER)
    if not amounts:
        return None
    if _place(shape) is not None:
        return _scatter(shape)
    if steps:
        is_sum = any(_CUMULATIVE.search(f"{amount.name} {amount.label}") for amount in amounts)
        kind = Kind.AREA if is_sum or (shape.of(Role.CATEGORY) and _SHARES.search(question)) else Kind.LINE
        if steps[0].role is Role.TIME:
            return (
                _line(shape, kind)
                or _line(shape, Kind.LINE)
                or _series(shape, kind)
                or _series(shape, Kind.LINE)
                or _several_lines(shape, Kind.LINE)
                or _bars(shape)
                or _grouped_bars(shape)
                or _heatmap(shape)
            )
        if len(steps) == 1 and _is_long(steps[0]) and not shape.of(Role.CATEGORY):
            return _line(shape, kind) or _bars(shape)
    wants_parts = bool(_SHARES.search(question)) or (len(amounts) == 1 and amounts[0].is_part_of_whole)
    if wants_parts and (pie := _pie(shape)):
        return pie
    return (
        _bars(shape)
        or _grouped_bars(shape)
        or _heatmap(shape)
        or _scatter(shape)
        or (_histogram(shape) if len(shape.facets) == 1 or _only_named(shape) else None)
    )


# Each maker returns None where its kind would mislead or say nothing.


def _number(shape: Shape) -> _Plot | None:
    if shape.rows != 1 or len(shape.facets) != 1 or not shape.is_whole:
        return None
    only = shape.facets[0]
    if not only.numbers or only.numbers[0] is None:
        return None
    form = {} if only.as_year or only.role is Role.IDENTITY else {"format": _format(only)}
    encoding = {"text": {"field": _field(only.label), "type": "quantitative", "title": only.label, **form}}
    return _Plot(Kind.NUMBER, {"type": "text", "fontSize": 48}, _values(shape, [only]), encoding)


def _bars(shape: Shape) -> _Plot | None:
    amounts, places = shape.of(Role.AMOUNT), _places(shape)
    if len(amounts) != 1 or len(places) != 1 or not _is_full(shape, 2) or shape.rows < 2:
        return None
    y, x = amounts[0], places[0]
    if not _is_plain(x) or y.has_gaps:
        return None
    values = _values(shape, [x, y])
    notes: list[tuple[str, Mapping[str, object]]] = []
    is_ordered = x.role in (Role.TIME, Role.ORDER)
    if is_ordered:
        if len(values) > BARS_MAX or not shape.is_whole:
            return None
        values = _in_order(values, x)
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
    is_flat = not is_ordered and any(_width(str(value[x.label])) > LABEL_LENGTH_MAX for value in values)
    where = _axis(x, "ordinal" if is_ordered else "nominal", sort="-x" if is_flat and sort == "-y" else sort)
    amount = _amount(y, zero=True)
    encoding = {"y": where, "x": amount} if is_flat else {"x": where, "y": amount}
    return _Plot(Kind.BAR, {"type": "bar"}, values, encoding, notes=tuple(notes))


def _grouped_bars(shape: Shape) -> _Plot | None:
    amounts, places = shape.of(Role.AMOUNT), _places(shape)
    if not _is_full(shape, len(amounts) + len(places)) or not shape.is_whole or shape.rows < 2:
        return None
    if any(amount.has_gaps for amount in (*amounts, *places)):
        return None
    if len(places) == 1 and len(amounts) in (2, 3) and shape.rows <= GROUPS_MAX and _is_plain(places[0]):
        if not _are_alike(amounts):
            return None
        x, (key, value) = places[0], _fresh_names(shape)
        values = _long(_in_order(_values(shape, [x, *amounts]), x), x, amounts, (key, value))
        encoding = {
            "x": _axis(x, "ordinal" if x.keys else "nominal", sort=None),
            "xOffset": {"field": key},
            "y": {"field": value, "type": "quantitative", "title": None, "scale": {"zero": True}},
            "color": {"field": key, "type": "nominal", "title": None},
        }
        return _Plot(Kind.BAR, {"type": "bar"}, values, encoding)
    if len(places) == 2 and len(amounts) == 1:
        x, group = places if places[0].distinct >= places[1].distinct else places[::-1]
        is_small = x.distinct <= GROUPS_MAX and group.distinct <= 4
        if not is_small or not _is_crossed(x, group):
            return None
        values = _in_order(_values(shape, [x, group, amounts[0]]), x)
        encoding = {
            "x": _axis(x, "ordinal" if x.keys else "nominal", sort=None),
            "xOffset": {"field": _field(group.label)},
            "y": _amount(amounts[0], zero=True),
            "color": _axis(group, "nominal"),
        }
        return _Plot(Kind.BAR, {"type": "bar"}, values, encoding)
    return None


def _line(shape: Shape, kind: Kind) -> _Plot | None:
    amounts, steps = shape.of(Role.AMOUNT), shape.of(Role.TIME, Role.ORDER)
    if len(amounts) != 1 or len(steps) != 1 or not _is_full(shape, 2) or not shape.is_whole:
        return None
    x, y = steps[0], amounts[0]
    if not LINE_POINTS_MIN <= shape.rows <= POINTS_MAX or not _is_plain(x) or y.has_gaps:
        return None
    if kind is Kind.AREA and not _is_positive(y):
        return None
    values = _in_order(_values(shape, [x, y]), x)
    encoding = {"x": _step(x), "y": _amount(y, zero=kind is Kind.AREA)}
    return _Plot(kind, _stroke(kind, len(values)), values, encoding)


def _series(shape: Shape, kind: Kind) -> _Plot | None:
    """Return one line for each value of a category."""
    amounts, steps, groups = shape.of(Role.AMOUNT), shape.of(Role.TIME, Role.ORDER), shape.of(Role.CATEGORY)
    if len(amounts) != 1 or len(steps) != 1 or len(groups) != 1 or not _is_full(shape, 3) or not shape.is_whole:
        return None
    x, y, group = steps[0], amounts[0], groups[0]
    if any(item.has_gaps for item in (x, y, group)) or not 2 <= group.distinct <= SERIES_MAX:
        return None
    if x.distinct < LINE_POINTS_MIN or shape.rows > POINTS_MAX or not _is_crossed(x, group):
        return None
    if kind is Kind.AREA and not (_is_positive(y) and (y.adds_up or y.is_part_of_whole)):
        return None
    values = _in_order(_values(shape, [x, group, y]), x)
    amount = _amount(y, zero=kind is Kind.AREA)
    encoding = {"x": _step(x), "y": amount, "color": _axis(group, "nominal")}
    return _Plot(kind, _stroke(kind, len(values)), values, encoding)


def _several_lines(shape: Shape, kind: Kind) -> _Plot | None:
    """Return one line for each of a few amounts of like size."""
    amounts, steps = shape.of(Role.AMOUNT), shape.of(Role.TIME, Role.ORDER)
    if kind is Kind.AREA or len(steps) != 1 or not 2 <= len(amounts) <= 4 or not shape.is_whole:
        return None
    x = steps[0]
    if not _is_full(shape, 1 + len(amounts)) or not LINE_POINTS_MIN <= shape.rows <= POINTS_MAX or not _is_plain(x):
        return None
    if any(amount.has_gaps for amount in amounts) or not _are_alike(amounts):
        return None
    key, value = _fresh_names(shape)
    encoding = {
        "x": _step(x),
        "y": {"field": value, "type": "quantitative", "title": None, "scale": {"zero": False}},
        "color": {"field": key, "type": "nominal", "title": None},
    }
    values = _long(_in_order(_values(shape, [x, *amounts]), x), x, amounts, (key, value))
    return _Plot(kind, _stroke(kind, shape.rows), values, encoding)


def _pie(shape: Shape) -> _Plot | None:
    amounts, places = shape.of(Role.AMOUNT), _places(shape)
    if len(amounts) != 1 or len(places) != 1 or not _is_full(shape, 2) or not shape.is_whole:
        return None
    part, of = amounts[0], places[0]
    known = [number for number in part.numbers if number is not None]
    if not PARTS_MIN <= shape.rows <= PARTS_MAX or len(known) != shape.rows or any(item <= 0 for item in known):
        return None
    # Averages are no parts of a whole; shares are, if they make up one.
    if not _is_plain(of) or not (part.may_add_up or part.is_part_of_whole):
        return None
    encoding = {
        "theta": {"field": _field(part.label), "type": "quantitative", "title": part.label, "stack": True},
        "color": _axis(of, "ordinal" if of.keys else "nominal", sort=None),
        "order": {"field": _field(part.label), "type": "quantitative", "sort": "descending"},
    }
    return _Plot(Kind.PIE, {"type": "arc"}, _values(shape, [of, part]), encoding)


def _scatter(shape: Shape) -> _Plot | None:
    place = _place(shape)
    amounts = list(place) if place else shape.of(Role.AMOUNT)
    if len(amounts) != 2 or shape.rows < SCATTER_POINTS_MIN or shape.of(Role.TIME):
        return None
    x, y = amounts
    if place is None and (x.distinct < 3 or y.distinct < 3):
        return None
    names = [item for item in shape.of(Role.CATEGORY) if not item.has_gaps]
    values = [
        value for value in _values(shape, [*names, x, y]) if value[x.label] is not None and value[y.label] is not None
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
    encoding: dict[str, object] = {"x": _amount(x, zero=False), "y": _amount(y, zero=False)}
    if groups:
        encoding["color"] = _axis(groups[0], "nominal")
    return _Plot(Kind.SCATTER, {"type": "point", "filled": True}, values, encoding, notes=tuple(notes))


def _histogram(shape: Shape) -> _Plot | None:
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
        "x": {"field": _field(only.label), "type": "quantitative", "bin": True, "title": only.label},
        "y": {"aggregate": "count", "type": "quantitative", "scale": {"zero": True}},
    }
    return _Plot(Kind.HISTOGRAM, {"type": "bar"}, values, encoding, notes=tuple(notes))


def _heatmap(shape: Shape) -> _Plot | None:
    amounts, places = shape.of(Role.AMOUNT), _places(shape)
    if len(amounts) != 1 or len(places) != 2 or not _is_full(shape, 3) or not shape.is_whole or shape.rows < 4:
        return None
    x, y = places
    if any(item.has_gaps for item in (x, y, amounts[0])) or not _is_crossed(x, y):
        return None
    if not 2 <= x.distinct <= CELLS_MAX or not 2 <= y.distinct <= CELLS_MAX:
        return None
    # Most cells must have a value: a matrix of holes shows nothing.
    if shape.rows * 3 < x.distinct * y.distinct:
        return None
    encoding = {
        "x": _axis(x, "ordinal" if x.keys else "nominal", sort=_steps(x)),
        "y": _axis(y, "ordinal" if y.keys else "nominal", sort=_steps(y)),
        "color": {"field": _field(amounts[0].label), "type": "quantitative", "title": amounts[0].label},
    }
    return _Plot(Kind.HEATMAP, {"type": "rect"}, _values(shape, [x, y, amounts[0]]), encoding)


# What the makers ask of a shape.


def _places(shape: Shape) -> list[Facet]:
    """Return what amounts can be distinguished by; an id only if nothing better distinguishes them."""
    result = shape.of(Role.TIME, Role.ORDER, Role.CATEGORY)
    return result or shape.of(Role.IDENTITY)


def _place(shape: Shape) -> tuple[Facet, Facet] | None:
    """Return longitude and latitude of a map, if both are there."""
    amounts = shape.of(Role.AMOUNT)
    east = next((amount for amount in amounts if amount.is_longitude), None)
    north = next((amount for amount in amounts if amount.is_latitude), None)
    return (east, north) if east and north and shape.rows >= SCATTER_POINTS_MIN else None


def _is_full(shape: Shape, used: int) -> bool:
    """Whether a picture of so many columns leaves out nothing but ids."""
    return used == len(shape.facets) or used == len(shape.facets) - len(shape.of(Role.IDENTITY))


def _only_named(shape: Shape) -> bool:
    """Whether one amount stands beside names that distinguishes every row, so that only its spread can be seen."""
    return len(shape.of(Role.AMOUNT)) == 1 and all(place.distinct == shape.rows for place in _places(shape))


def _is_plain(x: Facet) -> bool:
    """Whether each row has its own place."""
    return not x.has_gaps and x.distinct == len(x.cells)


def _is_crossed(x: Facet, group: Facet) -> bool:
    pairs = {(str(a), str(b)) for a, b in zip(x.cells, group.cells, strict=True)}
    return len(pairs) == len(x.cells)


def _is_positive(y: Facet) -> bool:
    return all(number is not None and number >= 0 for number in y.numbers)


def _is_long(x: Facet) -> bool:
    return x.distinct > 7


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


# What a specification is made of.


def _spec(plot: _Plot, texts: Texts, notes: tuple[str, ...]) -> Mapping[str, object]:
    spec: dict[str, object] = {
        "$schema": SCHEMA,
        "description": texts.chart[plot.kind],
        "data": {"values": list(plot.values)},
        "mark": {**plot.mark, "tooltip": True},
        "encoding": plot.encoding,
        "usermeta": {"chart": plot.kind.value, "notes": list(notes)},
    }
    if plot.kind is Kind.HISTOGRAM:
        encoding: Any = plot.encoding
        spec["encoding"] = {**encoding, "y": {**encoding["y"], "title": texts.labels["count"]}}
    if texts.language == "zh" and any(
        isinstance(item, Mapping) and item.get("type") == "temporal" for item in plot.encoding.values()
    ):
        spec["config"] = {"locale": {"time": CHINESE_TIME}}
    if notes:
        spec["title"] = {"text": list(notes), "fontSize": 11, "fontWeight": "normal", "anchor": "start"}
    return spec


def _values(shape: Shape, used: Sequence[Facet]) -> list[dict[str, Scalar]]:
    columns = [(item.label, _cells(item)) for item in used]
    return [{label: cells[n] for label, cells in columns} for n in range(shape.rows)]


def _cells(used: Facet) -> Sequence[Scalar]:
    if used.numbers is used.cells or not used.numbers:
        return used.cells
    return [None if number is None else _plain(number) for number in used.numbers]


def _in_order(values: list[dict[str, Scalar]], x: Facet) -> list[dict[str, Scalar]]:
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


def _step(x: Facet) -> Mapping[str, object]:
    if x.is_dated:
        # Dates without a zone are read as UTC; shown in UTC they stay on their day.
        return _axis(x, "temporal", scale={"type": "utc"})
    return _axis(x, "ordinal", sort=None)


def _axis(used: Facet, kind: str, **more: object) -> Mapping[str, object]:
    return {"field": _field(used.label), "type": kind, "title": used.label, **more}


def _amount(used: Facet, *, zero: bool) -> Mapping[str, object]:
    return {
        "field": _field(used.label),
        "type": "quantitative",
        "title": used.label,
        "scale": {"zero": zero},
    }


def _stroke(kind: Kind, points: int) -> Mapping[str, object]:
    return {"type": kind.value, "point": points <= 60}


def _format(used: Facet) -> str:
    return ",d" if all(isinstance(number, int) for number in used.numbers) else ",.2~f"


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


def _field(label: str) -> str:
    """Return a label as Vega-Lite reads a field: signs of a path in it are taken literally."""
    return re.sub(r"([\\.\[\]'\"])", r"\\\1", label)


def _width(text: str) -> int:
    return sum(2 if ord(character) > 0x2E7F else 1 for character in text)


def _plain(amount: Number) -> int | float:
    if isinstance(amount, int | float):
        return amount
    return int(amount) if amount == amount.to_integral_value() and abs(amount) < 1 << 53 else _finite(float(amount))


def _finite(amount: float) -> float:
    return amount if math.isfinite(amount) else math.copysign(1e308, amount)
