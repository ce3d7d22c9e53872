"""Times of day become conditions: "shows after 8 pm" on a column of times, "orders before 9 am" on the hour of a moment.

Limits: before and after; of moments full hours only; one such column among the tables that are spoken of.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.language.clauses import add_condition
from querybus_translator.language.lexicon import Op
from querybus_translator.language.time.words import Unit
from querybus_translator.writing.form import ColumnRef, Literal, Measure, Operator
from querybus_translator.writing.sketch import Sketch

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


def _columns(sketch: Sketch, kind: ColumnKind) -> list[ColumnRef]:
    return [
        ColumnRef(table, number)
        for table in sketch.mentioned_tables()
        for number, column in enumerate(sketch.index.table(table).columns)
        if column.kind is kind
    ]
