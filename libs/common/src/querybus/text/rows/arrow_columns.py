"""Values of one column in Arrow's memory layout, made and read with the standard library alone.

A child process sends its rows so, and a page of a result is written so: the bytes of a column are made once. `kind` is
the type as Arrow's C data interface writes it ("l" for 64-bit integers, "d:38,2" for decimals). What no one Arrow type
holds exactly (mixed kinds, bigger integers, text that is no UTF-8) is JSON text of each cell, marked `JSON`.
"""

from __future__ import annotations

import json
import re
import struct
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from itertools import accumulate, pairwise
from typing import Any, Final

from querybus.text.rows.cells import cell

JSON: Final = "json"
"""Marks a column each of whose cells is JSON text."""
DECIMAL: Final = "decimal"
"""Marks a column each of whose cells is the text of a decimal number."""

INTEGER, NUMBER, TEXT, BYTES, TRUTH = "l", "g", "u", "z", "b"
_DAY, _TIME, _DURATION, _MOMENT = "tdD", "ttu", "tDu", "tsu:"
_CODES: Final = {
    "c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "f": "f", "g": "d",
    _DAY: "i", _TIME: "q", _DURATION: "q", _MOMENT: "q",
}  # fmt: skip
"""Arrow's fixed-width types, and the same of Python's `struct`."""
_DECIMAL_KIND: Final = re.compile(r"d:(\d+),(-?\d+)(?:,(128|256))?")
_DIGITS_MAX: Final = (38, 76)
_NOTHING: Final = type(None)
_TYPED: Final = frozenset(
    {bool, int, str, float, _NOTHING, bytes, date, datetime, time, timedelta, Decimal},
)
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - a moment without an offset is stored as one
_EPOCH_DAY: Final = _EPOCH.toordinal()
_MICROSECOND: Final = timedelta(microseconds=1)
_CYCLE_DAYS: Final = 146_097
"""The calendar repeats itself after 400 years."""

Buffer = bytes | memoryview


@dataclass(frozen=True, slots=True)
class ArrowColumn:
    """The values of one column. `validity`: a bit per value, empty where none is NULL; `offsets` only of texts and bytes."""

    kind: str
    rows: int
    validity: Buffer
    offsets: Buffer
    data: Buffer
    mark: str = ""

    @property
    def nbytes(self) -> int:
        """Return how many bytes the values take."""
        return len(self.validity) + len(self.offsets) + len(self.data)

    @property
    def has_only_null(self) -> bool:
        """Whether it has no value."""
        return not self.rows or (bool(self.validity) and not any(_flags(self.validity, self.rows)))

    def __getitem__(self, rows: slice) -> ArrowColumn:
        start, stop, _ = rows.indices(self.rows)
        count = max(0, stop - start)
        if (start, count) == (0, self.rows):
            return self
        validity = _bits(_flags(self.validity, self.rows)[start:stop]) if self.validity else b""
        data = memoryview(self.data)
        if self.kind in (TEXT, BYTES):
            ends = memoryview(self.offsets).cast("i")[start : start + count + 1]
            first = ends[0]
            moved = ends.tobytes() if not first else array("i", [end - first for end in ends]).tobytes()
            return replace(self, rows=count, validity=validity, offsets=moved, data=data[first : ends[-1]])
        if self.kind == TRUTH:
            return replace(self, rows=count, validity=validity, data=_bits(_flags(self.data, self.rows)[start:stop]))
        width = _width(self.kind)
        return replace(self, rows=count, validity=validity, data=data[start * width : (start + count) * width])

    def values(self) -> list[Any]:
        """Return the values as Python's; a moment beyond the years that Python knows is its text. ValueError: bad bytes."""
        values = self._all_values()
        if self.validity:
            values = [
                value if flag else None for value, flag in zip(values, _flags(self.validity, self.rows), strict=True)
            ]
        return values

    def _all_values(self) -> list[Any]:
        if self.kind in (TEXT, BYTES):
            ends = memoryview(self.offsets).cast("i")[: self.rows + 1].tolist() or [0]
            whole: Any = bytes(self.data)
            if self.kind == TEXT and whole.isascii():
                whole = whole.decode("ascii")
            parts = [whole[start:end] for start, end in pairwise(ends)]
            return [part.decode() for part in parts] if self.kind == TEXT and isinstance(whole, bytes) else parts
        if self.kind == TRUTH:
            return _flags(self.data, self.rows)
        width = _width(self.kind)
        data = memoryview(self.data)[: self.rows * width]
        if _DECIMAL_KIND.fullmatch(self.kind):
            return _decimals(data, width, int(self.kind.split(",")[1]))
        numbers = array(_code(self.kind), data.tobytes()).tolist()
        known = _readings(self.kind)
        if known is None:
            return numbers
        # A NULL's place holds any number; it is replaced afterwards.
        return [known(number) for number in numbers]


