"""The picture of an answer in plain text: bars for amounts by what they belong to, a line of blocks for a course.

Reads the Vega-Lite specification that every answer carries; what cannot be said in a few lines of text (a heatmap, a
cloud of points) is left to the table. Pure. Limits: BARS_MAX bars, SERIES_MAX lines, a width that is passed in.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final, cast

from querybus.core.catalog import Language
from querybus.text.rows.shown_rows import shown_cell, shown_figure

BARS_MAX: Final = 20
SERIES_MAX: Final = 6
LABEL_WIDTH_MAX: Final = 24
BAR_WIDTH_MAX: Final = 48
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_BLOCKS: Final = "▁▂▃▄▅▆▇█"

Spec = Mapping[str, Any]
Row = Mapping[str, Any]
Write = Callable[[object, str], str]
"""Writes a value of the picture, given what it is called there."""


def chart_lines(spec: Spec | None, width: int, language: Language = "en") -> list[str]:
    """Return the picture's lines, none where text shows nothing that the table does not.

    Figures and dates are written by the formats that the specification names.

    >>> spec = {"mark": {"type": "bar"}, "data": {"values": [{"city": "Rome", "n": 2}, {"city": "Bonn", "n": 1}]},
    ...     "encoding": {"x": {"field": "city", "type": "nominal"}, "y": {"field": "n", "type": "quantitative"}}}
    >>> chart_lines(spec, 20)
    ['Rome  ███████████  2', 'Bonn  █████▌       1']
    """
    if spec is None:
        return []
    encoding = cast("Mapping[str, Mapping[str, Any]]", spec.get("encoding") or {})
    formats = (spec.get("usermeta") or {}).get("formats") or {}
    write = partial(_format_value, formats=formats, language=language)
    values = cast("Sequence[Row]", (spec.get("data") or {}).get("values") or ())
    # Labels stand over the picture's own mark as further layers.
    layers = cast("Sequence[Spec]", spec.get("layer") or [spec])
    mark = layers[0].get("mark")
    kind = str(cast("Spec", mark).get("type") if isinstance(mark, Mapping) else mark)
    if kind == "arc":
        return _bars(values, _field(encoding, "color"), _field(encoding, "theta"), None, width, write)
    if "x" not in encoding or "y" not in encoding:
        return []
    x, y = encoding["x"], encoding["y"]
    if y.get("type") != "quantitative":
        x, y = y, x
    if y.get("type") != "quantitative" or x.get("type") == "quantitative" or y.get("aggregate") or x.get("bin"):
        return []
    group = _field(encoding, "color")
    if kind == "bar":
        return _bars(values, _name(x), _name(y), group, width, write)
    return _courses(values, _name(x), _name(y), group, width, write) if kind in ("line", "area") else []


def _field(encoding: Mapping[str, Mapping[str, Any]], channel: str) -> str | None:
    return _name(encoding[channel]) if channel in encoding else None


def _name(channel: Mapping[str, Any]) -> str:
    # A specification escapes what would otherwise be a path into a value.
    return str(channel.get("field", "")).replace("\\", "")


def _bars(
    values: Sequence[Row], of: str | None, amount: str | None, group: str | None, width: int, write: Write
) -> list[str]:
    shown = [
        (_label(value, of, group, write), _amount(value.get(amount or "")))
        for value in values[:BARS_MAX]
        if _amount(value.get(amount or "")) is not None
    ]
    numbers = [number for _, number in shown if number is not None]
    if len(numbers) < 2 or min(numbers) < 0 or max(numbers) == 0:
        return []
    texts = [write(number, amount or "") for number in numbers]
    label_width = min(LABEL_WIDTH_MAX, max(_cells(label) for label, _ in shown))
    bar_width = max(4, min(BAR_WIDTH_MAX, width - label_width - 4 - max(map(len, texts))))
    lines = [
        f"{_fit(label, label_width)}  {_bar(number / max(numbers), bar_width)}  {text:>{max(map(len, texts))}}"
        for (label, _), number, text in zip(shown, numbers, texts, strict=True)
    ]
    hidden = len(values) - len(shown)
    return [*lines, f"({hidden} more)"] if hidden > 0 else lines


def _label(row: Row, of: str | None, group: str | None, write: Write) -> str:
    parts = [write(row.get(item, ""), item) for item in (of, group) if item]
    return " · ".join(parts)


def _courses(values: Sequence[Row], step: str, amount: str, group: str | None, width: int, write: Write) -> list[str]:
    series: dict[str, list[tuple[str, float]]] = {}
    for value in values:
        number = _amount(value.get(amount))
        if number is not None:
            series.setdefault(str(value.get(group, "")) if group else "", []).append(
                (write(value.get(step, ""), step), number)
            )
    if not series or len(series) > SERIES_MAX or max(map(len, series.values())) < 3:
        return []
    label_width = min(LABEL_WIDTH_MAX, max(map(_cells, series)))
    lines: list[str] = []
    for name, points in series.items():
        numbers = [number for _, number in points]
        line = _spark(numbers, max(8, width - label_width - 30))
        ends = f"{write(min(numbers), amount)} … {write(max(numbers), amount)}"
        lines.append("  ".join(filter(None, (_fit(name, label_width) if group else "", line, ends))))
    first, last = next(iter(series.values()))[0][0], next(iter(series.values()))[-1][0]
    return [*lines, f"{first} → {last}"]


def _spark(numbers: Sequence[float], width: int) -> str:
    if len(numbers) > width:
        # Each block stands for the mean of a stretch.
        edges = [round(place * len(numbers) / width) for place in range(width + 1)]
        numbers = [sum(numbers[low:high]) / (high - low) for low, high in pairwise(edges)]
    low, high = min(numbers), max(numbers)
    spread = high - low or 1.0
    return "".join(_BLOCKS[min(7, int((number - low) / spread * 8))] for number in numbers)


def _bar(share: float, width: int) -> str:
    eighths = round(share * width * 8)
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(width)


def _amount(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None


def _format_value(value: object, key: str, *, formats: Mapping[str, Any], language: Language) -> str:
    """Return a value of the picture as text; a whole number is written as one, as its column is."""
    how = formats.get(key)
    number = _amount(value)
    if how is None and number is not None:
        return shown_figure(number, 0 if number.is_integer() else 2)
    return shown_cell(int(number) if number is not None and number.is_integer() else value, how, language)


def _cells(text: str) -> int:
    """Return the columns that a text takes in a terminal: Chinese characters take two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _fit(text: str, width: int) -> str:
    if _cells(text) > width:
        while _cells(text) > width - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (width - _cells(text))
