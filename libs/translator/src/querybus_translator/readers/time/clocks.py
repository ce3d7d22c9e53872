"""Times of day and days of the week become conditions: "shows after 8 pm" on a column of times, "orders on Mondays" on a date.

Limits: before and after; of moments full hours only; one such column among the tables that are spoken of.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.language.clauses import add_condition, time_column
from querybus_translator.language.lexicon import Op
from querybus_translator.language.time.words import WEEKDAYS, Unit
from querybus_translator.writing.form import AnyOf, ColumnRef, Comparison, Literal, Measure, Operator
from querybus_translator.writing.sketch import TEMPORAL, Placed, Sketch

_BOUNDS: Final = {Op.AFTER: Operator.GREATER, Op.SINCE: Operator.AT_LEAST, Op.BEFORE: Operator.LESS}


def read_clocks(sketch: Sketch) -> None:
    """Read each time of day that a word bounds; any other stays unread."""
    for place, node in enumerate(sketch.nodes):
        if node.clock is None or sketch.taken[place]:
            continue
        word = next(
            (
                other
                for other in (sketch.before(place), sketch.after(place))
                if sketch.op(other) in _BOUNDS and sketch.is_free(other)
            ),
            None,
        )
        operator = _BOUNDS.get(sketch.op(word) or Op.AND)
        # "Shows that start after 8 pm": the verb before it is called like the column.
        verb = sketch.before(word if word is not None and word < place else place)
        named = sketch.column(verb) if sketch.is_free(verb) else None
        of_day, moments = (
            [named] if named is not None and sketch.kind(named) is kind else _columns(sketch, kind)
            for kind in (ColumnKind.TIME, ColumnKind.DATETIME)
        )
        if operator is None:
            continue
        if len(of_day) == 1:
            # As texts, 20:00:00 is after 20:00, and it is the same time: each bound is written so that it holds for both.
            text = f"{node.clock}:00" if operator is Operator.GREATER else node.clock
            add_condition(sketch, place, Measure(of_day[0]), operator, Literal(text))
        elif not of_day and len(moments) == 1 and node.clock.endswith(":00"):
            # What is after 8 pm begins with the hour of eight.
            operator = Operator.LESS if operator is Operator.LESS else Operator.AT_LEAST
            hour = replace(moments[0], part=Unit.HOUR)
            add_condition(sketch, place, Measure(hour), operator, Literal(int(node.clock[:2])))
        else:
            continue
        sketch.take(place, word, verb if named in (*of_day, *moments) else None)


def read_days_of_weeks(sketch: Sketch) -> None:
    """ "Orders on Mondays", "visits at weekends", 周末的订单: of the one time column of what is spoken of.

    Several days are alternatives; "per weekend" is no condition, and stays unread.
    """
    places = [place for place, node in enumerate(sketch.nodes) if node.days and sketch.is_free(place)]
    column = time_column(sketch, places[0]) if places else None
    if column is None or sketch.kind(column) not in TEMPORAL:
        return
    if any(sketch.op(sketch.before(place)) in (Op.EACH, Op.BY, Op.NOT) for place in places):
        return
    measure = Measure(replace(column, part=Unit.WEEKDAY))
    days = dict.fromkeys(day for place in places for day in sketch.nodes[place].days)
    either = tuple(Comparison(measure, Operator.EQUAL, Literal(WEEKDAYS[sketch.language][day])) for day in days)
    sketch.conditions.append(Placed(places[0], either[0] if len(either) == 1 else AnyOf(either)))
    verb = sketch.before(places[0])
    # "Tickets opened on Mondays": the verb is called like the day.
    sketch.take(*places, verb if sketch.is_free(verb) and sketch.column(verb) == column else None)


def _columns(sketch: Sketch, kind: ColumnKind) -> list[ColumnRef]:
    return [
        ColumnRef(table, number)
        for table in sketch.mentioned_tables()
        for number, column in enumerate(sketch.index.table(table).columns)
        if column.kind is kind
    ]
