"""Names and descriptions that a chat model would give, table by table; what it says is checked, and the rest stays as drafted.

A model is shown names, types, ranges and values of columns that are not personal, as for a question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Protocol, cast

from querybus.core.catalog import Catalog, Language, Table
from querybus.core.failure import Failure
from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus_cli.describing.draft import LANGUAGES, Description
from querybus_generator.prompts.schema import render_schema

SECONDS_MAX: Final = 60.0
NAME_LENGTH_MAX: Final = 40
DESCRIPTION_LENGTH_MAX: Final = 200
MEASURE_WORD_LENGTH_MAX: Final = 4
_SYSTEM: Final = (
    "You name tables and columns of a database for people who do not know it. Reply with one JSON object and nothing else: "
    '{"table": {"en": "...", "zh": "...", "measure_word": "...", "description": "..."}, "columns": {"<column>": {"en": "...", '
    '"zh": "...", "description": "..."}}}. Names have at most 40 characters, are plural for tables, and hold no technical word. '
    "The measure word is what its rows are counted in in Chinese. A description is one plain sentence; leave it out where the name says it."
)
_OBJECT: Final = re.compile(r"\{.*\}", re.DOTALL)


class Says(Protocol):
    """A chat model."""

    async def reply(self, messages: list[ChatMessage], *, timeout_seconds: float) -> ModelReply | Failure: ...


async def named_by_model(model: Says, catalog: Catalog, drafted: Description) -> tuple[Description, list[str]]:
    """Return the description with what the model says, and of tables that it said nothing usable of why."""
    skipped: list[str] = []
    for table in catalog.tables:
        shown = render_schema(catalog, [table], with_values=True)
        messages = [ChatMessage("system", _SYSTEM), ChatMessage("user", shown)]
        reply = await model.reply(messages, timeout_seconds=SECONDS_MAX)
        if isinstance(reply, Failure):
            skipped.append(f"{table.name}: {reply.detail or reply.code.value}")
            continue
        said = _read(reply.text)
        if said is None:
            skipped.append(f"{table.name}: the reply is no JSON object")
            continue
        drafted = with_reply(drafted, table, said)
    return drafted, skipped


def _read(text: str) -> dict[str, Any] | None:
    match = _OBJECT.search(text)
    try:
        read: object = json.loads(match[0]) if match is not None else None
    except ValueError:
        return None
    return cast("dict[str, Any]", read) if isinstance(read, dict) else None


def with_reply(drafted: Description, table: Table, said: Mapping[str, Any]) -> Description:
    """Return the description with the usable parts of one reply; names of columns that are not there are passed over."""
    names = {key: dict(value) for key, value in drafted.display_names.items()}
    descriptions = dict(drafted.descriptions)
    measure_words = dict(drafted.measure_words)
    columns = said.get("columns")
    parts: dict[str, Any] = {table.name: said.get("table")}
    if isinstance(columns, dict):
        known = {column.name.casefold(): column.name for column in table.columns}
        for name, part in cast("dict[str, Any]", columns).items():
            if name.casefold() in known:
                parts[f"{table.name}.{known[name.casefold()]}"] = part
    for key, part in parts.items():
        if not isinstance(part, dict):
            continue
        given = cast("dict[str, Any]", part)
        for language in LANGUAGES:
            if (text := _line(given.get(language), NAME_LENGTH_MAX)) is not None:
                names.setdefault(key, {})[language] = text
        if (text := _line(given.get("description"), DESCRIPTION_LENGTH_MAX)) is not None:
            descriptions[key] = text
    measure = (
        _line(parts[table.name].get("measure_word"), MEASURE_WORD_LENGTH_MAX)
        if isinstance(parts[table.name], dict)
        else None
    )
    if measure is not None:
        measure_words[table.name] = measure
    kept = cast("dict[str, Mapping[Language, str]]", names)
    return replace(drafted, display_names=kept, descriptions=descriptions, measure_words=measure_words)


def _line(value: object, length_max: int) -> str | None:
    if not isinstance(value, str):
        return None
    text = " ".join(value.split())
    return text if text and len(text) <= length_max and text.isprintable() else None
