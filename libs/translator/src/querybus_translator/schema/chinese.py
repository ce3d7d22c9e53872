"""What Chinese words mean in a catalog that is named in English: names, pairs of words, and values that are stored in English."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from querybus_translator.language.chinese_words import chinese_words

TRANSLATED: Final = 0.95
"""A Chinese word for an English one, where the catalog calls nothing in Chinese."""
VALUE_WORDS_MAX: Final = 2
"""Of how many words a value is that is looked for in Chinese."""
_PARTICLE: Final = "的"

Others = Mapping[str, Mapping[str, float]]
"""Words that the catalog does not use, each with those of its own that it may stand for and their closeness."""


@dataclass(slots=True)
class ChineseMeanings:
    """By Chinese word: own words with their closeness, two own words that it stands for together, keys of values,
    and words of the catalog that are a part of what it means.
    """

    names: dict[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    compounds: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict[str, tuple[tuple[str, str], ...]])
    values: dict[str, list[tuple[str, ...]]] = field(default_factory=dict[str, list[tuple[str, ...]]])
    parts: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


def chinese_meanings(
    own: frozenset[str], others: Others, stored: frozenset[tuple[str, ...]], known: frozenset[str]
) -> ChineseMeanings:
    """Return what Chinese words mean; `stored` are values as words, `known` the Chinese words that need no dictionary."""
    result = ChineseMeanings()
    english = frozenset((*own, *others, *(word for key in stored for word in key)))
    stored_alone = frozenset(key[0] for key in stored if len(key) == 1)
    for chinese, meant in chinese_words(english, partly=True).items():
        # 剧目的 is no purpose: a word that ends like a particle is rather two.
        if chinese in known or chinese.endswith(_PARTICLE):
            continue
        keys = [key for key in (tuple(item.split()) for item in sorted(meant)) if key in stored]
        if keys:
            result.values[chinese] = keys
        said = [item for item in sorted(meant) if item in own]
        pairs = [item.split() for item in sorted(meant) if " " in item and all(word in own for word in item.split())]
        if pairs:
            result.compounds[chinese] = tuple((first, second) for first, second in pairs)
        if pairs and not said:
            continue
        if names := stands_for(said or meant, own, others):
            result.names[chinese] = names
        elif not keys:
            words = dict.fromkeys(word for item in sorted(meant) for word in item.split())
            parts = tuple(word for word in words if word in own or word in stored_alone)
            if parts:
                result.parts[chinese] = parts
    return result


def stands_for(english: Iterable[str], own: Container[str], others: Others) -> Mapping[str, float]:
    """Return the words of a catalog that these English ones are or may stand for, each with its closeness."""
    result: dict[str, float] = {}
    for word in english:
        if word in own:
            result[word] = TRANSLATED
            continue
        for named, closeness in others.get(word, {}).items():
            result[named] = max(TRANSLATED * closeness, result.get(named, 0.0))
    return result
