"""Which words of a catalog an English word may stand for that the catalog does not use, by what people say for each other's names
(`words/everyday.toml`).
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Final

from querybus_translator.language.stems import base_form

NEAR: Final = 0.82
"""A likely meaning of both words."""
FAR: Final = 0.74
"""A rarer meaning of one of them."""


def english_words(own: frozenset[str]) -> Mapping[str, Mapping[str, float]]:
    """Return for each other word those of `own` that it may stand for, each with its closeness in 0..1.

    >>> dict(english_words(frozenset({"student", "railway"}))["pupil"])
    {'student': 0.82}
    """
    result: dict[str, dict[str, float]] = defaultdict(dict)
    for closeness, group in everyday_groups():
        for word in group:
            for other in own.intersection(group) - {word}:
                result[word][other] = max(closeness, result[word].get(other, 0.0))
    return result


@lru_cache(maxsize=1)
def everyday_groups() -> tuple[tuple[float, tuple[str, ...]], ...]:
    """Return the groups of words that people say for each other, each with how close its words are in 0..1."""
    text = resources.files("querybus_translator").joinpath("words", "everyday.toml").read_text(encoding="utf-8")
    listed = tomllib.loads(text)
    return tuple(
        (closeness, tuple(map(base_form, group)))
        for name, closeness in (("near", NEAR), ("far", FAR))
        for group in listed[name]
    )
