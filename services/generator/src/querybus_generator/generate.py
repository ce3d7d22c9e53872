"""asked | returned -> drafted | concluded: one SQL text for a question, or a plain word why there is none.

At most one model call per event; the translator reads beside the call. A person's own SQL passes as it is; a question
that was verified is answered without a model. Where a model is there, no rule ends a question by its wording: a request to
change data and a word without a definition become hints to the model. The built-in translator answers where no model is
configured or none can be reached; it refuses requests to change data and asks about what it cannot read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, cast

from querybus.core.catalog import Language
from querybus.core.envelope import Attempt, Classification, Delivery, Envelope, failed, may_probe
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Advice, Analysis, Asked, Concluded, Draft, Drafted, Failed, Origin, Returned
from querybus.core.options import Mode
from querybus.core.stored.models import USUAL_PROMPTING
from querybus.core.subjects import StageName
from querybus.llm.dialogue import ModelReply, use_of
from querybus.llm.errors import Fault, FaultKind, unavailable
from querybus.sql.conditions.missing_value import Held, as_held
from querybus.sql.conditions.today import with_today
from querybus.sql.reply.extract import no_sql
from querybus.sql.write import is_change
from querybus.text.knowledge import Entry, answers_alone
from querybus.text.picture_words import without_picture
from querybus_generator.conversation.turns import Turn, bind
from querybus_generator.linking.linker import Linker
from querybus_generator.linking.near import Near
from querybus_generator.linking.routing import Router
from querybus_generator.ports import History, Ports
from querybus_generator.prompts.of_subject import QuestionPrompt, question_prompt
from querybus_generator.prompts.question import CHAT_MARK
from querybus_generator.prompts.template import fill
from querybus_generator.prompts.texts import Texts
from querybus_generator.reply.doubts import doubts_of
from querybus_generator.reply.own_dialect import in_own_dialect
from querybus_generator.reply.read import SaidReply, read_reply
from querybus_generator.steps.ask_about_words import ask_about_vague_terms
from querybus_generator.steps.asked_by_model import asked_by_model
from querybus_generator.steps.by_change import answer_by_change
from querybus_generator.steps.by_definition import answer_by_definition, answer_metrics_by_name
from querybus_generator.steps.by_picture import answer_by_picture
from querybus_generator.steps.by_translator import draft_by_translator, is_accepted, is_known_statement, read_in_thread
from querybus_generator.steps.change_request import asked_change, change_by_translator, takes_change
from querybus_generator.steps.choose_connection import Routed, ask_which_connection, label_of, route
from querybus_generator.steps.classify import SMALL_TALK, said_by_model, unsettled
from querybus_generator.steps.second_draft import asked_in_thread, draft_beside, second_by_translator
from querybus_generator.steps.talk import REPLY_LENGTH_MAX, meaning_of, talk
from querybus_generator.steps.unsupported_language import is_third_language
from querybus_generator.subject import (
    GIVEN,
    Drafting,
    Subject,
    bare_words,
    concluded_reply,
    drafted_envelope,
    is_only_verified,
    not_verified,
    settled_classification,
    verified_examples,
    which_turn,
    with_half_schema,
    with_header,
    write_refused,
)
from querybus_generator.wording.write_intent import write_intent
from querybus_translator import NotRead, Translated, is_complete

BUILTIN: Final = "builtin"
_STANDS_IN: Final = frozenset(
    {FailureCode.UNKNOWN_GENERATION_FAILURE, FailureCode.LLM_EXPLANATION, FailureCode.AMBIGUOUS_QUESTION}
)
"""Replies without a statement; an unclear one counts where the reply was cut, since its question is not asked then."""
MODEL_SECONDS_MIN: Final = 0.2
READING_SECONDS_MAX: Final = 2.0
"""How long a draft waits for the translator's reading, which began with the model's call."""
DEADLINE_RESERVE_SHARE: Final = 0.1
DEADLINE_RESERVE_SECONDS_MAX: Final = 3.0


Outgoing = Envelope[Drafted] | Envelope[Concluded]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What every question is read with: the linker and its indexes, the texts, what an operator has set."""

    linker: Linker
    texts: Mapping[Language, Texts]
    definitions: Mapping[str, str] = field(default_factory=dict[str, str])
    with_hints: bool = False
    router: Router | None = None
    tokens_per_question: int = 0
    """Of the models; 0 is no limit."""
    cost_per_question: float = 0.0
    """Of the models, in the unit of their prices; 0 is no limit."""


