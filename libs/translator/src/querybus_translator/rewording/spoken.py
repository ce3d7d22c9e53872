"""Questions as people say them of a plain database: "who made more than ten trips", "how much is the Premium plan",
"how many kilometres did we drive", "which customers never shipped anything".

Each puts words that can be read in the place of words that cannot, by what the catalog has.
"""

from __future__ import annotations

import re
from typing import Final

from querybus.core.catalog import Column, ColumnKind
from querybus.text.readable_name import spoken_name
from querybus_translator.language.names import name_words
from querybus_translator.language.stems import base_form, stem
from querybus_translator.language.units import Unit, unit_of_measure
from querybus_translator.rewording.persons import agents_of_verb
from querybus_translator.schema.index import CatalogIndex

_OUT_OF_NAMED: Final = re.compile(
    r"(?<!is )(?<!are )(?<!was )(?<!were )(?<!run )(?<!ran )\bout of (?=(?:the |our )?[A-Z\"'])"
)
_NO_LONGER: Final = re.compile(r"\bno longer (?!than\b)(?=[a-z])", re.IGNORECASE)
_RUN_OUT: Final = re.compile(
    r"\b(?:(?:have|has|had) run out|ran out|(?:are|is|were|was) (?:sold out|used up))\b", re.IGNORECASE
)
_STOCKED: Final = re.compile(
    r"^(?P<which>which|what) (?P<rows>[a-z]+(?: [a-z]+)?) do (?:we|you|they) (?:stock|carry|keep)\b(?= [a-z])",
    re.IGNORECASE,
)
_SAID_PLAINLY: Final = (
    (_OUT_OF_NAMED, "from "),
    (_NO_LONGER, "not "),
    (_STOCKED, r"\g<which> \g<rows> are there"),
)


def _said_plainly(question: str, index: CatalogIndex) -> str:
    """ "Who works out of North Hub" works there, and nothing is denied; "no longer active" is not active;
    what ran out is out of stock, and what we stock is there.
    """
    for pattern, plain in _SAID_PLAINLY:
        question = pattern.sub(plain, question)
    if not _RUN_OUT.search(question) or index.own.get("sold") or any("sold out" in key for key in index.values):
        return question
    return _RUN_OUT.sub("are out of stock", question)


_NEVER_USED: Final = re.compile(
    r"\b(?P<rows>[a-z]+) (?:that |which )?(?:(?:were|was|are|is) (?:never|not)|(?:have|has) (?:never|not) been|never) used\b(?: (?:yet|at all))?(?= *[?.]?$)",
    re.IGNORECASE,
)
_SIGNED_UP: Final = re.compile(r"\bsigned up\b", re.IGNORECASE)
_OWNS: Final = re.compile(r"^\s*who (?:owns?|owned) (?=(?:an?|any|no|the most|the fewest) )", re.IGNORECASE)


def _by_what_there_is(question: str, index: CatalogIndex) -> str:
    """Medicines that were never used are without rows of the one table that refers to them; who signed up registered; who owns is an owner."""

    def unused(said: re.Match[str]) -> str:
        tables = index.called_by(base_form(said["rows"].lower()))
        if len(tables) != 1 or index.own.get("use") or index.own.get("used"):
            return said[0]
        users = {edge.source for edge in index.graph.edges_of(tables[0]) if edge.target == tables[0]} - {tables[0]}
        return f"{said['rows']} have no {spoken_name(index.table(users.pop()).name)}" if len(users) == 1 else said[0]

    question = _NEVER_USED.sub(unused, question)
    if not index.own.get("sign") and (index.own.get("registered") or index.own.get("registration")):
        question = _SIGNED_UP.sub("registered", question)
    return _OWNS.sub("Which owners have ", question) if len(index.called_by("owner")) == 1 else question


_WHO: Final = re.compile(
    r"^\s*who (?P<rest>(?:(?:has|have|had)(?: not| never|n't)?(?: ever)? |never |ever )?(?P<done>(?!is\b|are\b|was\b|were\b|else\b)[a-z]+)\b.*)$",
    re.IGNORECASE | re.DOTALL,
)
_HAVING: Final = frozenset({"has", "have", "had"})
_DOES_ANYTHING: Final = _HAVING | frozenset({"made", "makes", "make", "did", "does", "do"})


