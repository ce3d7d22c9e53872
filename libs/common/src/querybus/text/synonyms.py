"""Other words for a word of a question, English in its base form or Chinese: of no database in particular.

They stand in `synonyms.txt`, one word a line with what else is said for it, the likeliest first; `make synonyms` gathers
them from a list of business words and from `querybus/text/bilingual.toml`, and a test holds the two alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources


@lru_cache(maxsize=1)
def link_words() -> Mapping[str, tuple[str, ...]]:
    """Return the words by word, the likeliest first.

    >>> "customer" in link_words()["客户"]
    True
    """
    text = resources.files("querybus.text").joinpath("synonyms.txt").read_text(encoding="utf-8")
    pairs = (line.partition(" = ") for line in text.splitlines())
    return {word: tuple(others.split()) for word, _, others in pairs}
