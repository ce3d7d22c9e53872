"""Periods that are compared: "compare the visits in March 2025 and March 2026" is a figure for each of the two.

Limits: periods of one column, all years, all quarters, all months or the same days of several years.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from querybus_translator.language.lexicon import Op
from querybus_translator.language.time.periods import unit_apart
from querybus_translator.writing.form import Aggregate, AllOf, ColumnRef, Comparison, Condition, Measure
from querybus_translator.writing.sketch import TEMPORAL, Sketch

_VERBS: Final = frozenset({"compare", "比较", "对比"})


def read_compared_periods(sketch: Sketch) -> None:
    """Group by what the periods differ in; what is compared and has no figure is counted."""
    places = sketch.free_places(Op.COMPARE)
    # 比较贵的商品: rather dear, where nothing is compared.
    if not places or not (sketch.nodes[0].text.lower() in _VERBS or len(places) > 1 or not sketch.chinese):
        return
    placed = [item for item in sketch.conditions if sketch.nodes[item.place].period is not None]
    columns = {_column(item.condition) for item in placed}
    periods = [period for item in placed if (period := sketch.nodes[item.place].period) is not None]
    column = columns.pop() if len(columns) == 1 else None
    unit = unit_apart(periods)
    if column is None or unit is None:
        return
    sketch.take(*places)
    sketch.groups.append((placed[0].place, replace(column, part=unit) if sketch.kind(column) in TEMPORAL else column))
    if not any(measure.aggregate is not None for _, measure in sketch.targets):
        _figure(sketch)


def _figure(sketch: Sketch) -> None:
    """Turn the one figure that is named into its sum, or count the rows that are."""
    named = [place for place, (_, measure) in enumerate(sketch.targets) if sketch.is_numeric(measure.column)]
    if len(named) == 1:
        place, measure = sketch.targets[named[0]]
        sketch.targets[named[0]] = (place, replace(measure, aggregate=Aggregate.SUM))
        return
    tables = [place for place in range(len(sketch.nodes)) if sketch.table(place) is not None and sketch.is_free(place)]
    if len({sketch.table(place) for place in tables}) == 1 and not sketch.targets:
        sketch.targets.append((tables[0], Measure(aggregate=Aggregate.COUNT, table=sketch.table(tables[0]))))
        sketch.anchor = sketch.table(tables[0]) if sketch.anchor is None else sketch.anchor
    else:
        sketch.doubts += 1.0


def _column(condition: Condition) -> ColumnRef | None:
    first = condition.conditions[0] if isinstance(condition, AllOf) else condition
    return first.left.column if isinstance(first, Comparison) else None