_DONE_FOR_THEM: Final = frozenset(
    map(
        stem,
        (
            "deliver", "sell", "treat", "serve", "prescribe", "diagnose", "inspect", "hire", "send", "bill", "invoice", "teach",
            "train", "examine", "admit", "grade", "award", "sponsor", "assign", "appoint", "repair", "audit", "insure",
        ),
    )
)  # fmt: skip


def who_of_rows(question: str, index: CatalogIndex) -> str:
    """ "Who made more than ten trips", "who booked a class", "who teaches the classes": the persons to whom rows of these refer.

    The rows are those of the table that is called after the deed, or that is named where the verb says nothing, or says what
    such persons do. They refer to one kind of persons by one key, and nobody else is named.
    """
    said = _WHO.match(question)
    if said is None:
        return question
    has = said["done"].lower() in _HAVING
    persons = {table for table, _ in index.names_of_persons} | set(index.called_by("owner") if has else ())
    words = [base_form(word) for word in re.findall(r"[a-z]+", said["rest"].lower())]
    named = [table for word in words for table in index.called_by(word)]
    deed = stem(said["done"].lower())
    deeds = [
        number
        for number, table in enumerate(index.catalog.tables)
        if stem(name_words(table.name)[-1] if name_words(table.name) else "") == deed
    ]
    home = deeds[0] if len(deeds) == 1 else named[0] if named and not deeds else None
    # "Who has the most pets": those who have them, if these are persons as well.
    others = persons.intersection(named) - ({home} if has else set())
    if home is None or others or home >= len(index.catalog.tables):
        return question
    edges = (edge for edge in index.graph.edges_of(home) if edge.source == home and edge.to_one)
    keys = {(edge.source_columns, edge.target) for edge in edges if edge.target in persons - {home}}
    if len(keys) != 1:
        return question
    (_, doer) = keys.pop()
    # "Who delivered them" is no customer to whom deliveries refer.
    if deeds and deed in _DONE_FOR_THEM and not _does(said["done"].lower(), doer, index):
        return question
    if not deeds and said["done"].lower() not in _DOES_ANYTHING and not _does(said["done"].lower(), doer, index):
        return question
    return f"Which {spoken_name(index.table(doer).name)} {said['rest']}"


def _does(verb: str, doer: int, index: CatalogIndex) -> bool:
    """Whether persons of a table are called after what a verb says, or by another word for it."""
    agents = agents_of_verb(verb)
    return any(doer in index.called_by(word) for agent in agents for word in (agent, *index.similar(agent)))


_DID_NOTHING: Final = re.compile(
    r"\b(?:(?:have|has|had|did|do|does)(?: never| not|n't)(?: ever)?|never) (?P<done>[a-z]{4,}) (?:anything|something)\b(?: (?:yet|at all|so far|from us|with us))?",
    re.IGNORECASE,
)
_ROOT_MIN: Final = 4


def _did_nothing(question: str, index: CatalogIndex) -> str:
    """ "Never shipped anything": without shipments, where one table is called after the deed."""

    def written(said: re.Match[str]) -> str:
        root = stem(base_form(said["done"].lower()))
        found = [
            table.name
            for table in index.catalog.tables
            if len(root) >= _ROOT_MIN and name_words(table.name)[-1:] and name_words(table.name)[-1].startswith(root)
        ]
        return f"have no {spoken_name(found[0])}" if len(found) == 1 else said[0]

    return _DID_NOTHING.sub(written, question)


_SO_MANY_UNITS: Final = re.compile(
    r"(?P<ask>\bhow many|\bthe most|\bthe fewest|\bthe least) (?P<unit>[a-z]+)(?= |\?|\.|$)", re.IGNORECASE
)
_OF_ONE: Final = re.compile(
    r"\b(?:weighs?|weighed|tall|long|high|deep|wide|away|heavy|big|large|small|far)\b", re.IGNORECASE
)
"""What each has, and what is not added up."""
_ASKED_OF_UNITS: Final = {
    "how many": "what is the total",
    "the most": "the highest total",
    "the fewest": "the lowest total",
    "the least": "the lowest total",
}


