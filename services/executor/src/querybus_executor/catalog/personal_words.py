"""The words of names by which personal columns are known, and how a column's name is taken apart into them."""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, cast

from querybus.text.similarity import words

_Groups = Mapping[str, "str | list[str]"]
_READ: Final = cast(
    "Mapping[str, _Groups]", tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
)
PIECE_LENGTH_MIN: Final = 2
GLUED_NAME_LENGTH_MIN: Final = 5
BEGINNING_LENGTH_MIN: Final = 5
NAME_PIECES_MAX: Final = 12
_HALVES: Final = ("f", "l", "m")
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})
_NAMES_KEPT_MAX: Final = 100_000


def word_group(part: str, *keys: str) -> frozenset[str]:
    """Return the words of a part of the file, all of them or those under some keys."""
    groups = _READ[part]
    return frozenset(word for key in keys or groups for word in cast("str", groups[key]).split())


PAIRS: Final = frozenset(tuple(pair.split()) for pair in _READ["pairs"]["contact"])
AFTER: Final = frozenset(cast("str", _READ["pairs"]["after"]).split())
WHOSE: Final = frozenset(cast("str", _READ["pairs"]["whose"]).split())
CONTACT: Final = word_group("contact")
TEXT_CONTACT: Final = word_group("contact", "email", "address")
"""What is never a number or a day."""
BIRTH: Final = word_group("contact", "birth")
BIRTH_PARTS: Final = word_group("birth")
NAME: Final = word_group("names", "word")
FIRST: Final = word_group("names", "first")
LAST: Final = word_group("names", "last")
PARTS: Final = FIRST | LAST | word_group("names", "other")
WHOLE: Final = word_group("names", "whole")
EITHER: Final = word_group("names", "either")
FULL: Final = word_group("names", "full")
INDIVIDUALS: Final = word_group("persons", "individual")
PERHAPS_COMPANIES: Final = word_group("persons", "perhaps_companies")
PERSONS: Final = INDIVIDUALS | PERHAPS_COMPANIES
PUBLIC: Final = word_group("persons", "public")
"""Persons who are known to everybody, and asked about by their names."""
NO_PERSONS: Final = PUBLIC | word_group("persons", "animals")
MARKS: Final = {
    key: word_group("marks", key) for key in ("sex", "salutation", "civil", "work", "age", "companies", "partners")
}
BY_WHOM: Final = word_group("persons", "by_whom")
"""How a column is called that says who did or does something."""
BESIDE: Final = word_group("beside_persons", "contact")
BESIDE_NAMES: Final = word_group("beside_persons", "names")
NO_CONTACT: Final = word_group("no_persons", "column")
DEVICES: Final = word_group("no_persons", "devices")
_COLUMN_NOISE: Final = word_group("noise", "column")
_TABLE_NOISE: Final = word_group("noise", "table")
_PIECES: Final = (
    {word for word in WHOLE | EITHER if len(word) >= GLUED_NAME_LENGTH_MIN}
    | BIRTH_PARTS
    | CONTACT
    | NAME
    | PARTS
    | FULL
    | PERSONS
    | AFTER
    | word_group("marks")
    | {word for pair in PAIRS for word in pair}
) - {"id", "1", "2", "3"}
_ABBREVIATED: Final = WHOLE | word_group("contact", "email", "phone", "birth")
_WHOLE_WORDS: Final = WHOLE | EITHER | NO_PERSONS | NO_CONTACT | BESIDE | BESIDE_NAMES | _TABLE_NOISE


@lru_cache(maxsize=_NAMES_KEPT_MAX)
def name_parts(name: str) -> tuple[str, ...]:
    """Return the words of a column's name without what says its type or place; glued words are taken apart.

    >>> [name_parts(name) for name in ("NM_LAST", "strCustName", "c_email_txt", "patname", "D_O_B", "Straße", "PatLNm")]
    [('nm', 'last'), ('cust', 'name'), ('email',), ('pat', 'name'), ('dob',), ('strasse',), ('pat', 'lname')]
    """
    parts = _split(name)
    kept = tuple(part for part in parts if part not in _COLUMN_NOISE)
    return kept or parts


@lru_cache(maxsize=_NAMES_KEPT_MAX)
def table_parts(name: str) -> tuple[str, ...]:
    """Return the words of a table's name without what only says that it is a table.

    >>> table_parts("TBL_PAT"), table_parts("dim_customer_v2"), table_parts("T_MITARBEITER_STAMM")
    (('pat',), ('customer',), ('mitarbeiter',))
    """
    parts = [part for part in _split(name) if not part.isdigit()]
    return tuple(part for part in parts if part not in _TABLE_NOISE) or tuple(parts)


def _split(name: str) -> tuple[str, ...]:
    result: list[str] = []
    letters = ""
    for part in words(plain_letters(name))[:NAME_PIECES_MAX]:
        if len(part) == 1 and part.isalpha():
            letters += part
            continue
        if letters[-1:] in _HALVES and part in NAME:
            # F_NAME, LNm: the first and the last name.
            result += [*_initials(letters[:-1]), f"{letters[-1]}name"]
        else:
            result += [*_initials(letters), *_unglued(part)]
        letters = ""
    return (*result, *_initials(letters))


def plain_letters(name: str) -> str:
    """Return a text without accents, umlauts as two letters."""
    if name.isascii():
        return name
    return "".join(
        letter
        for letter in unicodedata.normalize("NFKD", name.translate(_UMLAUTS))
        if not unicodedata.combining(letter)
    )


def _initials(letters: str) -> tuple[str, ...]:
    """Return letters that stand apart: together where they are an abbreviation (d_o_b)."""
    return (letters,) if letters in CONTACT else tuple(letters)


def _unglued(part: str) -> tuple[str, ...]:
    """Return the known words of which a word is made in one way, fewest first; the word where it is none of them."""
    if part in _PIECES or part in _WHOLE_WORDS or not part.isalpha():
        return (part,)
    ways: list[tuple[str, ...] | None] = [(), *([None] * len(part))]
    for end in range(PIECE_LENGTH_MIN, len(part) + 1):
        for start in range(end - PIECE_LENGTH_MIN + 1):
            before, piece = ways[start], part[start:end]
            if before is None or piece not in _PIECES:
                continue
            known = ways[end]
            if known is None or len(before) + 1 < len(known):
                ways[end] = (*before, piece)
    return ways[-1] or (_completed(part),)


def _completed(part: str) -> str:
    """Return the word that a long enough beginning of it abbreviates: `nachn`, `telef`."""
    if len(part) < BEGINNING_LENGTH_MIN:
        return part
    return min(
        (word for word in _ABBREVIATED if word.startswith(part)), key=lambda word: (len(word), word), default=part
    )
