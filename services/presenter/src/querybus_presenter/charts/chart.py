"""The picture that a result's shape asks for, as a Vega-Lite specification: nine kinds, none of them misleading.

Bars and areas start at zero, pies have few positive parts of one whole, time is in order, and what is left out is
said. A person may ask for a kind by name; where it would mislead, the fitting one is drawn and the reason is said.
Fields are named by label, so a business reader's chart holds no column name. Limits: POINTS_MAX points, no picture file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from querybus.core.messages import ColumnFormat, FormatKind
from querybus.text.picture_words import picture_kind
from querybus_presenter.charts.kinds import (
    LINE_POINTS_MIN,
    MONTH_FORMAT,
    POINTS_MAX,
    SERIES_MAX,
    Kind,
    Plot,
    amount_of,
    axis,
    bars,
    field_of,
    grouped_bars,
    heatmap,
    histogram,
    in_order,
    is_crossed,
    is_full,
    is_positive,
    label_in,
    line,
    pie_of,
    place_of,
    places_of,
    scatter,
    several_lines,
    step_of,
    stroke,
    values_of,
)
from querybus_presenter.charts.labels import Labels, labels_of, open_ended
from querybus_presenter.charts.shape import Facet, Role, Shape
from querybus_presenter.charts.style import CONFIG, size_of, titled, with_short_numbers
from querybus_presenter.summaries.cut_ends import Days, cut_ends, what_is_cut
from querybus_presenter.wording.texts import Texts

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"

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


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture: its kind, its specification (None for a table), and what the reader must know of it."""

    kind: Kind
    spec: Mapping[str, object] | None = None
    notes: tuple[str, ...] = ()


_TABLE: Final = Drawn(Kind.TABLE)

_SHARES = re.compile(
    r"\bshares?\b|\bpercent(?:age)?s?\b|\bproportions?\b|\bbreakdown\b|\bmake\s?up\b|占比|比例|份额|构成|百分比",
    re.IGNORECASE,
)
_CUMULATIVE = re.compile(r"cumulative|running[\s_]total|accumulated|累计", re.IGNORECASE)


def chart(shape: Shape, texts: Texts, question: str = "", *, title: str = "", days: Days | None = None) -> Drawn:
    """Return the picture of a result, titled by how the question was read; a table where no picture is clear.

    `days` says which days the result is of: a line is dashed up to a last point that is not whole.
    """
    named = picture_kind(question)
    asked = Kind(named) if named is not None else None
    if asked is Kind.TABLE:
        return _TABLE
    plot = _of_kind(asked, shape) if asked else None
    refused: tuple[str, ...] = ()
    if asked and plot is None:
        refused = (texts.chart[f"not_{asked}"],)
    plot = plot or _fitting(shape, question)
    if plot is None:
        return Drawn(Kind.TABLE, notes=refused)
    open_end = _open_end(plot, shape, days, texts) if days else []
    notes = (*refused, *(texts.chart[key].format(**facts) for key, facts in plot.notes))
    units = {facet.unit for facet in shape.of(Role.AMOUNT)}
    # Percent stand at each figure.
    below = [texts.chart["unit"].format(unit=unit) for unit in units if unit not in ("", "%") and len(units) == 1]
    below += open_end
    spec = _spec(plot, texts, notes, titled(title, (*below, *notes)), formats_of(plot, shape), is_open=bool(open_end))
    return Drawn(plot.kind, spec, notes)


def _of_kind(kind: Kind, shape: Shape) -> Plot | None:
    """Return a picture of one kind, or None if it would mislead or say nothing."""
    match kind:
        case Kind.BAR:
            return bars(shape) or grouped_bars(shape)
        case Kind.LINE | Kind.AREA:
            return line(shape, kind) or _series(shape, kind) or several_lines(shape, kind)
        case Kind.PIE:
            return pie_of(shape)
        case Kind.SCATTER:
            return scatter(shape)
        case Kind.HISTOGRAM:
            return histogram(shape)
        case Kind.HEATMAP:
            return heatmap(shape)
        case Kind.NUMBER:
            return _number(shape)
        case Kind.TABLE:
            return None


