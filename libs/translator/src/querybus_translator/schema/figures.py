"""Chinese words for how many that belong to the name of a column of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from querybus_translator.language.lexicon import Op
from querybus_translator.schema.comparison import Candidate
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.meant import recalled
from querybus_translator.schema.phrases import Node, NodeKind

_SCORE_MIN: Final = 0.85


def with_figures(nodes: Sequence[Node], index: CatalogIndex) -> Iterator[Node]:
    """楼层数 is the column of floors, where that holds numbers, and 平均数量 that of quantities: nothing is counted."""
    for place, node in enumerate(nodes):
        before = nodes[place - 1] if place else None
        if node.op is not Op.COUNT or before is None or node.text not in _FIGURES:
            yield node
        elif node.text == "数":
            named = [link for link in before.candidates if link.score >= _SCORE_MIN]
            is_figure = bool(named) and all(_is_figure(link, index) for link in named)
            yield Node(NodeKind.STOP, node.text) if is_figure else node
        else:
            links = recalled(("quantity",), index, bounded=False) if before.op in _OF_FIGURES else ()
            figures = tuple(link for link in links if link.score >= _SCORE_MIN and _is_figure(link, index))
            yield Node(NodeKind.LINK, node.text, candidates=figures) if figures else node


def _is_figure(link: Candidate, index: CatalogIndex) -> bool:
    if link.column is None or link.value is not None:
        return False
    is_key = index.column(link.table, link.column).name in index.table(link.table).primary_key
    return not is_key and index.holds_figures(link.table, link.column)


_FIGURES: Final = frozenset({"数", "数量"})
_OF_FIGURES: Final = frozenset({Op.AVERAGE, Op.MAXIMUM, Op.MINIMUM, Op.HIGHEST, Op.LOWEST, Op.SUM})
