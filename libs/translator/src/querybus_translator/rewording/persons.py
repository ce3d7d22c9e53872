"""Wordings about persons: who did something, what they are called, those who work here.

Each puts words that can be read in the place of words that cannot, by what the catalog knows of persons.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from querybus.text.readable_name import spoken_name
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.stems import base_form, stem
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.labels import labels, whole_name
from querybus_translator.schema.other_names import doers_of
from querybus_translator.writing.form import ColumnRef

_NAME_OF: Final = re.compile(
    r"\b(?<!first )(?<!last )(?:full )?names?(?P<beside>(?:, (?:the )?[a-z]+(?: [a-z]+)?)*,? and (?:the )?(?!(?:first|last|middle) )[a-z]+(?: (?!of )[a-z]+)?)? of (?P<of>(?:the |all |any |every |each |our |those |[a-z]+est |most [a-z]+ )*(?P<rows>[a-z]+))\b",
    re.IGNORECASE,
)
_LEADS_NAME: Final = frozenset(
    {
        "the",
        "a",
        "and",
        "or",
        "list",
        "show",
        "find",
        "give",
        "me",
        "return",
        "get",
        "display",
        "are",
        "is",
        "all",
        "with",
    }
)
_WHOSE_NAME: Final = re.compile(
    r"\b(?P<whose>(?!of\b|first\b|last\b)[a-z]+?)(?:'s|s'|’s)? (?:full )?names?\b(?! (?:of|is|are|starts?|ends?|contains?|begins?|has|have|includes?)\b)",
    re.IGNORECASE,
)
_PERSON: Final = r"(?P<name>[A-Z][\w.'-]+(?: [A-Z][\w.'-]+){1,2})"
_DONE_BY_PERSON: Final = re.compile(rf"\b(?P<done>[a-z]+(?:ed|ught|en|ung|wn|lt|ld|de)) by (?P<both>both )?{_PERSON}")
_PERSON_DOES: Final = re.compile(rf"\b(?P<aux>[Dd]oes|[Dd]o|[Dd]id|[Hh]as) {_PERSON} (?P<verb>[a-z]+)\b")
_EARNING: Final = frozenset({"earn", "make"})
_WAGES: Final = ("salary", "wage", "pay", "income")
_NAMES_OF_PERSONS: Final = (
    (re.compile(r"\b(?:surname|last name|family name)s?\b", re.IGNORECASE), ("last name", "family name", "surname")),
    (
        re.compile(r"\b(?:forename|first name|given name)s?\b", re.IGNORECASE),
        ("first name", "given name", "personal name", "forename"),
    ),
)
_PEOPLE: Final = re.compile(r"\b(how many|number of|which|what) (?:people|persons)\b", re.IGNORECASE)
_CUSTOMERS: Final = re.compile(r"\b(?:members|customers|clients|users|visitors|subscribers)\b", re.IGNORECASE)
_SERVED: Final = frozenset(
    {
        "contact", "customer", "client", "member", "guest", "patient", "student", "owner", "tenant", "visitor", "user",
        "passenger", "reader", "donor", "subscriber", "buyer",
    }
)  # fmt: skip
"""Those for whom others work: who works here is none of them."""
_WORKING: Final = re.compile(r"\b(?:work|works|worked|working|employed)\b", re.IGNORECASE)
_WHO_WORKS: Final = re.compile(
    r"^\s*who (?=(?:works?|worked|is working|is employed) (?:at|in|for|on|as|with|from)\b)", re.IGNORECASE
)
_HEADCOUNT: Final = re.compile(r"\bhead ?count\b", re.IGNORECASE)
_MEMBERS: Final = re.compile(r"\b(?P<whose>staff|crew|faculty) members?\b", re.IGNORECASE)


def _half_name(index: CatalogIndex, half: ColumnRef) -> str:
    """Return what half of a name is called: the first name, however it is cut short in the catalog."""
    plain = ({("first", "name"), ("last", "name")}).intersection(index.entry_of_column(half.table, half.column).names)
    return " ".join(plain.pop()) if plain else spoken_name(index.column(half.table, half.column).name)


def whole_names(question: str, index: CatalogIndex) -> str:
    """The names of students are their first and last names, where these are two columns and nothing of theirs is called a name."""

    def written(said: re.Match[str]) -> str:
        before = question[: said.start()].lower().split()
        if said.re is _NAME_OF and before and before[-1].removesuffix(",") not in _LEADS_NAME:
            # "The login names of the students".
            return said[0]
        tables = index.called_by(base_form((said.groupdict().get("rows") or said["whose"]).lower()))
        # A role is not asked by its halves: its rows are those of another table.
        is_one = len(tables) == 1 and tables[0] < len(index.catalog.tables)
        halves = labels(index, tables[0]) if is_one else ()
        if (
            not halves
            or halves != whole_name(index, halves[0])
            or any(
                ("name",) in index.entry_of_column(tables[0], number).names
                for number in range(len(index.table(tables[0]).columns))
            )
        ):
            return said[0]
        called = " and ".join(_half_name(index, half) for half in halves)
        if not said.groupdict().get("of"):
            return f"{called} of {said['whose']}"
        # "The names and wages of the rangers".
        return f"{called}{said['beside'] or ''} of {said['of']}"

    return _WHOSE_NAME.sub(written, _NAME_OF.sub(written, question))


def _paid(index: CatalogIndex) -> set[int]:
    """Return the tables that hold a wage of their rows."""
    entries = (index.entries[item] for word in _WAGES for item in index.own.get(word, ()))
    return {entry.table for entry in entries if entry.column is not None and entry.table < len(index.catalog.tables)}


def _referred(tables: Sequence[int], persons: set[int], index: CatalogIndex) -> set[int]:
    """Return the persons to whom rows of tables refer, those who wrote a review or gave a class."""
    edges = (edge for table in tables for edge in index.graph.edges_of(table) if edge.source == table and edge.to_one)
    return {edge.target for edge in edges if edge.target in persons and edge.target not in tables}


def by_whom(question: str, index: CatalogIndex) -> str:
    """ "Courses taught by Ann Lee", "what does Ann Lee teach": she is one of those who do that, where they are one kind of persons."""

    persons = {table for table, _ in index.names_of_persons}

    def called(verb: str, before: str) -> str | None:
        """Return what those are called who do it, and have names."""
        found = {
            table: doer for doer in sorted(doers_of(verb)) for table in index.called_by(doer) if table in persons
        } or {
            table: spoken_name(index.table(table).name)
            for doer in doers_of(verb)
            for word in index.similar(doer)
            for table in index.called_by(word)
            if table in persons
        }
        if not found and verb.startswith("work") and index.staff_table in persons:
            found = {index.staff_table: spoken_name(index.table(index.staff_table or 0).name)}
        if not found and verb in _EARNING:
            found = {table: spoken_name(index.table(table).name) for table in _paid(index) & persons}
        if not found:
            deeds = [table for table, words in enumerate(index.table_words) if stem(verb) in map(stem, words)]
            things = index.called_by(base_form(before.lower().split()[-1])) if before.split() else []
            whose = _referred(deeds, persons, index) or _referred(things, persons, index)
            found = {table: spoken_name(index.table(table).name) for table in whose}
        return next(iter(found.values())) if len(found) == 1 and len(persons) > 1 else None

    def done(said: re.Match[str]) -> str:
        verb = said["done"].lower()
        doer = called(verb, question[: said.start()])
        if doer is None:
            return said[0]
        # "Taught" is a word that says nothing else; "advised" is none, and what advisors do.
        lead = f"{said['done']} by" if verb in lexicon().verbs else "of"
        lead += " the" if verb in lexicon().verbs and not said["both"] else ""
        return f"{lead} {said['both'] or ''}{doer} {said['name']}"

    def does(said: re.Match[str]) -> str:
        doer = called(said["verb"].lower(), question[: said.start()])
        return said[0] if doer is None else f"{said['aux']} {doer} {said['name']} {said['verb']}"

    return _PERSON_DOES.sub(does, _DONE_BY_PERSON.sub(done, question))


def names_of_persons(question: str, index: CatalogIndex) -> str:
    """A surname is a last or family name, a forename a first, given or personal one, by the one that the catalog has."""
    for said, called in _NAMES_OF_PERSONS:
        known = [name for name in called if index.knows(name.replace(" ", "_"))]
        if len(known) == 1:
            question = said.sub(lambda found, name=known[0]: name + ("s" if found[0].endswith("s") else ""), question)
    return question


def people(question: str, index: CatalogIndex) -> str:
    """ "How many people live here?" is about the only persons there are, "work here" about those who do."""
    asks_work = _WORKING.search(question) is not None or _HEADCOUNT.search(question) is not None
    works = index.staff_table is not None and asks_work
    table = index.staff_table if works else index.people_table
    if table is None or (asks_work and not works and not _SERVED.isdisjoint(index.table_words[table])):
        return question
    called = spoken_name(index.table(table).name)
    question = _HEADCOUNT.sub(f"number of {called}", _WHO_WORKS.sub(f"Which {called} ", question))
    question = _PEOPLE.sub(rf"\1 {called}", question)
    # "Members" of a database that has guests and nobody else.
    is_known = works or table == index.staff_table
    return question if is_known else _CUSTOMERS.sub(lambda found: _called(found[0], called, index), question)


_EVERYBODY: Final = re.compile(r"\b(?:everybody|everyone)\b", re.IGNORECASE)


def everybody(question: str, index: CatalogIndex) -> str:
    """ "The names of everybody" are those of all persons, where they are of one table."""
    tables = index.called_by("person") if index.people_table is None else [index.people_table]
    return _EVERYBODY.sub(f"all {spoken_name(index.table(tables[0]).name)}", question) if len(tables) == 1 else question


def _called(word: str, called: str, index: CatalogIndex) -> str:
    return word if index.similar(base_form(word.lower())) else called


def staff_members(question: str, index: CatalogIndex) -> str:
    """ "Staff members" are staff, where there are no members."""
    return question if index.called_by("member") else _MEMBERS.sub(r"\g<whose>", question)