def _so_many_units(question: str, index: CatalogIndex) -> str:
    """ "How many kilometres", "the most kilometres": the total of the one column whose name ends in that unit."""

    def written(said: re.Match[str]) -> str:
        unit = unit_of_measure(said["unit"].lower())
        is_of_one = _OF_ONE.search(question) is not None
        if unit is None or is_of_one or index.called_by(base_form(said["unit"].lower())) or unit[0] == "time":
            return said[0]
        measured = [
            column.name
            for column in (column for table in index.catalog.tables for column in table.columns)
            if _is_in_unit(column, unit) and unit_of_measure(name_words(column.name)[-1]) == unit
        ]
        return f"{_ASKED_OF_UNITS[said['ask'].lower()]} {spoken_name(measured[0])}" if len(measured) == 1 else said[0]

    return _SO_MANY_UNITS.sub(written, question)


_HOW_MUCH_IS: Final = re.compile(
    r"^\s*how much (?:is|are) (?P<what>(?:the|a|an|one|our) (?:[\w'\"-]+ ){0,4}?(?P<rows>[a-z]+))(?: (?:per|a|each|every) (?P<unit>month|year|week|day|night|hour))?\s*\??$",
    re.IGNORECASE,
)
_PRICES: Final = frozenset({"price", "cost", "fee", "rate", "fare", "tariff", "rent", "rental", "charge"})
_OF_PRICES: Final = frozenset({"unit", "list", "base", "standard", "regular", "retail", "sale", "selling", "per"})
_EACH_TIME: Final = {
    "month": "monthly", "year": "yearly", "week": "weekly", "day": "daily", "night": "nightly", "hour": "hourly",
}  # fmt: skip


def _how_much_is(question: str, index: CatalogIndex) -> str:
    """ "How much is the Premium plan per month": what it costs, by its one price, where that is one for a month or no time is said."""
    said = _HOW_MUCH_IS.match(question)
    tables = index.called_by(base_form(said["rows"].lower())) if said is not None else []
    if said is None or len(tables) != 1 or tables[0] >= len(index.catalog.tables):
        return question
    own = {*index.table_words[tables[0]], *_EACH_TIME, *_EACH_TIME.values(), *_OF_PRICES}
    prices = [
        column.name
        for column in index.table(tables[0]).columns
        if (words := name_words(column.name)) and words[-1] in _PRICES and own.issuperset(words[:-1])
    ]
    if len(prices) != 1:
        return question
    unit = (said["unit"] or "").lower()
    if unit and not {unit, _EACH_TIME[unit]} & set(name_words(prices[0])):
        return question
    if said["what"].lower().startswith(("the ", "our ")):
        return f"What is the {spoken_name(prices[0])} of {said['what']}?"
    return f"How much does {said['what']} cost?"


_SPENT_ON: Final = re.compile(
    r"^(?:how much(?: money)?|what) (?:did|do|have|has|had) (?:we|they|you|i) (?:already )?(?:spend|spent|pay|paid)(?: in total)? (?:on|for) (?P<what>[a-z]+(?: [a-z]+)?)(?P<rest>(?: (?:per|in|since|for|by|each|every|last|this|during|between) .*)?) *\??$",
    re.IGNORECASE,
)
_AMOUNTS: Final = _PRICES | {"amount", "total", "sum", "expense", "expenditure", "spending"}


def _spent_on(question: str, index: CatalogIndex) -> str:
    """ "How much did we spend on heating": the total of the one amount of the rows that are of this kind."""
    said = _SPENT_ON.match(question)
    if said is None or index.called_by(base_form(said["what"].lower().split()[-1])):
        return question
    homes = {hit.table for hit in index.values.get(tuple(said["what"].lower().split()), ())}
    table = homes.pop() if len(homes) == 1 else None
    if table is None or table >= len(index.catalog.tables):
        return question
    amounts = [
        column.name
        for column in index.table(table).columns
        if column.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER) and {*name_words(column.name)[-1:]} & _AMOUNTS
    ]
    if len(amounts) != 1:
        return question
    return f"What is the total {spoken_name(amounts[0])} of {said['what']} {spoken_name(index.table(table).name)}{said['rest'].rstrip(' ?')}?"


_WEEKDAY: Final = re.compile(r"\bday(?P<many>s?) of the week\b", re.IGNORECASE)
_OLDER_THAN_YEAR: Final = re.compile(
    r"\b(?P<rows>[a-z]+)(?: that| which)?(?: are| is| were)? older than (?P<year>(?:19|20)\d\d)\b(?! (?:days|hours))",
    re.IGNORECASE,
)


