"""The messages that ask a model for one SQL text: instructions, schema, the thread, the question and, on a retry, advice.

Pure: equal inputs give equal messages. With `with_values` False no cell value stands in any of them: schema values
are left out, an engine's error text (which may quote a row) is replaced by its facts, and literals of earlier SQL
are masked unless the person wrote them.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from calendar import day_name
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from querybus.core.catalog import Catalog, Dialect, Table
from querybus.core.envelope import Attempt
from querybus.core.messages import Advice
from querybus.core.stored.models import USUAL_PROMPTING, Prompting
from querybus.llm.dialogue import ChatMessage
from querybus.sql.names.quoting import quoted_name
from querybus_generator.conversation.turns import Turn, thread_messages
from querybus_generator.prompts.general_examples import example_statements
from querybus_generator.prompts.schema import (
    COMMENT_LENGTH_MAX,
    data_span,
    exact,
    quoted,
    render_glossary,
    render_schema,
)
from querybus_generator.prompts.template import fill

CHAT_MARK: Final = "CHAT:"
"""How a reply begins by which the model says that it was asked no question about data."""
EXAMPLES_SHOWN_MAX: Final = 4
MATCHED_SHOWN_MAX: Final = 16
ABOUT_LENGTH_MAX: Final = 400
EXAMPLE_QUESTION_CHARS_MAX: Final = 400
INSTRUCTIONS_SHOWN_MAX: Final = 20
INSTRUCTION_CHARS_MAX: Final = 500
ATTEMPTS_SHOWN_MAX: Final = 6
SQL_CHARS_MAX: Final = 4_000
ERROR_CHARS_MAX: Final = 600

_LITERAL = re.compile(
    r"""(?P<dollar>\$\w*\$).*?(?P=dollar)|'(?:[^'\\]|''|\\.)*(?:'|$)|"(?:[^"\\]|""|\\.)*(?:"|$)|\b\d{5,}(?:\.\d+)?\b""",
    re.DOTALL,
)
"""Texts of every dialect: in quotes with doubled or escaped ones inside, in dollars, and numbers of five digits or more.

What stands in double quotes may be a name; it is masked where it is not one of the catalog's or the person's words.
"""


@dataclass(frozen=True, slots=True)
class Example:
    """A verified question with its statement, for a prompt."""

    question: str
    sql: str


@dataclass(frozen=True, slots=True)
class Matched:
    """Words of a question, and a value of the database that they name or nearly name."""

    text: str
    table: str
    column: str
    value: str


