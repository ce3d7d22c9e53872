"""The format of a column, from what its statement and the catalog say and from its cells. What is not known is a plain number.

Counts, sums and averages are never ids or years. The lowest and the highest value of a column are values of it, and are
shown as these are. No currency is invented: without a unit of the owner there is none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

from querybus.core.catalog import ColumnKind
from querybus.core.messages import ColumnFormat, FormatKind, Grain, Scalar
from querybus.text.rows.currencies import cents_currency, is_currency
from querybus_presenter.formats.facts import ColumnFacts

CENT: Final = 0.01
SHARE: Final = 100.0
DIGITS_MAX: Final = 6
"""Behind the point, of a column's own values: more than a coordinate needs."""
SMALL_DIGITS_MAX: Final = 12
INTEGER_DIGITS_MAX: Final = 400
GRAIN_DATES_MIN: Final = 3
"""So many different firsts of months, of which nothing else is known, are months."""
_YEARS: Final = range(1_000, 3_000)
_PERCENT_UNITS: Final = frozenset({"%", "％", "percent", "per cent", "pct", "百分比"})
_QUARTER_MONTHS: Final = frozenset({"01", "04", "07", "10"})
_FIRST: Final = re.compile(r"\d{4}-(\d{2})(?:-01(?:[T ]00:00(?::00(?:\.0+)?)?)?(?:Z|[+-]00(?::?00)?)?)?")
_MIDNIGHT: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]00:00(?::00(?:\.0+)?)?(?:Z|[+-]00(?::?00)?)?)?")
_NAMED_YEAR: Final = re.compile(r"(?:^|_)(?:year|yr)(?:$|_)|[a-z]Year$|^Year|年份?$|年度$", re.IGNORECASE)
_NAMED_ID: Final = re.compile(
    r"(?:^|[\W_])(?:id|nr|zip|postcode)$|[\w][\W_](?:no|num|number|code)$|^code$|[a-z](?:Id|ID)$|(?:编号|号码|代码|邮编)$"
)
_NAMED_GRAINS: Final[tuple[tuple[re.Pattern[str], Grain], ...]] = (
    (re.compile(r"(?:^|_)quarter(?:$|_)|季度$", re.IGNORECASE), "quarter"),
    (re.compile(r"(?:^|_)month(?:$|_)|月份?$", re.IGNORECASE), "month"),
    (_NAMED_YEAR, "year"),
)  # fmt: skip


def format_of(
    facts: ColumnFacts, kind: ColumnKind, cells: Sequence[Scalar], *, unit: str = "", is_whole: bool = True
) -> ColumnFormat:
    """Return the format of one column.

    `unit` is what its amounts are in, in the reader's language. `is_whole` says that `cells` are all that will be shown:
    where more may come, numbers show a fraction.
    """
    known = [cell for cell in cells if cell is not None]
    if kind is ColumnKind.BOOLEAN:
        return ColumnFormat(kind=FormatKind.BOOLEAN)
    types = set(map(type, known))
    if kind is ColumnKind.OTHER and known and types <= {int, float}:
        kind = ColumnKind.INTEGER if types == {int} else ColumnKind.NUMBER
    if kind in (ColumnKind.INTEGER, ColumnKind.NUMBER):
        numbers = [_number(cell) for cell in known]
        if None not in numbers:
            values = _Numbers([number for number in numbers if number is not None], are_floats=float in types)
            return _of_numbers(facts, kind, values, unit, is_whole)
        return ColumnFormat(kind=FormatKind.TEXT)
    texts = [str(cell) for cell in known]
    if facts.date_unit == "year" and texts and all(text.isdigit() and len(text) == 4 for text in texts):
        return ColumnFormat(kind=FormatKind.YEAR)
    is_date = kind in (ColumnKind.DATE, ColumnKind.DATETIME)
    grain = _grain(facts, texts, is_date=is_date)
    if grain is not None:
        return ColumnFormat(kind=FormatKind.DATE, grain=grain)
    if is_date:
        are_days = all(_MIDNIGHT.fullmatch(text) for text in texts)
        return ColumnFormat(kind=FormatKind.DATE if are_days else FormatKind.DATETIME)
    return ColumnFormat(kind=FormatKind.ID if facts.is_key else FormatKind.TEXT)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The numbers of a column; adding floats leaves noise in them, adding decimals does not."""

    values: Sequence[Decimal]
    are_floats: bool

    @property
    def noise(self) -> Decimal:
        most = max((abs(number) for number in self.values), default=Decimal(0))
        return max(most * Decimal("1e-12"), Decimal("1e-15")) if self.are_floats else Decimal(0)


def _of_numbers(facts: ColumnFacts, kind: ColumnKind, known: _Numbers, unit: str, is_whole: bool) -> ColumnFormat:
    numbers = known.values
    are_years = bool(numbers) and all(number == number.to_integral_value() for number in numbers)
    if are_years and facts.date_unit == "year" and all(0 < number < 10_000 for number in numbers):
        return ColumnFormat(kind=FormatKind.YEAR)
    if facts.ratio is not None or unit.strip().lower() in _PERCENT_UNITS:
        # A plain column in percent has them as its owner wrote them; a ratio has a hundred only if its statement says so.
        factor = SHARE if (facts.ratio or facts.quotient) == "fraction" else 1.0
        digits = _percent_digits([number * Decimal(factor) for number in numbers], is_whole=is_whole)
        return ColumnFormat(kind=FormatKind.PERCENT, digits=digits, factor=factor)
    if facts.name:
        if facts.is_key:
            return ColumnFormat(kind=FormatKind.ID)
        is_named = _NAMED_YEAR.search(facts.name) or (facts.column and facts.column.type.lower().startswith("year"))
        if is_named and are_years and all(int(number) in _YEARS for number in numbers):
            return ColumnFormat(kind=FormatKind.YEAR)
        if kind is ColumnKind.INTEGER and _NAMED_ID.search(facts.name):
            return ColumnFormat(kind=FormatKind.ID)
    currency = cents_currency(unit) if unit else ("" if facts.is_cents else None)
    if currency is not None:
        return ColumnFormat(kind=FormatKind.MONEY, digits=2, unit=currency, factor=CENT)
    is_money = facts.is_money or is_currency(unit)
    has_fractions = kind is not ColumnKind.INTEGER and not facts.is_whole
    digits = _digits(known, are_own=bool(facts.name)) if has_fractions else 0
    if has_fractions and not is_whole:
        digits = max(digits, 2)
    plain = FormatKind.NUMBER if has_fractions else FormatKind.INTEGER
    return ColumnFormat(kind=FormatKind.MONEY if is_money else plain, digits=digits, unit=unit)


def _digits(known: _Numbers, *, are_own: bool) -> int:
    """Return how many digits behind the point numbers need: of a column's own values all, of what was computed enough."""
    needed, noise = (_own_digits if are_own else _computed_digits), known.noise
    return max((needed(number, noise) for number in known.values), default=0)


