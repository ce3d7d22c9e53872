"""What a model is sent for a question, and what that was made of: linked tables, verified pairs, values, definitions, the thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from querybus.core.catalog import Catalog, Table
from querybus.core.envelope import Attempt, Envelope, may_probe
from querybus.core.messages import Advice
from querybus.core.policy import KINDS, Access, Connection, StatementKind
from querybus.llm.dialogue import ChatMessage
from querybus.sql.conditions.today import with_today
from querybus.text.knowledge import Entry
from querybus_generator.conversation.turns import Turn
from querybus_generator.linking.index import Linking
from querybus_generator.linking.linker import Prepared
from querybus_generator.linking.near import Near
from querybus_generator.prompts.question import Evidence, Example, Matched, Retry, Spoken, render_question
from querybus_generator.steps.by_definition import instruction_lines
from querybus_generator.subject import Subject
from querybus_translator.answers.hints import hints_for


@dataclass(frozen=True, slots=True)
class QuestionPrompt:
    """What goes to a model for a question, and what it was made of."""

    messages: tuple[ChatMessage, ...]
    linking: Linking
    example_ids: tuple[str, ...]


def changes_taken(subject: Subject) -> tuple[str, ...]:
    """Return the kinds of statement that the connection takes besides reads, as the prompt names them."""
    access = subject.connection.policy.of(subject.envelope.tenant).access
    return tuple(kind.value.upper() for kind in StatementKind if kind in KINDS[access] - KINDS[Access.READ_ONLY])


def question_prompt(
    subject: Subject,
    asked: str,
    near: Near,
    *,
    turns: tuple[Turn, ...],
    attempts: tuple[Attempt, ...],
    advice: Advice | None,
    used: tuple[Entry, ...] = (),
    is_second: bool = False,
) -> QuestionPrompt:
    envelope, prepared = subject.envelope, subject.prepared
    tokens_max = subject.prompting.schema_tokens_max
    linking = prepared.index.link(asked, nearness=near.tables, tokens_max=tokens_max)
    tables = _with_tried(linking, prepared.index.shown(linking, asked, tokens_max), prepared.catalog, attempts)
    with_values = may_see_data(envelope, subject.connection)
    focus = ""
    if is_second:
        # A second draft looks at the linked tables in another order, behind the part that all prompts begin with.
        linked = prepared.index.link(asked, nearness=near.tables, tokens_max=0)
        focus = prepared.schema(prepared.index.shown(linked, asked, 0)[::-1], with_values=with_values)
    readable, today = subject.readable, subject.today
    hints = hints_for(readable, prepared.catalog, today=today, with_values=with_values) if subject.with_hints else ()
    examples = [Example(entry.key, with_today(entry.text, prepared.catalog.dialect, subject.today)) for entry in used]
    messages = render_question(
        subject.texts.prompt,
        prepared.catalog,
        tables,
        Spoken(
            question=envelope.question if turns else subject.question,
            today=today,
            reading=(envelope.enriched_question or "") if turns else "",
            turns=turns,
        ),
        with_values=with_values,
        evidence=Evidence(
            examples=examples,
            matched=_matched(prepared, asked) if with_values else (),
            instructions=[*instruction_lines(prepared, readable), *hints],
            about=subject.connection.description,
            hints=subject.hints,
            focus=focus,
        ),
        retry=Retry(attempts=attempts, advice=advice, may_execute=may_probe(envelope)),
        schema=prepared.schema(tables, with_values=with_values),
        offers_chat=envelope.classification is None and advice is None,
        prompting=subject.prompting,
        changes=changes_taken(subject),
    )
    return QuestionPrompt(messages, linking, tuple(entry.id for entry in used))


def _matched(prepared: Prepared, asked: str) -> list[Matched]:
    """Return the values of the database that the question names or nearly names."""
    values = prepared.index.values
    return [
        Matched(link.text, link.table, link.column, link.value)
        for link in (*values.named(asked), *values.near(asked))
        if link.column is not None and link.value is not None
    ]


def may_see_data(envelope: Envelope[Any], connection: Connection) -> bool:
    """Return whether a model may see cell values: the request and the connection must both allow it."""
    return envelope.options.allow_llm_to_see_data and connection.policy.of(envelope.tenant).allow_llm_to_see_data


def _with_tried(
    linking: Linking, shown: tuple[Table, ...], catalog: Catalog, attempts: tuple[Attempt, ...]
) -> tuple[Table, ...]:
    """Return the linked tables as they are shown and, whole, those that earlier attempts named."""
    if linking.is_whole_schema or not attempts:
        return shown
    texts = " ".join(attempt.sql.casefold() for attempt in attempts)
    kept = {id(table) for table in linking.tables}
    return (*shown, *(table for table in catalog.tables if id(table) not in kept and table.name.casefold() in texts))
