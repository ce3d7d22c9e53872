"""A figure that is compared with an amount stored in cents is in whole units, as the amount is shown: over 100 is over 10,000 cents.

Where neither a currency nor cents are said, that is an assumption, and the reading carries it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from querybus.text.rows.currencies import is_in_cents, says_cents
from querybus_translator.readers.figures.amounts import is_of_money
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import Aggregate, AllOf, AnyOf, Comparison, Condition, Literal, Measure
from querybus_translator.writing.sketch import Sketch

_AMOUNTS: Final = frozenset({None, Aggregate.SUM, Aggregate.AVERAGE, Aggregate.MAXIMUM, Aggregate.MINIMUM})
_CENTS: Final = 100


def read_cents(sketch: Sketch) -> None:
    """Turn what is compared with amounts in cents into cents, unless the question speaks of cents."""
    sketch.conditions = [replace(placed, condition=_in_cents(sketch, placed.condition)) for placed in sketch.conditions]
    sketch.having = [(place, _compared_in_cents(sketch, condition)) for place, condition in sketch.having]


def stored_figure(sketch: Sketch, measure: Measure, figure: int) -> int | float | None:
    """Return a figure of the question as a measure's column holds it, None where nothing is to be turned.

    `figure` is its place among the question's nodes.
    """
    column, number = measure.column, sketch.nodes[figure].number
    if column is None or number is None or measure.aggregate not in _AMOUNTS or measure.until is not None:
        return None
    if not is_in_cents(sketch.index.column(column.table, column.column)) or _says_cents(sketch):
        return None
    if not is_of_money(sketch, figure):
        sketch.in_whole_units.append(sketch.nodes[figure].text)
    cents = round(number * _CENTS, 2)
    return int(cents) if cents == int(cents) else cents


def _says_cents(sketch: Sketch) -> bool:
    return any(says_cents(node.text) for node in sketch.nodes)


def _in_cents(sketch: Sketch, condition: Condition) -> Condition:
    if isinstance(condition, AllOf | AnyOf):
        return replace(condition, conditions=tuple(_in_cents(sketch, item) for item in condition.conditions))
    return _compared_in_cents(sketch, condition) if isinstance(condition, Comparison) else condition


def _compared_in_cents(sketch: Sketch, condition: Comparison) -> Comparison:
    right = condition.right
    if not isinstance(right, Literal) or isinstance(right.value, str):
        return condition
    figures = [
        place for place, node in enumerate(sketch.nodes) if node.kind is NodeKind.NUMBER and node.number == right.value
    ]
    stored = stored_figure(sketch, condition.left, figures[0]) if figures else None
    return condition if stored is None else replace(condition, right=Literal(stored))
