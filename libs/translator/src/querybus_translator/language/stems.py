"""English words are compared by base form, and more loosely by stem; nothing here knows a database.

Limits: rules for regular forms plus the list of irregular ones in `words/forms.toml`; other languages pass unchanged.
"""

from __future__ import annotations

from functools import lru_cache

from querybus.text import words
from querybus_translator.language.lexicon import lexicon


@lru_cache(maxsize=16_384)
def base_form(word: str) -> str:
    """Return the singular of a lower-case word.

    >>> [base_form(word) for word in ("cities", "boxes", "people", "glass", "tracks")]
    ['city', 'box', 'person', 'glass', 'track']
    """
    return lexicon().base.get(word) or words.singular(word)


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Return the root that related forms share.

    >>> stem("enrolled") == stem("enrollment"), stem("nationality") == stem("nation")
    (True, True)
    >>> stem("departed") == stem("departure"), stem("delivered") == stem("delivery")
    (True, True)
    >>> stem("settlement") == stem("settled"), stem("prescribed") == stem("prescriptions"), stem("submitted") == stem("submission")
    (True, True, True)
    """
    base = base_form(word)
    if base.endswith("ment") and len(base) >= _DEED_LENGTH_MIN and base not in _NO_DEEDS:
        base = base.removesuffix("ment")
    root = words.stem(base)
    return next((root.removesuffix(verb) + noun for verb, noun in _NOUNS_OF_VERBS if root.endswith(verb)), root)


_NOUNS_OF_VERBS = (
    ("scrib", "script"), ("submit", "submiss"), ("admit", "admiss"), ("departur", "depart"), ("deliveri", "deliv"),
    ("discoveri", "discov"), ("recoveri", "recov"), ("closur", "close"), ("expiri", "expir"), ("modifi", "modif"), ("citat", "cite"),
)  # fmt: skip
"""How stems of one deed differ, as a verb and as a noun."""
_DEED_LENGTH_MIN = 9
_NO_DEEDS = frozenset({"department", "apartment", "compartment", "management"})