def _own_digits(number: Decimal, noise: Decimal) -> int:
    for digits in range(DIGITS_MAX):
        if abs(number - round(number, digits)) <= noise:
            return digits and max(2, digits)
    return DIGITS_MAX if abs(number) >= 1 else max(DIGITS_MAX, _small_digits(number, noise))


def _computed_digits(number: Decimal, noise: Decimal) -> int:
    if abs(number - round(number)) <= noise:
        return 0
    return 2 if abs(number) >= 1 or abs(number - round(number, 2)) <= noise else _small_digits(number, noise)


def _small_digits(number: Decimal, noise: Decimal) -> int:
    """Return digits for a number below one: four, and more where two of them would not count."""
    return 4 if abs(number) <= noise else min(SMALL_DIGITS_MAX, max(4, 1 - math.floor(math.log10(abs(number)))))


def _percent_digits(points: Sequence[Decimal], *, is_whole: bool) -> int:
    """Return one digit for shares of ten percent and more, two for smaller ones, more where these would all be nothing."""
    noise = Decimal("1e-9")
    known = [abs(point) for point in points if abs(point) > noise]
    if is_whole and all(abs(point - round(point)) <= noise for point in points):
        return 0
    most = max(known, default=Decimal(10))
    return 1 if most >= 10 else 2 if most >= Decimal("0.1") else min(SMALL_DIGITS_MAX, 1 - math.floor(math.log10(most)))


def _grain(facts: ColumnFacts, texts: Sequence[str], *, is_date: bool) -> Grain | None:
    """Return what dates stand for where they are firsts of months, quarters or years; None where each is a day."""
    firsts = [_FIRST.fullmatch(text) for text in texts]
    if not firsts or not all(firsts):
        return None
    months = {match[1] for match in firsts if match}
    if not all("01" <= month <= "12" for month in months):
        return None
    fits: dict[str, Callable[[], bool]] = {
        "month": lambda: True,
        "quarter": lambda: months <= _QUARTER_MONTHS,
        "year": lambda: months == {"01"},
    }
    named = next((grain for pattern, grain in _NAMED_GRAINS if facts.name and pattern.search(facts.name)), None)
    said = facts.date_unit or named or ""
    if said in fits:
        return said if fits[said]() else ("month" if said == "quarter" else None)  # type: ignore[return-value]
    # A column of the catalog that is not called so may hold days: contracts begin on the first of a month.
    if facts.column or facts.date_unit or not is_date or len(set(texts)) < GRAIN_DATES_MIN:
        return None
    return "year" if months == {"01"} else "month"


def _number(cell: Scalar) -> Decimal | None:
    """Return a cell as a finite number; infinities, and what has more digits than a page, leave the column as text."""
    try:
        number = Decimal(str(cell))
    except InvalidOperation:
        return None
    is_number = number.is_finite() and number.adjusted() < INTEGER_DIGITS_MAX and not isinstance(cell, bool)
    return number if is_number else None
