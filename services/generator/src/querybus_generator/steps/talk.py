"""What is said to a question that is none about rows: from the catalog, the definitions and the texts, or by the model."""

from __future__ import annotations

from typing import Final

from querybus.core.catalog import Table
from querybus.core.envelope import Envelope
from querybus.core.messages import Analysis, Concluded
from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus.text.labels import column_label, table_label
from querybus_generator.prompts.template import fill
from querybus_generator.steps.classify import ChatTopic, asked_term, chat_topic
from querybus_generator.subject import Subject, concluded_reply, example_questions, subject_list, table_subjects

REPLY_LENGTH_MAX: Final = 4_000
TABLES_SHOWN_MAX: Final = 12
COLUMNS_SHOWN_MAX: Final = 8
_OF_THE_MODEL: Final[frozenset[ChatTopic]] = frozenset({"greeting", "thanks"})
"""What a model may say in its own words; everything else has one right answer."""


async def talk(subject: Subject) -> Envelope[Concluded]:
    """Reply by the texts, or by the model to small talk, in words that the audience may read."""
    envelope = subject.envelope
    meaning = meaning_of(subject)
    if meaning is not None:
        return concluded_reply(subject, meaning, Analysis())
    topic = chat_topic(envelope.question)
    subjects = table_subjects(subject)
    reply = fill(
        subject.texts.topic(topic or "abilities"),
        {
            "subjects": subject_list(subjects, envelope.language),
            "examples": "\n".join(example_questions(subject, subjects)),
            "tables": "\n".join(_table_line(table, subject) for table in subject.catalog.tables[:TABLES_SHOWN_MAX]),
        },
    ).strip()
    analysis = Analysis()
    if subject.model is not None and (topic is None or topic in _OF_THE_MODEL):
        said = await _model_reply(subject, subjects)
        if said is not None:
            reply = said.text.strip()[:REPLY_LENGTH_MAX]
            analysis = Analysis(model=said.model, tokens_in=said.tokens_in, tokens_out=said.tokens_out)
    return concluded_reply(subject, reply, analysis)


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


async def _model_reply(subject: Subject, subjects: tuple[str, ...]) -> ModelReply | None:
    assert subject.model is not None  # noqa: S101 - the caller has looked
    listed = subject_list(subjects, subject.envelope.language)
    system = fill(subject.texts.chat, {"subjects": listed, "examples": ""}).strip()
    said = await subject.model.reply(
        [ChatMessage("system", system), ChatMessage("user", subject.envelope.question)],
        timeout_seconds=subject.timeout_seconds,
        model=subject.envelope.options.model,
        tenant=subject.envelope.tenant,
    )
    return said if isinstance(said, ModelReply) and said.text.strip() else None
