"""Figures and names that stand at what they name: at bars, in cells, around a ring, at the ends of lines.

A legend is left out where its names stand in the picture. What has no space stays without: only the highest of many bars
or points is labelled, and names that would touch leave the legend in place.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final

from querybus.core.catalog import Language
from querybus_presenter.charts.kinds import Kind, Plot, label_in
from querybus_presenter.charts.style import HEIGHT, INK, RING_RADIUS, WIDTH, datum_of, short_figure

Layer = Mapping[str, object]
Figure = Callable[[str], Mapping[str, object]]
"""Returns the text of a value's figure, by its name."""

BARS_LABELLED_MAX: Final = 12
"""So many upright bars have space for a figure each; of more only the highest has one."""
LINES_NAMED_MAX: Final = 5
COLUMNS_LABELLED_MAX: Final = 12
"""So many columns of a grid have space for a figure in each cell."""
POINTS_NAMED_MAX: Final = 20
LINE_HEIGHT_PX: Final = 14
CHARACTER_WIDTH_PX: Final = 7
NAME_WIDTH_MAX_PX: Final = 180
_GAP_PX: Final = 6


@dataclass(frozen=True, slots=True)
class Labels:
    """The layers that stand over a picture, and whether they say what its legend would."""

    layers: tuple[Layer, ...] = ()
    is_legend: bool = False


def labels_of(plot: Plot, language: Language, percents: Mapping[str, int]) -> Labels:
    """Return the labels that a plot has space for; `percents` are the digits of its percentages, by name."""
    figure = partial(_figure, language=language, percents=percents)
    encoding: Any = plot.encoding
    match plot.kind:
        case Kind.BAR:
            return Labels(tuple(_at_bars(plot, encoding, figure)))
        case Kind.LINE if "color" in encoding:
            return _at_ends(plot, encoding)
        case Kind.LINE | Kind.AREA if "color" not in encoding:
            return Labels(_at_points(plot, encoding, figure))
        case Kind.PIE:
            return _around_ring(plot, encoding)
        case Kind.HEATMAP:
            return _in_cells(plot, encoding, figure)
        case Kind.HISTOGRAM:
            return Labels((_text({"aggregate": "count", "type": "quantitative"}, dy=-_GAP_PX, baseline="bottom"),))
        case Kind.SCATTER:
            return Labels(tuple(_beside_points(plot, encoding)))
        case _:
            return Labels()


def _text(
    text: Mapping[str, object], *, only: str = "", color: Mapping[str, object] | None = None, **mark: object
) -> Layer:
    """Return a layer of texts, in ink unless a colour is given; `only` is the condition that a value must meet to have one."""
    encoding = {"text": text, "color": color}
    chosen = {"transform": [{"filter": only}]} if only else {}
    return {**chosen, "mark": {"type": "text", "tooltip": True, **mark}, "encoding": encoding}


def _figure(field: str, *, language: Language, percents: Mapping[str, int]) -> Mapping[str, object]:
    return {"value": {"expr": short_figure(field, language, percents)}}


def _at_bars(plot: Plot, encoding: Mapping[str, Any], figure: Figure) -> Iterator[Layer]:
    lies = encoding["x"]["type"] == "quantitative"
    amount = _key(encoding["x" if lies else "y"])
    datum = datum_of(amount)
    if lies:
        side = {"expr": f"{datum} < 0 ? 'right' : 'left'"}
        yield _text(figure(amount), align=side, dx={"expr": f"{datum} < 0 ? -{_GAP_PX} : {_GAP_PX}"})
        return
    highest = max((_number(value, amount) for value in plot.values), default=0.0)
    yield _text(
        figure(amount),
        only="" if len(plot.values) <= BARS_LABELLED_MAX else f"{datum} === {json.dumps(highest)}",
        baseline={"expr": f"{datum} < 0 ? 'top' : 'bottom'"},
        dy={"expr": f"{datum} < 0 ? {_GAP_PX - 2} : -{_GAP_PX - 2}"},
    )


def _at_points(plot: Plot, encoding: Mapping[str, Any], figure: Figure) -> tuple[Layer, ...]:
    """Return the figures of a line's highest and last points."""
    amount, step = _key(encoding["y"]), _key(encoding["x"])
    last = plot.values[-1]
    highest = max(plot.values, key=lambda value: _number(value, amount))
    written = figure(amount)
    at_end = _own([last], _text(written, align="left", dx=8))
    if highest[step] == last[step]:
        return (at_end,)
    return at_end, _own([highest], _text(written, baseline="bottom", dy=-_GAP_PX))


def _at_ends(plot: Plot, encoding: Mapping[str, Any]) -> Labels:
    """Return each line's name behind its last point, moved apart where they would touch."""
    name, amount, step = _key(encoding["color"]), _key(encoding["y"]), _key(encoding["x"])
    ends = {str(value[name]): value for value in plot.values}
    if len(ends) > LINES_NAMED_MAX or len({value[step] for value in ends.values()}) > 1:
        return Labels()
    numbers = [_number(value, amount) for value in plot.values]
    least = (max(numbers) - min(numbers)) * LINE_HEIGHT_PX / HEIGHT or 1.0
    ranked = sorted(ends.values(), key=lambda value: _number(value, amount))
    heights = apart([_number(value, amount) for value in ranked], least)
    named = [{**value, amount: height} for value, height in zip(ranked, heights, strict=True)]
    text = _text(
        {"field": encoding["color"]["field"], "type": "nominal"},
        color={**encoding["color"], "legend": None},
        align="left",
        dx=8,
        limit=NAME_WIDTH_MAX_PX,
        fontWeight="bold",
    )
    return Labels((_own(named, text),), is_legend=True)


