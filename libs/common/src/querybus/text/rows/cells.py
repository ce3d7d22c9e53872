"""Turns what a driver gives into what JSON and a page carry exactly: text, integers, floats, booleans, nothing.

Pure, standard library only: it runs in child processes as well. A decimal is a number where a float prints the same
digits, else text; the quotient of a division, which has sixteen digits behind the point or more, becomes a float.
Lists, structs and maps are JSON text; bytes are hexadecimal; infinities and NaN are named.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

ELEMENTS_MAX: Final = 100_000
"""Elements of one nested value that are shown: what one cell costs is bounded."""
_QUOTIENT_DIGITS: Final = 16
_INTEGER_DIGITS_MAX: Final = 400


def cell(value: Any) -> str | int | float | bool | None:
    """Return the value as a cell.

    >>> cell(Decimal("19.90")), cell(Decimal("5.00")), cell(Decimal("12345678901234567.89"))
    (19.9, 5, '12345678901234567.89')
    >>> cell([1, None, Decimal("0.5")]), cell(b"\\x00\\xff"), cell(float("inf"))
    ('[1, null, 0.5]', '00ff', 'Infinity')
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _named(value)
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, list | tuple | set | frozenset | Mapping):
        return json.dumps(_nested(value), ensure_ascii=False)
    return str(value)


def short_cell(value: Any) -> str | int | float | bool | None:
    """Return the value as a cell; of arrays and maps at most ELEMENTS_MAX elements, and a sign that there are more.

    >>> short_cell([1, 2]), short_cell(list(range(200_000)))[-9:]
    ('[1, 2]', '99999, …]')
    """
    left = [ELEMENTS_MAX]
    short = _shortened(value, left)
    text = cell(short)
    if left[0] >= 0 or not isinstance(text, str):
        return text
    return f"{text[:-1]}, …{text[-1]}"


def _shortened(value: Any, left: list[int]) -> Any:
    """Return a nested value without what is over the budget of elements, which it uses up: below zero means cut."""
    if isinstance(value, Mapping):
        return {key: _shortened(value[key], left) for key in _within(value, left)}
    if isinstance(value, list | tuple | set | frozenset):
        return [_shortened(element, left) for element in _within(value, left)]
    return value


def _within(values: Iterable[Any], left: list[int]) -> Iterator[Any]:
    for value in values:
        left[0] -= 1
        if left[0] < 0:
            return
        yield value


def _nested(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(cell(key)): _nested(element) for key, element in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_nested(element) for element in value]
    return cell(value)


def _decimal(value: Decimal) -> str | int | float:
    if not value.is_finite():
        return _named(float("nan") if value.is_nan() else float(value))
    exponent = value.as_tuple().exponent
    if value == value.to_integral_value() and value.adjusted() < _INTEGER_DIGITS_MAX:
        return int(value)
    as_float = float(value)
    if Decimal(repr(as_float)) == value:
        return as_float
    is_quotient = isinstance(exponent, int) and -exponent >= _QUOTIENT_DIGITS
    return as_float if is_quotient else format(value, "f")


def _duration(value: timedelta) -> str:
    sign = "-" if value < timedelta(0) else ""
    value = abs(value)
    hours, rest = divmod(value.seconds, 3_600)
    minutes, seconds = divmod(rest, 60)
    fraction = f".{value.microseconds:06d}" if value.microseconds else ""
    return f"{sign}{value.days * 24 + hours:02d}:{minutes:02d}:{seconds:02d}{fraction}"


def _named(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
