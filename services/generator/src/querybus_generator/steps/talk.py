"""What is said to a question that is none about rows: from the catalog, the definitions and the texts, or by the model."""

from __future__ import annotations

import asyncio
from typing import Final

from querybus.core.catalog import Catalog, Table
from querybus.core.envelope import Envelope
from querybus.core.failure import Failure
from querybus.core.messages import Analysis, Concluded
from querybus.llm.dialogue import ChatMessage, ModelReply, use_of
from querybus.llm.errors import Fault, FaultKind, unavailable
from querybus.sql.names.visible_catalog import visible
from querybus.text.labels import column_label, table_label
from querybus_generator.prompts.template import fill
from querybus_generator.steps.choose_connection import label_of
from querybus_generator.steps.classify import ChatTopic, asked_term, chat_topic
from querybus_generator.subject import (
    EXAMPLES_SHOWN_MAX,
    Subject,
    concluded_reply,
    example_questions,
    subject_list,
    table_subjects,
)

REPLY_LENGTH_MAX: Final = 4_000
TABLES_SHOWN_MAX: Final = 12
SOURCES_SHOWN_MAX: Final = 12
COLUMNS_SHOWN_MAX: Final = 8
_OF_THE_MODEL: Final[frozenset[ChatTopic]] = frozenset({"greeting", "thanks"})
"""What a model may say in its own words; everything else has one right answer."""


async def talk(subject: Subject) -> Envelope[Concluded]:
    """Reply by the texts, or by the model to small talk, in words that the audience may read.

    Where the model gives no reply, the analysis of a text says why.
    """
    envelope = subject.envelope
    meaning = meaning_of(subject)
    if meaning is not None:
        return concluded_reply(subject, meaning, Analysis())
    topic = chat_topic(envelope.question)
    subjects = table_subjects(subject)
    reply = await asyncio.to_thread(_reply, subject, topic or "abilities", subjects)
    analysis = Analysis()
    if subject.model is not None and (topic is None or topic in _OF_THE_MODEL):
        said = await _model_reply(subject, subjects)
        if isinstance(said, Failure):
            analysis = said.on(analysis)
        else:
            reply = said.text.strip()[:REPLY_LENGTH_MAX]
            analysis = Analysis(model=said.model, tokens_in=said.tokens_in, tokens_out=said.tokens_out)
    return concluded_reply(subject, reply, analysis)


def _reply(subject: Subject, topic: ChatTopic, subjects: tuple[str, ...]) -> str:
    """Return the text of a topic, over one connection or over all that the caller may ask."""
    sources = _sources(subject)
    several = len(sources) > 1
    count = 1 if several else EXAMPLES_SHOWN_MAX
    texts = subject.texts.topic(topic)
    examples: list[str] = []
    if "{{examples}}" in texts:
        for _, catalog in sources[:EXAMPLES_SHOWN_MAX]:
            examples += example_questions(subject, catalog, count)
    lines = [_source_line(subject, label, catalog) for label, catalog in sources]
    tables = [_table_line(table, subject) for table in subject.catalog.tables[:TABLES_SHOWN_MAX]]
    return fill(
        texts,
        {
            "subjects": "" if several else subject_list(subjects, subject.envelope.language),
            "sources": "\n".join(lines) if several else "",
            "examples": "\n".join(dict.fromkeys(examples)),
            "tables": "\n".join(filter(None, lines if several else tables)),
        },
    ).strip()


def _sources(subject: Subject) -> list[tuple[str, Catalog]]:
    """Return what people call each connection that the caller may ask, with what its policy shows of it."""
    if len(subject.sources) < 2:
        return [("", subject.catalog)]
    envelope = subject.envelope
    called = [label_of(item.connection, envelope) for item in subject.sources]
    return [
        (
            label if called.count(label) == 1 else f"{label} ({item.connection.name})",
            visible(item.catalog, item.connection.policy.of(envelope.tenant)),
        )
        for label, item in zip(called, subject.sources[:SOURCES_SHOWN_MAX], strict=False)
    ]


def _source_line(subject: Subject, label: str, catalog: Catalog) -> str:
    """Return a connection with what can be asked of it, as the audience may read it."""
    language = subject.envelope.language
    subjects = subject_list(table_subjects(subject, catalog), language)
    return f"- {label}{'：' if language == 'zh' else ': '}{subjects}" if subjects else f"- {label}"


def meaning_of(subject: Subject) -> str | None:
    """Return what the owner says that a term means, where a question asks for that and the term is defined."""
    envelope = subject.envelope
    term = asked_term(envelope.question)
    if term is None:
        return None
    meanings = {name.casefold(): (name, text) for name, text in subject.catalog.glossary.items() if text}
    defined = subject.prepared.defined
    for metric in defined.layer.metrics.values() if defined is not None else ():
        words = metric.words
        called = words.label.get(envelope.language) or metric.name.replace("_", " ")
        for name in (metric.name.replace("_", " "), *words.label.values(), *words.synonyms):
            if words.description:
                meanings.setdefault(name.casefold(), (called, words.description))
    found = meanings.get(term.casefold())
    if found is None:
        return None
    name, text = found
    mark = "：" if envelope.language == "zh" else ": "
    return f"{name[:1].upper()}{name[1:]}{mark}{text}"[:REPLY_LENGTH_MAX]


def _table_line(table: Table, subject: Subject) -> str:
    """Return a table with what is known of each row, as the audience may read it."""
    language, is_analyst = subject.envelope.language, subject.envelope.audience == "analyst"
    called = table.name if is_analyst else table_label(table, language, subject.catalog)
    columns = [
        column.name if is_analyst else column_label(column, subject.catalog, language) for column in table.columns
    ]
    known = [column for column in columns if column]
    if called is None:
        return ""
    more = "…" if len(known) > COLUMNS_SHOWN_MAX else ""
    listed = subject_list(tuple(known[:COLUMNS_SHOWN_MAX]), language)
    return f"- {called}{'：' if language == 'zh' else ': '}{listed}{more}"


async def _model_reply(subject: Subject, subjects: tuple[str, ...]) -> ModelReply | Failure:
    assert subject.model is not None  # noqa: S101 - the caller has looked
    listed = subject_list(subjects, subject.envelope.language)
    system = fill(subject.texts.chat, {"subjects": listed, "examples": ""}).strip()
    said = await subject.model.reply(
        [ChatMessage("system", system), ChatMessage("user", subject.envelope.question)],
        timeout_seconds=subject.timeout_seconds,
        model=subject.envelope.options.model,
        tenant=subject.envelope.tenant,
    )
    if isinstance(said, ModelReply) and not said.text.strip():
        return unavailable(Fault(FaultKind.EMPTY, "the reply is empty", use=use_of(said)))
    return said