@dataclass(frozen=True, slots=True)
class PromptTexts:
    """The texts of one language. `dialects` holds the notes of every dialect by its name."""

    system: str
    question: str
    advice: str
    dialects: Mapping[str, str]
    weekdays: Sequence[str] = tuple(day_name)
    """From Monday on."""
    span: str = "{first} .. {last} ({column})"
    """How a range of days is said."""
    example_questions: Sequence[str] = ()
    """Of the general examples, in their order."""

    @property
    def version(self) -> str:
        """12 hex digits that change whenever a text does."""
        parts = (self.system, self.question, self.advice, *(f"{k}={v}" for k, v in sorted(self.dialects.items())))
        return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What was asked: `reading` is how a question that goes on from the thread's `turns` reads by itself."""

    question: str
    today: dt.date
    reading: str = ""
    turns: Sequence[Turn] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is said of the question besides the schema: `matched` is what of it stands in the database, `about` what its owner says of it."""

    examples: Sequence[Example] = ()
    matched: Sequence[Matched] = ()
    instructions: Sequence[str] = ()
    about: str = ""
    hints: Sequence[str] = ()
    """What the rules say of the question's wording."""
    focus: str = ""
    """The tables that the question leads to first, as text, where a second draft looks at them in particular."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """What was tried before, and what recovery advises."""

    attempts: Sequence[Attempt] = ()
    advice: Advice | None = None
    may_execute: bool = False
    """Whether the new statement is tried once before it is approved."""


def render_question(
    texts: PromptTexts,
    catalog: Catalog,
    tables: Sequence[Table],
    spoken_of: Spoken,
    *,
    with_values: bool,
    evidence: Evidence = Evidence(),
    retry: Retry = Retry(),
    schema: str | None = None,
    offers_chat: bool = False,
    prompting: Prompting = USUAL_PROMPTING,
    changes: Sequence[str] = (),
) -> tuple[ChatMessage, ...]:
    """Return the messages for a first draft, or with advice or earlier attempts for a new one.

    `changes` are the kinds of statement that the connection takes besides reads. `schema` is the tables' text where it exists already, `prompting` what this model is asked with besides.
    `offers_chat`: nothing says that this is a question about data, so the model may say that it is none.
    """
    question, turns, reading = spoken_of.question, spoken_of.turns, spoken_of.reading
    spoken = "\n".join((question, *(turn.question for turn in turns)))
    # The long part comes first and is the same for all questions of a connection on a day: providers keep such a prefix.
    lasting = {
        "schema": render_schema(catalog, tables, with_values=with_values) if schema is None else schema,
        "about": quoted(evidence.about, ABOUT_LENGTH_MAX) if evidence.about.strip() else "",
        "span": data_span(catalog, texts.span) if with_values else "",
    }
    system = fill(
        texts.system, {**lasting, **_rules(texts, catalog, spoken_of.today, prompting=prompting, changes=changes)}
    )
    asked = fill(
        texts.question,
        {
            **lasting,
            "chat": CHAT_MARK if offers_chat else "",
            "instructions": _instructions(evidence.instructions),
            "focus": evidence.focus,
            "glossary": render_glossary(catalog, f"{spoken}\n{reading}"),
            "matched": _matched(catalog, evidence.matched) if with_values else "",
            "examples": _examples(evidence.examples, spoken, with_values=with_values),
            "reading": reading,
            "hints": "\n".join(evidence.hints),
            "question": question.strip(),
        },
    )

    names = frozenset[str]() if with_values else _known_names(catalog)

    def shown_sql(sql: str) -> str:
        return (sql if with_values else masked(sql, spoken, names))[:SQL_CHARS_MAX]

    messages = [
        ChatMessage("system", system.strip()),
        *thread_messages(turns, with_values=with_values, shown_sql=shown_sql),
    ]
    if retry.advice is not None or retry.attempts:
        mending = _advice(texts, catalog, spoken, retry, with_values=with_values)
        asked = f"{asked.rstrip()}\n\n{mending}"
    return (*messages, ChatMessage("user", asked.strip()))


def _rules(
    texts: PromptTexts, catalog: Catalog, today: dt.date, *, prompting: Prompting, changes: Sequence[str]
) -> dict[str, str]:
    return {
        "dialect": catalog.dialect.value,
        "dialect_notes": texts.dialects[catalog.dialect.value].strip(),
        "today": f"{today:%Y-%m-%d} ({texts.weekdays[today.weekday()]})",
        "chat": "",
        "instructions": "",
        "read_only": "" if changes else "yes",
        "changes": ", ".join(changes),
        "plan": "yes" if prompting.reasoning == "short" else "",
        "general_examples": _general_examples(texts, catalog.dialect) if prompting.examples else "",
    }


def _general_examples(texts: PromptTexts, dialect: Dialect) -> str:
    """Return questions over tables of no database with their statements, in the connection's dialect."""
    return "\n".join(
        f"{quoted(question)}\n```sql\n{sql}\n```"
        for question, sql in zip(texts.example_questions, example_statements(dialect), strict=True)
    )


def _matched(catalog: Catalog, matched: Sequence[Matched]) -> str:
    """Return the values that the question names, as they are written in the database, each with every place."""
    lines = [
        f"- {quoted(one.text)}: "
        f"{quoted_name(one.table, catalog.dialect)}.{quoted_name(one.column, catalog.dialect)} = {exact(one.value)}"
        for one in matched
        if len(one.value) <= COMMENT_LENGTH_MAX
    ]
    return "\n".join(dict.fromkeys(lines[:MATCHED_SHOWN_MAX]))


def _examples(examples: Sequence[Example], spoken: str, *, with_values: bool) -> str:
    """Return verified pairs, one block each; without `with_values` what may be a cell is masked in both halves."""
    shown: list[str] = []
    for example in examples[:EXAMPLES_SHOWN_MAX]:
        question, sql = example.question, example.sql
        if not with_values:
            question, sql = masked_question(question, sql, spoken), masked(sql, spoken)
        shown.append(
            f"{quoted(question, EXAMPLE_QUESTION_CHARS_MAX)}\n```sql\n{sql[:SQL_CHARS_MAX].replace('```', '')}\n```"
        )
    return "\n".join(shown)


def _instructions(instructions: Sequence[str]) -> str:
    return "\n".join(
        f"- {' '.join(instruction.split())[:INSTRUCTION_CHARS_MAX]}"
        for instruction in instructions[:INSTRUCTIONS_SHOWN_MAX]
    )


