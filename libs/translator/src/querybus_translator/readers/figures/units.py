"""A figure that is said in another unit than its column's is turned into the column's: two hours of `duration_minutes` are 120.

So is one of a column that counts millions: 500 million are 500 of `revenue_million`. Limits: times, lengths and weights; a
column's unit is what its owner says of it, or the last word of its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.names import name_words
from querybus_translator.language.units import Unit, unit_of_measure
from querybus_translator.readers.figures.amounts import is_head
from querybus_translator.readers.figures.cents import read_cents
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import AllOf, ColumnRef, Comparison, Condition, Literal
from querybus_translator.writing.sketch import Placed, Sketch

_NODES_APART_MAX = 6


def read_units(sketch: Sketch) -> None:
    """Turn each compared figure that a unit stands behind, and take the unit."""
    _read_large_numbers(sketch)
    for place, node in enumerate(sketch.nodes[:-1]):
        said = unit_of_measure(sketch.nodes[place + 1].text)
        if node.kind is not NodeKind.NUMBER or node.number is None or said is None:
            continue
        for number, placed in enumerate(sketch.conditions):
            if abs(placed.place - place) > _NODES_APART_MAX:
                continue
            changed = _changed(sketch, placed.condition, node.number, partial(_turned, said=said))
            if changed is not None:
                sketch.conditions[number] = Placed(placed.place, changed, placed.implied)
                sketch.take(place + 1)
                break
    read_cents(sketch)


def column_of_unit(sketch: Sketch, figure: int) -> ColumnRef | None:
    """Return the one column of the tables spoken of that is measured as the figure is said: hours are no kilometres."""
    said = unit_of_measure(sketch.nodes[figure + 1].text) if figure + 1 < len(sketch.nodes) else None
    if said is None:
        return None
    columns = [
        ColumnRef(table, number)
        for table in sketch.mentioned_tables()
        for number in range(len(sketch.index.table(table).columns))
    ]
    measured = [
        column
        for column in columns
        if (own := _unit_of(sketch, column)) is not None and own[0] == said[0] and sketch.is_numeric(column)
    ]
    return measured[0] if len(measured) == 1 else None


def measures_otherwise(sketch: Sketch, figure: int, column: ColumnRef) -> bool:
    """Return whether a figure is said in a unit of something else than a column is measured in."""
    said = unit_of_measure(sketch.nodes[figure + 1].text) if figure + 1 < len(sketch.nodes) else None
    own = _unit_of(sketch, column)
    return said is not None and own is not None and said[0] != own[0]


def _read_large_numbers(sketch: Sketch) -> None:
    """Turn what is compared with columns that count thousands, millions or billions, and is as large as one of these."""
    for node in sketch.nodes:
        if node.kind is not NodeKind.NUMBER or node.number is None:
            continue
        for number, placed in enumerate(sketch.conditions):
            changed = _changed(sketch, placed.condition, node.number, _counted)
            if changed is not None:
                sketch.conditions[number] = Placed(placed.place, changed, placed.implied)


def _changed(
    sketch: Sketch, condition: Condition, number: float, turned: Callable[[Sketch, ColumnRef, float], float | None]
) -> Condition | None:
    """Return a condition with the figure as its column holds it, None where it does not compare that figure of such a column."""
    if isinstance(condition, AllOf):
        parts = [_changed(sketch, item, number, turned) for item in condition.conditions]
        if all(part is None for part in parts):
            return None
        return AllOf(tuple(part or item for part, item in zip(parts, condition.conditions, strict=True)))
    if not isinstance(condition, Comparison) or not isinstance(condition.right, Literal):
        return None
    column = condition.left.column
    value = None if column is None or condition.right.value != number else turned(sketch, column, number)
    if value is None:
        return None
    return replace(condition, right=Literal(int(value) if value == int(value) else value))


def _turned(sketch: Sketch, column: ColumnRef, number: float, said: Unit) -> float | None:
    own = _unit_of(sketch, column)
    return number * said[1] / own[1] if own is not None and own[0] == said[0] else None


def _counted(sketch: Sketch, column: ColumnRef, number: float) -> float | None:
    scales = lexicon().scales
    counted = next((scales[word] for word in sketch.words_of(column) if len(word) > 1 and word in scales), None)
    return number / counted if counted is not None and number >= counted else None


def _unit_of(sketch: Sketch, column: ColumnRef) -> Unit | None:
    named = sketch.index.column(column.table, column.column)
    said = named.unit.get("en") or named.unit.get("zh")
    # `area_m2` ends with a word and a figure.
    return unit_of_measure(said or (name_words(named.name) or ("",))[-1]) or unit_of_measure(named.name.split("_")[-1])


def is_place_of(sketch: Sketch, place: int | None, column: ColumnRef) -> bool:
    """Whether a column says in which place of several one is, and not how many there are: "two authors" by an author's order."""
    names = sketch.index.entry_of_column(column.table, column.column).names
    return place is not None and not is_head(sketch, place, column) and any(name[-1] in _PLACES_OF for name in names)


_PLACES_OF: Final = frozenset({"order", "rank", "position", "place", "sequence", "index", "level"})
