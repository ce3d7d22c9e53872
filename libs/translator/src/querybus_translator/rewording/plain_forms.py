"""Wordings that other words say whatever the catalog has: "twice" is 2 times, "a higher price than" is a price higher than.

Each row of `words/plain_forms.toml` puts a form that can be read in the place of one that cannot; none looks at the catalog.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Final

from querybus_translator.language.stems import base_form
from querybus_translator.schema.other_names import agents_of

_EXTREME: Final = re.compile(
    r"\b(?:maximum|highest|largest|greatest|biggest|most|minimum|lowest|smallest|least|fewest)\b", re.IGNORECASE
)
_FIGURE: Final = rf"(?:the )?(?:{_EXTREME.pattern}|average|mean|total)"
_LARGE: Final = frozenset({"maximum", "highest", "largest", "greatest", "biggest", "most"})
_FIGURES_LISTED: Final = re.compile(
    r"^(?P<ask>(?:please )?(?:what (?:is|are|was|were)|show(?: me)?|find|list|give(?: me)?|return|tell me|report)) "
    rf"(?P<figures>{_FIGURE}(?:(?:, and|,| and) {_FIGURE})+)(?: number of)?(?= )",
    re.IGNORECASE,
)
_BY_EACH: Final = re.compile(
    r"\b(?P<done>[a-z]+) by (?:each|every)(?: one)?(?: of the(?: listed| different)?)? (?P<agent>[a-z]+)\b",
    re.IGNORECASE,
)
_SO_OFTEN: Final = re.compile(
    r"\b(?P<done>(?!than\b|least\b|most\b|exactly\b|only\b)[a-z]+(?:ed|ught|id|ent|ade|ook|ame)) (?P<often>once|twice|(?:two|three|four|five|[1-9]\d?) times)\b",
    re.IGNORECASE,
)
_HIGHEST_AND_LOWEST: Final = re.compile(
    r"(?<!with the )(?<!with )(?<!has the )(?<!have the )\b(?:the )?(?P<one>highest|largest|greatest|biggest|lowest|smallest) and (?:the )?(?P<other>lowest|smallest|highest|largest|greatest|biggest) (?=[a-z])",
    re.IGNORECASE,
)
_RANK: Final = re.compile(
    r"^(?:please )?rank (?P<rows>(?!of\b|is\b)[^.?!,]+?) by (?P<key>[^.?!]+)(?P<end>[.?!]?)$", re.IGNORECASE
)
_WAY_SAID: Final = re.compile(r"\b(?:order|first|from|ascending|descending)\b", re.IGNORECASE)
_LISTED: Final = re.compile(
    r"^(?:please )?(?:what|which|who|list|show|give|find|return|tell)\b.*(?:\band\b|, )", re.IGNORECASE
)
_FIGURES_ZH: Final = re.compile(r"(?:最[高大低小]|平均)(?:[、和及与](?:最[高大低小]|平均))+(?![的值])")
"""最低、最高和平均价格 are figures, and no rows that bear them."""
_EXTREME_ZH: Final = re.compile(r"最[高大低小]")


def rewrite_plain_forms(question: str) -> str:
    """Return an English question with the forms that are read in the place of others that say the same."""
    for pattern, plain in (*_BY_FUNCTION, *_rows("english")):
        question = pattern.sub(plain, question)
    if _LISTED.match(question):
        # "What are the cities and how many students come from each?": what is listed is what each is.
        for pattern, plain in _rows("english_of_each"):
            question = pattern.sub(plain, question)
    return question


def rewrite_plain_chinese(question: str) -> str:
    """Return a Chinese question with the forms that are read in the place of others that say the same."""
    for pattern, plain in _rows("chinese"):
        question = pattern.sub(plain, question)
    return _FIGURES_ZH.sub(lambda said: _EXTREME_ZH.sub(r"\g<0>值", said[0]), question)


@cache
def _rows(group: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    file = resources.files("querybus_translator").joinpath("words", "plain_forms.toml")
    rows = tomllib.loads(file.read_text(encoding="utf-8"))[group]
    return tuple((re.compile(row["said"], 0 if row.get("exact") else re.IGNORECASE), row["plain"]) for row in rows)


def _list_figures(said: re.Match[str]) -> str:
    """ "What is the lowest and highest price": the two figures, and no row that bears them."""
    figures = _EXTREME.sub(lambda one: "maximum" if one[0].lower() in _LARGE else "minimum", said["figures"])
    return f"{said['ask']} {figures}"


def _sort_by_rank(said: re.Match[str]) -> str:
    """ "Rank the parks by area": sorted, and the greatest first where nothing else is said."""
    way = "" if _WAY_SAID.search(said["key"]) else " in descending order"
    return f"Sort {said['rows']} by {said['key'].rstrip()}{way}{said['end']}"


def _group_by_agent(said: re.Match[str]) -> str:
    """ "The number of films directed by each director": for each of them."""
    agent = base_form(said["agent"].lower())
    return f"for each {agent}" if agent in agents_of(said["done"].lower()) else said[0]


def _list_extremes(said: re.Match[str]) -> str:
    """ "The highest and lowest age": two figures, and no place in a ranking."""
    figures = ("maximum" if said[part].lower() in _LARGE else "minimum" for part in ("one", "other"))
    return " and ".join(figures) + " "


def _count_times(said: re.Match[str]) -> str:
    """ "Guests who booked twice": exactly so often."""
    often = {"once": "1 times", "twice": "2 times"}.get(said["often"].lower(), said["often"])
    return f"{said['done']} exactly {often}"


_BY_FUNCTION: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (_RANK, _sort_by_rank),
    (_FIGURES_LISTED, _list_figures),
    (_BY_EACH, _group_by_agent),
    (_SO_OFTEN, _count_times),
    (_HIGHEST_AND_LOWEST, _list_extremes),
)
