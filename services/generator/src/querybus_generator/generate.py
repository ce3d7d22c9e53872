"""asked | returned -> drafted | concluded: one SQL text for a question, or a plain word why there is none.

At most one model call per event. A person's own SQL passes as it is; an instruction to change data is refused before
anything reads it; the built-in translator answers where no model is configured or none can be reached, and says so
when it cannot read a question: nothing is guessed.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from querybus.core.catalog import Catalog, Language, Table
from querybus.core.delivery import Delivery
from querybus.core.dialogue import ChatMessage, ModelReply
from querybus.core.envelope import Attempt, Classification, Envelope, concluded, drafted, failed
from querybus.core.extract import extract
from querybus.core.failure import Failure, FailureCode
from querybus.core.linking import Linking
from querybus.core.messages import (
    Advice,
    Analysis,
    Asked,
    Clarification,
    Concluded,
    Draft,
    Drafted,
    Failed,
    Operation,
    Option,
    OptionAction,
    Origin,
    Outcome,
    Returned,
    Trigger,
)
from querybus.core.options import Mode
from querybus.core.policy import Connection
from querybus.core.prompts.question import Turn, render_question
from querybus.core.prompts.template import fill
from querybus.core.sql.render import normalise
from querybus.core.subjects import StageName
from querybus_generator.classify import chat_topic, classify
from querybus_generator.intent import write_intent
from querybus_generator.linker import Linker, Prepared
from querybus_generator.ports import Catalogs, ChatModel, Connections, History
from querybus_generator.texts import Texts
from querybus_generator.tongue import is_third_language
from querybus_generator.translator import NotRead, Translated, translate

BUILTIN: Final = "builtin"
MODEL_SECONDS_MIN: Final = 0.2
DEADLINE_RESERVE_SHARE: Final = 0.1
DEADLINE_RESERVE_SECONDS_MAX: Final = 3.0
SUBJECTS_SHOWN_MAX: Final = 8
EXAMPLES_SHOWN_MAX: Final = 3
REPLY_LENGTH_MAX: Final = 4_000

_GIVEN: Final = (Operation.RUN, Operation.VALIDATE, Operation.EXPLAIN)

Drafting = Envelope[Asked] | Envelope[Returned]
Outgoing = Envelope[Drafted] | Envelope[Concluded]


@dataclass(frozen=True, slots=True)
class _Subject:
    """What a query is about: everything that was read for it, once."""

    envelope: Drafting
    connection: Connection
    prepared: Prepared
    texts: Texts
    model: ChatModel | None
    timeout_seconds: float

    @property
    def catalog(self) -> Catalog:
        return self.prepared.catalog

    @property
    def question(self) -> str:
        return self.envelope.enriched_question or self.envelope.question

    @property
    def readable(self) -> str:
        """The question without what surrounds it: the first line of an enriched one is a question by itself."""
        enriched = self.envelope.enriched_question
        return self.envelope.question if enriched is None else enriched.partition("\n")[0]

    @property
    def today(self) -> dt.date:
        # The day of asking, not of this delivery: a redelivery must read the question alike.
        asked = dt.datetime.fromtimestamp(self.envelope.asked_at / 1_000, tz=dt.UTC)
        return self.envelope.options.today or asked.date()


async def generate(
    envelope: Drafting,
    delivery: Delivery,
    *,
    catalogs: Catalogs,
    connections: Connections,
    model: ChatModel | None,
    history: History,
    linker: Linker,
    texts: Mapping[Language, Texts],
) -> Outgoing | Failure:
    """Return the draft, the conclusion, or the Failure that recovery shall see.

    Failures: `connection` without a catalog, `model_unavailable`, `same_sql` where nothing new can come,
    `multi_statement` and the generation codes of a reply without SQL.
    """
    envelope = _classified(envelope)
    known = await catalogs.read(envelope.connection)
    connection = await connections.get(envelope.connection)
    if known is None or connection is None:
        return Failure.of(FailureCode.CONNECTION, "nothing is known of this connection: its catalog was not read yet")
    subject = _Subject(
        envelope=envelope,
        connection=connection,
        prepared=await linker.prepare(known, connection.policy),
        texts=texts[envelope.language],
        model=None if envelope.options.model == BUILTIN else model,
        timeout_seconds=_timeout_seconds(envelope, delivery),
    )
    if isinstance(envelope.body, Returned):
        return await _again(subject, envelope.body, history)
    return await _first(subject, envelope.body, history)


def generation_failed(envelope: Envelope[Asked] | Envelope[Returned], failure: Failure) -> Envelope[Failed]:
    """Return the `failed` event with the classification on it, which a failure never changes: for `stage()`."""
    return failed(_classified(envelope), failure, StageName.GENERATOR)


async def _first(subject: _Subject, body: Asked, history: History) -> Outgoing | Failure:
    if body.operation in _GIVEN or body.sql is not None:
        return _given(subject, body)
    envelope = subject.envelope
    kind = envelope.classification.kind if envelope.classification is not None else "database"
    refused = write_intent(envelope.question) if envelope.options.mode is not Mode.CHAT else None
    if refused is not None:
        return _refused(subject, refused)
    if kind == "chat":
        return await _chat(subject)
    if subject.model is None:
        return await _builtin(subject)
    turns = await history.turns(envelope)
    if body.clarifies is None:
        return await _model(subject, turns=turns, attempts=())
    tried = await history.attempts(envelope, body.clarifies.query_id)
    last = next((each for each in reversed(tried) if each.code), None)
    advice = Advice(
        code=last.code if last is not None and last.code is not None else FailureCode.AMBIGUOUS_QUESTION,
        detail=last.detail if last is not None else "",
        guidance=subject.texts.chosen(body.clarifies.action),
    )
    return await _model(subject, turns=turns, attempts=tried, advice=advice)


async def _again(subject: _Subject, body: Returned, history: History) -> Outgoing | Failure:
    if subject.model is None:
        return Failure.of(FailureCode.SAME_SQL, "without a model nothing new can come of the same question")
    return await _model(
        subject,
        turns=await history.turns(subject.envelope),
        attempts=subject.envelope.attempts,
        advice=body.advice,
    )


def _given(subject: _Subject, body: Asked) -> Outgoing | Failure:
    if body.sql is None:
        return Failure.of(FailureCode.AMBIGUOUS_QUESTION, f"{body.operation.value} without a statement")
    draft = Draft(sql=body.sql, dialect=subject.catalog.dialect, origin=Origin.USER)
    return _drafted(subject, draft, Analysis(catalog_fingerprint=subject.catalog.fingerprint))


def _refused(subject: _Subject, kind: str) -> Envelope[Concluded]:
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


async def _chat(subject: _Subject) -> Envelope[Concluded]:
    """Reply by the model, or from the texts: what can be asked, in words that the audience may read."""
    envelope = subject.envelope
    topic = chat_topic(envelope.question) or "abilities"
    subjects = _subjects(subject)
    reply = fill(
        subject.texts.topic(topic),
        {"subjects": _listed(subjects, envelope.language), "examples": "\n".join(_examples(subject, subjects))},
    ).strip()
    analysis = Analysis()
    # "What can I ask?" has one right answer, and the catalog knows it.
    if subject.model is not None and (topic != "abilities" or chat_topic(envelope.question) is None):
        said = await _chat_reply(subject, subjects)
        if said is not None:
            reply = said.text.strip()[:REPLY_LENGTH_MAX]
            analysis = Analysis(model=said.model, tokens_in=said.tokens_in, tokens_out=said.tokens_out)
    return concluded(
        envelope,
        Concluded(outcome=Outcome.REPLIED, stage=StageName.GENERATOR, reply=reply, analysis=analysis),
    )


async def _chat_reply(subject: _Subject, subjects: tuple[str, ...]) -> ModelReply | None:
    assert subject.model is not None  # noqa: S101 - the caller has looked
    listed = _listed(subjects, subject.envelope.language)
    system = fill(subject.texts.chat, {"subjects": listed, "examples": ""}).strip()
    said = await subject.model.reply(
        [ChatMessage("system", system), ChatMessage("user", subject.envelope.question)],
        timeout_seconds=subject.timeout_seconds,
        model=subject.envelope.options.model,
    )
    return said if isinstance(said, ModelReply) and said.text.strip() else None


async def _model(
    subject: _Subject,
    *,
    turns: tuple[Turn, ...],
    attempts: tuple[Attempt, ...],
    advice: Advice | None = None,
) -> Outgoing | Failure:
    assert subject.model is not None  # noqa: S101 - the callers have looked
    envelope, catalog = subject.envelope, subject.catalog
    asked = "\n".join((subject.question, *(turn.question for turn in turns[-3:])))
    linking = subject.prepared.index.link(asked)
    prompt = render_question(
        subject.texts.prompt,
        catalog=catalog,
        tables=_with_tried(linking, subject.prepared.index.shown(linking, asked), catalog, attempts),
        question=subject.question,
        today=subject.today,
        with_values=envelope.options.allow_llm_to_see_data and subject.connection.policy.allow_llm_to_see_data,
        turns=turns,
        advice=advice,
        attempts=attempts,
    )
    if subject.timeout_seconds < MODEL_SECONDS_MIN:
        return Failure.of(FailureCode.EXPIRED, "no time is left for a model call")
    reply = await subject.model.reply(prompt, timeout_seconds=subject.timeout_seconds, model=envelope.options.model)
    if isinstance(reply, Failure):
        return await _builtin(subject, instead_of=reply)
    sql = extract(reply.text, catalog.dialect, is_cut=reply.is_cut)
    if isinstance(sql, Failure):
        return sql
    if _is_known(sql, catalog, envelope.attempts):
        return Failure.of(FailureCode.SAME_SQL, "the model repeated a statement that had failed")
    analysis = Analysis(
        links=linking.links,
        tables=tuple(table.name for table in linking.tables),
        catalog_fingerprint=catalog.fingerprint,
        model=reply.model,
        prompt_version=subject.texts.prompt.version,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
    )
    return _drafted(subject, Draft(sql=sql, dialect=catalog.dialect, origin=Origin.MODEL), analysis)


async def _builtin(subject: _Subject, *, instead_of: Failure | None = None) -> Outgoing | Failure:
    """Draft by the built-in translator; `instead_of` is the failure of the model that it stands in for."""
    envelope, catalog = subject.envelope, subject.catalog
    if is_third_language(subject.readable):
        return instead_of or _other_language(subject)
    reading = await asyncio.to_thread(
        translate, subject.readable, catalog, language=envelope.language, today=subject.today
    )
    if isinstance(reading, NotRead):
        return instead_of or _not_read(subject, reading)
    if _is_known(reading.sql, catalog, envelope.attempts):
        return instead_of or Failure.of(FailureCode.SAME_SQL, "the translator reads the question as it did before")
    notes = (*reading.notes, *([subject.texts.note_fallback] if instead_of else ()))
    return _drafted(
        subject, Draft(sql=reading.sql, dialect=catalog.dialect, origin=Origin.BUILTIN), _read(reading, catalog), notes
    )


def _read(reading: Translated, catalog: Catalog) -> Analysis:
    return Analysis(
        links=reading.links,
        tables=tuple(dict.fromkeys(link.table for link in reading.links)),
        catalog_fingerprint=catalog.fingerprint,
        reading=reading.reading,
        confidence=reading.confidence,
    )


def _not_read(subject: _Subject, reading: NotRead) -> Envelope[Concluded]:
    return _clarification(subject, reading.trigger, reading.about, reading.options)


def _other_language(subject: _Subject) -> Envelope[Concluded]:
    return _clarification(subject, Trigger.AMBIGUOUS_QUESTION, "", (), reply=subject.texts.other_language)


def _clarification(
    subject: _Subject, trigger: Trigger, about: str, questions: tuple[str, ...], *, reply: str | None = None
) -> Envelope[Concluded]:
    """Ask back; every option is a question that can be asked as it stands."""
    codes = {Trigger.MISSING_DATABASE_INFO: FailureCode.MISSING_DATABASE_INFO}
    options = tuple(
        Option(id=str(number), text=text, question=text, action=OptionAction.CHOOSE_SOURCE)
        for number, text in enumerate(questions or _examples(subject, _subjects(subject)), 1)
    )
    return concluded(
        subject.envelope,
        Concluded(
            outcome=Outcome.CLARIFICATION,
            code=codes.get(trigger, FailureCode.AMBIGUOUS_QUESTION),
            stage=StageName.GENERATOR,
            reply=reply,
            clarification=Clarification(trigger=trigger, about=about, options=options),
        ),
    )


def _drafted(subject: _Subject, draft: Draft, analysis: Analysis, notes: tuple[str, ...] = ()) -> Envelope[Drafted]:
    operation = subject.envelope.body.operation
    return drafted(subject.envelope, Drafted(draft=draft, operation=operation, analysis=analysis, notes=notes))


def _classified(envelope: Drafting) -> Drafting:
    if envelope.classification is not None:
        return envelope
    operation = envelope.body.operation
    found = (
        Classification(kind="database", confidence=1.0, reason=f"operation {operation.value}", method="forced")
        if operation in _GIVEN or isinstance(envelope.body, Returned)
        else classify(envelope.question, envelope.options.mode)
    )
    return cast("Drafting", envelope.with_body(envelope.body, classification=found))


def _timeout_seconds(envelope: Drafting, delivery: Delivery) -> float:
    """Return how long a model may take: what remains without a reserve for the stages that follow."""
    remaining = envelope.remaining_ms(delivery.now_ms) / 1_000
    return remaining - min(remaining * DEADLINE_RESERVE_SHARE, DEADLINE_RESERVE_SECONDS_MAX)


def _is_known(sql: str, catalog: Catalog, attempts: tuple[Attempt, ...]) -> bool:
    wanted = normalise(sql, catalog.dialect)
    return any(normalise(attempt.sql, catalog.dialect) == wanted for attempt in attempts)


def _with_tried(
    linking: Linking, shown: tuple[Table, ...], catalog: Catalog, attempts: tuple[Attempt, ...]
) -> tuple[Table, ...]:
    """Return the linked tables as they are shown and, whole, those that earlier attempts named."""
    if linking.is_whole_schema or not attempts:
        return shown
    texts = " ".join(attempt.sql.casefold() for attempt in attempts)
    kept = {id(table) for table in linking.tables}
    return (*shown, *(each for each in catalog.tables if id(each) not in kept and each.name.casefold() in texts))


def _subjects(subject: _Subject) -> tuple[str, ...]:
    """Return what can be asked about, widest tables first: display names, and for analysts table names as well."""
    envelope, catalog = subject.envelope, subject.catalog
    names = [
        table.display_names.get(envelope.language) or (table.name if envelope.audience == "analyst" else "")
        for table in sorted(catalog.tables, key=lambda table: -len(table.columns))
    ]
    return tuple(dict.fromkeys(name for name in names if name))[:SUBJECTS_SHOWN_MAX]


def _examples(subject: _Subject, subjects: tuple[str, ...]) -> list[str]:
    return [fill(subject.texts.example, {"subject": each}) for each in subjects[:EXAMPLES_SHOWN_MAX]]


def _listed(subjects: tuple[str, ...], language: Language) -> str:
    return ("、" if language == "zh" else ", ").join(subjects)
