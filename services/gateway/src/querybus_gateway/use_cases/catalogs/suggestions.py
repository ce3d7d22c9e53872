"""Questions that can be asked of a catalog as they stand, in either language, made of what its tables are called.

For business readers only names for people are used; where a table has none, nothing is suggested of it. Pure and
deterministic: the same catalog suggests the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from querybus.core.catalog import USUAL_MEASURE_WORD, Catalog, Column, ColumnKind, Language, Table
from querybus.core.envelope import Audience
from querybus.text.labels import column_label, table_label
from querybus.text.readable_name import spoken_name

SUGGESTIONS_MAX: Final = 12
GROUPS_MAX: Final = 50

_FIGURES: Final = frozenset({ColumnKind.INTEGER, ColumnKind.NUMBER})
_DATES: Final = frozenset({ColumnKind.DATE, ColumnKind.DATETIME})
_TEXTS: Final[dict[Language, tuple[str, str, str, str]]] = {
    "en": (
        "How many {table} per month?",
        "How many {table} are there for each {column}?",
        "What is the average {column} of {table}?",
        "How many {table} are there?",
    ),
    "zh": (
        "每个月有多少{measure}{table}？",
        "每个{column}有多少{measure}{table}？",
        "{table}的平均{column}是多少？",
        "有多少{measure}{table}？",
    ),
}


def suggestions(
    catalog: Catalog, language: Language, audience: Audience, whole: Catalog | None = None
) -> tuple[str, ...]:
    """Return up to SUGGESTIONS_MAX questions, larger tables before smaller, each beginning with another kind of question.

    `whole` is the catalog before anything was hidden from this reader: no name of it is given away.
    """
    ranked = sorted(enumerate(catalog.tables), key=lambda item: (-(item[1].row_estimate or 0), item[0]))
    by_table = [
        _turned(list(_of_table(table, whole or catalog, language, audience)), place)
        for place, (_, table) in enumerate(ranked[:SUGGESTIONS_MAX])
    ]
    result = [
        questions[place] for place in range(len(_TEXTS[language])) for questions in by_table if place < len(questions)
    ]
    return tuple(dict.fromkeys(result))[:SUGGESTIONS_MAX]


def _of_table(table: Table, catalog: Catalog, language: Language, audience: Audience) -> Iterator[str]:
    monthly, grouped, average, count = _TEXTS[language]
    called = table_label(table, language, catalog) or (spoken_name(table.name) if audience == "analyst" else None)
    if called is None:
        return
    measure = table.measure_word or USUAL_MEASURE_WORD
    keys = {*table.primary_key, *(name for key in table.foreign_keys for name in key.columns)}
    others = [column for column in table.columns if column.name not in keys and not column.personal]

    def label(column: Column) -> str | None:
        return column_label(column, catalog, language) or (spoken_name(column.name) if audience == "analyst" else None)

    # Of several dates nobody says which one counts.
    if len([column for column in others if column.kind in _DATES]) == 1:
        yield monthly.format(table=_within(called), measure=measure)
    for column in others:
        if (
            column.kind is ColumnKind.TEXT
            and 1 < (column.distinct_count or 0) <= GROUPS_MAX
            and (name := label(column))
        ):
            yield grouped.format(table=_within(called), column=_within(name), measure=measure)
            break
    for column in others:
        if column.kind in _FIGURES and not column.name.lower().endswith("id") and (name := label(column)):
            yield average.format(table=_within(called), column=_within(name))
            break
    yield count.format(table=_within(called), measure=measure)


def _turned(questions: list[str], places: int) -> list[str]:
    first = places % len(questions) if questions else 0
    return questions[first:] + questions[:first]


def _within(label: str) -> str:
    """Return a label as it stands within a sentence."""
    return label[:1].lower() + label[1:] if not label[:2].isupper() else label
