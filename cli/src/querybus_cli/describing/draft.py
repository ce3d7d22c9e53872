"""A first description of a database out of its names, values and profiles; pure, and nothing in it counts by itself.

What the database or its connection already says is not drafted again. Limits: a name that is no word stays without a name for
people, in Chinese also one whose words the bundled vocabulary does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final

from querybus.core.catalog import USUAL_MEASURE_WORD, Catalog, Column, ColumnKind, Language, Table
from querybus.text.readable_name import bilingual, readable_name
from querybus.text.words import HAN, word_set, words_of
from querybus_executor.catalog.personal_columns import recognised_by

SYNONYMS_MAX: Final = 4
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")

_FUNCTIONS: Final = word_set(
    "average mean highest lowest maximum minimum max min total sum count number most least first last share percent"
)
"""What a question asks of a column: as the name of one it would be read as that."""


@dataclass(frozen=True, slots=True)
class Description:
    """What was drafted; `reasons` say of a key why it is there, for the owner to judge."""

    display_names: Mapping[str, Mapping[Language, str]] = field(default_factory=dict[str, Mapping[Language, str]])
    measure_words: Mapping[str, str] = field(default_factory=dict[str, str])
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    descriptions: Mapping[str, str] = field(default_factory=dict[str, str])
    personal: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])

    def as_json(self) -> dict[str, Any]:
        """Return the keys of the file, without reasons."""
        names = ("display_names", "measure_words", "synonyms", "descriptions")
        return {name: dict(getattr(self, name)) for name in names} | {
            "personal": list(self.personal),
            "relations": list(self.relations),
        }


def drafted(catalog: Catalog) -> Description:
    """Return what the catalog suggests; relations are measured elsewhere."""
    display_names: dict[str, Mapping[Language, str]] = {}
    measure_words: dict[str, str] = {}
    synonyms: dict[str, tuple[str, ...]] = {}
    descriptions: dict[str, str] = {}
    personal: list[str] = []
    reasons: dict[str, str] = {}
    taken = {word for table in catalog.tables for word in words_of(table.name)}
    for table in catalog.tables:
        if names := _names(table):
            display_names[table.name] = names
        if not table.measure_word and table.kind == "table":
            measure_words[table.name] = measure_word_of(table.name)
        if others := tuple(_other_words(table, taken)):
            synonyms[table.name] = others
        if not table.comment and (said := _span(table)):
            descriptions[table.name] = said
        for column in table.columns:
            key = f"{table.name}.{column.name}"
            if names := _names(column):
                display_names[key] = names
            if reason := recognised_by(table, column):
                personal.append(key)
                reasons[key] = reason
    return Description(display_names, measure_words, synonyms, descriptions, tuple(personal), (), reasons)


def _names(named: Table | Column) -> Mapping[Language, str]:
    """Return names for people in the languages that have none yet."""
    made: dict[Language, str] = {}
    words = list(words_of(named.name))
    if len(words) == 1 and words[0] in _FUNCTIONS:
        return made
    for language in LANGUAGES:
        # A participle is no thing: "placed" is not the place that its base form would be in Chinese.
        if language in named.display_names or (language == "zh" and words and words[-1].endswith("ed")):
            continue
        text = readable_name(named.name, language)
        if text and (HAN.search(text) is not None) == (language == "zh"):
            made[language] = text
    return made


def measure_word_of(name: str) -> str:
    """Return what rows of a table with this name are counted in.

    >>> measure_word_of("customers"), measure_word_of("order_payments"), measure_word_of("zorbs")
    ('位', '笔', '个')
    """
    known = _measure_words()
    return next((known[word] for word in reversed(list(words_of(name))) if word in known), USUAL_MEASURE_WORD)


@cache
def _measure_words() -> Mapping[str, str]:
    text = resources.files("querybus_cli.describing").joinpath("measure_words.txt").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {word: measure for measure, *words in lines for word in words}


def _other_words(table: Table, taken: Iterable[str]) -> Iterator[str]:
    """Yield other words for a table's thing, English and Chinese, that no table is called by."""
    words = list(words_of(table.name))
    if len(words) != 1 or table.synonyms:
        return
    for group in bilingual()["groups"]:
        if words[0] == group["en"][0]:
            yield from [word for word in group["en"][1:] if word not in taken][:SYNONYMS_MAX]
            yield from [word for word in group["zh"][1:] if len(word) > 1][:SYNONYMS_MAX]
            return


def _span(table: Table) -> str:
    """Return over which days the rows of a table go, by its one date column."""
    dated = [
        column
        for column in table.columns
        if column.profile is not None
        and column.profile.value_min is not None
        and (column.kind in (ColumnKind.DATE, ColumnKind.DATETIME) or _DAY.match(column.profile.value_min))
    ]
    if len(dated) != 1 or dated[0].profile is None:
        return ""
    profile = dated[0].profile
    return f"from {(profile.value_min or '')[:10]} to {(profile.value_max or '')[:10]}, by {dated[0].name}"


_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
