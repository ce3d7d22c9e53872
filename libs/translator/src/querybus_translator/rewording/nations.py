"""Countries and how many live there, in the words of the catalog: a nationality is a country, people in it a population."""

from __future__ import annotations

import re
from typing import Final

from querybus_translator.language.stems import base_form
from querybus_translator.schema.index import CatalogIndex

_INHABITANTS: Final = re.compile(
    r"\bhow many (?:people|inhabitants|residents) (?:live|lived|are living|reside) in\b", re.IGNORECASE
)
_SO_MANY_LIVE: Final = re.compile(
    r"\b(?P<has>have|has|with|having) (?P<bound>(?:more|less|fewer) than|over|under|above|below|at least|at most) "
    r"(?P<number>\d[\d,.]*(?: thousand| million)?) (?:people|inhabitants|residents)\b"
    r"(?: (?:living|that live|who live))?(?: there\b| in (?:it|them)\b)?",
    re.IGNORECASE,
)
_COUNTRY: Final = re.compile(r"\bcountr(?P<ending>y|ies)\b(?! of (?:birth|residence))", re.IGNORECASE)
_NATIONS: Final = ("nationality", "citizenship")
_WORD: Final = re.compile(r"[A-Za-z]+")


def inhabitants(question: str, index: CatalogIndex) -> str:
    """ "How many people live in Europe" is the population, where no people are kept."""
    is_kept = index.people_table is not None or index.called_by("person")
    if is_kept or not index.own.get("population"):
        return question
    question = _SO_MANY_LIVE.sub(r"\g<has> a population \g<bound> \g<number>", question)
    return _INHABITANTS.sub("what is the total population in", question)


def countries_of_people(question: str, index: CatalogIndex) -> str:
    """ "The countries of swimmers" are their nationalities, where those who are spoken of have no other country."""
    called = next((name for name in _NATIONS if index.own.get(name)), None)
    if called is None or _COUNTRY.search(question) is None:
        return question
    tables = {table for word in _WORD.findall(question) for table in index.called_by(base_form(word.lower()))}
    is_theirs = tables & _tables_with(called, index) and not tables & _tables_with("country", index)
    if not is_theirs or index.called_by("country"):
        return question
    several = f"{called.removesuffix('y')}ies" if called.endswith("y") else f"{called}s"
    return _COUNTRY.sub(lambda said: called if said["ending"] == "y" else several, question)


def _tables_with(word: str, index: CatalogIndex) -> set[int]:
    entries = (index.entries[number] for number in index.own.get(word, ()))
    return {entry.table for entry in entries if entry.column is not None}
