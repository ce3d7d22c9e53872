"""Units of times, lengths and weights (`words/units.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

Unit = tuple[str, float]
"""What is measured, and how many of its smallest unit this one is."""


def unit_of_measure(word: str) -> Unit | None:
    """Return the unit that a word stands for, in either language.

    >>> unit_of_measure("hours"), unit_of_measure("小时"), unit_of_measure("orders")
    (('time', 3600000.0), ('time', 3600000.0), None)
    """
    return _units().get(word.lower())


@lru_cache(maxsize=1)
def _units() -> Mapping[str, Unit]:
    text = resources.files("querybus_translator").joinpath("words", "units.toml").read_text(encoding="utf-8")
    return {
        word: (kind, float(factor))
        for kind, units in tomllib.loads(text).items()
        for factor, words in units.items()
        for word in words
    }