async def generate(envelope: Drafting, delivery: Delivery, *, ports: Ports, resources: Resources) -> Outgoing | Failure:
    """Return the draft, the conclusion, or the Failure that recovery shall see.

    Failures: `connection` without a catalog, `model_unavailable`, `same_sql` where nothing new can come,
    `multi_statement` and the generation codes of a reply without SQL. What the calls of models took is added to the
    event, or stands in the Failure.
    """
    if ports.model is None:
        return await _generate(envelope, delivery, ports, resources)
    # Loaded where a model is: a question without one has no use for it.
    from querybus_generator.reply.metered import MeteredModel

    model = MeteredModel(
        ports.model,
        envelope.model_use,
        tokens_max=resources.tokens_per_question,
        cost_max=resources.cost_per_question,
    )
    outcome = await _generate(envelope, delivery, replace(ports, model=model), resources)
    if isinstance(outcome, Failure):
        facts = outcome.facts.model_copy(update={"model_use": model.use})
        return outcome.model_copy(update={"facts": facts})
    return outcome.model_copy(update={"model_use": envelope.model_use.plus(model.use)})


async def _generate(envelope: Drafting, delivery: Delivery, ports: Ports, resources: Resources) -> Outgoing | Failure:
    routed = Routed(envelope)
    router, model, taught = resources.router, ports.model, ports.taught
    if router is not None and isinstance(envelope.body, Asked) and envelope.body.connections:
        routed = await route(cast("Envelope[Asked]", envelope), router, ports.catalogs, ports.connections, taught)
        envelope = routed.envelope
    known = await ports.catalogs.read(envelope.connection)
    connection = await ports.connections.get(envelope.connection)
    if known is None and connection is not None and connection.trouble is not None:
        return connection.trouble
    if known is None or connection is None:
        return Failure.of(FailureCode.CONNECTION, "nothing is known of this connection: its catalog was not read yet")
    knowledge = await taught.read(envelope.tenant, envelope.connection) if taught is not None else None
    is_wanted = model is not None and envelope.options.model != BUILTIN
    prompting = await model.prompting(envelope.tenant, envelope.options.model) if model and is_wanted else None
    prepared = await resources.linker.prepare(
        known, connection.policy.of(envelope.tenant), knowledge, tenant=envelope.tenant
    )
    subject = Subject(
        envelope=envelope,
        connection=connection,
        prepared=prepared,
        texts=resources.texts[envelope.language],
        model=model if prompting is not None else None,
        prompting=prompting or USUAL_PROMPTING,
        timeout_seconds=_timeout_seconds(envelope, delivery),
        definitions={**resources.definitions, **prepared.catalog.glossary},
        progress=ports.progress,
        with_hints=resources.with_hints,
        meaning=ports.meaning,
        choices=routed.choices,
        fits=routed.fits,
        asked_of=label_of(connection, envelope) if routed.is_one_of_several else "",
        sources=routed.candidates,
    )
    if is_only_verified(subject):
        return await _of_verified(subject, envelope.body, ports.history)
    if isinstance(envelope.body, Returned):
        return await _again(subject, envelope.body, ports.history)
    return await _first(subject, envelope.body, ports.history)


def generation_failed(envelope: Envelope[Asked] | Envelope[Returned], failure: Failure) -> Envelope[Failed]:
    """Return the `failed` event with the classification on it, which a failure never changes: for `stage()`."""
    result = envelope.classification or settled_classification(envelope) or unsettled()
    return failed(
        cast("Drafting", envelope.with_body(envelope.body, classification=result)), failure, StageName.GENERATOR
    )


