"""What a table or a column is called besides its name: who directed is the director, `address_line_1` is an address."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from querybus.core.catalog import Catalog, Column, ColumnKind, Table
from querybus.text.names.spelt_names import halves
from querybus.text.readable_name import spoken_name
from querybus.text.vocabulary import is_word
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.names import name_words
from querybus_translator.language.stems import base_form
from querybus_translator.language.units import unit_of_measure

_AGENTS: Final = {
    "written": ("writer", "author"),
    "led": ("leader", "lead"),
    "made": ("maker",),
    "taught": ("teacher",),
    "built": ("builder",),
    "drawn": ("artist",),
    "sung": ("singer",),
    "won": ("winner",),
    "win": ("winner",),
    "wins": ("winner",),
    "lost": ("loser",),
    "held": ("holder",),
    "lent": ("lender",),
    "sent": ("sender",),
    "gave": ("giver",),
    "drove": ("driver",),
    "rode": ("rider",),
}
_JOINING: Final = frozenset({"and", "or"})
_CODED: Final = frozenset({"type", "method", "status", "category", "channel", "kind"})
_NAME_WORDS_MIN: Final = 2


def agents_of(participle: str) -> tuple[str, ...]:
    """Return what those are called who do what a participle says was done.

    >>> agents_of("directed"), agents_of("written")
    (('directer', 'director', 'directr'), ('writer', 'author'))
    """
    if participle in _AGENTS:
        return _AGENTS[participle]
    root = participle.removesuffix("ed")
    return (f"{root}er", f"{root}or", f"{root}r") if root != participle else ()


@lru_cache(maxsize=4_096)
def doers_of(verb: str) -> frozenset[str]:
    """Return what those may be called who do what a verb says, in whatever form it stands.

    >>> sorted(doers_of("advises") & {"advisor", "adviser"}), "driver" in doers_of("driving"), "player" in doers_of("play")
    (['adviser', 'advisor'], True, True)
    """
    roots = {verb, base_form(verb), *(verb.removesuffix(ending) for ending in ("s", "es", "ed", "d", "ing"))}
    roots |= {f"{root}e" for root in roots} | {root[:-1] for root in roots if root[-2:-1] == root[-1:]}
    regular = {root.removesuffix("e") + ending for root in roots for ending in ("er", "or") if len(root) >= _ROOT_MIN}
    return frozenset({*regular, *agents_of(verb)})


_ROOT_MIN: Final = 3


def other_names(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Give the other names of something that is called by these words.

    >>> list(other_names(("course", "author", "and", "tutor")))
    [('course', 'author'), ('tutor',), ('course', 'tutor')]
    >>> list(other_names(("address", "line", "1"))), list(other_names(("participant", "type", "code")))
    ([('address',)], [('participant', 'type')])
    >>> list(other_names(("releasedate",)))
    [('release', 'date')]
    """
    parted = tuple(base_form(piece) for word in words for piece in _parted(word))
    if parted != words:
        yield parted
    if words == ("total",):
        yield ("amount",)
    if len(words) < _NAME_WORDS_MIN:
        return
    if len(words) == _NAME_WORDS_MIN and words[1] == "by":
        yield from ((agent,) for agent in agents_of(words[0]))
    if words[-1] == "code" and words[-2] in _CODED:
        yield words[:-1]
    if words[-2:] in (("line", "1"), ("line", "one")) and words[:-2]:
        yield words[:-2]
    joints = [place for place, word in enumerate(words) if word in _JOINING]
    if len(joints) == 1 and 0 < joints[0] < len(words) - 1:
        one, other = words[: joints[0]], words[joints[0] + 1 :]
        yield one
        yield other
        if len(one) > 1 and len(other) == 1:
            yield (*one[:-1], *other)


def figures_of(column: Column) -> tuple[tuple[str, ...], ...]:
    """Return what a figure is besides called by what it counts, or is measured in: copies sold are copies, hectares an area."""
    words = tuple(spoken_name(column.name).lower().split())
    unit = unit_of_measure(words[0]) if len(words) == 1 else None
    if unit is not None and unit[0] in _MEASURED:
        return ((unit[0],),)
    if column.kind not in (ColumnKind.INTEGER, ColumnKind.NUMBER) or len(words) != _NAME_WORDS_MIN:
        return ()
    is_done = words[1] in _DONE or words[1].endswith("ed")
    is_measured = unit_of_measure(words[0]) is not None
    return ((base_form(words[0]),),) if is_done and words[0] not in _GENERAL and not is_measured else ()


_MEASURED: Final = frozenset({"area", "weight"})
_DONE: Final = frozenset({"sold", "won", "lost", "seen", "given", "taken", "made", "spent", "drawn", "held", "bought"})
_GENERAL: Final = frozenset(
    {
        "date",
        "time",
        "day",
        "year",
        "month",
        "hour",
        "is",
        "was",
        "has",
        "last",
        "first",
        "number",
        "total",
        "amount",
        "not",
        "been",
        "count",
    }
)


def titled_by_table(table: Table) -> int | None:
    """Return the column that holds the names where none is called a name: it is called as the table itself, or `uname`."""
    texts = [
        (place, name_words(column.name)) for place, column in enumerate(table.columns) if column.kind is ColumnKind.TEXT
    ]
    if any(words and words[-1] in lexicon().label_words for _, words in texts):
        return None
    own = name_words(table.name)
    called = next((place for place, words in texts if words == own), None)
    if called is not None:
        return called
    named = [place for place, words in texts if len(words) == 1 and _LETTERED_NAME.fullmatch(words[0])]
    return named[0] if len(named) == 1 else None


