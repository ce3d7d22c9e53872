"""The words around definitions: groupings, steps of time, comparisons, rankings, and those that say nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from querybus_semantic.layer.definitions import Grain
from querybus_translator.definitions.naming.vocabulary import phrase_of, word_list
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.time.words import time_words, times

_V = TypeVar("_V")
COMPARING = frozenset({Op.GREATER, Op.AT_LEAST, Op.LESS, Op.AT_MOST, Op.OR_MORE, Op.OR_LESS})
"""What compares a figure with a number."""


class Phrases(Generic[_V]):
    """Phrases by their words, and what each stands for. `firsts` says at once where none begins: nearly everywhere."""

    def __init__(self, meanings: Mapping[tuple[str, ...], _V]) -> None:
        self.meanings = meanings
        self.firsts = frozenset(phrase[0] for phrase in meanings if phrase)
        self.words_max = max(map(len, meanings), default=0)


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """How people speak about figures, in both languages, as phrases of base forms."""

    glue: frozenset[str]
    weighty: frozenset[str]
    grouping: Phrases[None]
    grains: Phrases[Grain]
    compared: Phrases[Grain]
    share: Phrases[None]
    closing: Phrases[None]
    with_rows: Phrases[None]
    trend: Phrases[None]
    ranked_nouns: frozenset[str]
    ranked_deeds: frozenset[str]
    doing_best: Phrases[None]
    doing_worst: Phrases[None]
    sorted_down: Phrases[None]
    sorted_up: Phrases[None]
    sorted_by: Phrases[None]
    open_periods: Mapping[str, Phrases[None]]
    to_date: Phrases[Grain]
    comparing: Phrases[None]
    descending: frozenset[str]
    ascending: frozenset[str]
    statistics: Mapping[str, tuple[str, ...]]
    valued: Phrases[None]
    sides: Mapping[str, frozenset[str]]
    changed: Phrases[Grain]
    currencies: Phrases[str]
    excluding: Phrases[None]
    having: Phrases[None]
    excluded_behind: frozenset[str]
    own: frozenset[str]
    changing: frozenset[str]
    at_that_time: Phrases[None]
    deeds: frozenset[str]
    supplies: frozenset[str]
    currency_deeds: frozenset[str]
    steps: frozenset[str]
    """A grouping and a step of time that dictionaries have as one word: 按月 is "monthly" there."""
    han: frozenset[str]


@lru_cache(maxsize=1)
def question_words() -> QuestionWords:
    """Return the words of definitions.toml, made once."""
    read = word_list()
    grains = {phrase_of(text): Grain(name) for language in read["grains"].values() for text, name in language.items()}
    compared = {phrase_of(text): Grain(row["unit"]) for row in read["compared"] for text in (*row["en"], *row["zh"])}
    changed = {phrase_of(text): Grain(row["unit"]) for row in read["changed"] for text in (*row["en"], *row["zh"])}
    ranking, share, closing, trend = read["ranking"], read["share"], read["closing"], read["trend"]
    excluding, having = read["excluding"], read["having"]
    return QuestionWords(
        glue=frozenset((*read["glue_en"].split(), *read["glue_zh"])),
        weighty=frozenset(read["weighty_en"].split()),
        grouping=_plain(*read["grouping_en"], *read["grouping_zh"]),
        grains=Phrases(grains),
        compared=Phrases(compared),
        share=_plain(*share["en"], *share["zh"]),
        closing=_plain(*closing["en"], *closing["zh"]),
        with_rows=_plain(*closing["with_rows"]),
        trend=_plain(*trend["en"], *trend["zh"]),
        ranked_nouns=frozenset(ranking["nouns_en"]),
        ranked_deeds=frozenset(ranking["ranked_deeds"]),
        doing_best=_plain(*ranking["doing_best"]),
        doing_worst=_plain(*ranking["doing_worst"]),
        sorted_down=_plain(*ranking["sorted_down"]),
        sorted_up=_plain(*ranking["sorted_up"]),
        sorted_by=_plain(*ranking["sorted_by"]),
        open_periods={name: _plain(*texts) for name, texts in read["open"].items()},
        to_date=Phrases({phrase_of(text): Grain(name) for name, texts in read["to_date"].items() for text in texts}),
        comparing=_plain(*read["comparing"]["en"], *read["comparing"]["zh"]),
        descending=frozenset((*ranking["descending_en"], *ranking["descending_zh"])),
        ascending=frozenset((*ranking["ascending_en"], *ranking["ascending_zh"])),
        statistics={word: tuple(others.split()) for word, others in read["statistics_zh"].items()},
        valued=_plain(*read["valued"]["en"], *read["valued"]["zh"]),
        sides={name: frozenset(texts) for name, texts in read["sides"].items()},
        changed=Phrases(changed),
        currencies=Phrases({phrase_of(text): code for code, texts in read["currencies"].items() for text in texts}),
        excluding=_plain(*excluding["en"], *excluding["zh"]),
        having=_plain(*having["en"], *having["zh"]),
        excluded_behind=frozenset(excluding["behind_zh"]),
        own=frozenset(read["own"]),
        changing=frozenset(read["changing"]),
        at_that_time=_plain(*read["at_that_time"]),
        deeds=frozenset(read["deeds"]),
        supplies=frozenset(read["supplies"]),
        currency_deeds=frozenset(read["currency_deeds"]),
        steps=frozenset(f"{grouping}{grain}" for grouping in read["grouping_zh"] for grain in read["grains"]["zh"]),
        han=frozenset((*_chinese(read), *time_words(), "至", "到", "前", "财", "本", "今年以来", "以来", "至今")),
    )


def _chinese(read: Mapping[str, Any]) -> list[str]:
    ranking, share, closing, trend = read["ranking"], read["share"], read["closing"], read["trend"]
    excluding, having = read["excluding"], read["having"]
    return [
        *excluding["zh"], *excluding["behind_zh"], *having["zh"],
        *read["glue_zh"], *read["grouping_zh"], *read["grains"]["zh"], *share["zh"], *closing["zh"], *trend["zh"],
        *(text for text in closing["with_rows"] if not text.isascii()),
        *read["valued"]["zh"], *(text for texts in read["sides"].values() for text in texts if not text.isascii()),
        *(text for row in read["changed"] for text in row["zh"]),
        *(text for texts in read["currencies"].values() for text in texts if not text.isascii()),
        *(text for texts in (*read["open"].values(), *read["to_date"].values()) for text in texts if not text.isascii()),
        *(text for text in (*ranking["sorted_down"], *ranking["sorted_up"]) if not text.isascii()),
        *(text for text in (*ranking["doing_best"], *ranking["doing_worst"]) if not text.isascii()),
        *read["comparing"]["zh"],
        *read["own"], *read["at_that_time"], *read["deeds"], *_comparing(),
        *ranking["descending_zh"], *ranking["ascending_zh"], *(text for row in read["compared"] for text in row["zh"]),
    ]  # fmt: skip


def _comparing() -> Iterator[str]:
    """Yield the Chinese words of comparisons with numbers, numbers themselves and what is counted by them."""
    known = lexicon()
    yield from (text for text, phrases in known.chinese.items() if any(one.op in COMPARING for one in phrases))
    yield from known.measure_words
    yield from times().digits


def _plain(*texts: str) -> Phrases[None]:
    return Phrases(dict.fromkeys(map(phrase_of, texts)))
