"""What a result looks like, read once: the role of each column, its numbers and its order. Words and charts share it.

Roles follow from types, from names (an id or a year is no amount) and from the cells themselves (months, weekdays and
ranges have an order of their own). Limits: only the rows at hand are read; `is_whole` says whether they are all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Final, cast

from querybus.core.catalog import ColumnKind
from querybus.core.messages import ColumnFormat, FormatKind, Grain, Result, Scalar
from querybus_presenter.formats.decide import format_of
from querybus_presenter.formats.facts import ColumnFacts
from querybus_presenter.summaries.values import NUMERIC, TEMPORAL

Number = int | float | Decimal
Key = tuple[float, ...] | str
"""Where a cell stands in its column's natural order."""

RANGES_MIN: Final = 2
FLOAT_DECIMALS_MAX: Final = 9
_CATEGORIES: Final = frozenset({ColumnKind.TEXT, ColumnKind.BOOLEAN, ColumnKind.OTHER})
_LATITUDE = re.compile(r"(?:^|[\W_])(?:lat|latitude)$|纬度$", re.IGNORECASE)
_LONGITUDE = re.compile(r"(?:^|[\W_])(?:lon|lng|long|longitude)$|经度$", re.IGNORECASE)
_ADDS_UP = re.compile(
    r"count|sum|total|amount|quantity|qty|revenue|sales|profit|visits|数量|金额|合计|总|销量|销售额|人数|次数|个数",
    re.IGNORECASE,
)
_DOES_NOT_ADD_UP = re.compile(
    r"avg|average|min|max|mean|median|rate|ratio|percent|share|rank|score|cumulative|running|price"
    r"|平均|比例|占比|单价|率|最大|最小|最高|最低|排名|累计"
    # A column that is called by what it divides, unless that is by the whole.
    r"|/(?!.*\bover\b)",
    re.IGNORECASE | re.DOTALL,
)

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?")
_MONTH_OF_YEAR = re.compile(r"(\d{4})[-/.](0[1-9]|1[0-2])")
QUARTER_STARTS: Final = frozenset({"01", "04", "07", "10"})
_PERIOD = re.compile(r"(\d{4})[- ]?[QW](\d{1,2})", re.IGNORECASE)
_YEAR = re.compile(r"1[89]\d{2}|20\d{2}|2100")
_YEAR_IN_CHINESE = re.compile(r"(\d{4})年(?:第?(\d{1,2})(?:月|季度|周)(?:(\d{1,2})日)?)?")
_MONTH_NAMES: Final[tuple[str, ...]] = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_DAY_NAMES: Final[tuple[str, ...]] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WORD_MONTH = re.compile(r"([a-z]{3})[a-z]*\.?(?:[ ,-]+(\d{4}))?", re.IGNORECASE)
_CHINESE_DAYS: Final = "一二三四五六日"
_CHINESE_DAY = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])")
_CHINESE_MONTH = re.compile(r"(1[0-2]|[1-9])月(?:份)?")
_QUARTER = re.compile(r"Q([1-4])", re.IGNORECASE)
_CHINESE_QUARTER = re.compile(r"第?([一二三四])季度?")
_RANGE = re.compile(r"[<≤]?\s*(\d+(?:\.\d+)?)\s*(?:[-–~至到]\s*\d+(?:\.\d+)?|\+|以上|以下)?\s*(?:岁|years?)?")
_RANGE_SIGN = re.compile(r"\d\s*[-–~至到]\s*\d|\d\s*\+|以上|以下|^[<≤>≥]")
_COUNTED: Final = (
    (re.compile(r"(?:^|[\W_])month$|月份?$", re.IGNORECASE), 1, 12),
    (re.compile(r"(?:^|[\W_])hour$|小时$|时段$", re.IGNORECASE), 0, 24),
    (re.compile(r"(?:^|[\W_])(?:weekday|quarter|day_of_week|dow)$|季度$|星期$", re.IGNORECASE), 0, 7),
    (re.compile(r"(?:^|[\W_])week$|周$", re.IGNORECASE), 0, 53),
)


