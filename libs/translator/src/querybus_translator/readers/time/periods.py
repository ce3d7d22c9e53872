"""Periods and ranges become conditions on the time column that is meant, or on the column beside them.

Without a column beside it a period is about the nearest table with a day or a year; several such columns cost confidence.
"""

from __future__ import annotations

from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.language.clauses import (
    JOINING,
    OPERATORS,
    UNITS,
    add_condition,
    adjective_concepts,
    is_temporal,
    looks_like_year,
    old_near,
    take_units,
    time_column,
)
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.time.spans import Period
from querybus_translator.readers.figures.amounts import is_of_money, money_compared
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import AllOf, ColumnRef, Comparison, Literal, Measure, Operator
from querybus_translator.writing.sketch import TEMPORAL, Placed, Sketch


def read_bounded_period(sketch: Sketch, place: int, figure: int, left: int | None) -> None:
    period = sketch.nodes[figure].period
    op = sketch.op(place)
    if period is None or op is None:
        return
    column = sketch.column(left) if sketch.is_free(left) else None
    if column is not None and is_temporal(sketch, column):
        sketch.take(left)
    else:
        column = time_column(sketch, place)
    if column is None:
        return
    sketch.take(place, figure)
    operator = OPERATORS[op]
    if sketch.kind(column) in {ColumnKind.INTEGER, ColumnKind.NUMBER} and period.whole_year is not None:
        add_condition(sketch, place, Measure(column), operator, Literal(period.whole_year))
        return
    if period.moment is not None and sketch.kind(column) is not ColumnKind.DATE:
        add_condition(sketch, place, Measure(column), operator, Literal(period.moment))
        return
    bound = period.end if operator in {Operator.GREATER, Operator.AT_MOST} else period.start
    operator = {Operator.GREATER: Operator.AT_LEAST, Operator.AT_MOST: Operator.LESS}.get(operator, operator)
    add_condition(sketch, place, Measure(column), operator, Literal(bound.isoformat()))


def read_period_alone(sketch: Sketch, place: int) -> None:
    period = sketch.nodes[place].period
    if period is None:
        return
    beside = _near_time_column(sketch, place)
    column = sketch.column(beside) or time_column(sketch, place)
    if column is None:
        return
    sketch.take(place, beside)
    following = sketch.after(place)
    if sketch.op(following) in _BEHIND_PERIODS:
        # 2023年之后, 2023年以来: the word stands behind the period.
        sketch.take(following)
        _one_bound(sketch, place, column, period, sketch.op(following) or Op.AFTER)
        return
    within(sketch, place, column, period)


def _one_bound(sketch: Sketch, place: int, column: ColumnRef, period: Period, op: Op) -> None:
    if sketch.is_numeric(column) and period.whole_year is not None:
        operator = OPERATORS[op]
        add_condition(sketch, place, Measure(column), operator, Literal(period.whole_year))
    elif op is Op.SINCE:
        add_condition(sketch, place, Measure(column), Operator.AT_LEAST, Literal(period.start.isoformat()))
    elif op is Op.AFTER:
        add_condition(sketch, place, Measure(column), Operator.AT_LEAST, Literal(period.end.isoformat()))
    else:
        add_condition(sketch, place, Measure(column), Operator.LESS, Literal(period.start.isoformat()))


def within(sketch: Sketch, place: int, column: ColumnRef, period: Period) -> None:
    """Add the condition that a column lies in a period."""
    measure = Measure(column)
    if period.start.year == sketch.today.year and sketch.is_birthday(column):
        # "Born in May" is of any year, and nobody was born this month.
        sketch.doubts += 1.0
    if sketch.kind(column) not in TEMPORAL:
        if period.whole_year is not None:
            add_condition(sketch, place, measure, Operator.EQUAL, Literal(period.whole_year))
        elif (period.start.month, period.start.day, period.end.month, period.end.day) == (1, 1, 1, 1):
            first = Comparison(measure, Operator.AT_LEAST, Literal(period.start.year))
            last = Comparison(measure, Operator.AT_MOST, Literal(period.end.year - 1))
            sketch.conditions.append(Placed(place, AllOf((first, last))))
        else:
            # A column of years knows no months and no days.
            sketch.doubts += 1.0
        return
    if period.moment is not None and sketch.kind(column) is not ColumnKind.DATE:
        add_condition(sketch, place, measure, Operator.EQUAL, Literal(period.moment))
        return
    first = Comparison(measure, Operator.AT_LEAST, Literal(period.start.isoformat()))
    last = Comparison(measure, Operator.LESS, Literal(period.end.isoformat()))
    sketch.conditions.append(Placed(place, AllOf((first, last))))


