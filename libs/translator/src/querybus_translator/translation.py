"""A question becomes SQL, or a precise statement of what could not be read: never a guess.

The pipeline: tokens -> nodes (phrases, links, literals) -> assignments of links -> sketch -> logical form -> SQL tree.
Pure and deterministic: the same question, catalog and today give the same answer. Every content word must be accounted
for; what is not lowers the confidence, and below CONFIDENCE_MIN nothing is translated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import islice
from typing import Final

from querybus.core.asking_back import Trigger
from querybus.core.catalog import Catalog, Language
from querybus.core.messages import Link
from querybus.text.labels import is_readable
from querybus.text.language import detect_language, grammar_faults
from querybus_translator.answers.clarify import choice_of
from querybus_translator.answers.confidence import calibrated
from querybus_translator.answers.follow import follow
from querybus_translator.answers.near import near_questions
from querybus_translator.answers.offered import says_nothing
from querybus_translator.answers.options import says_name, suggest, unreadable_names
from querybus_translator.failsafe import reads_or
from querybus_translator.language.courtesy import without_courtesy
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.sentence import sentence
from querybus_translator.readers.reading import Reading, read
from querybus_translator.resolve import Assignment
from querybus_translator.rewording.reworded import reworded
from querybus_translator.schema.index import CatalogIndex, index_of
from querybus_translator.schema.nodes import read_nodes
from querybus_translator.schema.phrases import Node, NodeKind
from querybus_translator.schema.roles import without_shadow_views
from querybus_translator.threads.carried import carried_parts
from querybus_translator.threads.complete import is_fragment, stands_by_itself
from querybus_translator.threads.follow_words import follow_up, refers_back
from querybus_translator.threads.narrow import narrowed
from querybus_translator.whose import with_own_keys
from querybus_translator.writing.form import Form, describe
from querybus_translator.writing.write import write

CONFIDENCE_MIN: Final = 0.72
LIKELY_MIN: Final = 0.25
"""From there on a reading of every word is offered, in words, where it is not sure enough to be answered with."""
OFFERED_MIN: Final = 0.03
"""From there on the best reading is offered although it leaves words out."""
NEAR_MAX: Final = 2
"""Of more ways to ask none stands out."""
QUESTION_LENGTH_MAX: Final = 2_000
DEFINITION_LENGTH_MAX: Final = 120
EARLIER_MAX: Final = 8


@dataclass(frozen=True, slots=True)
class Translated:
    """SQL in the catalog's dialect, how the question was read for engineers, and how sure that is (0..1)."""

    sql: str
    reading: str
    confidence: float
    links: tuple[Link, ...]
    notes: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """Words that the reading leaves out; only where its asker has seen that and wanted it."""
    unread: tuple[str, ...] = ()
    """Words that the reading passes over although it is sure."""
    in_words: str = ""
    """The reading in the words of its language, as it is offered to people."""
    in_whole_units: tuple[str, ...] = ()
    """Figures that were taken as whole units of money although the amounts are stored in cents."""
    carried: tuple[str, ...] = ()
    """The conditions that the last question set, by the ids that a reading gives them."""


@dataclass(frozen=True, slots=True)
class NotRead:
    """Why there is no SQL: `about` are the person's own words; each option is a question that can be asked as is.

    `read_as` is the one of them that the question was understood as, but for the words that are not known. `likely` says
    the best reading in words, where every word was read and only its sureness is missing; `best` says it where it leaves
    out `about` or what was said that way. `needs_model`: nothing of the question leads to a reading here; the options are
    examples of what can be asked.
    """

    trigger: Trigger
    about: str
    options: tuple[str, ...]
    read_as: str = ""
    likely: str = ""
    best: str = ""
    needs_model: bool = False


@dataclass(frozen=True, slots=True)
class QuestionRead:
    """A question cut into nodes, and its readings, best first; `command` are words that ask to change data."""

    question: str
    today: date
    nodes: tuple[Node, ...]
    readings: tuple[Reading, ...]
    command: str | None
    notes: tuple[str, ...]


def _nothing_read() -> Translated | NotRead:
    return NotRead(Trigger.AMBIGUOUS_QUESTION, "", ())


def _no_sql() -> str | None:
    return None


@reads_or(_nothing_read)
def translate(
    question: str,
    catalog: Catalog,
    *,
    language: Language | None = None,
    today: date,
    accepted: bool = False,
    asks_back: bool = True,
) -> Translated | NotRead:
    """Return the SQL for a question about a catalog, or what of the question could not be read.

    `accepted` says that its asker has seen the likely reading and wants it. Without `asks_back` what could not be read comes
    without a word of what may be meant: to look for that takes several times as long as to read.
    """
    spoken = language or detect_language(question)
    return _over_tables(catalog, lambda seen: _translate(question, seen, spoken, today, accepted, asks_back))