class Role(StrEnum):
    """What a column is in a picture or a sentence."""

    AMOUNT = "amount"
    TIME = "time"
    ORDER = "order"
    CATEGORY = "category"
    IDENTITY = "identity"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Facet:
    """One column: its cells, its numbers if it is an amount, and its keys if it has an order of its own.

    Numbers are in what is shown: percent of shares, whole units of cents. `is_dated` says that the cells are dates that a
    time axis can read; otherwise an order is shown step by step.
    """

    name: str
    label: str
    kind: ColumnKind
    role: Role
    cells: tuple[Scalar, ...]
    format: ColumnFormat
    numbers: tuple[Number | None, ...] = ()
    keys: tuple[Key | None, ...] = ()
    is_dated: bool = False

    @property
    def distinct(self) -> int:
        """How many different values there are, nothing included."""
        return len({None if cell is None else str(cell) for cell in self.cells})

    @property
    def unit(self) -> str:
        """What the amounts are in, as it stands beside them."""
        return "%" if self.format.kind is FormatKind.PERCENT else self.format.unit

    @property
    def grain(self) -> Grain:
        """What each date stands for."""
        return self.format.grain if self.is_dated else "day"

    @property
    def has_gaps(self) -> bool:
        """Whether a cell holds no value."""
        return None in self.cells

    @property
    def adds_up(self) -> bool:
        """Whether a sum of the amounts means something, by the column's name."""
        named = f"{self.name} {self.label}"
        return _ADDS_UP.search(named) is not None and _DOES_NOT_ADD_UP.search(named) is None

    @property
    def may_add_up(self) -> bool:
        """Whether nothing in the column's name says that its amounts cannot be parts of one sum."""
        return _DOES_NOT_ADD_UP.search(f"{self.name} {self.label}") is None

    @property
    def is_part_of_whole(self) -> bool:
        """Whether the amounts are shares that make up one whole."""
        known = [float(number) for number in self.numbers if number is not None]
        return self.format.kind is FormatKind.PERCENT and abs(math.fsum(known) - 100) <= 2

    @property
    def is_latitude(self) -> bool:
        return _LATITUDE.search(self.name) is not None

    @property
    def is_longitude(self) -> bool:
        return _LONGITUDE.search(self.name) is not None


@dataclass(frozen=True, slots=True)
class Shape:
    """A result, read once."""

    facets: tuple[Facet, ...]
    rows: int
    row_count: int
    is_whole: bool
    is_truncated: bool = False

    def of(self, *roles: Role) -> list[Facet]:
        """Return the columns of these roles, in the result's order."""
        return [facet for facet in self.facets if facet.role in roles]


def shape_of(result: Result, labels: Sequence[str], formats: Sequence[ColumnFormat] = ()) -> Shape:
    """Return the shape of a result; `labels` and `formats` are what its reader sees. ValueError for rows of another width.

    Without formats the columns are taken for plain columns of their names, as where no statement is at hand.
    """
    rows = result.rows
    columns: list[tuple[Scalar, ...]] = list(zip(*rows, strict=True)) if rows else [()] * len(result.columns)
    if not formats:
        known = zip(result.columns, columns, strict=True)
        formats = [format_of(ColumnFacts(column.name), column.kind, cells) for column, cells in known]
    facets = tuple(
        facet(column.name, label, column.kind, cells, how)
        for column, label, cells, how in zip(result.columns, labels, columns, formats, strict=True)
    )
    is_whole = len(rows) == result.row_count and not result.truncated
    return Shape(facets, len(rows), result.row_count, is_whole, result.truncated)


def facet(name: str, label: str, kind: ColumnKind, cells: tuple[Scalar, ...], how: ColumnFormat) -> Facet:
    """Return what one column is."""

    def made(role: Role, **more: object) -> Facet:
        return Facet(name, label, kind, role, cells, how, **more)  # type: ignore[arg-type]

    if not cells or all(cell is None for cell in cells):
        return made(Role.OTHER)
    if kind in NUMERIC or (kind is ColumnKind.OTHER and all(_is_number(cell) for cell in cells if cell is not None)):
        numbers = _amounts(cells)
        if numbers is not cells and any(a is None and b is not None for a, b in zip(numbers, cells, strict=True)):
            return made(Role.OTHER)
        whole = all(isinstance(number, int) for number in numbers if number is not None)
        if how.kind is FormatKind.YEAR:
            return made(Role.TIME, numbers=numbers, keys=tuple(map(_one, numbers)))
        if whole and (keys := _counted(name, label, numbers)):
            return made(Role.ORDER, numbers=numbers, keys=keys)
        if how.kind is FormatKind.ID:
            return made(Role.IDENTITY, numbers=numbers)
        return made(Role.AMOUNT, numbers=scaled(numbers, how))
    if kind in TEMPORAL or kind in _CATEGORIES:
        if keys := _keys(cells, _dated):
            return made(Role.TIME, keys=keys, is_dated=True)
        if keys := _keys(cells, _timed):
            return made(Role.TIME, keys=keys)
        if kind in _CATEGORIES and (keys := _keys(cells, _ordered) or _ranges(cells)):
            return made(Role.ORDER, keys=keys)
    return made(Role.CATEGORY if kind in _CATEGORIES else Role.OTHER)


def scaled(numbers: tuple[Number | None, ...], how: ColumnFormat) -> tuple[Number | None, ...]:
    """Return numbers in what their column shows: 27.68 percent of a share of 0.2768."""
    if how.factor == 1:
        return numbers
    factor = Decimal(str(how.factor))
    return tuple(None if number is None else decimal(number) * factor for number in numbers)


