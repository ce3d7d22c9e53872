"""How close a written name is to the known ones: case, word separators, plural and typing differences only.

Limits: no meaning is compared, so "revenue" is not close to "income"; an abbreviation is not close either, because
following one was right in none of 19 measured cases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from rapidfuzz.distance import OSA

from querybus.text.words import singular

SCORE_MIN: Final = 0.8
MARGIN_MIN: Final = 0.08
NAME_LENGTH_MAX: Final = 128
TEXT_LENGTH_MAX: Final = 8_192
REMEMBERED_MAX: Final = 8_192
FAR_SHARE: Final = 0.4
_PLURAL_SCORE: Final = 0.96

_SEPARATORS = re.compile(r"[\s_\-.]+")


def plain(name: str) -> str:
    """Return the name without case and separators.

    >>> plain("First_Name") == plain("firstName")
    True
    """
    return _SEPARATORS.sub("", name).casefold()


def typing_distance(one: str, other: str) -> int:
    """Return the number of insertions, deletions, substitutions and swaps of neighbours between two texts.

    >>> typing_distance("naem", "name"), typing_distance("nam", "name")
    (1, 1)
    """
    return OSA.distance(one, other)


@lru_cache(maxsize=REMEMBERED_MAX)
def score(written: str, known: str) -> float:
    """Return how close two names are, 0..1; 1 where only case and separators differ."""
    one, other = plain(written[:NAME_LENGTH_MAX]), plain(known[:NAME_LENGTH_MAX])
    if one == other:
        return 1.0
    if singular(one) == singular(other):
        return _PLURAL_SCORE
    longest = max(len(one), len(other))
    if not longest or abs(len(one) - len(other)) > FAR_SHARE * longest:
        return 0.0
    return 1 - typing_distance(one, other) / longest


def closest(written: str, known: Iterable[str]) -> str | None:
    """Return the one name that is near enough and clearly nearer than all others, else None.

    >>> closest("custmer_id", ["customer_id", "order_id"])
    'customer_id'
    >>> closest("name1", ["name2", "name3"]) is None
    True
    """
    ranked = sorted(((score(written, item), item) for item in dict.fromkeys(known)), reverse=True)
    if not ranked or ranked[0][0] < SCORE_MIN:
        return None
    if len(ranked) > 1 and ranked[0][0] - ranked[1][0] < MARGIN_MIN:
        return None
    return ranked[0][1]


@lru_cache(maxsize=REMEMBERED_MAX)
def words(name: str) -> tuple[str, ...]:
    """Return the words of a name, in the singular.

    >>> words("petTypes"), words("level_of_membership"), words("HTTPCode2")
    (('pet', 'type'), ('level', 'of', 'membership'), ('http', 'code', '2'))
    """
    return tuple(singular(match.casefold()) for match in _WORD.findall(name[:NAME_LENGTH_MAX]))


def spoken(text: str) -> frozenset[str]:
    """Return the words of a question, in the singular.

    >>> sorted(spoken("Which cities' names?"))
    ['city', 'name', 'which']
    """
    return frozenset(singular(match.casefold()) for match in _WORD.findall(text[:TEXT_LENGTH_MAX]))


_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+")


@lru_cache(maxsize=REMEMBERED_MAX)
def variant_score(written: str, known: str, table: str, key: str | None = None) -> float:
    """Return how close a written name is to a table's column if the table's own name may be added or left out, 0..1.

    `key` is the table's single key: a bare `id` is it.

    >>> variant_score("id", "Museum_ID", "museum") > SCORE_MIN, variant_score("level", "level_of_membership", "visitor")
    (True, 0.82)
    """
    near = score(written, known)
    if near >= SCORE_MIN:
        return near
    short, long = plain(written), plain(known)
    if (
        min(len(short), len(long)) >= TYPED_LENGTH_MIN
        and abs(len(short) - len(long)) <= 1
        and typing_distance(short[:64], long[:64]) == 1
        and (short[0] == long[0] or min(len(short), len(long)) > SHORT_LENGTH_MAX)
    ):
        return SCORE_MIN
    if (
        key is not None
        and known == key
        and plain(written) in ("id", plain(table) + "id", singular(plain(table)) + "id")
    ):
        return 0.9
    own = {*words(table), singular(plain(table))}
    one = [word for word in words(written) if word not in own]
    other = [word for word in words(known) if word not in own]
    if (one or other) and one == other:
        return 0.92
    if not one and other == ["name"]:
        return 0.9
    if "".join(one) == "".join(other) and one:
        return 0.9
    if one and set(words(written)) < set(words(known)) and len("".join(one)) > 2:
        return 0.82
    if (
        len(one) == len(other)
        and one
        and all(_is_short_for(a, b, alone=len(words(written)) == 1) for a, b in zip(one, other, strict=True))
    ):
        return 0.82
    whole, known_whole = words(written), words(known)
    if len(whole) == len(known_whole) > 1 and all(
        _is_short_for(a, b, alone=False) for a, b in zip(whole, known_whole, strict=True)
    ):
        return 0.82
    if _as_names(one) == (_as_names(other) or ["name"]):
        return 0.8
    shared = len(set(words(written)) & set(words(known)) - _EMPTY)
    return SHARED_WORD_SCORE * shared / max(len(words(written)), len(words(known))) + 0.3 if shared else 0.0


TYPED_LENGTH_MIN: Final = 3
SHORT_LENGTH_MAX: Final = 4
"""Of so short a name the first letter is never slipped: a wage is no age."""
SHARED_WORD_SCORE: Final = 0.5
_NAMES: Final = frozenset({"name", "title", "label"})
_EMPTY: Final = frozenset({"id", "of", "the", "name", "code", "number", "type", "date"})


def _as_names(parts: list[str]) -> list[str]:
    return [part if part not in _NAMES else "name" for part in parts]


def _is_short_for(written: str, known: str, *, alone: bool) -> bool:
    """Return whether a word is another, or begins it, or (not alone) leaves out letters of it."""
    if written == known:
        return True
    if len(written) < TYPED_LENGTH_MIN or written[0] != known[0]:
        return False
    letters = iter(known)
    return known.startswith(written) or (not alone and all(item in letters for item in written))
