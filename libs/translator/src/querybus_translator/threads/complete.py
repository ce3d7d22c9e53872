"""Whether a question is complete, or a fragment that goes on from the question before it.

A complete question asks by itself, names what it asks about, and refers to nothing that was said before. It takes neither a
period nor a condition over from its thread. "And how many users do we have?" is complete after a question about invoices;
after one about users it goes on from that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Final

from querybus.core.catalog import Catalog
from querybus_translator.language.courtesy import without_courtesy
from querybus_translator.language.lexicon import Op
from querybus_translator.schema.index import CatalogIndex, index_of
from querybus_translator.schema.nodes import read_nodes
from querybus_translator.schema.phrases import Node, NodeKind
from querybus_translator.threads.follow_words import follow_up, refers_back

_VERB: Final = (
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|\w{2,}ed|made|sold|bought|paid|spent|came|went|left|sent"
    r"|lost|won|took|gave|grew|brought|kept|ran|began|got|gets?|costs?|needs?|works?|lives?|earns?|owes?|sells?|makes?|pays?)"
)
_ASKS_EN: Final = re.compile(
    rf"^(?:(?:how|what|which|who|whose|whom|where|when|why)\b.*\b{_VERB}\b|(?:is|are|was|were|do|does|did|has|have|can)\s+\w+\s+\w"
    r"|(?:show|list|give|tell|find|display|get|count|name|compute|calculate)\b(?!\s+(?:me\s+)?(?:by|per|in|for|as|with|without|it)\b).*\w)",
    re.IGNORECASE,
)
_ASKS_ZH: Final = re.compile(
    r"多少|几[个位名家笔条次种台件张天]|哪|谁|什么|是否|有没有|列出|显示|查询|查一下|查找|找出|给我|告诉我"
)
_LACKS_MEASURE: Final = re.compile(
    r"\b(?:has|have|had|is|are|was|were)\s+(?:the\s+)?(?:most|fewest|least|highest|lowest|largest|smallest|biggest|best|worst)\W*$"
    r"|哪[^的得]{1,8}最[多少高低大小好差]的?\W*$|最[多少高低大小好差]的(?:是|有)?哪[^的]{1,6}\W*$",
    re.IGNORECASE,
)
"""By what the most is meant was said before."""
_COUNTS_WHAT_WAS_SAID: Final = re.compile(r"^(?:how many|which)\s+(?:is|are|was|were|has|have|had)\b", re.IGNORECASE)
_FIGURES: Final = frozenset({Op.COUNT, Op.COUNT_KINDS, Op.SUM, Op.AVERAGE, Op.MAXIMUM, Op.MINIMUM})


def asks_by_itself(text: str) -> bool:
    """Return whether a text is a sentence that asks or orders, and no piece of one.

    >>> [asks_by_itself(each) for each in ("How many users do we have?", "how many users?", "by month", "每个城市有多少客户？")]
    [True, False, False, True]
    """
    return (_ASKS_EN.search(text) or _ASKS_ZH.search(text)) is not None


def is_fragment(question: str) -> bool:
    """Return whether words alone show that a question goes on from another: "only Kiel", "and last year?", 那上海呢.

    >>> [is_fragment(each) for each in ("only those in Germany", "and last year?", "去年呢？", "Total sales per store")]
    [True, True, True, False]
    """
    said = follow_up(without_courtesy(question))
    return said.changes or refers_back(said.text) or (said.is_marked and not asks_by_itself(said.text))


def is_complete(question: str, previous: str, catalog: Catalog, *, today: date) -> bool:
    """Return whether a question of a thread takes nothing over from `previous`, the question before it."""
    index = index_of(catalog)
    nodes = read_nodes(without_courtesy(question), index, today)
    return stands_by_itself(question, nodes, previous, index, today)


def stands_by_itself(question: str, nodes: Sequence[Node], previous: str, index: CatalogIndex, today: date) -> bool:
    """Return whether a question that was cut into nodes is complete; see `is_complete`."""
    if is_fragment(question) or _LACKS_MEASURE.search(question) is not None:
        return False
    said = follow_up(without_courtesy(question))
    tables = _tables_named(nodes)
    if not asks_by_itself(said.text):
        # "Average salary per department": a headline that names its figure and its table.
        return bool(tables) and any(node.op in _FIGURES for node in nodes)
    # "How many were late?" names a condition, and no rows of its own.
    subject = tables if _COUNTS_WHAT_WAS_SAID.search(said.text) else tables or _tables_of_columns(nodes)
    if not said.is_marked:
        return bool(subject)
    before = read_nodes(previous, index, today)
    return bool(subject) and not subject & (_tables_named(before) or _tables_of_columns(before))


def _tables_named(nodes: Sequence[Node]) -> set[int]:
    return {
        item.table
        for node in nodes
        if node.kind is NodeKind.LINK
        for item in node.candidates
        if item.column is None and item.value is None
    }


def _tables_of_columns(nodes: Sequence[Node]) -> set[int]:
    return {
        item.table
        for node in nodes
        if node.kind is NodeKind.LINK
        for item in node.candidates
        if item.column is not None and item.value is None
    }
