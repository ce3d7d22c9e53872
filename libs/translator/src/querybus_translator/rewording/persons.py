"""Wordings about persons: who did something, what they are called, those who work here.

Each puts words that can be read in the place of words that cannot, by what the catalog knows of persons.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from querybus.core.catalog import ColumnKind
from querybus.text.readable_name import spoken_name
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.names import name_words
from querybus_translator.language.stems import base_form, past_of, stem
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.labels import key_columns, labels, whole_name
from querybus_translator.schema.other_names import agents_of, doers_of
from querybus_translator.schema.roles import brings_two_together
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
_WHO_DID_FIRST: Final = re.compile(
    r"(?P<who>^\s*who|\bhow many people) (?P<rest>(?:was |were |have |has )?(?P<deed>[a-z]+ed|left|born)\b)",
    re.IGNORECASE,
)
_EARNING: Final = frozenset({"earn", "make"})
_WHO_EARNS: Final = re.compile(r"^\s*who (?=(?:earns?|earned) )", re.IGNORECASE)
_WAGES: Final = ("salary", "wage", "pay", "income")
_SPENDS_MOST: Final = re.compile(
    r"\b(?:spends?|spent|pays?|paid) the (?P<how>most|least) (?:money )?(?:on|in|for) (?P<what>[a-z]+)\b", re.IGNORECASE
)
_NAMES_OF_PERSONS: Final = (
    (re.compile(r"\b(?:surname|last name|family name)s?\b", re.IGNORECASE), ("last name", "family name", "surname")),
    (
        re.compile(r"\b(?:forename|first name|given name)s?\b", re.IGNORECASE),
        ("first name", "given name", "personal name", "forename"),
    ),
)
_WHO_DID: Final = re.compile(
    r"^\s*[Ww]ho (?P<verb>[a-z]+) (?P<whose>(?:the [a-z]+ (?:called |named |titled )?)?[A-Z0-9\"'].*)$", re.DOTALL
)
_NO_PERSONS: Final = ("ing", "ment", "ion")
"""Ends of words for what is done, and not for who does it: borrowings, enrollments."""
_PARTICIPLES: Final = {"wrote": "written", "drew": "drawn", "sang": "sung"}
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


_WHO_OWNS: Final = re.compile(
    r"^\s*who (?:owns|own|owned) (?=(?:the|this|these|all|each|every) (?!most|fewest|least))", re.IGNORECASE
)


def _half_name(index: CatalogIndex, half: ColumnRef) -> str:
    """Return what half of a name is called: the first name, however it is cut short in the catalog."""
    plain = ({("first", "name"), ("last", "name")}).intersection(index.entry_of_column(half.table, half.column).names)
    return " ".join(plain.pop()) if plain else spoken_name(index.column(half.table, half.column).name)


def who_owns(question: str, index: CatalogIndex) -> str:
    """ "Who owns the shops that ..." asks for their owners, where a column and no table is called so."""
    columns = [index.entries[item] for item in index.own.get("owner", ())]
    is_column = any(entry.column is not None and ("owner",) in entry.names for entry in columns)
    return _WHO_OWNS.sub("Who are the owners of ", question) if is_column and not index.called_by("owner") else question


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


def who_earns(question: str, index: CatalogIndex) -> str:
    """ "Who earns the least" asks for those of the one table that holds wages."""
    paid = [table for table in _paid(index) if labels(index, table) != key_columns(index, table)]
    return _WHO_EARNS.sub(f"Which {spoken_name(index.table(paid[0]).name)} ", question) if len(paid) == 1 else question


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


def spends_most(question: str, index: CatalogIndex) -> str:
    """ "Which team spends the most on salaries": the highest total of them, where a column holds just those."""

    def written(said: re.Match[str]) -> str:
        what = base_form(said["what"].lower())
        is_figure = any(
            entry.column is not None and (what,) in entry.names and index.holds_figures(entry.table, entry.column)
            for entry in (index.entries[item] for item in index.own.get(what, ()))
        )
        how = "highest" if said["how"].lower() == "most" else "lowest"
        return f"has the {how} total {said['what']}" if is_figure else said[0]

    return _SPENDS_MOST.sub(written, question)


def agents_of_verb(verb: str) -> tuple[str, ...]:
    """Return what those are called who do what a verb says, as it stands in a question: "wrote", "directs", "built"."""
    return agents_of(_PARTICIPLES.get(verb, verb)) or agents_of(f"{base_form(verb)}ed")


def who_did(question: str, index: CatalogIndex) -> str:
    """ "Who directed Glass City?" asks for its director, where a column is called so."""
    said = _WHO_DID.match(question)
    if said is None:
        return question
    verb = said["verb"].lower()
    agents = agents_of_verb(verb)
    found = {
        (agent, entry.table)
        for agent in agents
        for entry in (index.entries[item] for item in index.own.get(agent, ()))
        if entry.column is not None
        and (agent,) in entry.names
        and entry.table < len(index.catalog.tables)
        and index.column(entry.table, entry.column).kind is ColumnKind.TEXT
    }
    if len(found) == 1:
        return f"What is the {found.pop()[0]} of {said['whose']}"
    words = {word for agent in agents for word in index.similar(agent) if not word.endswith(_NO_PERSONS)}
    doers = {table for word in words for table in index.called_by(word)}
    # "Who teaches Optics", where those who teach are called instructors.
    is_one = not found and len(doers) == 1
    if is_one and index.called_by(base_form(verb)):
        # "Who coaches Ann", where the word is their name as well.
        verb = "have"
    return f"Which {spoken_name(index.table(doers.pop()).name)} {verb} {said['whose']}" if is_one else question


def names_of_persons(question: str, index: CatalogIndex) -> str:
    """A surname is a last or family name, a forename a first, given or personal one, by the one that the catalog has."""
    for said, called in _NAMES_OF_PERSONS:
        known = [name for name in called if index.knows(name.replace(" ", "_"))]
        if len(known) == 1:
            question = said.sub(lambda found, name=known[0]: name + ("s" if found[0].endswith("s") else ""), question)
    return question


def who_did_first(question: str, index: CatalogIndex) -> str:
    """ "Who joined most recently", "how many people left this year": those of the one table with the day of it."""

    def rows(deed: str) -> str | None:
        tables = {
            entry.table
            for word in (deed, base_form(deed))
            for entry in (index.entries[item] for item in index.own.get(word, ()))
            if entry.column is not None
            and entry.table < len(index.catalog.tables)
            and index.column(entry.table, entry.column).kind in (ColumnKind.DATE, ColumnKind.DATETIME)
            and any(name[0] == word for name in entry.names)
        } & {table for table, _ in index.names_of_persons}
        return spoken_name(index.table(tables.pop()).name) if len(tables) == 1 else None

    def written(said: re.Match[str]) -> str:
        called = rows(said["deed"].lower())
        asks = "Which" if said["who"].strip().lower() == "who" else "how many"
        return said[0] if called is None else f"{asks} {called} {said['rest']}"

    return _WHO_DID_FIRST.sub(written, question)


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


_EACH_DID: Final = re.compile(
    r"\bhow many (?P<what>[a-z ]+?) (?P<aux>has|have|had|did|does|do) (?P<each>each|every) (?P<who>[a-z]+(?: [a-z]+)?) (?P<verb>(?!(?:at|in|to|on|for|with|from|of)\b)[a-z]+)(?: (?:at|in|to|on|for|with|from|of))?(?= *\??$)",
    re.IGNORECASE,
)
_HAVING: Final = frozenset({"have", "has", "had", "get", "contain", "include", "own"})


def each_did(question: str, index: CatalogIndex) -> str:
    """ "How many books has each reader borrowed": for each reader, by what rows say that they borrowed, if any are called so."""

    def written(said: re.Match[str]) -> str:
        verb = said["verb"].lower()
        if verb in _HAVING or not index.called_by(base_form(said["who"].lower().split()[-1])):
            return said[0]
        root = stem(verb)
        named = [table for table, words in enumerate(index.table_words) if root in {stem(word) for word in words}]
        if len(named) != 1 or len(name_words(index.table(named[0]).name)) == 1:
            # What is called as the deed alone is no other way between the two.
            return f"how many {said['what']} are there for {said['each']} {said['who']}"
        done = verb if said["aux"].lower() in _HAVING else past_of(verb)
        return f"how many {said['what']} are {done} by {said['each']} {said['who']}"

    return _EACH_DID.sub(written, question)


_NAMES_OF_TWO: Final = re.compile(
    r"\b(?P<names>names?) of (?:the |their |its |all )*(?P<one>[a-z]+) and (?:the |their |its |all )*(?P<other>[a-z]+)\b(?= *[?.,]?(?:$| (?:that|who|which|they)\b))",
    re.IGNORECASE,
)
_TWO_NAMES: Final = re.compile(r"\b(?P<one>[a-z]+) and (?P<other>[a-z]+) names?\b", re.IGNORECASE)


def two_names(question: str, index: CatalogIndex) -> str:
    """ "Artist and label names", "the names of artists and labels" are the names of both, where both are kinds of rows."""

    def kinds(said: re.Match[str]) -> list[int]:
        found = [index.called_by(base_form(said[which].lower())) for which in ("one", "other")]
        is_two = all(len(tables) == 1 for tables in found) and found[0] != found[1]
        return [tables[0] for tables in found] if is_two else []

    def written(said: re.Match[str]) -> str:
        return f"{said['one']} names and {said['other']} names" if kinds(said) else said[0]

    def named(said: re.Match[str]) -> str:
        known = [labels(index, table) for table in kinds(said)]
        if not known or any(len(found) != 1 or found == key_columns(index, found[0].table) for found in known):
            return said[0]
        one, other = (spoken_name(index.column(found[0].table, found[0].column).name) for found in known)
        return f"{one} of {said['one']} and the {other} of {said['other']}"

    return _NAMES_OF_TWO.sub(named, _TWO_NAMES.sub(written, question))


_NAME: Final = r"(?P<name>[A-Z][\w.-]+(?: [A-Z][\w.-]+)?|\"[^\"]+\")"
_WHO_DOES: Final = re.compile(
    rf"\b(?P<who>[Ww]ho|[Ww]hich (?P<asked>[a-z]+)|(?P<rows>[a-z]+) (?:who|that)) (?P<verb>[a-z]+) {_NAME}"
)
_DOES_TO_WHOM: Final = re.compile(
    rf"\b(?:[Ww]hich|[Ww]hat|the) (?P<rows>[a-z]+) (?:that )?(?:does|did|do) {_NAME} (?P<verb>[a-z]+)\b"
)


def roles_by_verbs(question: str, index: CatalogIndex) -> str:
    """ "Who follows Ann" are her followers, "whom does Ann follow" those whose follower she is, where rows bring two of a kind together."""
    for role in index.roles:
        keys = {edge.source_columns for edge in index.graph.edges_of(role.source) if edge.target == role.table}
        doer, kind = role.names[0][-1], spoken_name(index.table(role.table).name)
        if not brings_two_together(role, index.roles, len(keys)) or len(role.names[0]) != 1:
            continue

        def who(said: re.Match[str], doer: str = doer, kind: str = kind) -> str:
            rows = said["asked"] or said["rows"]
            if doer not in doers_of(said["verb"]) or (rows and base_form(rows) != base_form(kind)):
                return said[0]
            lead = "" if said["rows"] else "Show "
            return f"{lead}the {doer}s of {kind} {said['name']}"

        def whom(said: re.Match[str], doer: str = doer, kind: str = kind) -> str:
            is_kind = base_form(said["rows"]) == base_form(kind) and doer in doers_of(said["verb"])
            return f"Show the {said['rows']} whose {doer} is {said['name']}" if is_kind else said[0]

        question = _DOES_TO_WHOM.sub(whom, _WHO_DOES.sub(who, question))
    return question