def _fitting(shape: Shape, question: str) -> Plot | None:
    """Return the picture that the shape asks for."""
    if shape.rows == 1:
        return _number(shape)
    amounts = shape.of(Role.AMOUNT)
    steps = shape.of(Role.TIME, Role.ORDER)
    if not amounts:
        return None
    if place_of(shape) is not None:
        return scatter(shape)
    if steps:
        is_sum = any(_CUMULATIVE.search(f"{amount.name} {amount.label}") for amount in amounts)
        kind = Kind.AREA if is_sum or (shape.of(Role.CATEGORY) and _SHARES.search(question)) else Kind.LINE
        if steps[0].role is Role.TIME:
            return (
                line(shape, kind)
                or line(shape, Kind.LINE)
                or _series(shape, kind)
                or _series(shape, Kind.LINE)
                or several_lines(shape, Kind.LINE)
                or bars(shape)
                or grouped_bars(shape)
                or heatmap(shape)
            )
        if len(steps) == 1 and _is_long(steps[0]) and not shape.of(Role.CATEGORY):
            return line(shape, kind) or bars(shape)
    wants_parts = bool(_SHARES.search(question)) or (len(amounts) == 1 and amounts[0].is_part_of_whole)
    if wants_parts and (pie := pie_of(shape)):
        return pie
    return (
        bars(shape)
        or grouped_bars(shape)
        or heatmap(shape)
        or scatter(shape)
        or (histogram(shape) if len(shape.facets) == 1 or _only_named(shape) else None)
    )


# Each maker returns None where its kind would mislead or say nothing.


def _number(shape: Shape) -> Plot | None:
    if shape.rows != 1 or len(shape.facets) != 1 or not shape.is_whole:
        return None
    only = shape.facets[0]
    if not only.numbers or only.numbers[0] is None:
        return None
    form = {"format": f",.{only.format.digits}f"} if only.format.is_figure else {}
    encoding = {"text": {"field": field_of(only.label), "type": "quantitative", "title": only.label, **form}}
    return Plot(Kind.NUMBER, {"type": "text", "fontSize": 48}, values_of(shape, [only]), encoding)


def _series(shape: Shape, kind: Kind) -> Plot | None:
    """Return one line for each value of a category."""
    amounts, steps, groups = shape.of(Role.AMOUNT), shape.of(Role.TIME, Role.ORDER), shape.of(Role.CATEGORY)
    if len(amounts) != 1 or len(steps) != 1 or len(groups) != 1 or not is_full(shape, 3) or not shape.is_whole:
        return None
    x, y, group = steps[0], amounts[0], groups[0]
    if any(item.has_gaps for item in (x, y, group)) or not 2 <= group.distinct <= SERIES_MAX:
        return None
    if x.distinct < LINE_POINTS_MIN or shape.rows > POINTS_MAX or not is_crossed(x, group):
        return None
    if kind is Kind.AREA and not (is_positive(y) and (y.adds_up or y.is_part_of_whole)):
        return None
    values = in_order(values_of(shape, [x, group, y]), x)
    amount = amount_of(y, zero=kind is Kind.AREA)
    encoding = {"x": step_of(x), "y": amount, "color": axis(group, "nominal")}
    return Plot(kind, stroke(kind, len(values)), values, encoding)


# What the makers ask of a shape.


def formats_of(plot: Plot, shape: Shape) -> Mapping[str, ColumnFormat]:
    """Return the format of each name that the values of a plot have; amounts drawn as series share theirs."""
    named = {facet.label: facet.format for facet in shape.facets}
    keys = dict.fromkeys(key for value in plot.values[:1] for key in value)
    amounts = [facet.format for facet in shape.of(Role.AMOUNT)]
    kinds = {how.kind for how in amounts}
    shared = max(amounts, key=lambda how: how.digits) if len(kinds) == 1 else None
    formats: dict[str, ColumnFormat] = {}
    for key in keys:
        how = named.get(key) or (shared if isinstance(plot.values[0][key], int | float) else None)
        if how is not None:
            formats[key] = how
    return formats