Step = Callable[[Subject, Asked, History], Awaitable[Outgoing | Failure | Subject]]
"""One step for a new question: an answer ends the steps, a subject goes on to the next with what this one learnt."""


async def _of_verified(subject: Subject, body: Asked | Returned, history: History) -> Outgoing | Failure:
    """Answer by what was verified or defined; a person's own statement, a change and everything else is refused."""
    subject = with_header(subject, classification=settled_classification(subject.envelope) or unsettled())
    if isinstance(body, Asked) and body.operation not in GIVEN and body.sql is None and body.refines is None:
        for step in VERIFIED_STEPS:
            result = await step(subject, body, history)
            if not isinstance(result, Subject):
                return result
            subject = result
    return not_verified(subject)


async def _first(subject: Subject, body: Asked, history: History) -> Outgoing | Failure:
    for step in STEPS:
        result = await step(subject, body, history)
        if not isinstance(result, Subject):
            return result
        subject = result
    return await _draft(subject, body, history)


async def _take_given_sql(subject: Subject, body: Asked, _: History) -> Outgoing | Failure | Subject:
    if body.operation not in GIVEN and body.sql is None:
        return subject
    return _given(with_header(subject, classification=settled_classification(subject.envelope)), body)


async def _draft_change(subject: Subject, _: Asked, history: History) -> Outgoing | Failure | Subject:
    """Draft a request to change data; where the connection takes no such change a model decides, else it is refused."""
    envelope = subject.envelope
    if envelope.options.mode is Mode.CHAT or write_intent(envelope.question) is None:
        return subject
    turns = await history.turns(envelope)
    kind = asked_change(subject, turns)
    if kind is None:
        return subject
    subject = with_header(subject, classification=settled_classification(envelope) or unsettled())
    if not takes_change(subject, kind):
        if subject.model is None:
            return write_refused(subject, kind)
        texts = subject.texts
        subject = replace(subject, change=kind, hints=(texts.hint_change,), notes=(texts.note_nothing_changed,))
    elif subject.model is None:
        return await asyncio.to_thread(change_by_translator, subject)
    return await _model(subject, turns=turns, attempts=())


async def _read_in_its_thread(subject: Subject, _: Asked, history: History) -> Outgoing | Subject:
    """Classify the question and add what the thread says of it; chat and an unclear reference end here."""
    envelope = subject.envelope
    turns = await history.turns(envelope)
    refines = bool(turns) and write_intent(envelope.question) is not None
    complete = not refines and (await asyncio.to_thread(_is_complete, subject, turns) if turns else True)
    # What a batch has enriched already stands by itself.
    bound = (
        None
        if envelope.enriched_question
        else bind(envelope.question, turns, envelope.language, bare_words, is_complete=complete)
    )
    settled = settled_classification(envelope, goes_on=bound is not None or refines, prepared=subject.prepared)
    if envelope.options.mode is not Mode.DATABASE and meaning_of(subject) is not None:
        settled = Classification(kind="chat", confidence=0.95, reason="asks for a meaning", method="rule")
    if settled is not None and settled.reason == SMALL_TALK and turns and subject.model is not None:
        settled = None  # "Good job! Which of them are new?" has more to it than its small talk
    if settled is not None and settled.kind == "chat":
        return await talk(with_header(subject, classification=settled))
    if bound is not None and bound.turn is None:
        return which_turn(with_header(subject, classification=settled), turns)
    if bound is not None:
        subject = with_header(subject, enriched_question=bound.question)
    classification = settled or (unsettled() if subject.model is None else None)
    return replace(with_header(subject, classification=classification), turns=turns, is_complete=complete)


