"""The chart that antvis' tools describe, as a Vega-Lite specification; a kind that is not drawn here is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from querybus_gateway.problems import Problem, ProblemCode

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
POINTS_MAX: Final = 2_000
SIDE_MAX: Final = 2_000
WIDTH: Final = 640
HEIGHT: Final = 400
BINS: Final = 20
_COLORS: Final = ("#2f6fb0", "#e07b39", "#3a9d6e", "#a14f9c", "#c0a02c", "#6b7684", "#d1495b", "#4aa8b8")
Json = dict[str, Any]


class _Unfit(Exception):
    """The data is not of the form that this kind of chart takes."""


def spec_of(asked: Mapping[str, Any]) -> Json | Problem:
    """Return the specification of `{type, data, title, ...}`, or why there is none."""
    kind = asked.get("type") or asked.get("tool") or ""
    make = _KINDS.get(str(kind))
    if make is None:
        known = ", ".join(sorted(_KINDS))
        return Problem(
            ProblemCode.INVALID, f"charts of the kind {str(kind)[:40]!r} are not drawn here; there are: {known}"
        )
    try:
        made = make(asked)
    except _Unfit as error:
        return Problem(ProblemCode.INVALID, f"{kind}: {error}")
    style = asked.get("style") if isinstance(asked.get("style"), Mapping) else {}
    palette = style.get("palette") if isinstance(style, Mapping) else None
    colors = [str(color)[:40] for color in palette] if isinstance(palette, list) and palette else list(_COLORS)
    dark = asked.get("theme") == "dark"
    title = str(asked.get("title") or "")[:300]
    return {
        "$schema": SCHEMA,
        "width": _side(asked.get("width"), WIDTH),
        "height": _side(asked.get("height"), HEIGHT),
        **({"title": {"text": title, "anchor": "start"}} if title else {}),
        **made,
        "config": {
            "view": {"stroke": None},
            "mark": {"color": colors[0]},
            "range": {"category": colors},
            **(_DARK if dark else {}),
        },
    }


_DARK: Final[Json] = {
    "background": "#1b1f24",
    "title": {"color": "#e6e8ea"},
    "axis": {"labelColor": "#c5cad0", "titleColor": "#e6e8ea", "gridColor": "#343b44", "domainColor": "#565f69"},
    "legend": {"labelColor": "#c5cad0", "titleColor": "#e6e8ea"},
}


def _side(asked: Any, default: int) -> int:
    return min(SIDE_MAX, max(50, round(asked))) if isinstance(asked, int | float) else default


def _points(asked: Mapping[str, Any], *needed: str) -> list[Json]:
    """Return the data's objects, each with what a chart needs: numbers where numbers are meant."""
    data = asked.get("data")
    if not isinstance(data, list) or not data:
        raise _Unfit("`data` is a list of objects")
    if len(cast("Sequence[Any]", data)) > POINTS_MAX:
        raise _Unfit(f"at most {POINTS_MAX} points are drawn")
    points: list[Json] = []
    for place, point in enumerate(cast("Sequence[Any]", data)):
        if not isinstance(point, Mapping):
            raise _Unfit(f"point {place} of `data` is no object")
        known = cast("Mapping[str, Any]", point)
        for name in needed:
            value = known.get(name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is None or (name in ("value", "x", "y") and not is_number):
                raise _Unfit(f"point {place} of `data` needs {name}{' as a number' if value is not None else ''}")
        points.append(dict(known))
    return points


def _axis(name: str, kind: str, title: Any, **more: Any) -> Json:
    return {"field": name, "type": kind, "title": str(title)[:200] if title else None, **more}


def _grouped(points: Sequence[Json]) -> Json:
    return (
        {"color": {"field": "group", "type": "nominal", "title": None}} if any("group" in one for one in points) else {}
    )


def _over_time(mark: str) -> Callable[[Mapping[str, Any]], Json]:
    def made(asked: Mapping[str, Any]) -> Json:
        points = _points(asked, "time", "value")
        stack = {"stack": "zero" if asked.get("stack") else None} if mark == "area" else {}
        encoding = {
            # As they come: they are labels such as 2019-Q3 as often as they are dates.
            "x": _axis(
                "time", "ordinal", asked.get("axisXTitle"), sort=None, axis={"labelAngle": 0, "labelOverlap": True}
            ),
            "y": _axis("value", "quantitative", asked.get("axisYTitle"), **stack),
            **_grouped(points),
        }
        shown = (
            {"type": mark, "point": len(points) <= 60}
            if mark == "line"
            else {"type": mark, "opacity": 0.6, "line": True}
        )
        return {"data": {"values": points}, "mark": shown, "encoding": encoding}

    return made


def _bars(*, lying: bool) -> Callable[[Mapping[str, Any]], Json]:
    def made(asked: Mapping[str, Any]) -> Json:
        points = _points(asked, "category", "value")
        groups = _grouped(points)
        beside = bool(groups) and bool(asked.get("group", not lying)) and not asked.get("stack", lying)
        category = _axis("category", "nominal", asked.get("axisXTitle"), sort=None, axis={"labelAngle": 0})
        value = _axis("value", "quantitative", asked.get("axisYTitle"), **({"stack": None} if beside else {}))
        offset = {"yOffset" if lying else "xOffset": {"field": "group"}} if beside else {}
        first, second = ("y", "x") if lying else ("x", "y")
        return {
            "data": {"values": points},
            "mark": {"type": "bar"},
            "encoding": {first: category, second: value, **groups, **offset},
        }

    return made


def _pie(asked: Mapping[str, Any]) -> Json:
    points = _points(asked, "category", "value")
    if any(point["value"] < 0 for point in points):
        raise _Unfit("parts of a whole are not negative")
    inner = asked.get("innerRadius")
    ring = min(0.95, max(0.0, inner)) if isinstance(inner, int | float) else 0.0
    return {
        "data": {"values": points},
        "mark": {"type": "arc", "innerRadius": {"expr": f"min(width, height) / 2 * {ring}"}},
        "encoding": {
            "theta": {"field": "value", "type": "quantitative", "stack": True},
            "color": {"field": "category", "type": "nominal", "title": None, "sort": None},
        },
    }


def _scatter(asked: Mapping[str, Any]) -> Json:
    points = _points(asked, "x", "y")
    no_zero = {"scale": {"zero": False}}
    encoding = {
        "x": _axis("x", "quantitative", asked.get("axisXTitle"), **no_zero),
        "y": _axis("y", "quantitative", asked.get("axisYTitle"), **no_zero),
        **_grouped(points),
    }
    return {"data": {"values": points}, "mark": {"type": "point", "filled": True, "size": 60}, "encoding": encoding}


def _histogram(asked: Mapping[str, Any]) -> Json:
    data = asked.get("data")
    numbers = (
        [one for one in cast("Sequence[Any]", data) if isinstance(one, int | float)] if isinstance(data, list) else []
    )
    if not numbers or len(numbers) != len(cast("Sequence[Any]", data)):
        raise _Unfit("`data` is a list of numbers")
    bins = asked.get("binNumber")
    most = min(200, max(1, round(bins))) if isinstance(bins, int | float) else BINS
    return {
        "data": {"values": [{"value": one} for one in numbers[:POINTS_MAX]]},
        "mark": {"type": "bar"},
        "encoding": {
            "x": _axis("value", "quantitative", asked.get("axisXTitle"), bin={"maxbins": most}),
            "y": {"aggregate": "count", "type": "quantitative", "title": asked.get("axisYTitle") or None},
        },
    }


def _boxplot(asked: Mapping[str, Any]) -> Json:
    points = _points(asked, "category", "value")
    encoding = {
        "x": _axis("category", "nominal", asked.get("axisXTitle"), sort=None, axis={"labelAngle": 0}),
        "y": _axis("value", "quantitative", asked.get("axisYTitle"), scale={"zero": False}),
        **_grouped(points),
    }
    return {"data": {"values": points}, "mark": {"type": "boxplot"}, "encoding": encoding}


def _funnel(asked: Mapping[str, Any]) -> Json:
    points = _points(asked, "category", "value")
    return {
        "data": {"values": points},
        "mark": {"type": "bar"},
        "encoding": {
            "y": _axis("category", "nominal", None, sort=None),
            "x": {"field": "value", "type": "quantitative", "stack": "center", "axis": None},
            "color": {"field": "category", "type": "nominal", "legend": None, "sort": None},
        },
    }


def _waterfall(asked: Mapping[str, Any]) -> Json:
    level = 0.0
    bars: list[Json] = []
    for point in _points(asked, "category"):
        total = point.get("isTotal") or point.get("isIntermediateTotal")
        change = point.get("value", 0)
        if not isinstance(change, int | float):
            raise _Unfit("`value` is a number")
        begin, level = (0.0, level) if total else (level, level + change)
        kind = "total" if total else ("rise" if level >= begin else "fall")
        bars.append({"category": point["category"], "from": begin, "to": level, "kind": kind})
    colors = {"domain": ["rise", "fall", "total"], "range": [_COLORS[2], _COLORS[6], _COLORS[5]]}
    return {
        "data": {"values": bars},
        "mark": {"type": "bar"},
        "encoding": {
            "x": _axis("category", "nominal", asked.get("axisXTitle"), sort=None, axis={"labelAngle": 0}),
            "y": _axis("from", "quantitative", asked.get("axisYTitle")),
            "y2": {"field": "to"},
            "color": {"field": "kind", "type": "nominal", "scale": colors, "legend": None},
        },
    }


def _dual_axes(asked: Mapping[str, Any]) -> Json:
    names, series = asked.get("categories"), asked.get("series")
    if not isinstance(names, list) or not names or not isinstance(series, list) or not series:
        raise _Unfit("`categories` and `series` are lists")
    layers: list[Json] = []
    for place, one in enumerate(cast("Sequence[Any]", series)[:4]):
        data = one.get("data") if isinstance(one, Mapping) else None
        if not isinstance(data, list) or len(cast("Sequence[Any]", data)) != len(cast("Sequence[Any]", names)):
            raise _Unfit("each of `series` has a number for each of `categories`")
        known = cast("Mapping[str, Any]", one)
        rows = [{"category": str(name), "value": value} for name, value in zip(names, data, strict=True)]
        color = _COLORS[place % len(_COLORS)]
        side = {"orient": "right" if place else "left", "titleColor": color, "grid": place == 0}
        layers.append(
            {
                "data": {"values": rows},
                "mark": {"type": "line" if known.get("type") == "line" else "bar", "color": color},
                "encoding": {
                    "x": _axis("category", "ordinal", asked.get("axisXTitle"), sort=None, axis={"labelAngle": 0}),
                    "y": _axis("value", "quantitative", known.get("axisYTitle"), axis=side),
                },
            }
        )
    return {"layer": layers, "resolve": {"scale": {"y": "independent"}}}


_KINDS: Final[Mapping[str, Callable[[Mapping[str, Any]], Json]]] = {
    "line": _over_time("line"),
    "area": _over_time("area"),
    "bar": _bars(lying=True),
    "column": _bars(lying=False),
    "pie": _pie,
    "scatter": _scatter,
    "histogram": _histogram,
    "boxplot": _boxplot,
    "funnel": _funnel,
    "waterfall": _waterfall,
    "dual-axes": _dual_axes,
}
