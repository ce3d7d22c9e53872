"""Words of names and questions: pieces of identifiers, base forms and stems of English, words and pairs of Chinese.

One morphology for linking, search and disclosure. It is by rule and knows no dictionary: forms that only a dictionary
relates are in `synonyms`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Container, Iterator
from functools import cached_property, lru_cache
from typing import Any, Final

WORD_HAN_MAX: Final = 6


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list that is written as prose."""
    return frozenset(text.split())


_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z\u3400-\u9fff]+|\d+|[\u3400-\u4dbf\u4e00-\u9fff]+")
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a name or a text: pieces of identifiers, singular, lower case; Han text as pairs.

    >>> list(words_of("OrderItems of 订单明细"))
    ['order', 'item', 'of', '订单', '单明', '明细']
    """
    for result in _PIECE.finditer(text):
        piece = result[0]
        if HAN.match(piece):
            if len(piece) == 1:
                yield piece
            for at in range(len(piece) - 1):
                yield piece[at : at + 2]
        else:
            yield singular(piece.lower())


def han_words(text: str, known: Container[str]) -> Iterator[str]:
    """Yield the Chinese words of a text that are known, the longest at each place.

    >>> list(han_words("有多少个供应商？", {"供应", "供应商"}))
    ['供应商']
    """
    for run in HAN.findall(text):
        at = 0
        while at < len(run):
            for length in range(min(WORD_HAN_MAX, len(run) - at), 0, -1):
                if run[at : at + length] in known:
                    yield run[at : at + length]
                    at += length
                    break
            else:
                at += 1


@lru_cache(maxsize=20_000)
def cached_words(text: str) -> tuple[str, ...]:
    """Return `words_of` as a tuple, remembered."""
    return tuple(words_of(text))


def singular(word: str) -> str:
    """Return an English plural's singular, as far as its ending says.

    >>> singular("categories"), singular("boxes"), singular("courses"), singular("address")
    ('category', 'box', 'course', 'address')
    """
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zzes", "tuses", "buses")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


_IRREGULAR: Final = {
    "person": "people",
    "child": "children",
    "man": "men",
    "woman": "women",
    **{
        word: word
        for word in ("people", "children", "men", "women", "staff", "stock", "data", "inventory", "information")
    },
    **{word: word for word in ("equipment", "history", "media", "hiring", "personnel", "sheep", "aircraft", "content")},
}


def plural(label: str) -> str:
    """Return the plural of an English label; one that ends in s is taken for one.

    >>> [plural(word) for word in ("city", "tv channel", "branch", "orders", "person", "staff")]
    ['cities', 'tv channels', 'branches', 'orders', 'people', 'staff']
    """
    start, space, last = label.rpartition(" ")
    if last in _IRREGULAR or not last.isascii() or not last[-1:].isalpha():
        return f"{start}{space}{_IRREGULAR.get(last, last)}"
    if last.endswith("s") and not last.endswith("ss"):
        return label
    if last.endswith("y") and last[-2:-1] not in "aeiou":
        return f"{label[:-1]}ies"
    return label + ("es" if last.endswith(("ss", "x", "ch", "sh", "z")) else "s")


def count_of(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural but for one; thousands are separated.

    >>> count_of(1, "table"), count_of(0, "entry"), count_of(12_000, "personal column")
    ('1 table', '0 entries', '12,000 personal columns')
    """
    return f"{count:,} {noun if count == 1 else plural(noun)}"


_UNCOUNTED: Final = frozenset(
    [
        "weather",
        "traffic",
        "money",
        "revenue",
        "income",
        "rain",
        "water",
        "electricity",
        "fuel",
        "music",
        "furniture",
        "luggage",
        "software",
        "hardware",
        "research",
        "feedback",
        "payroll",
        "stock",
        "data",
        "inventory",
        "information",
        "equipment",
        "history",
        "media",
        "content",
        "hiring",
        "news",
        "cash",
        "energy",
        "mail",
        "advertising",
        "marketing",
        "shipping",
        "billing",
        "staffing",
        "accounting",
        "attendance",
        "compensation",
        "maintenance",
        "advice",
        "knowledge",
        "work",
        "time",
        "space",
        "insurance",
    ]
)
"""Nouns of which nobody says how many there are."""
_SINGULAR_IN_S: Final = frozenset(
    {"status", "bus", "gas", "lens", "campus", "bonus", "basis", "analysis", "address", "class", "process"}
)
_SAME_IN_BOTH: Final = frozenset(
    {"staff", "people", "personnel", "sheep", "aircraft", "series", "species", "children", "men", "women"}
)


def is_uncounted(word: str) -> bool:
    """Return whether an English noun has no number: weather, money, equipment."""
    return word in _UNCOUNTED


def is_plural(word: str) -> bool:
    """Return whether an English noun may stand after "how many".

    >>> [word for word in ("orders", "people", "boxes", "weather", "status", "order", "series") if is_plural(word)]
    ['orders', 'people', 'boxes', 'series']
    """
    if word in _SAME_IN_BOTH:
        return True
    return word.endswith("s") and not word.endswith("ss") and word not in _SINGULAR_IN_S and not is_uncounted(word)


class _Stemmers(threading.local):
    """A stemmer for each thread: it keeps the word at work in itself, so two threads would spoil each other's."""

    @cached_property
    def english(self) -> Any:
        # Imported by who stems: the package loads every language it has.
        import snowballstemmer

        return snowballstemmer.stemmer("english")


_STEMMERS: Final = _Stemmers()


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return what related forms of an English word share, by Porter's second algorithm; other words as they are.

    >>> stem("enrollment") == stem("enrolled"), stem("rating") == stem("rated")
    (True, True)
    """
    return word if word.isdigit() else str(_STEMMERS.english.stemWord(word))