def open_ended(plot: Plot) -> tuple[Layer, Layer]:
    """Return the values of a line up to its last step but one, and those of its last stretch, as data of two layers."""
    encoding: Any = plot.encoding
    step = _key(encoding["x"])
    steps = list(dict.fromkeys(value[step] for value in plot.values))
    whole = [value for value in plot.values if value[step] != steps[-1]]
    return _own(whole, {}), _own([value for value in plot.values if value[step] in steps[-2:]], {})


def apart(numbers: Sequence[float], least: float) -> list[float]:
    """Return rising numbers moved as little as needed to be `least` apart.

    >>> apart([1.0, 1.0, 5.0], 1.0), apart([0.0, 10.0], 1.0)
    ([0.5, 1.5, 5.0], [0.0, 10.0])
    """
    groups: list[list[float]] = []
    for number in numbers:
        groups.append([number])
        while len(groups) > 1 and _spread(groups[-2], least)[-1] + least > _spread(groups[-1], least)[0]:
            groups[-2:] = [groups[-2] + groups[-1]]
    return [place for group in groups for place in _spread(group, least)]


def _spread(group: Sequence[float], least: float) -> list[float]:
    """Return places `least` apart around the middle of a group."""
    middle = math.fsum(group) / len(group)
    return [middle + (place - (len(group) - 1) / 2) * least for place in range(len(group))]


def _around_ring(plot: Plot, encoding: Mapping[str, Any]) -> Labels:
    name, amount = _key(encoding["color"]), _key(encoding["theta"])
    # The ring is drawn from its largest part on, clockwise from the top.
    ranked = sorted(plot.values, key=lambda value: -_number(value, amount))
    whole = math.fsum(_number(value, amount) for value in ranked)
    radius = RING_RADIUS + 16
    begun, places = 0.0, list[tuple[bool, float]]()
    for value in ranked:
        angle = 2 * math.pi * (begun + _number(value, amount) / 2) / whole
        places.append((angle > math.pi, -radius * math.cos(angle)))
        begun += _number(value, amount)
    for (is_left, height), (is_next_left, next_height) in pairwise(places):
        if is_left == is_next_left and abs(height - next_height) < LINE_HEIGHT_PX:
            return Labels()
    left = [value[name] for value, (is_left, _) in zip(ranked, places, strict=True) if is_left]
    side = {"expr": f"indexof({json.dumps(left, ensure_ascii=False)}, {datum_of(name)}) >= 0 ? 'right' : 'left'"}
    text = {"field": encoding["color"]["field"], "type": "nominal"}
    return Labels((_text(text, radius=radius, align=side, limit=NAME_WIDTH_MAX_PX),), is_legend=True)


def _in_cells(plot: Plot, encoding: Mapping[str, Any], figure: Figure) -> Labels:
    if len({value[_key(encoding["x"])] for value in plot.values}) > COLUMNS_LABELLED_MAX:
        return Labels()
    amount = _key(encoding["color"])
    numbers = [_number(value, amount) for value in plot.values]
    # White on the dark half of the colours, ink on the light one.
    middle = (min(numbers) + max(numbers)) / 2
    color = {"condition": {"test": f"{datum_of(amount)} > {middle}", "value": "white"}, "value": INK}
    return Labels((_text(figure(amount), color=color),), is_legend=True)


def _beside_points(plot: Plot, encoding: Mapping[str, Any]) -> Iterator[Layer]:
    """Yield the names of a few points, of those that have space for one."""
    x, y = _key(encoding["x"]), _key(encoding["y"])
    name = next((key for key in (plot.values[0] if plot.values else ()) if key not in (x, y)), None)
    if name is None or len(plot.values) > POINTS_NAMED_MAX:
        return
    taken: list[tuple[float, float, float, float]] = []
    across, up = (
        _scaled([_number(value, key) for value in plot.values], size) for key, size in ((x, WIDTH), (y, HEIGHT))
    )
    taken.extend((left - 4, low - 4, left + 4, low + 4) for left, low in zip(across, up, strict=True))
    named: list[Mapping[str, Any]] = []
    for value, left, low in zip(plot.values, across, up, strict=True):
        text = str(value[name])
        wide = min(NAME_WIDTH_MAX_PX, sum(CHARACTER_WIDTH_PX * (1 + (ord(sign) > 0x2E7F)) for sign in text))
        box = (left + 5, low - LINE_HEIGHT_PX / 2, left + 8 + wide, low + LINE_HEIGHT_PX / 2)
        if any(box[0] < a[2] and a[0] < box[2] and box[1] < a[3] and a[1] < box[3] for a in taken):
            continue
        taken.append(box)
        named.append(value)
    if named:
        text = {"value": {"expr": datum_of(name)}}
        yield _own(named, _text(text, align="left", dx=8, limit=NAME_WIDTH_MAX_PX))


def _scaled(numbers: Sequence[float], size: float) -> list[float]:
    low, high = min(numbers), max(numbers)
    return [(number - low) / (high - low or 1.0) * size for number in numbers]


def _own(values: Sequence[Mapping[str, Any]], layer: Layer) -> Layer:
    """Return a layer over values of its own instead of all of the picture's."""
    return {"data": {"values": list(values)}, **layer}


def _key(channel: Mapping[str, Any]) -> str:
    return label_in(str(channel["field"]))


def _number(value: Mapping[str, Any], key: str) -> float:
    return float(value.get(key) or 0)