_LETTERED_NAME: Final = re.compile(r"[a-z]{1,3}name")


def _parted(word: str) -> tuple[str, ...]:
    """Return the two words that a name writes as one, or the word."""
    return (word,) if len(word) < _GLUED_LENGTH_MIN or not word.isascii() or is_word(word) else halves(word)


_GLUED_LENGTH_MIN: Final = 6


def _values(table: Table) -> Iterator[str]:
    for column in table.columns:
        yield from column.values


def _without_key(words: tuple[str, ...]) -> tuple[str, ...]:
    while words and words[-1] in lexicon().key_words:
        words = words[:-1]
    return words


_DOER_ENDINGS: Final = ("er", "or", "ar", "ist", "ant", "ee", "man", "ian")
_ROOT_LENGTH: Final = 4


def names_from_keys(catalog: Catalog) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return what others call the rows of a table by the one key that refers to it, by its lower-case name: a host city is a city.

    Keys of one column whose name ends with the table's; a table that refers to it by several has roles instead.
    """
    keys: dict[tuple[str, int], list[str]] = defaultdict(list)
    for number, other in enumerate(catalog.tables):
        for key in other.foreign_keys:
            if len(key.columns) == 1 and key.referred_table.lower() != other.name.lower():
                keys[key.referred_table.lower(), number].append(key.columns[0])
    taken = {name_words(table.name) for table in catalog.tables}
    taken |= {_without_key(name_words(key)) for table in catalog.tables for key in table.primary_key}
    found: dict[str, dict[tuple[str, ...], None]] = defaultdict(dict)
    for (name, _), columns in keys.items():
        own, words = name_words(name), _without_key(name_words(columns[0]))
        if len(columns) != 1:
            continue
        is_longer = len(words) > len(own) and words[-len(own) :] == own
        # Whom a student's `advisor_id` refers to is an advisor.
        is_doer = len(words) == 1 and words not in taken and is_word(words[0]) and words[0].endswith(_DOER_ENDINGS)
        if is_doer and not is_longer:
            # Of staff whose role is waiter not all are waiters, whoever refers to them so.
            kinds = {
                value.lower() for table in catalog.tables if table.name.lower() == name for value in _values(table)
            }
            is_doer = not own[-1].startswith(words[0][:_ROOT_LENGTH]) and words[0] not in kinds
        if is_longer or is_doer:
            found[name].setdefault(words)
    return {name: tuple(names) for name, names in found.items()}


NAMES_OF_PEOPLE: Final = frozenset(
    {
        ("full", "name"),
        ("first", "name"),
        ("last", "name"),
        ("fullname",),
        ("firstname",),
        ("lastname",),
        ("fname",),
        ("lname",),
        ("surname",),
    }
)
"""Names of columns that only persons have."""
_PERSONS: Final = frozenset(
    {
        "student", "pupil", "learner", "musician", "artist", "singer", "player", "performer", "actor", "author", "writer", "teacher",
        "employee", "worker", "member", "mate", "customer", "client", "user", "guest", "patient", "participant", "person", "people",
        "individual", "candidate", "visitor",
    }
)  # fmt: skip
_COLLECTIONS: Final = frozenset(
    {
        "list", "roster", "register", "directory", "band", "team", "squad", "group", "orchestra", "choir", "ensemble", "class",
        "cohort", "profile", "contact", "master", "info", "data", "detail", "record", "registry", "population",
    }
)  # fmt: skip
"""What persons are together: of whom there are some on a list, and in a band."""


def called_otherwise(catalog: Catalog) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return what the rows of tables are besides called, by the tables' lower-case names."""
    from_keys, persons = names_from_keys(catalog), who_they_are(catalog)
    return {name: (*from_keys.get(name, ()), *persons.get(name, ())) for name in {**from_keys, **persons}}


def who_they_are(catalog: Catalog) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return what the persons of a table may be called that is called after them together, by its lower-case name: students of a `list`.

    Only where one table alone is such a one, and by words that nothing else of the catalog is called by or holds.
    """
    unnamed = [
        table for table in catalog.tables if _holds_people(table) and _COLLECTIONS.issuperset(name_words(table.name))
    ]
    if len(unnamed) != 1:
        return {}
    spoken = {word for table in catalog.tables for word in name_words(table.name)}
    spoken |= {word for table in catalog.tables for column in table.columns for word in name_words(column.name)}
    stored = {base_form(value.lower()) for table in catalog.tables for value in _values(table)}
    return {unnamed[0].name.lower(): tuple((word,) for word in sorted(_PERSONS - spoken - stored))}


def _holds_people(table: Table) -> bool:
    return any(name_words(column.name) in NAMES_OF_PEOPLE for column in table.columns)


def with_key_name(table: Table, names: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """A table whose key is `member_id` holds members, whatever it is called."""
    if len(table.primary_key) != 1 or any(table.primary_key[0] in key.columns for key in table.foreign_keys):
        return names
    words = name_words(table.primary_key[0])
    if len(words) < 2 or words[-1] not in lexicon().key_words or words[:-1] in names:
        return names
    return (*names, words[:-1])
