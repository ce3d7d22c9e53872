"""The words around definitions: groupings, steps of time, comparisons, rankings, and those that say nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from querybus_semantic.layer.definitions import Grain
from querybus_translator.definitions.vocabulary import phrase_of, word_list
from querybus_translator.language.periods import time_words


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """How people speak about figures, in both languages, as phrases of base forms."""

    glue: frozenset[str]
    weighty: frozenset[str]
    grouping: tuple[tuple[str, ...], ...]
    grains: Mapping[tuple[str, ...], Grain]
    compared: Mapping[tuple[str, ...], Grain]
    share: frozenset[tuple[str, ...]]
    closing: frozenset[tuple[str, ...]]
    trend: frozenset[tuple[str, ...]]
    descending: frozenset[str]
    ascending: frozenset[str]
    han: frozenset[str]


@lru_cache(maxsize=1)
def question_words() -> QuestionWords:
    """Return the words of definitions.toml, made once."""
    read = word_list()
    grains = {phrase_of(text): Grain(name) for language in read["grains"].values() for text, name in language.items()}
    compared = {phrase_of(text): Grain(row["unit"]) for row in read["compared"] for text in (*row["en"], *row["zh"])}
    ranking, share, closing, trend = read["ranking"], read["share"], read["closing"], read["trend"]
    chinese = [
        *read["glue_zh"], *read["grouping_zh"], *read["grains"]["zh"], *share["zh"], *closing["zh"], *trend["zh"],
        *ranking["descending_zh"], *ranking["ascending_zh"], *(text for row in read["compared"] for text in row["zh"]),
    ]  # fmt: skip
    return QuestionWords(
        glue=frozenset((*read["glue_en"].split(), *read["glue_zh"])),
        weighty=frozenset(read["weighty_en"].split()),
        grouping=tuple(phrase_of(text) for text in (*read["grouping_en"], *read["grouping_zh"])),
        grains=grains,
        compared=compared,
        share=frozenset(phrase_of(text) for text in (*share["en"], *share["zh"])),
        closing=frozenset(phrase_of(text) for text in (*closing["en"], *closing["zh"])),
        trend=frozenset(phrase_of(text) for text in (*trend["en"], *trend["zh"])),
        descending=frozenset((*ranking["descending_en"], *ranking["descending_zh"])),
        ascending=frozenset((*ranking["ascending_en"], *ranking["ascending_zh"])),
        han=frozenset((*chinese, *time_words(), "至", "到", "前", "财", "本", "今年以来", "以来")),
    )