def _is_complete(subject: Subject, turns: tuple[Turn, ...]) -> bool:
    """Whether a question takes nothing over from its thread; the answer to a question back always does."""
    if turns[-1].sql is None:
        return False
    question = without_picture(subject.envelope.question)
    return is_complete(question, turns[-1].standing, subject.catalog, today=subject.today)


async def _reuse_verified(subject: Subject, body: Asked, _: History) -> Outgoing | Subject:
    verified = subject.prepared.knowledge.verified(subject.question) if body.clarifies is None else None
    if verified is None or not answers_alone(verified):
        return subject
    return _verified(subject, verified) if await asyncio.to_thread(subject.prepared.is_usable, verified) else subject


async def _draft(subject: Subject, body: Asked, history: History) -> Outgoing | Failure:
    """Draft by the model, else by the built-in translator; a clarified question with what was tried before."""
    if subject.model is None:
        return await draft_by_translator(subject, turns=subject.turns)
    if body.clarifies is None:
        return await _model(subject, turns=subject.prompt_turns, attempts=())
    tried = await history.attempts(subject.envelope, body.clarifies.query_id)
    if not tried:
        # Nothing failed: the thread has what was asked back, and the question is the answer to it.
        return await _model(subject, turns=subject.turns, attempts=())
    last = next((outcome for outcome in reversed(tried) if outcome.code), None)
    advice = Advice(
        code=last.code if last is not None and last.code is not None else FailureCode.AMBIGUOUS_QUESTION,
        detail=last.detail if last is not None else "",
        guidance=subject.texts.chosen(body.clarifies.action),
    )
    return await _model(subject, turns=subject.turns, attempts=tried, advice=advice)


STEPS: Final[tuple[Step, ...]] = (
    _take_given_sql,
    answer_by_change,
    answer_metrics_by_name,
    _draft_change,
    answer_by_picture,
    _read_in_its_thread,
    ask_which_connection,
    _reuse_verified,
    answer_by_definition,
    ask_about_vague_terms,
)
"""The steps before a new question is drafted; the first answer wins."""


VERIFIED_STEPS: Final = (answer_metrics_by_name, ask_which_connection, _reuse_verified, answer_by_definition)
"""The same where only verified questions and definitions are answered."""


def _verified(subject: Subject, entry: Entry) -> Envelope[Drafted]:
    sql = with_today(entry.text, subject.catalog.dialect, subject.today)
    draft = Draft(sql=sql, dialect=subject.catalog.dialect, origin=Origin.VERIFIED)
    analysis = Analysis(
        catalog_fingerprint=subject.catalog.fingerprint, example_ids=(entry.id,), reading=entry.key, confidence=1.0
    )
    subject = with_header(subject, classification=subject.envelope.classification or unsettled())
    return drafted_envelope(subject, draft, analysis, (subject.texts.note_verified,))


async def _again(subject: Subject, body: Returned, history: History) -> Outgoing | Failure:
    if body.advice is None and body.draft is not None:
        return await draft_beside(await _in_its_thread(subject, history), body, body.draft, subject.timeout_seconds)
    if subject.model is None:
        verified = subject.envelope.attempts[-1:] and subject.envelope.attempts[-1].origin is Origin.VERIFIED
        if verified:
            return await draft_by_translator(subject)
        return Failure.of(FailureCode.SAME_SQL, "without a model nothing new can come of the same question")
    subject = await _in_its_thread(subject, history)
    return await _model(
        subject,
        turns=subject.prompt_turns,
        attempts=subject.envelope.attempts,
        advice=body.advice,
    )


async def _in_its_thread(subject: Subject, history: History) -> Subject:
    turns = await history.turns(subject.envelope)
    complete = await asyncio.to_thread(_is_complete, subject, turns) if turns else True
    return replace(subject, turns=turns, is_complete=complete)


def _given(subject: Subject, body: Asked) -> Outgoing | Failure:
    if body.sql is None:
        return Failure.of(FailureCode.AMBIGUOUS_QUESTION, f"{body.operation.value} without a statement")
    draft = Draft(sql=body.sql, dialect=subject.catalog.dialect, origin=Origin.USER)
    return drafted_envelope(subject, draft, Analysis(catalog_fingerprint=subject.catalog.fingerprint))