def column_of_values(values: Sequence[Any]) -> ArrowColumn:
    """Return a column that holds every value exactly; one without a value is text."""
    kinds = set(map(type, values))
    if not kinds <= _TYPED:
        # Lists, maps, ids, addresses: what is shown of them is text.
        values = [item if type(item) in _TYPED else cell(item) for item in values]
        kinds = set(map(type, values))
    has_null = _NOTHING in kinds
    kinds.discard(_NOTHING)
    validity = _bits([item is not None for item in values]) if has_null else b""
    if not kinds:
        return empty_column(TEXT, len(values))
    if len(kinds) == 1:
        (one,) = kinds
        made = _BUILDERS[one](values)
        if made is not None:
            kind, offsets, data = made
            return ArrowColumn(kind, len(values), validity, offsets, data)
        if one is Decimal:
            offsets, data = _texts([b"" if item is None else str(item).encode() for item in values])
            return ArrowColumn(TEXT, len(values), validity, offsets, data, DECIMAL)
    offsets, data = _texts([json.dumps(cell(item)).encode() for item in values])
    return ArrowColumn(TEXT, len(values), b"", offsets, data, JSON)


def empty_column(kind: str, rows: int, mark: str = "") -> ArrowColumn:
    """Return a column of this type that holds nothing but NULL."""
    offsets, data = b"", b""
    if kind in (TEXT, BYTES):
        offsets = bytes(4 * (rows + 1))
    else:
        data = bytes((rows + 7) // 8 if kind == TRUTH else rows * _width(kind))
    return ArrowColumn(kind, rows, bytes((rows + 7) // 8), offsets, data, mark)


_Made = tuple[str, bytes, bytes] | None
"""Kind, offsets, data; None where the type cannot hold every value."""


def _integers(values: Sequence[int | None]) -> _Made:
    try:
        return INTEGER, b"", array("q", [item or 0 for item in values]).tobytes()
    except OverflowError:
        return None


def _floats(values: Sequence[float | None]) -> _Made:
    return NUMBER, b"", array("d", [0.0 if item is None else item for item in values]).tobytes()


def _truths(values: Sequence[bool | None]) -> _Made:
    return TRUTH, b"", _bits([bool(item) for item in values])


def _strings(values: Sequence[str | None]) -> _Made:
    texts = [item or "" for item in values]
    whole = "".join(texts)
    if whole.isascii():
        return TEXT, _offsets(map(len, texts)), whole.encode("ascii")
    try:
        return TEXT, *_texts([text.encode() for text in texts])
    except UnicodeEncodeError:
        return None


def _binaries(values: Sequence[bytes | None]) -> _Made:
    return BYTES, *_texts([item or b"" for item in values])


def _days(values: Sequence[date | None]) -> _Made:
    return _DAY, b"", array("i", [0 if item is None else item.toordinal() - _EPOCH_DAY for item in values]).tobytes()


def _times(values: Sequence[time | None]) -> _Made:
    if any(item is not None and item.utcoffset() is not None for item in values):
        return None
    return _TIME, b"", array("q", [0 if item is None else _microseconds_of(item) for item in values]).tobytes()


def _moments(values: Sequence[datetime | None]) -> _Made:
    offsets = {item.utcoffset() for item in values if item is not None}
    offset = offsets.pop()
    if offsets or (offset is not None and offset % timedelta(minutes=1)):
        return None
    naive = [_EPOCH if item is None else item.replace(tzinfo=None) for item in values]
    moved = [item - _EPOCH - (offset or timedelta()) for item in naive]
    zone = "" if offset is None else _offset_text(offset)
    return _MOMENT + zone, b"", array("q", [item // _MICROSECOND for item in moved]).tobytes()


def _durations(values: Sequence[timedelta | None]) -> _Made:
    return _DURATION, b"", array("q", [0 if item is None else item // _MICROSECOND for item in values]).tobytes()


def _decimal_values(values: Sequence[Decimal | None]) -> _Made:
    """Return them as one type that changes no digit of any value: the same scale for all, at most 76 digits."""
    scales: set[int] = set()
    whole = 1
    for number in values:
        if number is None:
            continue
        exponent = number.as_tuple().exponent
        if not isinstance(exponent, int) or exponent > 0:
            return None
        scales.add(-exponent)
        whole = max(whole, number.adjusted() + 1)
    scale = scales.pop()
    digits = whole + scale
    if scales or digits > _DIGITS_MAX[1]:
        return None
    # As many digits as the type has: pages of one result shall have one type.
    is_wide = digits > _DIGITS_MAX[0]
    kind, width = (f"d:{_DIGITS_MAX[1]},{scale},256", 32) if is_wide else (f"d:{_DIGITS_MAX[0]},{scale}", 16)
    numbers = [0 if item is None else _unscaled(item) for item in values]
    return kind, b"", b"".join([number.to_bytes(width, "little", signed=True) for number in numbers])


_BUILDERS: Final[dict[type, Callable[[Any], _Made]]] = {
    int: _integers,
    float: _floats,
    bool: _truths,
    str: _strings,
    bytes: _binaries,
    date: _days,
    time: _times,
    datetime: _moments,
    timedelta: _durations,
    Decimal: _decimal_values,
}


def _unscaled(number: Decimal) -> int:
    sign, digits, _ = number.as_tuple()
    whole = int("".join(map(str, digits)))
    return -whole if sign else whole


def _decimals(data: memoryview, width: int, scale: int) -> list[Decimal]:
    numbers = (int.from_bytes(data[at : at + width], "little", signed=True) for at in range(0, len(data), width))
    return [Decimal(f"{number}e{-scale}") for number in numbers]


def _readings(kind: str) -> Callable[[int], Any] | None:
    """Return what makes a value of this type of a stored number; None where it is the number."""
    if kind == _DAY:
        return _day
    if kind == _TIME:
        return _time
    if kind == _DURATION:
        return lambda number: timedelta(microseconds=number)
    if kind.startswith(_MOMENT):
        zone = _zone(kind.removeprefix(_MOMENT))
        return lambda number: _moment(number, zone)
    return None


def _day(number: int) -> date | str:
    cycles, rest = divmod(number, _CYCLE_DAYS)
    day = date.fromordinal(_EPOCH_DAY + rest)
    year = day.year + 400 * cycles
    return day.replace(year=year) if date.min.year <= year <= date.max.year else f"{year:04d}-{day:%m-%d}"


def _time(number: int) -> time | str:
    # 24:00:00 is a time in SQL.
    seconds, rest = divmod(number, 1_000_000)
    if seconds < 86_400:
        return (_EPOCH + timedelta(seconds=seconds, microseconds=rest)).time()
    return f"{seconds // 3_600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _moment(number: int, zone: tzinfo | None) -> datetime | str:
    days, rest = divmod(number, 86_400_000_000)
    day = _day(days)
    clock = timedelta(microseconds=rest)
    if isinstance(day, str):
        return f"{day} {(_EPOCH + clock).time().isoformat()}{'' if zone is None else '+00:00'}"
    moment = datetime(day.year, day.month, day.day) + clock  # noqa: DTZ001 - its zone follows
    if zone is None:
        return moment
    try:
        return moment.replace(tzinfo=UTC).astimezone(zone)
    except OverflowError:
        return f"{moment.isoformat(sep=' ')}+00:00"


def _zone(name: str) -> tzinfo | None:
    if not name:
        return None
    if match := re.fullmatch(r"([+-])(\d\d):(\d\d)", name):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-offset if match[1] == "-" else offset)
    if name in ("UTC", "Etc/UTC"):
        return UTC
    from zoneinfo import ZoneInfo  # only other writers' pages name a zone

    return ZoneInfo(name)


def _offset_text(offset: timedelta) -> str:
    minutes = offset // timedelta(minutes=1)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _microseconds_of(clock: time) -> int:
    return ((clock.hour * 60 + clock.minute) * 60 + clock.second) * 1_000_000 + clock.microsecond


def _code(kind: str) -> str:
    code = _CODES.get(_MOMENT if kind.startswith(_MOMENT) else kind)
    if code is None:
        raise ValueError(f"no column of ours has the Arrow type {kind}")
    return code


def _width(kind: str) -> int:
    if match := _DECIMAL_KIND.fullmatch(kind):
        return int(match[3] or 128) // 8
    return struct.calcsize(_code(kind))


def _texts(parts: Sequence[bytes]) -> tuple[bytes, bytes]:
    return _offsets(map(len, parts)), b"".join(parts)


def _offsets(lengths: Iterable[int]) -> bytes:
    return array("i", accumulate(lengths, initial=0)).tobytes()


def _bits(flags: Sequence[bool]) -> bytes:
    # The first value is the lowest bit, as Arrow has it.
    number = int("".join("1" if flag else "0" for flag in reversed(flags)) or "0", 2)
    return number.to_bytes((len(flags) + 7) // 8, "little")


def _flags(bits: Buffer, rows: int) -> list[bool]:
    number = int.from_bytes(memoryview(bits)[: (rows + 7) // 8], "little") & ((1 << rows) - 1)
    return [digit == "1" for digit in reversed(f"{number:0{rows}b}")] if rows else []
