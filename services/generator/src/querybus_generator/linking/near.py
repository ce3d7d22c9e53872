"""What an embeddings model is sent of a table, and what it says is near a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from querybus.core.catalog import Table

TEXT_CHARS_MAX: Final = 1_500
_COMMENT_CHARS_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Near:
    """What is near a question. `state` is empty where nobody was asked, `used`, or why words stand alone."""

    tables: Mapping[int, float] = field(default_factory=dict[int, float])
    """Nearness in 0..1 by the table's place in the catalog."""
    entries: Mapping[str, float] = field(default_factory=dict[str, float])
    """Nearness in 0..1 by the id of what was taught."""
    state: str = ""
    seconds: float = 0.0


def text_of(table: Table) -> str:
    """Return what is embedded of a table: its names and comments and those of its columns, never a value."""
    parts = [_called(table.name, *table.display_names.values(), *table.synonyms), table.comment[:_COMMENT_CHARS_MAX]]
    for column in table.columns:
        parts.append(_called(column.name, *column.display_names.values(), *column.synonyms))
        parts.append(column.comment[:_COMMENT_CHARS_MAX])
    return ", ".join(part for part in parts if part)[:TEXT_CHARS_MAX]


def _called(*names: str) -> str:
    return " ".join(dict.fromkeys(name.replace("_", " ") for name in names))
