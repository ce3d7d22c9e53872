"""The nearest questions to one that was not read: without the words that say nothing here, with a value that is there, with a figure
that the table has in place of one that it has not, or with what rows may lack where a deed is denied.

Nothing of weight is ever left out: no negation, number, comparison, name or verb. Every question is read again and
offered only if it is answered for sure, and with rows of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from querybus.core.catalog import Language, Table
from querybus.text.language import detect_language
from querybus.text.similarity import typing_distance
from querybus_translator.answers.options import OPTIONS_MAX, display, display_rows
from querybus_translator.answers.totals import (
    TABLES_TRIED_MAX,
    best_by_totals,
    busiest,
    by_totals,
    figures_of,
    how_many_days,
    how_much,
    most_referred,
)
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.names import is_han
from querybus_translator.language.stems import base_form
from querybus_translator.language.time.words import unit_of
from querybus_translator.readers.reading import Reading
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.phrases import Node, NodeKind

LEFT_OUT_MAX: Final = 3
NEAR_VALUES_MAX: Final = 2
VALUES_COMPARED_MAX: Final = 20_000
TYPED_LENGTH_MIN: Final = 4
READ_AGAIN_MAX: Final = 8
FIGURES_TRIED_MAX: Final = 8
NAMES_TRIED_MAX: Final = 3
CHOICES_MAX: Final = 12
"""Values of a column that are a choice; of more of them none is nearer than others."""
UNSURE_BELOW: Final = 0.7
_VERB_ENDINGS: Final = ("ed", "ing")
_NEGATIONS: Final = re.compile(
    r"\b(?:no|not|never|none|without|neither|nor|un\w+|non\w*|except|but)\b|[不没无未非除别]", re.IGNORECASE
)

ReadAgain = Callable[[str], Reading | None]


def near_questions(
    question: str, nodes: Sequence[Node], best: Reading | None, index: CatalogIndex, read_again: ReadAgain
) -> tuple[str, tuple[str, ...]]:
    """Return the question as it was understood, empty if it was not, and all near questions, the nearest first.

    `nodes` are the question's, of which `best` makes the best form, None where it makes none.
    """
    if best is None:
        unread = [node for node in nodes if node.kind is NodeKind.WORD]
    else:
        unread = [node for node in nodes if node.text in best.judgement.unread]
    # Only what describes something known can be left out: the thing itself is what the question is about.
    is_whole = all(_describes(place, nodes, unread) for place, node in enumerate(nodes) if node in unread)
    language = detect_language(question)
    shorter = _without(question, unread) if is_whole and best is not None else None
    shorter_read = read_again(shorter) if shorter is not None else None
    read_as = shorter if shorter is not None and shorter_read is not None else ""
    near: dict[str, str] = {}
    others = chain(
        _with_persons(question, nodes, index),
        _with_values(question, unread, index),
        _with_rows(question, nodes, index, language),
        _with_values_of_column(question, nodes, unread, index),
        _with_parts(question, unread, index),
        _with_names(question, unread, index, language),
        _lacking(nodes, best, index, language),
        _with_tables(question, nodes, best, unread, index, language),
        by_totals(question, nodes, unread, index),
        how_much(nodes, index, language),
        best_by_totals(nodes, index, language),
        most_referred(nodes, index, language),
        busiest(nodes, index),
        how_many_days(nodes, index, language),
        _with_figures(question, nodes, best, unread, index, language),
    )
    for item in islice(others, READ_AGAIN_MAX):
        if len(near) == OPTIONS_MAX:
            break
        result = read_again(item)
        if result is not None:
            near.setdefault(result.written.sql, item)
    if shorter_read is not None and read_as:
        near.setdefault(shorter_read.written.sql, read_as)
    return read_as, tuple(near.values())


def _lacking(nodes: Sequence[Node], best: Reading | None, index: CatalogIndex, language: Language) -> Iterator[str]:
    """ "Which plays were never performed?": give what a play may be without, where nothing else is said of it."""
    if not any(node.op is Op.NOT for node in nodes) or not all(_says_little(node) for node in nodes):
        return
    tables = (
        {best.sketch.table(place) for place in range(len(nodes))} - {None} if best is not None else set[int | None]()
    )
    words = [node.text for node in nodes if node.kind is NodeKind.WORD and is_han(node.text)]
    near = [item for word in words for item in index.sharing_signs(word)[:1] if isinstance(item, Table)]
    anchors = [number for number in tables if number is not None] or [index.catalog.tables.index(item) for item in near]
    for anchor in anchors if len(anchors) == 1 else ():
        for edge in index.graph.edges_of(anchor)[:TABLES_TRIED_MAX]:
            if edge.target == anchor and edge.source != anchor:
                rows, lacked = (display_rows(index.table(number), language) for number in (anchor, edge.source))
                yield f"哪些{rows}没有{lacked}？" if language == "zh" else f"Which {rows} have no {lacked}?"


def _with_tables(
    question: str,
    nodes: Sequence[Node],
    best: Reading | None,
    unread: Sequence[Node],
    index: CatalogIndex,
    language: Language,
) -> Iterator[str]:
    """ "How many bookings in 2025?": give the question with each table in place of the unknown word that is counted."""
    word = _counted(question, nodes, unread)
    if word is None:
        return
    known = best.sketch.mentioned_tables() if best is not None else ()
    tables = [number for number in range(len(index.catalog.tables)) if number not in known]
    if any(node.op in (Op.MOST, Op.FEWEST) for node in nodes):
        # Each of what is named has several of those that refer to it only.
        referring = {edge.source for table in known for edge in index.graph.edges_of(table) if edge.target == table}
        tables = [number for number in tables if number in referring]
    # What refers to most others is counted most often: events rather than things.
    tables.sort(key=lambda number: -sum(edge.source == number for edge in index.graph.edges_of(number)))
    yield from _replaced(
        question, word, (display(index.table(number), language) for number in tables[:TABLES_TRIED_MAX])
    )


def _replaced(question: str, word: str, names: Iterable[str]) -> Iterator[str]:
    """Give the question with each name in place of a word, but for a name that the question says already."""
    before, _, behind = question.partition(word)
    for name in names:
        if name and name.lower() not in f"{before} {behind}".lower():
            yield before + name + behind


def _with_rows(question: str, nodes: Sequence[Node], index: CatalogIndex, language: Language) -> Iterator[str]:
    """ "Dishes with more than 500 calories": give the question with each table in place of the one unknown word for its rows."""
    words = [node for node in nodes if node.kind is NodeKind.WORD]
    if language == "zh" or len(words) != 1 or _weighs(words[0]) or _is_step(words[0]):
        return
    place, word = nodes.index(words[0]), words[0].text
    is_head = all(node.kind in _BEFORE_ROWS or node.op in _ASKING_ROWS for node in nodes[:place])
    behind = nodes[place + 1 : place + 2]
    if not is_head or any(
        (node.kind is NodeKind.LINK and not node.is_value) or node.op in (Op.BY, Op.EACH) for node in behind
    ):
        return
    known = [node.candidates[0].table for node in nodes if node.kind is NodeKind.LINK]
    says_more = bool(known) or any(node.kind is NodeKind.NUMBER or node.op in _RANKING for node in nodes)
    if not says_more or (not known and any(node.op is Op.COUNT for node in nodes)):
        return
    is_one = base_form(word.lower()) == word.lower()
    start = question.find(word)
    for table in dict.fromkeys(known or range(len(index.catalog.tables))):
        *others, last = display(index.table(table), language).split()
        called = " ".join((*others, base_form(last))) if is_one else display_rows(index.table(table), language)
        yield (
            question[:start]
            + (called[:1].upper() + called[1:] if start == 0 else called)
            + question[start + len(word) :]
        )


_BEFORE_ROWS: Final = frozenset({NodeKind.STOP, NodeKind.NUMBER})
_RANKING: Final = frozenset(
    {Op.MOST, Op.FEWEST, Op.HIGHEST, Op.LOWEST, Op.ADJECTIVE_MOST, Op.ADJECTIVE_LEAST, Op.COMMON}
)
_ASKING_ROWS: Final = _RANKING | {Op.SHOW, Op.COUNT}


def _counted(question: str, nodes: Sequence[Node], unread: Sequence[Node]) -> str | None:
    """Return the unknown word that a count is asked of, where nothing else is unknown and it weighs nothing else."""
    words = [node for node in nodes if node.kind is NodeKind.WORD and not _is_step(node)]
    if len(words) != 1 or _weighs(words[0]) or any(node.kind is NodeKind.TEXT for node in unread):
        return None
    place = nodes.index(words[0])
    if any(node.kind is NodeKind.LINK for node in nodes[place + 1 : place + 2]):
        # "How many loyal readers": it describes what is counted.
        return None
    before, behind = (
        [node for node in part if node.kind is not NodeKind.STOP] for part in (nodes[:place], nodes[place + 1 :])
    )
    # 公司有多少员工: what is counted stands behind, and is known.
    is_before = is_han(words[0].text) and not any(node.kind is NodeKind.LINK for node in behind[1:2])
    counts = {*(node.op for node in before[-1:]), *(node.op for node in behind[:1] if is_before)}
    if not counts & _COUNTING:
        return None
    text = words[0].text
    # A sign that is a word of its own, as 就 in 就诊, belongs to the unknown one behind it.
    stop = nodes[place - 1] if place and len(text) == 1 and is_han(text) else None
    whole = stop.text + text if stop is not None and stop.kind is NodeKind.STOP and len(stop.text) == 1 else text
    return whole if whole in question else text


def _is_step(node: Node) -> bool:
    """Whether a word is a step of time, which is known without being a name: "per month"."""
    return unit_of(node.text.lower()) is not None


def _is_unsure(node: Node, index: CatalogIndex) -> bool:
    """Whether a word was linked with a name that hardly means it: 收入 with `sold_at`. A key is meant by who it refers to."""
    if node.kind is not NodeKind.LINK or node.is_value or node.candidates[0].score >= UNSURE_BELOW:
        return False
    column = node.candidates[0].column
    return column is None or not index.is_key(node.candidates[0].table, column)


_COUNTING: Final = frozenset({Op.COUNT, Op.MOST, Op.FEWEST})


def _says_little(node: Node) -> bool:
    """Whether a node is a name, a word that asks, denies or says nothing: no figure, value, period or comparison."""
    return not node.is_value and (
        node.kind in (NodeKind.LINK, NodeKind.WORD, NodeKind.STOP, NodeKind.MARK) or node.op in (Op.NOT, Op.SHOW)
    )


def _with_figures(
    question: str,
    nodes: Sequence[Node],
    best: Reading | None,
    unread: Sequence[Node],
    index: CatalogIndex,
    language: Language,
) -> Iterator[str]:
    """ "Ticket income per hall": give the total of each figure of the tickets, where the one that was said is not known."""
    unknown = [node for node in unread if not _is_step(node)] or [node for node in nodes if _is_unsure(node, index)]
    words = [node for node in unknown if node.kind is NodeKind.WORD or _is_unsure(node, index)]
    if len(words) != len(unknown) or not words or words[0].capital or not any(node.op in _OF_FIGURES for node in nodes):
        return
    if any(node.op is Op.COUNT for node in nodes) or "how much" in question.lower():
        # Rows are counted, or the sentence is no longer one with a figure's name in it.
        return
    # "Income per month": where nothing else is named, the figure of any table may be meant.
    tables = range(len(index.catalog.tables)) if best is None else best.sketch.mentioned_tables()
    place = nodes.index(words[0])
    if place and nodes[place - 1].op is Op.SHOW:
        # "Which ... sold the most": rows are asked for, no figure.
        return
    word, owner = words[0].text, ""
    whose = nodes[place - 1] if place else words[0]
    if language == "en" and whose.kind is NodeKind.LINK and not whose.is_value and f"{whose.text} {word}" in question:
        # "By ticket income" is by total ticket price: the figure's table stands before it.
        tables, owner, word = [whose.candidates[0].table], f"{whose.text.lower()} ", f"{whose.text} {word}"
    start = question.find(word)
    for figure in figures_of(tables, index)[:FIGURES_TRIED_MAX]:
        called = display(index.column(*figure), language)
        if language == "zh" and not is_han(called):
            continue
        before, bare = question[:start].lower(), called.removeprefix("total ")
        is_said = before.endswith(("total ", "总"))
        total = (
            f"{'' if is_said else '总'}{called}" if language == "zh" else f"{'' if is_said else 'total '}{owner}{bare}"
        )
        yield question[:start] + total + question[start + len(word) :]


def _with_names(question: str, unread: Sequence[Node], index: CatalogIndex, language: Language) -> Iterator[str]:
    """Give the question with a Chinese word replaced by a name that shares a sign with it: 剧目 and 戏剧."""
    for node in unread:
        if node.kind is not NodeKind.WORD or not is_han(node.text):
            continue
        names = [display(named, language) for named in index.sharing_signs(node.text)[:NAMES_TRIED_MAX]]
        yield from _replaced(question, node.text, (name for name in names if not set(name).isdisjoint(node.text)))


def _with_parts(question: str, unread: Sequence[Node], index: CatalogIndex) -> Iterator[str]:
    """Give the question with a Chinese word replaced by a word of the data that is a part of its meaning: 急诊, an emergency treatment."""
    for node in unread:
        yield from _replaced(question, node.text, index.parts_of_meanings.get(node.text, ())[:NAMES_TRIED_MAX])


_OF_FIGURES: Final = frozenset({Op.EACH, Op.SUM, Op.AVERAGE, Op.MOST, Op.HIGHEST, Op.LOWEST, Op.FEWEST})


def _without(question: str, unread: Sequence[Node]) -> str | None:
    """Return a question without its unknown words, or None where one of them weighs something."""
    if not unread or len(unread) > LEFT_OUT_MAX or any(_weighs(node) for node in unread):
        return None
    text = question
    for node in unread:
        pattern = rf"(?<![为是叫]){re.escape(node.text)}" if is_han(node.text) else rf"\b{re.escape(node.text)}\b"
        text, count = re.subn(rf"{pattern}的?\s*", "", text, count=1, flags=re.IGNORECASE)
        if not count:
            return None
    return re.sub(r"\s+([?？.,，。])", r"\1", text).strip() or None


def _describes(place: int, nodes: Sequence[Node], unread: Sequence[Node]) -> bool:
    """Whether a word stands right before something known, or is an adverb."""
    following = next((node for node in nodes[place + 1 :] if node not in unread and node.text != "的"), None)
    return nodes[place].text.lower().endswith("ly") or (following is not None and following.kind is NodeKind.LINK)


def _weighs(node: Node) -> bool:
    if node.kind not in (NodeKind.WORD, NodeKind.LINK) or node.capital or node.quoted:
        return True
    word = node.text.lower()
    if _NEGATIONS.search(word):
        return True
    verbs = lexicon().verbs | lexicon().deeds
    return not is_han(node.text) and (word.endswith(_VERB_ENDINGS) or word in verbs)


def _with_persons(question: str, nodes: Sequence[Node], index: CatalogIndex) -> Iterator[str]:
    """ "Shipments of Lena Roth", "of Green Farms": give the question with each kind of person who may be called so before the name."""
    for place, node in enumerate(nodes):
        is_name = node.kind is NodeKind.TEXT and not node.quoted
        following = nodes[place + 1] if place + 1 < len(nodes) else None
        are_capitals = node.kind is NodeKind.WORD and node.capital and following is not None and following.capital
        before = nodes[place - 1].text.lower() if place else ""
        if not is_name and (not are_capitals or before not in _BEFORE_NAMES):
            continue
        start = question.find(node.text)
        for table, _ in index.names_of_persons if start >= 0 else ():
            *words, last = display(index.table(table), "en").split()
            yield f"{question[:start]}{' '.join((*words, base_form(last)))} {question[start:]}"
        return


_BEFORE_NAMES: Final = frozenset({"of", "by", "for", "did", "does", "has", "have", "was", "were", "with"})


def _with_values(question: str, unread: Sequence[Node], index: CatalogIndex) -> Iterator[str]:
    """Give the question with a word that is nearly a value of the data replaced by that value."""
    for node in unread:
        if node.kind not in (NodeKind.WORD, NodeKind.TEXT) or len(node.text) < TYPED_LENGTH_MIN - 2 * is_han(node.text):
            continue
        for value in _near_values(node.text, index):
            start = question.lower().find(node.text.lower())
            if start >= 0:
                yield question[:start] + value + question[start + len(node.text) :]


def _with_values_of_column(
    question: str, nodes: Sequence[Node], unread: Sequence[Node], index: CatalogIndex
) -> Iterator[str]:
    """ "Orders with status lost": give the question with each value of the column that is named beside an unknown word."""
    said = [node for node in nodes if node.kind is not NodeKind.STOP and node.text not in _SAYING]
    for place, node in enumerate(said):
        if node not in unread or node.kind not in (NodeKind.WORD, NodeKind.TEXT):
            continue
        for beside in (*said[max(0, place - 1) : place], *said[place + 1 : place + 2]):
            named = beside.candidates[0] if beside.kind is NodeKind.LINK and not beside.is_value else None
            if named is None or named.column is None:
                continue
            column = index.column(named.table, named.column)
            start = question.find(node.text)
            if column.values_complete and len(column.values) <= CHOICES_MAX and not column.personal and start >= 0:
                for value in column.values[:OPTIONS_MAX]:
                    yield question[:start] + value + question[start + len(node.text) :]


_SAYING: Final = frozenset({"为", "是", "等于", "is", "was", "="})


def _near_values(word: str, index: CatalogIndex) -> list[str]:
    written = word.casefold()
    most = 1 if len(written) < 6 else 2
    near: dict[str, int] = {}
    for place, stored in enumerate(index.values.values()):
        if place >= VALUES_COMPARED_MAX:
            break
        for item in stored[:1]:
            known = item.text.casefold()
            if abs(len(known) - len(written)) > most or known[:1] != written[:1]:
                continue
            distance = typing_distance(written, known)
            if 0 < distance <= most:
                near[item.text] = distance
    return sorted(near, key=lambda value: (near[value], value))[:NEAR_VALUES_MAX]