def _advice(
    texts: PromptTexts,
    catalog: Catalog,
    spoken: str,
    retry: Retry,
    *,
    with_values: bool,
) -> str:
    names = _known_names(catalog)
    advice, attempts = retry.advice, retry.attempts

    def shown(sql: str) -> str:
        return (sql if with_values else masked(sql, spoken, names))[:SQL_CHARS_MAX].replace("```", "")

    tried = [
        f"{number}. {attempt.code.value if attempt.code else ''}{_run_of(attempt) if with_values else ''}"
        f"{f' {quoted(attempt.detail, ERROR_CHARS_MAX)}' if with_values and attempt.detail else ''}\n"
        f"```sql\n{shown(attempt.sql)}\n```"
        for number, attempt in enumerate(attempts[-ATTEMPTS_SHOWN_MAX:], 1)
    ]
    facts = advice.facts if advice else None
    candidates = facts.candidates if facts and with_values else ()
    if facts and not with_values:
        candidates = tuple(candidate for candidate in facts.candidates if candidate.casefold() in names)
    return fill(
        texts.advice,
        {
            "code": advice.code.value if advice else "",
            "error": quoted(advice.detail, ERROR_CHARS_MAX) if advice and advice.detail and with_values else "",
            "name": quoted(facts.name)
            if facts and facts.name and (with_values or _is_said(facts.name, attempts))
            else "",
            "candidates": ", ".join(quoted(candidate) for candidate in candidates),
            "owners": ", ".join(quoted(owner) for owner in facts.owners) if facts else "",
            "guidance": advice.guidance.strip() if advice else "",
            "attempts": "\n".join(tried),
            "may_execute": "yes" if retry.may_execute else "",
            "hints": "\n".join(f"```sql\n{shown(item)}\n```" for item in (advice.candidates_sql[:3] if advice else ())),
        },
    ).strip()


def _run_of(attempt: Attempt) -> str:
    """Return what a run of an attempt came to: how long it took, how many rows a probe has read."""
    facts = [f"{attempt.duration_ms:.0f} ms"] if attempt.duration_ms is not None else []
    facts += [f"probe: {attempt.probed_rows} rows"] if attempt.probed_rows is not None else []
    return f" ({', '.join(facts)})" if facts else ""


def masked(sql: str, spoken: str, names: Container[str] = frozenset()) -> str:
    """Return the SQL with every literal that the person did not write replaced by '…'.

    `names` are the catalog's, case-folded: what stands in double quotes and is one of them is no literal.

    >>> masked("SELECT 1 FROM t WHERE a = 'Bob' AND b = 'secret'", "who is Bob?")
    "SELECT 1 FROM t WHERE a = 'Bob' AND b = '…'"
    >>> print(masked('SELECT "id" FROM t WHERE a = "secret" AND b = $$it$$ AND c = 4711999', "", {"id"}))
    SELECT "id" FROM t WHERE a = '…' AND b = '…' AND c = '…'
    """
    folded = spoken.casefold()

    def literal(found: re.Match[str]) -> str:
        text = _content(found[0]).casefold()
        is_known = not text or text in folded or (found[0].startswith('"') and text in names)
        return found[0] if is_known else "'…'"

    return _LITERAL.sub(literal, sql)


def _content(literal: str) -> str:
    """Return what stands in a literal, without quotes, doubled quotes and wildcards."""
    if literal[0] == "$":
        mark = literal[: literal.index("$", 1) + 1]
        return literal.removeprefix(mark).removesuffix(mark).strip("%_ ")
    if literal[0] in "'\"":
        quote = literal[0]
        return literal.removeprefix(quote).removesuffix(quote).replace(quote * 2, quote).strip("%_ ")
    return literal


def masked_question(question: str, sql: str, spoken: str) -> str:
    """Return the question with what the SQL holds as a text literal, and the person did not write, replaced by '…'.

    >>> masked_question("orders of Bob", "SELECT 1 FROM t WHERE a = 'Bob'", "")
    'orders of …'
    """
    for literal in _LITERAL.finditer(sql):
        text = _content(literal[0])
        if text and text.casefold() not in spoken.casefold():
            question = re.sub(re.escape(text), "…", question, flags=re.IGNORECASE)
    return question


def _known_names(catalog: Catalog) -> set[str]:
    names = {table.name.casefold() for table in catalog.tables}
    return names | {column.name.casefold() for table in catalog.tables for column in table.columns}


def _is_said(name: str, attempts: Sequence[Attempt]) -> bool:
    # The name stands in a SQL that the model wrote without having seen any value.
    return any(name.casefold() in _LITERAL.sub("''", attempt.sql).casefold() for attempt in attempts)