def amount(cell: Scalar) -> Number | None:
    """Return a cell as a finite number, exactly as it came; None for anything else.

    >>> amount(3), amount(2.5), amount("1.50"), amount(True), amount("x")
    (3, 2.5, Decimal('1.50'), None, None)
    """
    kind = type(cell)
    if kind is int:
        return cell  # type: ignore[return-value]
    if kind is float:
        return cell if math.isfinite(cell) else None  # type: ignore[arg-type, return-value]
    if kind is not str:
        return None
    try:
        result = Decimal(cell)  # type: ignore[arg-type]
    except InvalidOperation:
        return None
    return result if result.is_finite() else None


def _amounts(cells: tuple[Scalar, ...]) -> tuple[Number | None, ...]:
    kinds = set(map(type, cells))
    if kinds == {int} or (kinds <= {int, float} and all(map(math.isfinite, cast("tuple[float, ...]", cells)))):
        return cast("tuple[Number, ...]", cells)
    return tuple([amount(cell) for cell in cells])


def total(numbers: Sequence[Number]) -> Decimal:
    """Return the sum, exact for whole numbers and decimals, correctly rounded for floats.

    >>> total([1, 2]), total([0.1, 0.2]), total([1, Decimal("0.5")])
    (Decimal('3'), Decimal('0.3'), Decimal('1.5'))
    """
    kinds = {type(number) for number in numbers}
    if kinds <= {int}:
        return Decimal(sum(numbers))
    if Decimal not in kinds:
        return Decimal(repr(round(math.fsum(numbers), FLOAT_DECIMALS_MAX)))
    return sum((decimal(number) for number in numbers), Decimal(0))


def decimal(number: Number) -> Decimal:
    """Return a number as people read it: a float as it prints."""
    return Decimal(str(number)) if type(number) is float else Decimal(number)


def _is_number(cell: Scalar) -> bool:
    return type(cell) is int or type(cell) is float


def _one(number: Number | None) -> Key | None:
    return None if number is None else (float(number),)


def _keys(cells: Sequence[Scalar], read: Callable[[str], Key | None]) -> tuple[Key | None, ...]:
    """Return the key of each cell, or nothing as soon as one cell has none."""
    keys: list[Key | None] = []
    for cell in cells:
        if cell is None:
            keys.append(None)
            continue
        key = read(cell) if isinstance(cell, str) else None
        if key is None:
            return ()
        keys.append(key)
    return tuple(keys)


def _dated(text: str) -> Key | None:
    return text if _ISO.fullmatch(text) or _MONTH_OF_YEAR.fullmatch(text) else None


def _timed(text: str) -> Key | None:
    if match := _PERIOD.fullmatch(text):
        return float(match[1]), float(match[2])
    if _YEAR.fullmatch(text):
        return (float(text),)
    if match := _YEAR_IN_CHINESE.fullmatch(text):
        return float(match[1]), float(match[2] or 0), float(match[3] or 0)
    match = _WORD_MONTH.fullmatch(text)
    if match and match[2] and match[1].lower() in _MONTH_NAMES:
        return float(match[2]), float(_MONTH_NAMES.index(match[1].lower()))
    return None


def _ordered(text: str) -> Key | None:
    match = _WORD_MONTH.fullmatch(text)
    if match and not match[2]:
        for names in (_MONTH_NAMES, _DAY_NAMES):
            if match[1].lower() in names:
                return (float(names.index(match[1].lower())),)
    if match := _CHINESE_DAY.fullmatch(text):
        return (float(_CHINESE_DAYS.index(match[1].replace("天", "日"))),)
    if match := _CHINESE_QUARTER.fullmatch(text):
        return (float("一二三四".index(match[1])),)
    if match := _CHINESE_MONTH.fullmatch(text) or _QUARTER.fullmatch(text):
        return (float(match[1]),)
    return None


def _ranges(cells: Sequence[Scalar]) -> tuple[Key | None, ...]:
    """Return the keys of ranges such as `0-9`, `10-19`, `80+`; nothing where the cells are no ranges."""

    def key(text: str) -> Key | None:
        match = _RANGE.fullmatch(text.strip())
        return None if match is None else (float(match[1]) - (text.strip()[0] in "<≤"),)

    # Most columns are given up at their first cell; the signs are counted only in what could be ranges.
    result = _keys(cells, key)
    signs = sum(isinstance(cell, str) and bool(_RANGE_SIGN.search(cell)) for cell in cells) if result else 0
    return result if signs >= RANGES_MIN else ()


def _counted(name: str, label: str, numbers: Sequence[Number | None]) -> tuple[Key | None, ...]:
    """Return the keys of months, hours, weekdays and quarters that are given as numbers."""
    for pattern, low, high in _COUNTED:
        if pattern.search(name) or pattern.search(label):
            is_inside = all(low <= number <= high for number in numbers if number is not None)
            return tuple(map(_one, numbers)) if is_inside else ()
    return ()