def _by_its_column(question: str, index: CatalogIndex) -> str:
    """The day of the week is a weekday, and what is older than 2012 of a year before it, by the one column that says so."""
    homes = {index.entries[item].table for item in index.own.get("weekday", ())}
    is_said_otherwise = (
        not homes
        or index.knows("day_of_week")
        or index.knows("week_day")
        # Where rows have a day as well, its day of the week is asked for.
        or any(
            column.kind in (ColumnKind.DATE, ColumnKind.DATETIME)
            for home in homes
            for column in index.table(home).columns
        )
    )
    question = question if is_said_otherwise else _WEEKDAY.sub(r"weekday\g<many>", question)

    def before(said: re.Match[str]) -> str:
        tables = index.called_by(base_form(said["rows"].lower()))
        columns = index.table(tables[0]).columns if len(tables) == 1 else ()
        years = [column.name for column in columns if name_words(column.name)[-1:] == ("year",)]
        return f"{said['rows']} with {spoken_name(years[0])} before {said['year']}" if len(years) == 1 else said[0]

    return _OLDER_THAN_YEAR.sub(before, question)


_CAN_SO_MANY: Final = re.compile(
    r"\b(?P<rows>[a-z]+) (?:that |which |who )?(?:can|could|may) (?P<verb>[a-z]+) (?P<bound>more than|at least|less than|up to|at most|over) (?P<number>\d[\d,.]*) ?(?P<unit>[a-z][a-z0-9]*)\b",
    re.IGNORECASE,
)


def _can_so_many(question: str, index: CatalogIndex) -> str:
    """ "Vehicles that can carry more than 1000 kg": with that of their one column in kilograms, whatever they do with it."""

    def written(said: re.Match[str]) -> str:
        unit, tables = unit_of_measure(said["unit"]), index.called_by(base_form(said["rows"].lower()))
        if (
            unit is None
            or unit[0] in ("length", "time")
            or len(tables) != 1
            or tables[0] >= len(index.catalog.tables)
            or index.similar(said["verb"])
        ):
            return said[0]
        measured = [column.name for column in index.table(tables[0]).columns if _is_in_unit(column, unit)]
        if len(measured) != 1:
            return said[0]
        return f"{said['rows']} with {spoken_name(measured[0])} {said['bound']} {said['number']} {said['unit']}"

    return _CAN_SO_MANY.sub(written, question)


def _is_in_unit(column: Column, unit: Unit) -> bool:
    """Whether figures of a column are of what a unit measures, as the end of its name says."""
    words = name_words(column.name)
    own = unit_of_measure(words[-1]) if len(words) > 1 else None
    return own is not None and own[0] == unit[0] and column.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER)


_RATED: Final = re.compile(
    r"\b(?:(?:was|were|is|are|been|being|got) )?(?:rated|scored|graded) (?:with |at )?(?=(?:below|above|under|over|at least|at most|(?:less|more|higher|lower|better|worse) than|between|exactly|\d|one\b|two\b|three\b|four\b|five\b))",
    re.IGNORECASE,
)
_FIGURES_GIVEN: Final = frozenset({"rating", "score", "star", "grade", "mark", "point"})
_BETWEEN_UNITS: Final = re.compile(
    r"\b(?:with )?(?:(?:from|of) )?(?:between )?(?P<low>\d[\d,.]*) (?:and|to) (?P<high>\d[\d,.]*) ?(?P<unit>[a-z][a-z0-9]*(?: [a-z]+)?)\b",
    re.IGNORECASE,
)
_BY_NUMBER: Final = re.compile(
    r"^(?:(?:which|what) (?:is|was) )?(?:the )?(?P<end>largest|biggest|top|smallest) (?P<rows>[a-z]+(?: [a-z]+)?) (?:by|in terms of|in|measured by) (?:the )?(?:total )?(?:number|count) of (?P<what>[a-z]+(?: [a-z]+)?)(?= *[?.]?$)",
    re.IGNORECASE,
)