def _over_tables(catalog: Catalog, read: Callable[[Catalog], Translated | NotRead]) -> Translated | NotRead:
    """Read without the views that only repeat a table; with them where that leaves something unread."""
    plain = without_shadow_views(catalog)
    first = read(plain)
    if plain is catalog or (isinstance(first, Translated) and not first.unread):
        return first
    second = read(catalog)
    return second if isinstance(second, Translated) and (isinstance(first, NotRead) or not second.unread) else first


def _translate(
    question: str, catalog: Catalog, language: Language, today: date, accepted: bool, asks_back: bool
) -> Translated | NotRead:
    index = index_of(catalog)
    read = read_question(question, index, today)
    offered = _likely(read) or _best(read) if accepted and read.command is None else None
    if offered is not None:
        return _translated(replace(read, readings=(offered,)), index, language)
    return answer_from(read, index, language, asks_back=asks_back)


@reads_or(_no_sql)
def likely_sql(question: str, catalog: Catalog, *, today: date) -> str | None:
    """Return the SQL of the best reading, however unsure: by its shape alike statements are found. Never run."""
    readings = read_question(question, index_of(catalog), today).readings
    return readings[0].written.sql if readings else None


@reads_or(_nothing_read)
def translate_in_thread(
    question: str,
    earlier: Sequence[str],
    catalog: Catalog,
    *,
    language: Language | None = None,
    today: date,
    asks_back: bool = True,
) -> Translated | NotRead:
    """Return the SQL for a question of a thread; `earlier` are the thread's questions before it, oldest first.

    A follow-up changes what was read last. The earlier questions are read again, at most EARLIER_MAX of them. Without
    `asks_back` what could not be read comes without a word of what may be meant.
    """
    spoken = language or detect_language(question)
    return _over_tables(catalog, lambda seen: _translate_in_thread(question, earlier, seen, spoken, today, asks_back))


def _translate_in_thread(
    question: str, earlier: Sequence[str], catalog: Catalog, spoken: Language, today: date, asks_back: bool
) -> Translated | NotRead:
    index = index_of(catalog)
    read = read_question(question, index, today)
    alone = answer_from(read, index, spoken, asks_back=asks_back)
    if not earlier or read.command is not None or (isinstance(alone, Translated) and not _follows(question, read)):
        return alone
    if stands_by_itself(question, read.nodes, earlier[-1], index, today):
        # It inherits nothing, even where it cannot be read.
        said = follow_up(question)
        if not said.is_marked:
            return alone
        return answer_from(read_question(said.text, index, today), index, spoken, asks_back=asks_back)
    previous = last_form(earlier, index, today)
    followed = follow(previous, question, index, today) if previous is not None else None
    if (followed is None or not is_sure(followed)) and refers_back(follow_up(question).text):
        # What refers back is never answered as if it stood alone.
        own = read.readings[0] if previous is not None and read.readings else None
        followed = narrowed(previous, question, own, index) if previous is not None and own is not None else None
        if followed is None or not is_sure(followed):
            return NotRead(Trigger.AMBIGUOUS_QUESTION, question.strip(" ?？。.!"), ())
    if followed is None or not is_sure(followed):
        # "As a percentage" is no question about whatever column is called so.
        is_left = isinstance(alone, Translated) and not _stands_alone(read) and read.readings[0].form.is_plain
        if is_left and not asks_back:
            return NotRead(Trigger.AMBIGUOUS_QUESTION, "", ())
        return _not_read(read, index, spoken, read.readings[0]) if is_left else alone
    changed = QuestionRead(question, today, tuple(followed.sketch.nodes), (followed,), None, ())
    translated, before = _translated(changed, index, spoken), write(previous, index) if previous is not None else None
    return replace(translated, carried=carried_parts(before.sql, translated.sql, catalog) if before is not None else ())


def _follows(question: str, read: QuestionRead) -> bool:
    """Whether a question speaks of what was read before: by its first words, or as it asks for nothing and names no table."""
    first = next((node for node in read.nodes if node.kind is not NodeKind.STOP), None)
    if follow_up(question).is_marked or is_fragment(question) or (first is not None and first.op in (Op.EACH, Op.BY)):
        return True
    return not _stands_alone(read)


def _stands_alone(read: QuestionRead) -> bool:
    """Whether a question asks for something, or names a table."""
    asks = any(node.op in _ASKING for node in read.nodes)
    return asks or any(
        read.readings[0].sketch.table(place) is not None for place in range(len(read.nodes)) if read.readings
    )