def _replied(subject: Subject, text: str, said: ModelReply) -> Outgoing | Failure:
    """Return what the model said of a question that is none about data; SQL or nothing is no reply."""
    if not text or "```" in text:
        return no_sql(text)
    analysis = Analysis(model=said.model, tokens_in=said.tokens_in, tokens_out=said.tokens_out)
    return concluded_reply(subject, text[:REPLY_LENGTH_MAX], analysis)


async def _model(
    subject: Subject,
    *,
    turns: tuple[Turn, ...],
    attempts: tuple[Attempt, ...],
    advice: Advice | None = None,
) -> Outgoing | Failure:
    assert subject.model is not None  # noqa: S101 - the callers have looked
    envelope, catalog = subject.envelope, subject.catalog
    asked = asked_in_thread(subject, turns)
    near = Near()
    if subject.meaning is not None:
        near = await subject.meaning.of(subject.prepared, asked, subject.timeout_seconds)
    used = await asyncio.to_thread(verified_examples, subject, near) if subject.prepared.examples else ()
    question = question_prompt(subject, asked, near, turns=turns, attempts=attempts, advice=advice, used=used)
    timeout_seconds = subject.timeout_seconds - near.seconds
    if timeout_seconds < MODEL_SECONDS_MIN:
        return Failure.of(FailureCode.EXPIRED, "no time is left for a model call")
    began, beside = time.monotonic(), _begin_reading(subject, turns)
    reply = await _reply_to(subject, question, timeout_seconds)
    remaining = timeout_seconds - (time.monotonic() - began)
    if isinstance(reply, Failure) and reply.facts.native_code == FaultKind.CONTEXT and remaining >= MODEL_SECONDS_MIN:
        subject = with_half_schema(subject, question.linking.tables)
        question = question_prompt(subject, asked, near, turns=turns, attempts=attempts, advice=advice, used=used)
        reply = await _reply_to(subject, question, remaining)
    if isinstance(reply, Failure):
        return await draft_by_translator(subject, turns=turns, instead_of=reply)
    if envelope.classification is None:
        # In hybrid mode only what the rules left open can still be chat, and only by the word that was agreed on.
        text = reply.text.strip()
        if text.startswith(CHAT_MARK):
            spoken = with_header(subject, classification=said_by_model("chat"))
            return _replied(spoken, text[len(CHAT_MARK) :].strip(), reply)
        subject = with_header(subject, classification=said_by_model("database"))
        envelope = subject.envelope
    said = read_reply(reply.text, catalog.dialect, is_cut=reply.is_cut)
    if isinstance(said, Failure):
        # On a retry recovery may know a repair; of a first draft the model's own words are all there is.
        is_first = not attempts and advice is None
        asked_back = asked_by_model(subject, said) if is_first and not reply.is_cut else None
        return asked_back or await _without_statement(subject, turns, said, reply, is_first=is_first)
    held = as_held(in_own_dialect(said.sql, catalog), catalog.dialect, catalog, subject.prepared.policy)
    sql = held.sql
    if is_known_statement(sql, catalog, envelope.attempts):
        return Failure.of(FailureCode.SAME_SQL, "the model repeated a statement that had failed")
    analysis = _analysis(subject, question, near, reply, said, held)
    is_first = not attempts and advice is None
    draft = Draft(sql=sql, dialect=catalog.dialect, origin=Origin.MODEL)
    if is_change(sql, catalog.dialect):
        return drafted_envelope(subject, draft, analysis)  # a person confirms it; nothing is run beside it
    doubts = doubts_of(sql, subject.question, subject.prepared.index, asked=asked) if is_first else frozenset()
    analysis = analysis.model_copy(update={"doubts": tuple(sorted(doubts))})
    alternative: str | None = None
    if beside is not None and (envelope.options.cross_check or doubts or not is_first):
        analysis, alternative = second_by_translator(subject, sql, analysis, await _reading_in_time(beside))
    probe = not is_first and may_probe(envelope)
    return drafted_envelope(subject, draft, analysis, alternative_sql=alternative, probe=probe)


