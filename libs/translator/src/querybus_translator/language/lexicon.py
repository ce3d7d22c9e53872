"""The bundled lexicon: function words, comparing adjectives and a bilingual thesaurus, read once from the package.

It holds ordinary dictionary words only; what a connected database calls its tables is found in its catalog, never here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from importlib import resources
from typing import Any, Final

from querybus.text.names.spelt_names import abbreviations
from querybus.text.readable_name import bilingual


class Op(Enum):
    """What a phrase of fixed meaning does in a question."""

    COUNT = auto()
    COUNT_KINDS = auto()
    SHOW = auto()
    SUM = auto()
    AVERAGE = auto()
    SHARE = auto()
    MAXIMUM = auto()
    MINIMUM = auto()
    GREATER = auto()
    AT_LEAST = auto()
    LESS = auto()
    AT_MOST = auto()
    EQUAL = auto()
    UNEQUAL = auto()
    AFTER = auto()
    BEFORE = auto()
    SINCE = auto()
    OR_MORE = auto()
    OR_LESS = auto()
    BETWEEN = auto()
    TO = auto()
    CONTAINS = auto()
    STARTS = auto()
    STARTS_AFTER = auto()
    ENDS = auto()
    ENDS_AFTER = auto()
    NOT = auto()
    TIES = auto()
    EACH = auto()
    BY = auto()
    GROUPED = auto()
    ORDER = auto()
    ASCENDING = auto()
    DESCENDING = auto()
    MOST = auto()
    FEWEST = auto()
    COMMON = auto()
    RARE = auto()
    FREQUENCY = auto()
    HIGHEST = auto()
    LOWEST = auto()
    DISTINCT = auto()
    BOTH = auto()
    OR = auto()
    AND = auto()
    BUT = auto()
    RELATIVE = auto()
    NULL = auto()
    IN_ALL = auto()
    COMPARE = auto()
    UNSUPPORTED = auto()
    NAMED = auto()
    DETAILS = auto()
    WRITE = auto()
    TIMES = auto()
    UNIT = auto()
    OLD = auto()
    ADJECTIVE_MORE = auto()
    ADJECTIVE_LESS = auto()
    ADJECTIVE_MOST = auto()
    ADJECTIVE_LEAST = auto()
    ADJECTIVE_ASK = auto()


POSSESSIVES: Final = frozenset({"their", "its", "his", "her"})
ADJECTIVES: Final = frozenset({Op.ADJECTIVE_MORE, Op.ADJECTIVE_LESS, Op.ADJECTIVE_MOST, Op.ADJECTIVE_LEAST})


FIGURES: Final = frozenset({Op.SUM, Op.AVERAGE, Op.MAXIMUM, Op.MINIMUM})


@dataclass(frozen=True, slots=True)
class Concept:
    """What an adjective compares: words for figures that grow with it, and words for those that shrink."""

    of: tuple[str, ...]
    against: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase of fixed meaning; `concepts` only for adjectives."""

    op: Op
    words: tuple[str, ...]
    concepts: tuple[Concept, ...] = ()


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Everything bundled. `english` and `chinese` map a phrase to its meanings; `related` a word to its group mates."""

    english: Mapping[tuple[str, ...], tuple[Phrase, ...]]
    english_length_max: int
    chinese: Mapping[str, tuple[Phrase, ...]]
    stopwords: frozenset[str]
    light_words: frozenset[str]
    verbs: frozenset[str]
    deeds: frozenset[str]
    relating: frozenset[str]
    verbs_behind_do: frozenset[str]
    chinese_stopwords: frozenset[str]
    related: Mapping[str, frozenset[str]]
    heads: Mapping[str, frozenset[str]]
    """By Chinese word the first English word of each of its groups."""
    chinese_words: frozenset[str]
    abbreviations: Mapping[str, tuple[str, ...]]
    base: Mapping[str, str]
    numbers: Mapping[str, int]
    ordinals: Mapping[str, int]
    stored: Mapping[str, tuple[str, ...]]
    label_words: frozenset[str]
    key_words: frozenset[str]
    fillers: frozenset[str]
    additive: frozenset[str]
    additive_in_events: frozenset[str]
    vague: frozenset[str]
    time_suffixes: tuple[str, ...]
    scales: Mapping[str, int]
    averaged: frozenset[str]
    range_leads: frozenset[str]
    measure_words: frozenset[str]
    measured: Mapping[str, str]


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """Return the bundled lexicon. Read from package data at first use, then kept."""
    phrases = _read("phrases")
    adjectives = _read("adjectives")
    words = _read("thesaurus")
    forms = _read("forms")
    stop = _read("stopwords")
    english: dict[tuple[str, ...], tuple[Phrase, ...]] = {}
    chinese: dict[str, tuple[Phrase, ...]] = {}
    for op, concept, en, zh in (*_plain(phrases), *_comparing(adjectives)):
        for form in en:
            key = tuple(form.split())
            english[key] = _join(english.get(key, ()), Phrase(op, key, (concept,) if concept else ()))
        for form in zh:
            chinese[form] = _join(chinese.get(form, ()), Phrase(op, (form,), (concept,) if concept else ()))
    related, heads, chinese_words = _groups()
    stored: dict[str, tuple[str, ...]] = {}
    for row in forms["stored"]:
        for item in (*row.get("en", ()), *row.get("zh", ())):
            stored[item] = tuple(row["as"])
    for people, (country, in_chinese) in forms["demonyms"].items():
        stored |= {people: (country, people), in_chinese: (country, people)}
    stored |= {state: (state, code) for state, code in forms["states"].items()}
    return Lexicon(
        english=english,
        english_length_max=max(len(item) for item in english),
        chinese=chinese,
        stopwords=frozenset((*stop["en"], *stop["light"])),
        light_words=frozenset(stop["light"]),
        verbs=frozenset((*stop["verbs"], *stop["verbs_zh"])),
        deeds=frozenset(stop["deeds"]),
        relating=frozenset((*stop["relating"], *stop["relating_zh"])),
        verbs_behind_do=frozenset(stop["verbs_behind_do"]),
        chinese_stopwords=frozenset(stop["zh"]),
        related=related,
        heads=heads,
        chinese_words=chinese_words,
        abbreviations=abbreviations(),
        base=forms["base"],
        numbers=forms["number"],
        ordinals=forms["ordinal"],
        stored=stored,
        label_words=frozenset(words["labels"]),
        key_words=frozenset(words["keys"]),
        fillers=frozenset(words["fillers"]),
        additive=frozenset(words["additive"]),
        additive_in_events=frozenset(words["additive_in_events"]),
        vague=frozenset(words["vague"]),
        time_suffixes=tuple(words["time_suffixes"]),
        scales=forms["scale"],
        averaged=frozenset(words["averaged"]),
        range_leads=frozenset(stop["range_leads"]),
        measure_words=frozenset(stop["measure_words"]),
        measured=stop["measured"],
    )


def _groups() -> tuple[Mapping[str, frozenset[str]], Mapping[str, frozenset[str]], frozenset[str]]:
    """Return by word its group mates, by Chinese word the first English word of each of its groups, and all Chinese words."""
    related: dict[str, frozenset[str]] = {}
    heads: dict[str, frozenset[str]] = {}
    for group in bilingual()["groups"]:
        members = frozenset((*group["en"], *group["zh"]))
        for member in members:
            related[member] = related.get(member, frozenset()) | members
        for member in group["zh"]:
            heads[member] = heads.get(member, frozenset()) | frozenset(group["en"][:1])
    return related, heads, frozenset(heads)


def _read(file: str) -> dict[str, Any]:
    text = resources.files("querybus_translator").joinpath("words", f"{file}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _plain(document: dict[str, Any]) -> Iterable[tuple[Op, Concept | None, list[str], list[str]]]:
    for row in document["phrase"]:
        yield Op[row["op"].upper()], None, row.get("en", []), row.get("zh", [])


def _comparing(document: dict[str, Any]) -> Iterable[tuple[Op, Concept | None, list[str], list[str]]]:
    for row in document["adjective"]:
        concept = Concept(tuple(row["of"]), tuple(row.get("against", ())))
        yield (
            Op.ADJECTIVE_MORE,
            concept,
            [form + " than" for form in row.get("more", [])],
            row.get("zh_more", []),
        )
        yield (
            Op.ADJECTIVE_LESS,
            concept,
            [form + " than" for form in row.get("less", [])],
            row.get("zh_less", []),
        )
        yield Op.ADJECTIVE_ASK, concept, [*row.get("ask", []), *row.get("verbs", [])], row.get("zh_ask", [])
        yield (
            Op.ADJECTIVE_MOST,
            concept,
            [*_superlative(row.get("most", []), "most"), *row.get("most_said", [])],
            _attributive(row.get("zh_most", [])),
        )
        least = _superlative(row.get("least", []), "least")
        yield Op.ADJECTIVE_LEAST, concept, least, _attributive(row.get("zh_least", []))
        bare = [form for form in row.get("most", []) if not form.endswith("st")]
        yield Op.ADJECTIVE_LEAST, concept, [f"least {form}" for form in bare], []
        yield Op.ADJECTIVE_MORE, concept, [f"more {form} than" for form in bare], []
        yield Op.ADJECTIVE_LESS, concept, [f"less {form} than" for form in bare], []


def _attributive(forms: list[str]) -> list[str]:
    """年龄最大 and 年龄最大的."""
    return [form + ending for form in forms for ending in ("", "的")]


def _superlative(forms: list[str], degree: str) -> list[str]:
    names: list[str] = []
    for form in forms:
        if form.endswith("st"):
            names.append(form)
        else:
            names.append(f"{degree} {form}")
    return names


def _join(known: tuple[Phrase, ...], new: Phrase) -> tuple[Phrase, ...]:
    for place, item in enumerate(known):
        if item.op is new.op:
            merged = Phrase(item.op, item.words, (*item.concepts, *new.concepts))
            return (*known[:place], merged, *known[place + 1 :])
    return (*known, new)
