"""What codes stand for: a column holds DE or NV, and people say Germany, 德国, Nevada or 内华达.

Countries by ISO 3166-1 in two or three letters, and states of the USA, in `places.txt`. Limits: no other country's regions; a column is
one of codes only if nearly all that is known of it is, and one that could hold either says by its name which.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from importlib import resources
from typing import Final

from querybus.text.words import words_of

CODES_MIN: Final = 2
SHARE_MIN: Final = 0.8
_STATE_WORDS: Final = frozenset({"state", "province", "region"})
_COUNTRY_WORDS: Final = frozenset({"country", "nation", "nationality"})
_OTHER_WORDS: Final = frozenset({"language", "lang", "locale", "currency"})
"""Columns whose codes look like those of countries and are not."""

Names = Mapping[str, tuple[str, ...]]


def names_of_codes(column: str, values: Collection[str]) -> Names:
    """Return what people call the places whose codes a column holds, by the code as it is stored; nothing of any other column.

    >>> names_of_codes("country", ["DE", "FR"])["DE"]
    ('Germany', '德国')
    """
    said = frozenset(words_of(column))
    if len(values) < CODES_MIN or said & _OTHER_WORDS or not all(value.isalpha() for value in values if value):
        return {}
    fitting = [
        names
        for names, words in _lists()
        if sum(value.upper() in names for value in values) >= max(CODES_MIN, SHARE_MIN * len(values))
        and not said & ((_STATE_WORDS | _COUNTRY_WORDS) - words)
    ]
    if len(fitting) != 1:
        return {}
    return {value: fitting[0][value.upper()] for value in values if value.upper() in fitting[0]}


@lru_cache(maxsize=1)
def _lists() -> tuple[tuple[Names, frozenset[str]], ...]:
    """Return the lists of codes, and the words of a column's name that fit each."""
    text = resources.files("querybus.text.names").joinpath("places.txt").read_text(encoding="utf-8")
    countries, _, states = text.partition("[states]\n")
    rows = [line.split("\t") for line in countries.partition("[countries]\n")[2].splitlines()]
    short = {codes.split()[0]: tuple(names.split("|")) for codes, names in rows}
    long = {codes.split()[1]: tuple(names.split("|")) for codes, names in rows}
    of_states = dict(_row(line) for line in states.splitlines())
    return (short, _COUNTRY_WORDS), (long, _COUNTRY_WORDS), (of_states, _STATE_WORDS)


def _row(line: str) -> tuple[str, tuple[str, ...]]:
    code, _, names = line.partition("\t")
    return code, tuple(names.split("|"))