# "Total amount" alone is of what was spoken of; "what is the total amount?" asks anew.
_ASKING: Final = frozenset({Op.SHOW, Op.COUNT, Op.COUNT_KINDS, Op.DETAILS, Op.ADJECTIVE_ASK})


def last_form(earlier: Sequence[str], index: CatalogIndex, today: date) -> Form | None:
    """Return the form that a thread's questions lead to; None where the last of them could not be read."""
    form: Form | None = None
    previous = ""
    for question in earlier[-EARLIER_MAX:]:
        read = read_question(question, index, today)
        alone = read.readings[0] if read.readings and is_sure(read.readings[0]) else None
        changed = None
        is_whole = form is None or stands_by_itself(question, read.nodes, previous, index, today)
        if form is not None and not is_whole and (alone is None or _follows(question, read)):
            changed = follow(form, question, index, today)
            if (changed is None or not is_sure(changed)) and refers_back(follow_up(question).text):
                changed, alone = narrowed(form, question, read.readings[0], index) if read.readings else None, None
        previous = question
        best = changed if changed is not None and is_sure(changed) else alone
        # A question that was asked about changed nothing.
        form = best.form if best is not None else form
    return form


def read_question(question: str, index: CatalogIndex, today: date) -> QuestionRead:
    """Return a question's nodes and readings; none where it is empty, too long or a command."""
    if not question.strip() or len(question) > QUESTION_LENGTH_MAX or not index.catalog.tables:
        return QuestionRead(question, today, (), (), None, ())
    defined, notes = _with_definitions(reworded(without_courtesy(question), index), index, today)
    nodes = with_own_keys(read_nodes(defined, index, today), index)
    command = _command(nodes)
    return QuestionRead(
        question, today, nodes, () if command is not None else read(nodes, index, today), command, notes
    )


def answer_from(
    read: QuestionRead, index: CatalogIndex, language: Language, *, asks_back: bool = True
) -> Translated | NotRead:
    """Return the best reading's SQL if it is sure enough, else what has to be asked back."""
    if not read.nodes:
        return NotRead(Trigger.AMBIGUOUS_QUESTION, read.question.strip()[:80], ())
    if read.command is not None:
        return NotRead(Trigger.AMBIGUOUS_QUESTION, read.command, suggest(index, (), language))
    best = read.readings[0] if read.readings else None
    if best is None or not is_sure(best):
        if not asks_back:
            return NotRead(Trigger.AMBIGUOUS_QUESTION, "", ())
        return _choice(read, index, language) or _not_read(read, index, language, best)
    return _translated(read, index, language)


def _translated(read: QuestionRead, index: CatalogIndex, language: Language) -> Translated:
    best = read.readings[0]
    return Translated(
        sql=best.written.sql,
        reading=describe(best.form, index),
        confidence=calibrated(best.confidence),
        links=_links(read.nodes, best.sketch.assignment, index),
        notes=(*read.notes, *best.sketch.notes),
        left_out=() if is_sure(best) else best.judgement.unread,
        unread=best.judgement.unread if is_sure(best) else (),
        in_words=sentence(best.form, index, language),
        in_whole_units=tuple(dict.fromkeys(best.sketch.in_whole_units)),
    )


def _with_definitions(question: str, index: CatalogIndex, today: date) -> tuple[str, tuple[str, ...]]:
    """Return the question with the glossary's terms replaced by what they mean, and what was replaced.

    Only a meaning whose every word can be read stands in for its term: prose explains it to people, and its words would
    be asked about in place of the person's own.
    """
    notes: list[str] = []
    for term, meaning in sorted(index.catalog.glossary.items(), key=lambda item: -len(item[0])):
        place = question.lower().find(term.lower())
        if place < 0 or len(meaning) > DEFINITION_LENGTH_MAX or index.knows(term):
            continue
        if any(node.kind is NodeKind.WORD for node in read_nodes(meaning, index, today)):
            continue
        question = question[:place] + meaning + question[place + len(term) :]
        notes.append(f"{term}: {meaning}")
    return question, tuple(notes)


def _command(nodes: tuple[Node, ...]) -> str | None:
    """Return the words of a command to change data, or None."""
    for place, node in enumerate(nodes):
        if node.op is Op.WRITE:
            following = nodes[place + 1].text if place + 1 < len(nodes) else ""
            if following not in {"的", "时间", "日期"}:
                return node.text
    return None


def is_sure(best: Reading) -> bool:
    """Return whether a reading may be answered with: sure enough, and nothing of it open."""
    return best.confidence >= CONFIDENCE_MIN and not best.is_open


