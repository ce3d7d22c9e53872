"""The messages that ask a model for one SQL text: instructions, schema, the thread, the question and, on a retry, advice.

Pure: equal inputs give equal messages. With `with_values` False no cell value stands in any of them: schema values
are left out, an engine's error text (which may quote a row) is replaced by its facts, and literals of earlier SQL
are masked unless the person wrote them.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from querybus.core.catalog import Catalog, Table
from querybus.core.dialogue import ChatMessage
from querybus.core.envelope import Attempt
from querybus.core.messages import Advice
from querybus.core.prompts.schema import quoted, render_glossary, render_schema
from querybus.core.prompts.template import fill

TURNS_MAX: Final = 20
TURNS_WHOLE: Final = 5
TURN_CHARS_MAX: Final = 24_000
"""About 8,000 tokens of the three characters that a token of mixed text has."""
OLD_TURN_CHARS_MAX: Final = 300
ATTEMPTS_SHOWN_MAX: Final = 6
SQL_CHARS_MAX: Final = 4_000
ERROR_CHARS_MAX: Final = 600

_LITERAL = re.compile(r"'((?:[^']|'')*)'")


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier question of the thread and what became of it; no result rows, whoever asks."""

    question: str
    sql: str | None = None
    reply: str | None = None


@dataclass(frozen=True, slots=True)
class PromptTexts:
    """The texts of one language. `dialects` holds notes by sqlglot's name; a dialect without notes is no fault."""

    system: str
    question: str
    advice: str
    dialects: Mapping[str, str]

    @property
    def version(self) -> str:
        """12 hex digits that change whenever a text does."""
        parts = (self.system, self.question, self.advice, *(f"{k}={v}" for k, v in sorted(self.dialects.items())))
        return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:12]


def render_question(
    texts: PromptTexts,
    *,
    catalog: Catalog,
    tables: Sequence[Table],
    question: str,
    today: dt.date,
    with_values: bool,
    turns: Sequence[Turn] = (),
    advice: Advice | None = None,
    attempts: Sequence[Attempt] = (),
) -> tuple[ChatMessage, ...]:
    """Return the messages for a first draft, or with `advice` or earlier `attempts` for a new one."""
    spoken = "\n".join((question, *(turn.question for turn in turns)))
    system = fill(
        texts.system,
        {
            "dialect": catalog.dialect.value,
            "dialect_notes": texts.dialects.get(catalog.dialect.value, "").strip(),
            "today": f"{today:%Y-%m-%d} ({today:%A})",
        },
    )
    asked = fill(
        texts.question,
        {
            "schema": render_schema(catalog, tables, with_values=with_values),
            "glossary": render_glossary(catalog, spoken),
            "question": question.strip(),
        },
    )
    messages = [ChatMessage("system", system.strip()), *_turn_messages(turns, spoken, with_values=with_values)]
    if advice is not None or attempts:
        mending = _advice(texts, catalog, spoken, advice, attempts, with_values=with_values)
        asked = f"{asked.rstrip()}\n\n{mending}"
    return (*messages, ChatMessage("user", asked.strip()))


def _turn_messages(turns: Sequence[Turn], spoken: str, *, with_values: bool) -> list[ChatMessage]:
    """Return the newest turns that fit, oldest first; those before the last five are shortened."""
    messages: list[ChatMessage] = []
    room = TURN_CHARS_MAX
    for age, turn in enumerate(reversed(turns[-TURNS_MAX // 2 :])):
        reply = turn.reply or ""
        if turn.sql:
            reply = f"```sql\n{turn.sql if with_values else masked(turn.sql, spoken)}\n```"
        length_max = SQL_CHARS_MAX if age < TURNS_WHOLE else OLD_TURN_CHARS_MAX
        question, reply = turn.question[:length_max], reply[:length_max]
        room -= len(question) + len(reply)
        if room < 0:
            break
        if reply:
            messages.append(ChatMessage("assistant", reply))
        messages.append(ChatMessage("user", question))
    return messages[::-1]


def _advice(
    texts: PromptTexts,
    catalog: Catalog,
    spoken: str,
    advice: Advice | None,
    attempts: Sequence[Attempt],
    *,
    with_values: bool,
) -> str:
    def shown(sql: str) -> str:
        return (sql if with_values else masked(sql, spoken))[:SQL_CHARS_MAX].replace("```", "")

    tried = [
        f"{number}. {attempt.code.value if attempt.code else ''}"
        f"{f' {quoted(attempt.detail, ERROR_CHARS_MAX)}' if with_values and attempt.detail else ''}\n"
        f"```sql\n{shown(attempt.sql)}\n```"
        for number, attempt in enumerate(attempts[-ATTEMPTS_SHOWN_MAX:], 1)
    ]
    facts = advice.facts if advice else None
    names = _known_names(catalog)
    candidates = facts.candidates if facts and with_values else ()
    if facts and not with_values:
        candidates = tuple(each for each in facts.candidates if each.casefold() in names)
    return fill(
        texts.advice,
        {
            "code": advice.code.value if advice else "",
            "error": quoted(advice.detail, ERROR_CHARS_MAX) if advice and advice.detail and with_values else "",
            "name": quoted(facts.name)
            if facts and facts.name and (with_values or _is_said(facts.name, attempts))
            else "",
            "candidates": ", ".join(quoted(each) for each in candidates),
            "owners": ", ".join(quoted(each) for each in facts.owners) if facts else "",
            "guidance": advice.guidance.strip() if advice else "",
            "attempts": "\n".join(tried),
            "hints": "\n".join(f"```sql\n{shown(each)}\n```" for each in (advice.candidates_sql[:3] if advice else ())),
        },
    ).strip()


def masked(sql: str, spoken: str) -> str:
    """Return the SQL with every text literal that the person did not write replaced by '…'.

    >>> masked("SELECT 1 FROM t WHERE a = 'Bob' AND b = 'secret'", "who is Bob?")
    "SELECT 1 FROM t WHERE a = 'Bob' AND b = '…'"
    """
    folded = spoken.casefold()

    def literal(found: re.Match[str]) -> str:
        said = found[1].replace("''", "'").strip("%_ ").casefold()
        return found[0] if not said or said in folded else "'…'"

    return _LITERAL.sub(literal, sql)


def _known_names(catalog: Catalog) -> set[str]:
    names = {table.name.casefold() for table in catalog.tables}
    return names | {column.name.casefold() for table in catalog.tables for column in table.columns}


def _is_said(name: str, attempts: Sequence[Attempt]) -> bool:
    # The name stands in a SQL that the model wrote without having seen any value.
    return any(name.casefold() in _LITERAL.sub("''", attempt.sql).casefold() for attempt in attempts)