_BEHIND_PERIODS = (Op.AFTER, Op.BEFORE, Op.SINCE)


def _near_time_column(sketch: Sketch, place: int) -> int | None:
    for other in (sketch.before(place, over=JOINING), sketch.after(place, over=_BEHIND_PERIODS)):
        column = sketch.column(other)
        if column is not None and sketch.is_free(other) and is_temporal(sketch, column):
            return other
    return None


def read_ranges(sketch: Sketch) -> None:
    for place in range(len(sketch.nodes)):
        node = sketch.nodes[place]
        opens = node.op is Op.BETWEEN or (node.kind is NodeKind.STOP and node.text.lower() in lexicon().range_leads)
        # 5月3日到6月1日: a period and the word say that a range begins, without one before it.
        by_itself = node.kind is NodeKind.PERIOD and _text(sketch, place + 1) in _RANGES
        if not (opens or by_itself) or (sketch.taken[place] and node.kind is not NodeKind.STOP):
            continue
        low = place if by_itself else sketch.after(place)
        if low is None or sketch.taken[low] or sketch.nodes[low].kind not in {NodeKind.NUMBER, NodeKind.PERIOD}:
            continue
        joint = low + 1
        while joint < len(sketch.nodes) and sketch.nodes[joint].op in UNITS:
            joint += 1
        if joint >= len(sketch.nodes) or not (
            sketch.nodes[joint].op in {Op.AND, Op.TO} or sketch.nodes[joint].text.lower() in _RANGES
        ):
            continue
        high = sketch.after(joint)
        if high is None or sketch.nodes[high].kind is not sketch.nodes[low].kind:
            continue
        if sketch.nodes[joint].text in _LISTING and _text(sketch, high + 1) not in _RANGE_CLOSES:
            # 在2005年和2010年出版 is of the two years, and of none between them.
            if node.op is Op.BETWEEN:
                sketch.take(place)
            continue
        left = sketch.before(place, over=JOINING)
        right = sketch.after(high, over=UNITS)
        _range(sketch, (place, low, joint, high), left, right)


_LISTING: Final = frozenset({"和", "与"})
_RANGE_CLOSES: Final = frozenset({"之间", "间", "中间", "范围", "区间"})
_RANGES: Final = frozenset({"to", "until", "到", "至", "-", "–", "—", "~"})


def _text(sketch: Sketch, place: int) -> str:
    return sketch.nodes[place].text.lower() if place < len(sketch.nodes) else ""


def _range(sketch: Sketch, places: tuple[int, int, int, int], left: int | None, right: int | None) -> None:
    place, low, joint, high = places
    one, other = sketch.nodes[low], sketch.nodes[high]
    column: ColumnRef | None = None
    for beside in (left, right):
        result = (sketch.column(beside) or sketch.figure_of_verb(beside)) if sketch.is_free(beside) else None
        # 5月3日至6月1日的销售额: no figure lies between two days.
        is_figure = result is not None and one.period is None and sketch.is_numeric(result)
        if result is not None and (is_figure or is_temporal(sketch, result)):
            column = result
            sketch.take(beside)
            break
    if column is None:
        if looks_like_year(one.number or 0) or one.period is not None:
            column = time_column(sketch, place)
        elif old_near(sketch, high):
            found_old = sketch.concept_column(adjective_concepts("older than"), place, ())
            column = found_old[0] if found_old else None
        elif is_of_money(sketch, high):
            money = money_compared(sketch, place)
            column = money[0] if money is not None else None
    if column is None:
        return
    sketch.take(place, low, joint, high)
    take_units(sketch, low)
    take_units(sketch, high)
    measure = Measure(column)
    if one.period is not None and other.period is not None:
        within(sketch, place, column, Period(one.period.start, other.period.end))
        return
    if one.number is None or other.number is None:
        return
    if (
        sketch.kind(column) in TEMPORAL
        and isinstance(other.number, int)
        and isinstance(one.number, int)
        and looks_like_year(one.number)
    ):
        first = Comparison(measure, Operator.AT_LEAST, Literal(f"{one.number:04d}-01-01"))
        last = Comparison(measure, Operator.LESS, Literal(f"{other.number + 1:04d}-01-01"))
    else:
        first = Comparison(measure, Operator.AT_LEAST, Literal(one.number))
        last = Comparison(measure, Operator.AT_MOST, Literal(other.number))
    sketch.conditions.append(Placed(place, AllOf((first, last))))
