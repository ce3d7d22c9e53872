"""Questions that can be asked of a catalog as they stand, in either language, made of what its tables are called.

For business readers only names for people are used; where a table has none, nothing is suggested of it. Pure and
deterministic: the same catalog suggests the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from querybus.core.catalog import Catalog, Column, ColumnKind, Language, Table
from querybus.core.envelope import Audience
from querybus.text.labels import column_label, table_label

SUGGESTIONS_MAX: Final = 12
GROUPS_MAX: Final = 50

_FIGURES: Final = frozenset({ColumnKind.INTEGER, ColumnKind.NUMBER})
_TEXTS: Final[dict[Language, tuple[str, str, str]]] = {
    "en": (
        "How many {table} are there?",
        "How many {table} are there for each {column}?",
        "What is the average {column} of {table}?",
    ),
    "zh": ("有多少个{table}？", "每个{column}有多少个{table}？", "{table}的平均{column}是多少？"),
}


def suggestions(
    catalog: Catalog, language: Language, audience: Audience, whole: Catalog | None = None
) -> tuple[str, ...]:
    """Return up to SUGGESTIONS_MAX questions; the first of each table come first, larger tables before smaller.

    `whole` is the catalog before anything was hidden from this reader: no name of it is given away.
    """
    ranked = sorted(enumerate(catalog.tables), key=lambda item: (-(item[1].row_estimate or 0), item[0]))
    by_table = [list(_of_table(table, whole or catalog, language, audience)) for _, table in ranked[:SUGGESTIONS_MAX]]
    result = [
        questions[place] for place in range(len(_TEXTS[language])) for questions in by_table if place < len(questions)
    ]
    return tuple(dict.fromkeys(result))[:SUGGESTIONS_MAX]


def _of_table(table: Table, catalog: Catalog, language: Language, audience: Audience) -> Iterator[str]:
    count, grouped, average = _TEXTS[language]
    called = table_label(table, language, catalog) or (_spoken(table.name) if audience == "analyst" else None)
    if called is None:
        return
    yield count.format(table=_within(called))
    keys = {*table.primary_key, *(name for key in table.foreign_keys for name in key.columns)}
    others = [column for column in table.columns if column.name not in keys and not column.personal]

    def label(column: Column) -> str | None:
        return column_label(column, catalog, language) or (_spoken(column.name) if audience == "analyst" else None)

    for column in others:
        if (
            column.kind is ColumnKind.TEXT
            and 1 < (column.distinct_count or 0) <= GROUPS_MAX
            and (name := label(column))
        ):
            yield grouped.format(table=_within(called), column=_within(name))
            break
    for column in others:
        if column.kind in _FIGURES and not column.name.lower().endswith("id") and (name := label(column)):
            yield average.format(table=_within(called), column=_within(name))
            break


def _spoken(name: str) -> str:
    return name.replace("_", " ")


def _within(label: str) -> str:
    """Return a label as it stands within a sentence."""
    return label[:1].lower() + label[1:] if not label[:2].isupper() else label
