"""English words are compared by base form, and more loosely by stem; nothing here knows a database.

Limits: rules for regular forms plus the list of irregular ones in `words/forms.toml`; other languages pass unchanged.
"""

from __future__ import annotations

from functools import lru_cache

from querybus.text.words import singular
from querybus_translator.language.lexicon import lexicon

_VOWELS = frozenset("aeiou")
_SUFFIXES = (
    "izations", "ization", "ations", "ation", "ments", "ment", "ities", "ity", "ingly", "ness", "ional", "tional",
    "ions", "ion", "ings", "ing", "ers", "ors", "er", "or", "eds", "ed", "ives", "ive", "ances", "ance", "ences",
    "ence", "ables", "able", "als", "al", "ly", "s", "e", "y",
)  # fmt: skip


@lru_cache(maxsize=16_384)
def base_form(word: str) -> str:
    """Return the singular of a lower-case word.

    >>> [base_form(each) for each in ("cities", "boxes", "people", "glass", "tracks")]
    ['city', 'box', 'person', 'glass', 'track']
    """
    return lexicon().base.get(word) or singular(word)


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Return the root that related forms share, at least four letters long.

    >>> stem("enrolled") == stem("enrollment"), stem("nationality") == stem("nation")
    (True, True)
    """
    root = base_form(word)
    for _ in range(2):
        for suffix in _SUFFIXES:
            if root.endswith(suffix) and len(root) - len(suffix) >= 4:
                root = root[: -len(suffix)]
                break
    if len(root) > 4 and root[-1] == root[-2] and root[-1] not in _VOWELS:
        root = root[:-1]
    return root
