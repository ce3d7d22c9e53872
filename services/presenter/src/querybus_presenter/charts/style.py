"""How every picture looks: wide, without frames, one accent colour, axes in k and M or 万 and 亿, a title that says what it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from querybus.core.catalog import Language

WIDTH: Final = 640
HEIGHT: Final = 320
BAR_STEP: Final = 26
RING_RADIUS: Final = 110
RING_HOLE: Final = 70
TITLE_WIDTH_MAX: Final = 84
ACCENT: Final = "#0072B2"
COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")
"""Colours that people who see fewer of them can tell from one another (Okabe and Ito, 2008)."""
INK: Final = "#3c4043"
_GREY: Final = "#5f6368"
_RULE: Final = "#e3e5e8"

CONFIG: Final[Mapping[str, object]] = {
    "view": {"stroke": None},
    "axis": {
        "domain": False,
        "ticks": False,
        "grid": False,
        "labelColor": _GREY,
        "titleColor": _GREY,
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "labelPadding": 6,
    },
    "axisQuantitative": {"grid": True, "gridColor": _RULE},
    "legend": {
        "orient": "top",
        "labelColor": _GREY,
        "titleColor": _GREY,
        "titleFontWeight": "normal",
        "symbolType": "square",
    },
    "range": {"category": list(COLOURS), "heatmap": {"scheme": "blues"}},
    "bar": {"color": ACCENT},
    "scale": {"barBandPaddingInner": 0.3, "rectBandPaddingInner": 0.03, "bandPaddingOuter": 0.1},
    "line": {"color": ACCENT, "strokeWidth": 2.5},
    "area": {"color": ACCENT, "fillOpacity": 0.8},
    "point": {"color": ACCENT},
    "text": {"color": INK, "fontSize": 11},
    "title": {"anchor": "start", "fontSize": 15, "fontWeight": "bold", "offset": 14, "subtitleColor": _GREY},
}
_UNITS: Final[Mapping[Language, Sequence[tuple[str, str]]]] = {
    "en": (("1e9", "B"), ("1e6", "M"), ("1e4", "k")),
    "zh": (("1e8", "亿"), ("1e4", "万")),
}
"""From which greatest value on an axis counts in a unit."""
_DIVISORS: Final = {"k": "1e3"}
TICKS: Final = 6


def _short_number(channel: str, language: Language, *, is_percent: bool) -> str:
    """Return the expression that writes an axis's labels, all of them in one unit."""
    if is_percent:
        return "format(datum.value, ',~r') + '%'"
    most = f"max(abs(domain('{channel}')[0]), abs(domain('{channel}')[1]))"
    text = "format(datum.value, ',~r')"
    for least, unit in reversed(_UNITS[language]):
        counted = f"format(datum.value / {_DIVISORS.get(unit, least)}, ',~r') + '{unit}'"
        text = f"{most} >= {least} && datum.value != 0 ? {counted} : ({text})"
    return text


def datum_of(key: str) -> str:
    """Return the expression for what a value holds under a name."""
    return f"datum[{json.dumps(key, ensure_ascii=False)}]"


def short_figure(key: str, language: Language, percents: Mapping[str, int]) -> str:
    """Return the expression that writes a value's own figure: with three digits and a unit where it is large, four in Chinese.

    `percents` are the digits that percentages have, by what they are called: these are written as in the table.
    """
    datum = datum_of(key)
    if key in percents:
        return f"format({datum}, ',.{percents[key]}f') + '%'"
    text = f"format({datum}, abs({datum}) >= 1 ? ',.2~f' : ',.2~r')"
    for least, unit in reversed(_UNITS[language]):
        digits = 3 if language == "en" else 4
        counted = f"format({datum} / {_DIVISORS.get(unit, least)}, ',.{digits}~r') + '{unit}'"
        text = f"abs({datum}) >= {least} ? {counted} : ({text})"
    return text


def size_of(encoding: Mapping[str, Any]) -> Mapping[str, object]:
    """Return width and height for what is encoded: bars that lie get a line each."""
    y = encoding.get("y", {})
    if "theta" in encoding:
        return {"width": WIDTH, "height": 2 * RING_RADIUS + 50}
    if not {"x", "y"} & set(encoding):
        return {}
    lies = y.get("type") in ("nominal", "ordinal")
    return {"width": WIDTH, "height": {"step": BAR_STEP} if lies else HEIGHT}


def with_short_numbers(
    encoding: Mapping[str, Any], language: Language, percents: Mapping[str, int]
) -> Mapping[str, object]:
    """Return the encoding with axes that write 1.2M for 1,200,000, and upright words."""
    made: dict[str, object] = {}
    for channel, item in encoding.items():
        is_amount = channel in ("x", "y") and item.get("type") == "quantitative" and not item.get("bin")
        is_words = channel == "x" and item.get("type") in ("nominal", "ordinal")
        is_percent = re.sub(r"\\(.)", r"\1", str(item.get("field"))) in percents
        written = {"labelExpr": _short_number(channel, language, is_percent=is_percent), "tickCount": TICKS}
        axis = written if is_amount else {"labelAngle": 0} if is_words else {}
        made[channel] = {**item, "axis": {**item.get("axis", {}), **axis}} if axis else item
    return made


def titled(title: str, notes: Sequence[str]) -> Mapping[str, object]:
    """Return a title in lines that fit, with what has to be known of the picture below it."""
    lines = _lines(title.rstrip(".。"))
    return {"text": lines or list(notes), **({"subtitle": list(notes)} if lines and notes else {})}


def _lines(text: str) -> list[str]:
    """Break a text at spaces, or anywhere in Chinese, into lines of TITLE_WIDTH_MAX; a Chinese sign is two wide."""
    lines: list[str] = []
    line = ""
    width = 0
    for piece in _pieces(text):
        wide = sum(2 if ord(sign) > 0x2E7F else 1 for sign in piece)
        if line and width + wide > TITLE_WIDTH_MAX:
            lines.append(line.rstrip())
            line, width = "", 0
        line += piece if line else piece.lstrip()
        width += wide
    return [*lines, line.rstrip()] if line.strip() else lines


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    for sign in text:
        if pieces and sign != " " and ord(sign) <= 0x2E7F and ord(pieces[-1][-1]) <= 0x2E7F:
            pieces[-1] += sign
        else:
            pieces.append(sign)
    return pieces
