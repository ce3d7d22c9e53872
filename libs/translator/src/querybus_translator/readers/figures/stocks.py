"""Stocks and the least that there should be of them: "supplies below the minimum level", "what is running low"."""

from __future__ import annotations

from typing import Final

from querybus_translator.writing.form import ColumnRef, Comparison, Measure, Operator
from querybus_translator.writing.sketch import Placed, Sketch

_STOCKS: Final = frozenset(
    {"stock", "hand", "onhand", "quantity", "qty", "inventory", "available", "balance", "库存", "数量"}
)
_LEAST: Final = frozenset({"min", "minimum", "reorder", "threshold", "safety"})
_LOW: Final = frozenset({"low", "running low", "low on stock", "low in stock"})


def read_low_stocks(sketch: Sketch) -> None:
    """Read "running low" as less than the least that a table's rows say there should be."""
    for place, node in enumerate(sketch.nodes):
        if node.text.lower() not in _LOW or node.candidates or sketch.chinese:
            continue
        found = [
            (stock, least)
            for table in sketch.mentioned_tables()
            for least in sketch.figures_of(table)
            if says_least(sketch, least) and (stock := stock_beside(sketch, least)) is not None
        ]
        if len(found) == 1:
            sketch.take(place)
            sketch.conditions.append(Placed(place, Comparison(Measure(found[0][0]), Operator.LESS, found[0][1])))


def says_least(sketch: Sketch, column: ColumnRef) -> bool:
    """Return whether a figure is the least that there should be of something."""
    return sketch.is_numeric(column) and not _LEAST.isdisjoint(sketch.words_of(column))


def stock_beside(sketch: Sketch, least: ColumnRef) -> ColumnRef | None:
    """Return the only column of a table that says how much there is, beside the least that there should be."""
    found = [
        column
        for column in sketch.figures_of(least.table)
        if not says_least(sketch, column) and not _STOCKS.isdisjoint(sketch.words_of(column))
    ]
    return found[0] if len(found) == 1 else None
