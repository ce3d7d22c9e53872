"""Figures that belong to the name of a column: 楼层数 of a column of floors, "100 meter" of `meter_100`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from querybus_translator.language.lexicon import Op
from querybus_translator.language.tokens import Token, TokenKind
from querybus_translator.schema.comparison import EXACT_SCORE, Candidate, recalled
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.phrases import Node, NodeKind, Span, text_of

_SCORE_MIN: Final = 0.85


def with_figures(nodes: Sequence[Node], index: CatalogIndex) -> Iterator[Node]:
    """楼层数 is the column of floors, where that holds numbers, and 平均数量 that of quantities: nothing is counted."""
    for place, node in enumerate(nodes):
        before = nodes[place - 1] if place else None
        held = _quantities(nodes, place, index) if node.op is Op.COUNT and "quantity" in node.text.lower() else ()
        if held:
            yield Node(NodeKind.LINK, node.text, candidates=held)
        elif node.op is not Op.COUNT or before is None or node.text not in _FIGURES:
            yield node
        elif node.text == "数":
            named = [link for link in before.candidates if link.score >= _SCORE_MIN]
            is_figure = bool(named) and all(_is_figure(link, index) for link in named)
            yield Node(NodeKind.STOP, node.text) if is_figure else node
        else:
            links = recalled(("quantity",), index, bounded=False) if before.op in _OF_FIGURES else ()
            figures = tuple(link for link in links if link.score >= _SCORE_MIN and _is_figure(link, index))
            yield Node(NodeKind.LINK, node.text, candidates=figures) if figures else node


def _quantities(nodes: Sequence[Node], place: int, index: CatalogIndex) -> tuple[Candidate, ...]:
    """ "The quantity of all stocks", where each of them has one."""
    rows = next((node for node in nodes[place + 1 :] if node.kind is not NodeKind.STOP), None)
    tables = {link.table for link in rows.candidates if link.column is None} if rows is not None else set[int]()
    links = recalled(("quantity",), index, bounded=False)
    return tuple(
        link for link in links if link.table in tables and link.score >= EXACT_SCORE and _is_figure(link, index)
    )


def _is_figure(link: Candidate, index: CatalogIndex) -> bool:
    if link.column is None or link.value is not None:
        return False
    is_key = index.column(link.table, link.column).name in index.table(link.table).primary_key
    return not is_key and index.holds_figures(link.table, link.column)


_FIGURES: Final = frozenset({"数", "数量"})
_OF_FIGURES: Final = frozenset({Op.AVERAGE, Op.MAXIMUM, Op.MINIMUM, Op.HIGHEST, Op.LOWEST, Op.SUM})


def numbered(tokens: Sequence[Token], start: int, index: CatalogIndex) -> list[Span]:
    """ "Their 100 meter scores", of a column that is called `meter_100`: a name, and no figure to compare with."""
    pair = tokens[start : start + 2]
    if len(pair) < 2 or pair[0].kind is not TokenKind.NUMBER or pair[1].kind is not TokenKind.WORD:
        return []
    said = {pair[0].norm, pair[1].base}
    entries = (index.entries[number] for number in index.own.get(pair[1].base, ()))
    found = tuple(
        Candidate(entry.table, entry.column, None, EXACT_SCORE)
        for entry in entries
        if entry.column is not None and any(set(name) == said for name in entry.names)
    )
    # "Their 100 meter scores" are what the column holds.
    end = start + 2 + (tokens[start + 2 : start + 3] != [] and tokens[start + 2].base in _HELD)
    node = Node(NodeKind.LINK, text_of(tokens, start, end), candidates=found)
    return [Span(start, end, _NUMBERED_WEIGHT * (end - start), node)] if found else []


_NUMBERED_WEIGHT: Final = 1.1
_HELD: Final = frozenset({"score", "result", "time", "record", "mark"})
