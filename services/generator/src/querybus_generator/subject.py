"""What one question carries through generation, and the envelopes that it can end in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from querybus.core.asking_back import Clarification, Option, OptionAction, Trigger
from querybus.core.catalog import Catalog, Language, Table
from querybus.core.envelope import Classification, Envelope, concluded, drafted
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import (
    Analysis,
    Asked,
    Concluded,
    Draft,
    Drafted,
    Operation,
    Outcome,
    Returned,
)
from querybus.core.policy import Connection
from querybus.core.stored.models import USUAL_PROMPTING, Prompting
from querybus.core.subjects import StageName
from querybus.text.knowledge import Entry
from querybus.text.labels import table_label
from querybus.text.tokens import token_estimate
from querybus.text.words import plural, word_set, words_of
from querybus_generator.conversation.turns import Turn
from querybus_generator.linking.linker import Prepared
from querybus_generator.linking.near import Near
from querybus_generator.linking.routing import Candidate
from querybus_generator.ports import ChatModel, Meaning, Progress
from querybus_generator.prompts.template import fill
from querybus_generator.prompts.texts import Texts
from querybus_generator.steps.classify import SMALL_TALK, classify
from querybus_translator import NotRead, Translated, likely_sql, translate

OPTIONS_MAX: Final = 2

SUBJECTS_SHOWN_MAX: Final = 8


EXAMPLES_SHOWN_MAX: Final = 3
EXAMPLES_TRIED_MAX: Final = 8


EXAMPLES_SENT_MAX: Final = 4
"""Verified pairs in a prompt."""


TURNS_OFFERED_MAX: Final = 3


NAMING: Final = ("name", "value")
"""Why a word of the question shows that it is about the data; a column's word may stand in any sentence."""


GIVEN: Final = (Operation.RUN, Operation.VALIDATE, Operation.EXPLAIN)


Drafting = Envelope[Asked] | Envelope[Returned]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a query is about: everything that was read for it, once."""

    envelope: Drafting
    connection: Connection
    prepared: Prepared
    texts: Texts
    model: ChatModel | None
    timeout_seconds: float
    definitions: Mapping[str, str]
    notes: tuple[str, ...] = ()
    progress: Progress | None = None
    with_hints: bool = False
    meaning: Meaning | None = None
    turns: tuple[Turn, ...] = ()
    is_complete: bool = False
    """Whether the question takes nothing over from its turns."""
    prompting: Prompting = USUAL_PROMPTING
    change: str | None = None
    """The kind of change (DELETE, ...) that the wording asks for and the connection does not take: the model decides."""
    hints: tuple[str, ...] = ()
    """What the rules say of the question's wording, for the model; none of them is certain."""
    choices: tuple[Connection, ...] = ()
    """The connections that the question may be about, where its words do not decide."""
    fits: bool = True
    """Whether any connection seems to be about the question."""
    asked_of: str = ""
    """What people call the connection, where it was chosen among several."""
    sources: tuple[Candidate, ...] = ()
    """All connections that the question could have gone to."""
    model_failure: Failure | None = None
    """Why the model gave no statement, where the translator stands in for it."""

    @property
    def catalog(self) -> Catalog:
        return self.prepared.catalog

    @property
    def question(self) -> str:
        return self.envelope.enriched_question or self.envelope.question

    @property
    def prompt_turns(self) -> tuple[Turn, ...]:
        """The turns that a model reads: none for a complete question, since a model carries over what stands in its prompt."""
        return () if self.is_complete and self.envelope.enriched_question is None else self.turns

    @property
    def readable(self) -> str:
        """The question without what surrounds it: the first line of an enriched one is a question by itself."""
        enriched = self.envelope.enriched_question
        return self.envelope.question if enriched is None else enriched.partition("\n")[0]

    @property
    def today(self) -> dt.date:
        return self.day_of(self.envelope)

    def day_of(self, envelope: Envelope[Any]) -> dt.date:
        """Return the day that a query of this connection is asked on."""
        # Of asking, not of this delivery: a redelivery must read the question alike.
        asked = dt.datetime.fromtimestamp(envelope.asked_at / 1_000, tz=dt.UTC)
        return envelope.options.today or self.catalog.today or asked.date()


def verified_examples(subject: Subject, near: Near) -> tuple[Entry, ...]:
    """Return the verified pairs that a model is shown; in a thread of its own, because statements are parsed."""
    prepared = subject.prepared
    likely = likely_sql(subject.readable, prepared.catalog, today=subject.today)
    return prepared.examples.choose(
        subject.question, likely, EXAMPLES_SENT_MAX, is_usable=prepared.is_usable, nearness=near.entries
    )