def is_likely(best: Reading) -> bool:
    """Return whether a reading takes every word, and may be offered."""
    return best.confidence >= LIKELY_MIN and not best.judgement.unread and not best.judgement.undefined


def _likely(read: QuestionRead) -> Reading | None:
    """Return the reading that may be offered: the best one, or the next that takes every word where that leaves some."""
    return next((reading for reading in read.readings if is_likely(reading)), None)


def _best(read: QuestionRead) -> Reading | None:
    """Return the best reading where it may be offered at all, whatever it leaves out."""
    return next((reading for reading in read.readings[:1] if reading.confidence >= OFFERED_MIN), None)


def _choice(read: QuestionRead, index: CatalogIndex, language: Language) -> NotRead | None:
    """Ask which of several meanings is meant, where nothing else is open."""
    if not read.readings or read.readings[0].judgement.unread:
        return None
    again = partial(_offered_reading, asked=read.question, index=index, today=read.today)
    choice = choice_of(read.question, read.readings, index, language, again)
    return None if choice is None else NotRead(Trigger.AMBIGUOUS_QUESTION, choice.about, choice.options)


def _sure_reading(question: str, *, index: CatalogIndex, today: date) -> Reading | None:
    result = read_question(question, index, today).readings
    return result[0] if result and is_sure(result[0]) else None


def _offered_reading(question: str, *, asked: str, index: CatalogIndex, today: date) -> Reading | None:
    """Return the reading of a question that may be offered: sure, sound where the asked one is, not void, of tables with rows."""
    if not grammar_faults(question) <= grammar_faults(asked):
        return None
    found = _sure_reading(question, index=index, today=today)
    if found is None or says_nothing(found.written.sql, index.catalog):
        return None
    return None if any(index.table(table).row_estimate == 0 for table in found.sketch.mentioned_tables()) else found


def _not_read(read: QuestionRead, index: CatalogIndex, language: Language, best: Reading | None) -> NotRead:
    nodes = read.nodes
    unread = (
        best.judgement.unread
        if best is not None
        else tuple(node.text for node in nodes if node.kind in {NodeKind.WORD, NodeKind.TEXT})
    )
    tables = best.sketch.mentioned_tables() if best is not None else ()
    again = partial(_offered_reading, asked=read.question, index=index, today=read.today)
    read_as, near = near_questions(without_courtesy(read.question), nodes, best, index, again)
    likely = _likely(read)
    linked = any(node.candidates for node in nodes) or likely is not None
    # What is near may be what was meant, and so may a table whose name says nothing: then nothing is said to be missing.
    is_unclear = linked or near or not all(map(is_readable, index.catalog.tables))
    trigger = Trigger.AMBIGUOUS_QUESTION if is_unclear else Trigger.MISSING_DATABASE_INFO
    # A single Chinese sign is a part of a word, unless the question is whole without it: nobody asks about such a part.
    quoted = [text for text in dict.fromkeys(unread) if len(text) > 1 or read_as or text.lower() in lexicon().vague]
    # Only the person's own words: others stand for them.
    quoted = [text for text in quoted if text.lower() in read.question.lower()]
    if likely is not None and likely is not best:
        # A reading of every word is offered instead of asking about those that the nearest one leaves.
        quoted, read_as = [], ""
    about = (", " if language == "en" else "、").join(quoted)
    raw = unreadable_names(index.catalog)
    near = tuple(option for option in near if not says_name(option, raw, read.question))[:NEAR_MAX]
    read_as = read_as if read_as in near else ""
    left = None if likely is not None or read_as else _best(read)
    said, best_said = (
        "" if one is None or says_name(text := sentence(one.form, index, language), raw, read.question) else text
        for one in (likely, left)
    )
    if near or said or best_said:
        return NotRead(trigger, about, near, read_as, said, best_said)
    others = (item for item in suggest(index, tuple(tables), language) if not says_name(item, raw, read.question))
    examples = islice((item for item in others if again(item) is not None), NEAR_MAX)
    return NotRead(trigger, about, tuple(examples), needs_model=True)


def _links(nodes: tuple[Node, ...], assignment: Assignment, index: CatalogIndex) -> tuple[Link, ...]:
    links: list[Link] = []
    for place, pick in sorted(assignment.picks.items()):
        table = index.table(pick.table)
        links.append(
            Link(
                text=nodes[place].text,
                table=table.name,
                column=table.columns[pick.column].name if pick.column is not None else None,
                value=pick.value,
                score=round(min(1.0, pick.score), 3),
            )
        )
    return tuple(links)