def _only_named(shape: Shape) -> bool:
    """Whether one amount stands beside names that distinguishes every row, so that only its spread can be seen."""
    return len(shape.of(Role.AMOUNT)) == 1 and all(place.distinct == shape.rows for place in places_of(shape))


def _is_long(x: Facet) -> bool:
    return x.distinct > 7


# What a specification is made of.


def _open_end(plot: Plot, shape: Shape, days: Days, texts: Texts) -> list[str]:
    """Return that the last point of a line is not whole, in words; nothing where it is, and for what is no line."""
    x = next(iter(shape.of(Role.TIME)), None)
    if plot.kind is not Kind.LINE or x is None:
        return []
    steps = list(dict.fromkeys(value[x.label] for value in plot.values))
    ends = replace(cut_ends(steps, x, days), first_from=None)
    return what_is_cut(ends, (steps[0], steps[-1]), x, texts)


def _spec(
    plot: Plot,
    texts: Texts,
    notes: tuple[str, ...],
    title: Mapping[str, object],
    formats: Mapping[str, ColumnFormat],
    *,
    is_open: bool,
) -> Mapping[str, object]:
    percents = {key: how.digits for key, how in formats.items() if how.kind is FormatKind.PERCENT}
    labels = labels_of(plot, texts.language, percents)
    spec: dict[str, object] = {
        "$schema": SCHEMA,
        "description": texts.chart[plot.kind],
        "data": {"values": list(plot.values)},
        **_marks(plot, labels, is_open=is_open),
        "encoding": with_short_numbers(
            _without_legend(plot.encoding) if labels.is_legend else plot.encoding, texts.language, percents
        ),
        "usermeta": {
            "chart": plot.kind.value,
            "notes": list(notes),
            "formats": {key: how.model_dump(mode="json", exclude={"factor"}) for key, how in formats.items()},
        },
        "config": dict(CONFIG),
        **size_of(plot.encoding),
    }
    if plot.kind is Kind.HISTOGRAM:
        encoding: Any = spec["encoding"]
        spec["encoding"] = {**encoding, "y": {**encoding["y"], "title": texts.labels["count"]}}
    if texts.language == "zh" and any(
        isinstance(item, Mapping) and item.get("type") == "temporal" for item in plot.encoding.values()
    ):
        spec["config"] = {**CONFIG, "locale": {"time": CHINESE_TIME}}
        spec["encoding"] = _with_chinese_dates(cast("Mapping[str, Any]", spec["encoding"]), plot)
    if title["text"]:
        spec["title"] = title
    return spec


def _marks(plot: Plot, labels: Labels, *, is_open: bool) -> Mapping[str, object]:
    """Return the mark, the first of layers where labels stand over it or the last stretch of a line is dashed."""
    mark = {**plot.mark, "tooltip": True}
    if is_open:
        whole, open_end = open_ended(plot)
        drawn = [{**whole, "mark": mark}, {**open_end, "mark": {**mark, "strokeDash": [4, 4]}}]
        return {"layer": [*drawn, *labels.layers]}
    return {"layer": [{"mark": mark}, *labels.layers]} if labels.layers else {"mark": mark}


def _without_legend(encoding: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**encoding, "color": {**encoding["color"], "legend": None}}


def _with_chinese_dates(encoding: Mapping[str, Any], plot: Plot) -> Mapping[str, Any]:
    """Return the axes with the year before the month, and of days within one year the month before the day: 1月5日."""
    made: dict[str, Any] = {}
    for channel, item in encoding.items():
        is_time = isinstance(item, Mapping) and cast("Mapping[str, Any]", item).get("type") == "temporal"
        axis = item.get("axis", {}) if is_time else {}
        days = [str(value.get(label_in(str(item["field"])))) for value in plot.values] if is_time else []
        are_days = bool(days) and all(len(day) == len("2025-01-05") for day in days)
        if axis.get("format") == MONTH_FORMAT:
            made[channel] = {**item, "axis": {**axis, "format": "%Y年%b"}}
        elif are_days and not axis and len({day[:4] for day in days}) == 1:
            made[channel] = {**item, "axis": {"format": "%-m月%-d日", "labelOverlap": True}}
        else:
            made[channel] = item
    return made
