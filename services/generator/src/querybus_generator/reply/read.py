"""A reply -> the statement and what the model says of it: how it read the question, what it assumed, what columns show.

Read from a JSON object with these keys or from comment lines before the statement; a reply without them is as good.
What is said is text from outside: bounded here, and shown to a business reader only where no technical name is in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, cast

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure
from querybus.sql.reply.extract import extract
from querybus.sql.reply.keyed import json_objects, statements_in

READING_LENGTH_MAX: Final = 400
ASSUMPTION_LENGTH_MAX: Final = 240
ASSUMPTIONS_MAX: Final = 5
LABEL_LENGTH_MAX: Final = 60
LABELS_MAX: Final = 120

_HEADER: Final = re.compile(
    r"^[ \t>]*--[ \t]*(?P<key>reading|question|assumptions?|assumed|columns?|labels?|理解|假设|列名?)[ \t]*[:：][ \t]*"
    r"(?P<text>[^\n]*)(?:\n|\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_READING: Final = frozenset({"reading", "question", "理解"})
_ASSUMED: Final = frozenset({"assumption", "assumptions", "assumed", "假设"})
_NOTHING: Final = frozenset({"", "none", "none.", "n/a", "-", "无", "无。", "没有"})
_BETWEEN_LABELS: Final = re.compile(r"\s*[|｜]\s*")
_BETWEEN_ASSUMPTIONS: Final = re.compile(r"\s*[;；]\s*")


@dataclass(frozen=True, slots=True)
class SaidReply:
    """One statement, and the words that came with it; empty where the model said nothing of the kind."""

    sql: str
    reading: str = ""
    assumptions: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


def read_reply(text: str, dialect: Dialect, *, is_cut: bool = False) -> SaidReply | Failure:
    """Return the one statement of a reply with what was said of it, or why there is none (see `extract`).

    >>> read_reply("```sql\\n-- reading: films by year\\n-- columns: Year | Films\\nSELECT 1, 2\\n```", Dialect.SQLITE)
    SaidReply(sql='SELECT 1, 2', reading='films by year', assumptions=(), labels=('Year', 'Films'))
    """
    said = next((item for item in json_objects(text) if any(statements_in(item))), {})
    for line in _HEADER.finditer(text):
        key, content = line["key"].casefold(), line["text"].strip()
        if key in _READING:
            said.setdefault("reading", content)
        elif key in _ASSUMED:
            said.setdefault("assumptions", _BETWEEN_ASSUMPTIONS.split(content))
        else:
            said.setdefault("labels", _BETWEEN_LABELS.split(content))
    # "-- reading: select the latest from each city" is no statement.
    sql = extract(_HEADER.sub("", text), dialect, is_cut=is_cut)
    if isinstance(sql, Failure):
        return sql
    labels = said.get("labels", said.get("columns", ()))
    if isinstance(labels, dict):
        labels = list(cast("dict[str, Any]", labels).values())
    return SaidReply(
        sql,
        reading=_line(said.get("reading", ""), READING_LENGTH_MAX),
        assumptions=_lines(said.get("assumptions", ()), ASSUMPTION_LENGTH_MAX)[:ASSUMPTIONS_MAX],
        labels=_lines(labels, LABEL_LENGTH_MAX, keep_empty=True)[:LABELS_MAX],
    )


def _lines(value: Any, length_max: int, *, keep_empty: bool = False) -> tuple[str, ...]:
    items = (
        [value] if isinstance(value, str) else list(cast("list[Any]", value)) if isinstance(value, list | tuple) else []
    )
    lines = tuple(_line(item, length_max) for item in items)
    return lines if keep_empty else tuple(line for line in lines if line)


def _line(value: Any, length_max: int) -> str:
    """Return a text on one line; nothing where it is no text, is too long to be meant so, or says nothing."""
    line = " ".join(value.split()) if isinstance(value, str) else ""
    printable = "".join(sign for sign in line if sign.isprintable())
    return "" if len(printable) > length_max or printable.casefold() in _NOTHING else printable
