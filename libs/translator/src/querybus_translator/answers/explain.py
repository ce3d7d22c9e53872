"""How a question was read, word by word: for analysts, and for whoever repairs the translator.

Every word of the question stands in exactly one `WordRead`; what nobody took is marked as not accounted for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from querybus.core.catalog import Catalog, Language
from querybus.text.language import detect_language
from querybus_translator.language.sentence import sentence
from querybus_translator.language.time.words import WEEKDAYS
from querybus_translator.readers.reading import Reading
from querybus_translator.schema.comparison import Candidate
from querybus_translator.schema.index import CatalogIndex, index_of
from querybus_translator.schema.phrases import Node, NodeKind
from querybus_translator.translation import CONFIDENCE_MIN, NotRead, Translated, answer_from, read_question
from querybus_translator.writing.form import columns_of, describe

_ROLES = {
    NodeKind.OP: "phrase",
    NodeKind.NUMBER: "number",
    NodeKind.TEXT: "quoted",
    NodeKind.PERIOD: "time range",
    NodeKind.RECURRING: "recurring time",
    NodeKind.STOP: "function word",
    NodeKind.MARK: "mark",
    NodeKind.WORD: "not known",
}


@dataclass(frozen=True, slots=True)
class WordRead:
    """Words of the question that were read as one thing; `others` are further meanings, the likeliest first."""

    text: str
    role: str
    meaning: str
    score: float | None
    others: tuple[str, ...]
    accounted: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """All of a reading. Without a reading `form`, `sentence` and `sql` are empty and `asked` says what is asked back.

    `sql` stands there even where the confidence is too low to answer: `is_answered` says.
    """

    question: str
    words: tuple[WordRead, ...]
    form: str
    sentence: str
    sql: str
    confidence: float
    confidence_min: float
    is_answered: bool
    not_accounted: tuple[str, ...]
    others: tuple[tuple[str, float], ...]
    asked: str
    options: tuple[str, ...]
    notes: tuple[str, ...]


def explain(question: str, catalog: Catalog, *, language: Language | None = None, today: date) -> Explanation:
    """Return how a question was read, whether or not it can be answered."""
    spoken = language or detect_language(question)
    index = index_of(catalog)
    read = read_question(question, index, today)
    answer = answer_from(read, index, spoken)
    best = read.readings[0] if read.readings else None
    return Explanation(
        question=question,
        words=_words(read.nodes, best, index),
        form=describe(best.form, index) if best is not None else "",
        sentence=sentence(best.form, index, spoken) if best is not None else "",
        sql=best.written.sql if best is not None else "",
        confidence=best.confidence if best is not None else 0.0,
        confidence_min=CONFIDENCE_MIN,
        is_answered=isinstance(answer, Translated),
        not_accounted=best.judgement.unread if best is not None else (),
        others=tuple((describe(reading.form, index), reading.confidence) for reading in read.readings[1:]),
        asked=answer.about if isinstance(answer, NotRead) else "",
        options=answer.options if isinstance(answer, NotRead) else (),
        notes=answer.notes if isinstance(answer, Translated) else (),
    )


def _words(nodes: Sequence[Node], best: Reading | None, index: CatalogIndex) -> tuple[WordRead, ...]:
    used = columns_of(best.form) if best is not None else frozenset()
    readings: list[WordRead] = []
    for place, node in enumerate(nodes):
        pick = best.sketch.pick(place) if best is not None else None
        taken = best is not None and (best.sketch.taken[place] or best.sketch.column(place) in used)
        if pick is None and node.candidates:
            pick = node.candidates[0]
        if pick is not None:
            others = tuple(_meaning(candidate, index) for candidate in node.candidates if candidate is not pick)[:3]
            role = "value" if pick.value is not None else ("table" if pick.column is None else "column")
            readings.append(WordRead(node.text, role, _meaning(pick, index), round(pick.score, 3), others, taken))
        else:
            unread = best is not None and node.text in best.judgement.unread
            silent = node.kind in {NodeKind.STOP, NodeKind.MARK}
            accounted = silent or (best is not None and not unread and node.kind is not NodeKind.WORD)
            readings.append(WordRead(node.text, _ROLES[node.kind], _plain_meaning(node), None, (), accounted or taken))
    return tuple(readings)


def _meaning(pick: Candidate, index: CatalogIndex) -> str:
    table = index.title(pick.table)
    if pick.column is None:
        return table
    name = f"{table}.{index.column(pick.table, pick.column).name}"
    return name if pick.value is None else f"{name} = {pick.value!r}"


def _plain_meaning(node: Node) -> str:
    if node.period is not None:
        return f"{node.period.start.isoformat()} up to, without, {node.period.end.isoformat()}"
    if node.clock is not None or node.days:
        return node.clock or ", ".join(WEEKDAYS["en"][day] for day in node.days)
    if node.number is not None:
        return str(node.number)
    if node.op is not None:
        return node.op.name.lower().replace("_", " ")
    return ""