def _figures_given(question: str, index: CatalogIndex) -> str:
    """ "Rated below 3" has a score below 3, where one column says so; the largest company by number of employees has the most."""

    def has_most(said: re.Match[str]) -> str:
        # "Largest stores by number of orders" are several.
        if base_form(said["rows"].lower()) != said["rows"].lower():
            return said[0]
        return (
            f"which {said['rows']} has the {'fewest' if said['end'].lower() == 'smallest' else 'most'} {said['what']}"
        )

    if not _RATED.search(question):
        return _BY_NUMBER.sub(has_most, question)
    given = [
        column.name
        for table in index.catalog.tables
        for column in table.columns
        if column.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER)
        and base_form(name_words(column.name)[-1].lower()) in _FIGURES_GIVEN
    ]
    if len(given) != 1:
        return question

    def with_figure(said: re.Match[str]) -> str:
        is_bare = question[said.end() :][:1].isdigit() or question[said.end() :].split(maxsplit=1)[0].lower() in _SMALL
        return f"with {spoken_name(given[0])} {'of ' if is_bare else ''}"

    return _RATED.sub(with_figure, question)


_SO_MANY: Final = re.compile(
    r"\b(?P<lead>with|have|has|having|of) (?P<low>\d{1,3}) ?(?:to|[-–]|or) ?(?P<high>\d{1,3})(?= [a-z]{3,})(?! (?:percent|hours?|minutes?|years? old)\b)",
    re.IGNORECASE,
)
_OR_MORE: Final = re.compile(r"\b(?P<lead>with|have|has|having|of) (?P<low>\d{1,3})\+(?= [a-z]{3,})", re.IGNORECASE)
_COSTING: Final = re.compile(
    r"\b(?P<rows>[a-z]+)(?: (?:that|which))?(?: are| is)? (?P<how>costs?|costing|priced|cheaper|more expensive|dearer)(?: at)? (?P<bound>less than|more than|under|over|below|above|at least|at most|up to|between|than) (?=[$€£¥]?\d)",
    re.IGNORECASE,
)


def _so_many_of(question: str, index: CatalogIndex) -> str:
    """ "With 2 to 3 beds", "have 2 or 3 beds" are between these, "3+ beds" are 3 or more; what costs less than 800 has a rent below it."""

    def between(said: re.Match[str]) -> str:
        low, high = int(said["low"]), int(said["high"])
        is_range = low < high and (" or " not in said[0].lower() or high == low + 1)
        return f"{said['lead']} between {low} and {high}" if is_range else said[0]

    def priced(said: re.Match[str]) -> str:
        tables = index.called_by(base_form(said["rows"].lower()))
        if len(tables) != 1 or tables[0] >= len(index.catalog.tables):
            return said[0]
        own = [
            column
            for column in index.table(tables[0]).columns
            if column.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER)
        ]
        money = [
            column.name for column in own if name_words(column.name)[-1:] and name_words(column.name)[-1] in _PRICES
        ]
        if len(money) != 1:
            return said[0]
        bound = said["bound"].lower()
        bound = ("under" if said["how"].lower() == "cheaper" else "over") if bound == "than" else bound
        return f"{said['rows']} with {spoken_name(money[0])} {bound} "

    question = _OR_MORE.sub(r"\g<lead> \g<low> or more", _SO_MANY.sub(between, question))
    return _COSTING.sub(priced, question)


_SMALL: Final = frozenset({"one", "two", "three", "four", "five"})


def _between_units(question: str, index: CatalogIndex) -> str:
    """ "Flats between 50 and 80 square metres": with that of their one column in this unit."""

    def written(said: re.Match[str]) -> str:
        text = said["unit"]
        unit = unit_of_measure(text) or unit_of_measure(text := text.split()[0])
        tables = {
            table for word in question[: said.start()].split() for table in index.called_by(base_form(word.lower()))
        }
        measured = [
            column.name
            for table in tables
            if table < len(index.catalog.tables) and unit is not None
            for column in index.table(table).columns
            if _is_in_unit(column, unit)
        ]
        if len(measured) != 1 or stem(name_words(measured[0])[0]) in map(
            stem, question[: said.start()].lower().split()
        ):
            return said[0]
        rest = said["unit"][len(text) :]
        return f"with {spoken_name(measured[0])} between {said['low']} and {said['high']} {text}{rest}"

    return _BETWEEN_UNITS.sub(written, question)


SPOKEN_BY_CATALOG: Final = (
    _figures_given,
    _between_units,
    _so_many_of,
    _said_plainly,
    _by_what_there_is,
    _did_nothing,
    _can_so_many,
    _how_much_is,
    _spent_on,
    _so_many_units,
    _by_its_column,
)
"""Rewrites by what the catalog has, in this order."""
