"""Which words of a catalog an English word may stand for that the catalog does not use, by a general dictionary (`words/english.txt`,
from WordNet) and by what people say for each other's names (`words/everyday.toml`).

The file is read anew for each catalog that is asked in such words, some 15 ms; nothing of it is kept but what leads to that catalog.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Final

from querybus_translator.language.stems import base_form

NEAR: Final = 0.82
"""A likely meaning of both words."""
FAR: Final = 0.74
"""A rarer meaning of one of them."""
KIND_OF: Final = 0.72
"""One word is a kind of the other: a drug and a medicine."""
_CLOSENESS: Final = (NEAR, FAR, KIND_OF)


def english_words(own: frozenset[str]) -> Mapping[str, Mapping[str, float]]:
    """Return for each other word those of `own` that it may stand for, each with its closeness in 0..1.

    >>> dict(english_words(frozenset({"student", "railway"}))["pupil"])
    {'student': 0.82}
    >>> dict(english_words(frozenset({"medicine"}))["drug"])
    {'medicine': 0.72}
    """
    result: dict[str, dict[str, float]] = defaultdict(dict)
    path = resources.files("querybus_translator").joinpath("words", "english.txt")
    for line in path.read_text(encoding="utf-8").splitlines():
        parts = line.split()
        if own.isdisjoint(parts) or parts[0] == "#":
            continue
        word, closeness = parts[0], iter(_CLOSENESS)
        near = next(closeness)
        for other in parts[1:]:
            if other == ";":
                near = next(closeness)
                continue
            if other in own:
                result[word][other] = max(near, result[word].get(other, 0.0))
            if near == KIND_OF and word in own:
                result[other][word] = max(near, result[other].get(word, 0.0))
    for closeness, group in everyday():
        for word in group:
            for other in own.intersection(group) - {word}:
                result[word][other] = max(closeness, result[word].get(other, 0.0))
    return result


def everyday() -> Iterator[tuple[float, tuple[str, ...]]]:
    """Give the groups of words that people say for each other, each with how close its words are."""
    text = resources.files("querybus_translator").joinpath("words", "everyday.toml").read_text(encoding="utf-8")
    listed = tomllib.loads(text)
    for name, closeness in (("near", NEAR), ("far", FAR)):
        for group in listed[name]:
            yield closeness, tuple(map(base_form, group))