_ReadBeside = asyncio.Task[Translated | NotRead]


def _begin_reading(subject: Subject, turns: tuple[Turn, ...]) -> _ReadBeside | None:
    """Let the translator read what a model drafts for, while the model writes; None where that would say nothing."""
    # What a person has chosen is what they want, however sure the translator is of it.
    if subject.change is not None or is_third_language(subject.readable) or is_accepted(subject, turns):
        return None
    return asyncio.create_task(asyncio.to_thread(read_in_thread, subject, turns, asks_back=False))


async def _reading_in_time(beside: _ReadBeside) -> Translated | NotRead | None:
    """Return the reading if it is there soon after the model's reply: a second opinion holds up no answer."""
    done, _ = await asyncio.wait({beside}, timeout=READING_SECONDS_MAX)
    return beside.result() if done else None


async def _reply_to(subject: Subject, question: QuestionPrompt, timeout_seconds: float) -> ModelReply | Failure:
    assert subject.model is not None  # noqa: S101 - the callers have looked
    envelope = subject.envelope
    # What a model says before it is checked is for analysts only.
    receives = envelope.options.stream_tokens and envelope.audience == "analyst"
    return await subject.model.reply(
        question.messages,
        timeout_seconds=timeout_seconds,
        model=envelope.options.model,
        tenant=envelope.tenant,
        on_text=subject.progress.receive(envelope) if subject.progress is not None and receives else None,
    )


async def _without_statement(
    subject: Subject, turns: tuple[Turn, ...], said: Failure, reply: ModelReply, *, is_first: bool
) -> Outgoing | Failure:
    """Let the translator stand in for a reply without a statement; where it has none either, the model's failure stays.

    A request to change data, for which the model has drafted nothing, is refused.
    """
    if subject.change is not None:
        return write_refused(subject, subject.change)
    asks = reply.text.rstrip().endswith(("?", "？")) and not reply.is_cut
    if said.code not in _STANDS_IN or asks or not (is_first or reply.is_cut):
        return said
    cause, detail = (
        (FaultKind.CUT, "the model gave no reason for the end of its reply, and no closed block stands in it")
        if reply.is_cut
        else (FaultKind.EMPTY, "the reply holds no statement")
    )
    fault = Fault(cause, detail, use=use_of(reply))
    result = await draft_by_translator(subject, turns=turns, instead_of=unavailable(fault))
    is_explained = said.code is not FailureCode.UNKNOWN_GENERATION_FAILURE and not reply.is_cut
    # What a model explains is shown where the translator has no statement.
    return said if is_explained and (isinstance(result, Failure) or isinstance(result.body, Concluded)) else result


def _analysis(
    subject: Subject, question: QuestionPrompt, near: Near, reply: ModelReply, said: SaidReply, held: Held
) -> Analysis:
    read_as = (fill(subject.texts.note_held, {"written": written, "held": value}) for written, value in held.changed)
    return Analysis(
        links=question.linking.links,
        tables=tuple(table.name for table in question.linking.tables),
        catalog_fingerprint=subject.catalog.fingerprint,
        example_ids=question.example_ids,
        model=reply.model,
        prompt_version=subject.texts.prompt.version,
        embeddings=near.state,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        reading=said.reading,
        assumptions=(*said.assumptions, *read_as),
        column_labels=said.labels,
    )


def _timeout_seconds(envelope: Drafting, delivery: Delivery) -> float:
    """Return how long a model may take: what remains without a reserve for the stages that follow."""
    remaining = envelope.remaining_ms(delivery.now_ms) / 1_000
    return remaining - min(remaining * DEADLINE_RESERVE_SHARE, DEADLINE_RESERVE_SECONDS_MAX)