def with_half_schema(subject: Subject, tables: Sequence[Table]) -> Subject:
    """Return the subject whose prompts show about half as much schema as these tables take."""
    shown = token_estimate(subject.prepared.schema(tables, with_values=True))
    return replace(subject, prompting=subject.prompting.model_copy(update={"schema_tokens_max": shown // 2}))


def with_header(subject: Subject, **header: Any) -> Subject:
    """Return the subject with header fields of its envelope replaced."""
    envelope = subject.envelope
    return replace(subject, envelope=cast("Drafting", envelope.with_body(envelope.body, **header)))


def which_turn(subject: Subject, turns: tuple[Turn, ...]) -> Envelope[Concluded]:
    """Ask which earlier question is meant: those that share a word with the new one, else the newest."""
    asked = bare_words(subject.envelope.question)
    newest = list(reversed(turns))
    newest.sort(key=lambda turn: -len(asked & bare_words(turn.standing)))
    questions = tuple(dict.fromkeys(turn.standing for turn in newest))[:TURNS_OFFERED_MAX]
    return clarification(subject, Trigger.AMBIGUOUS_QUESTION, subject.envelope.question, questions)


def bare_words(text: str) -> frozenset[str]:
    return frozenset(word for word in words_of(text) if len(word) > 1 and word not in _JOINING)


_JOINING: Final = word_set(
    """
    the of in on to for and or is are was were with about back question query result earlier asked that this you
    me my all how many what which show list only just again 问题 之前 那个 回到 关于 多少 哪些 一共 只看
    """
)


def write_refused(subject: Subject, kind: str) -> Envelope[Concluded]:
    return concluded(
        subject.envelope,
        Concluded(
            outcome=Outcome.REFUSED,
            code=FailureCode.SAFETY,
            detail="the question asks to change data",
            stage=StageName.GENERATOR,
            refused_kind=kind,
        ),
    )


def is_only_verified(subject: Subject) -> bool:
    """Return whether the question may be answered by a verified statement or definitions alone."""
    envelope = subject.envelope
    return envelope.options.only_verified or subject.connection.policy.of(envelope.tenant).only_verified


def not_verified(subject: Subject) -> Envelope[Concluded]:
    """Refuse a question that nobody has verified and that no definition answers."""
    body = Concluded(
        outcome=Outcome.REFUSED,
        code=FailureCode.NOT_VERIFIED,
        detail="no verified question and no definition answers this",
        stage=StageName.GENERATOR,
    )
    return concluded(subject.envelope, body)


def concluded_reply(subject: Subject, reply: str, analysis: Analysis) -> Envelope[Concluded]:
    body = Concluded(outcome=Outcome.REPLIED, stage=StageName.GENERATOR, reply=reply, analysis=analysis)
    return concluded(subject.envelope, body)


def not_read(subject: Subject, reading: NotRead) -> Envelope[Concluded]:
    """Ask back about a question; its best reading is the first option, to be taken by asking it again."""
    said = reading.best or ("" if reading.about else reading.likely)
    if not said:
        has_no_model = subject.model is None and subject.model_failure is None
        # Without an example the words of the answer say what can be asked.
        is_beyond = reading.needs_model and has_no_model and bool(reading.options)
        reply = fill(subject.texts.needs_model, {"words": reading.about}) if is_beyond else None
        return clarification(
            subject, reading.trigger, reading.about, reading.options, reply=reply, read_as=reading.read_as
        )
    plain, about = said.rstrip(".。"), reading.about if reading.best else ""
    text = fill(subject.texts.without, {"reading": plain, "words": about}) if about else said
    others = (Option(id="", text=item, question=item, action=OptionAction.CHOOSE_SOURCE) for item in reading.options)
    first = Option(id="", text=text, question=subject.envelope.question, action=OptionAction.CHOOSE_SOURCE)
    options = tuple(
        option.model_copy(update={"id": str(number)})
        for number, option in enumerate((first, *others), 1)
        if number <= OPTIONS_MAX
    )
    reply = None if about else fill(subject.texts.likely, {"reading": plain})
    return clarification(subject, reading.trigger, about, (), reply=reply, options=options)


def other_language(subject: Subject) -> Envelope[Concluded]:
    return clarification(subject, Trigger.AMBIGUOUS_QUESTION, "", (), reply=subject.texts.other_language)


def clarification(
    subject: Subject,
    trigger: Trigger,
    about: str,
    questions: tuple[str, ...],
    *,
    reply: str | None = None,
    read_as: str = "",
    options: tuple[Option, ...] = (),
) -> Envelope[Concluded]:
    """Ask back; every option is a question that can be asked as it stands, made of `questions` where none are given."""
    codes = {Trigger.MISSING_DATABASE_INFO: FailureCode.MISSING_DATABASE_INFO}
    options = options or tuple(
        Option(id=str(number), text=text, question=text, action=OptionAction.CHOOSE_SOURCE)
        for number, text in enumerate(questions or example_questions(subject), 1)
    )
    return concluded(
        subject.envelope,
        Concluded(
            outcome=Outcome.CLARIFICATION,
            code=codes.get(trigger, FailureCode.AMBIGUOUS_QUESTION),
            stage=StageName.GENERATOR,
            reply=reply,
            analysis=subject.model_failure.on(Analysis()) if subject.model_failure else Analysis(),
            notes=subject.notes,
            clarification=Clarification(trigger=trigger, about=about, read_as=read_as, options=options),
        ),
    )


def drafted_envelope(
    subject: Subject,
    draft: Draft,
    analysis: Analysis,
    notes: tuple[str, ...] = (),
    *,
    alternative_sql: str | None = None,
    probe: bool = False,
) -> Envelope[Drafted]:
    operation = subject.envelope.body.operation
    notes = (*subject.notes, *notes)
    if subject.asked_of:
        analysis = analysis.model_copy(update={"asked_of": subject.asked_of})
    body = Drafted(
        draft=draft,
        operation=operation,
        analysis=subject.model_failure.on(analysis) if subject.model_failure else analysis,
        notes=notes,
        alternative_sql=alternative_sql,
        probe=probe,
    )
    return drafted(subject.envelope, body)


def settled_classification(
    envelope: Drafting, *, goes_on: bool = False, prepared: Prepared | None = None
) -> Classification | None:
    """Return the classification that the envelope has or the rules give; None where they do not settle it."""
    if envelope.classification is not None:
        return envelope.classification
    operation = envelope.body.operation
    if operation in GIVEN or isinstance(envelope.body, Returned):
        return Classification(kind="database", confidence=1.0, reason=f"operation {operation.value}", method="forced")
    result = classify(envelope.question, envelope.options.mode, goes_on=goes_on)
    if prepared is not None and (result is None or result.reason == SMALL_TALK):
        # The catalog is asked only where words alone do not settle it.
        links = prepared.index.link(envelope.question).links
        names = len({link.text for link in links if link.reason in NAMING})
        result = classify(envelope.question, envelope.options.mode, goes_on=goes_on, names_found=names)
    return result


def table_subjects(subject: Subject, catalog: Catalog | None = None) -> tuple[str, ...]:
    """Return what can be asked about, widest tables first: display names, and for analysts table names as well."""
    return tuple(name for name, _ in _named_tables(subject, catalog or subject.catalog))[:SUBJECTS_SHOWN_MAX]


def _named_tables(subject: Subject, catalog: Catalog) -> list[tuple[str, Table]]:
    envelope = subject.envelope
    named: dict[str, Table] = {}
    for table in sorted(catalog.tables, key=lambda table: -len(table.columns)):
        is_analyst = envelope.audience == "analyst"
        label = table.name if is_analyst else table_label(table, envelope.language, catalog)
        name = table.display_names.get(envelope.language) or label
        if name:
            named.setdefault(name, table)
    return list(named.items())


def example_questions(subject: Subject, catalog: Catalog | None = None, count: int = EXAMPLES_SHOWN_MAX) -> list[str]:
    """Return questions about tables that have rows; each was read by the translator."""
    catalog = catalog or subject.catalog
    language, is_analyst = subject.envelope.language, subject.envelope.audience == "analyst"
    questions: list[str] = []
    for name, table in _named_tables(subject, catalog)[:EXAMPLES_TRIED_MAX]:
        called = plural(name) if language == "en" and not is_analyst else name
        question = fill(subject.texts.example, {"subject": called})
        if len(questions) >= count:
            break
        if table.row_estimate == 0:
            continue
        read = translate(question, catalog, language=language, today=subject.today, asks_back=False)
        if isinstance(read, Translated):
            questions.append(question)
    return questions


def subject_list(subjects: tuple[str, ...], language: Language) -> str:
    return ("、" if language == "zh" else ", ").join(subjects)
