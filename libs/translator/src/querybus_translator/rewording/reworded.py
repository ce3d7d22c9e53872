"""Wordings that mean what other words of the catalog say: "unpaid invoices", "cancellation rate".

Each puts words that can be read in the place of words that cannot, by what the catalog knows; nothing else is changed.
"""

from __future__ import annotations

import re
from typing import Final

from querybus.core.catalog import ColumnKind
from querybus.text.labels import flag_values
from querybus.text.readable_name import spoken_name
from querybus.text.words import stem
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.names import is_han, name_words
from querybus_translator.language.stems import base_form
from querybus_translator.rewording.nations import countries_of_people, inhabitants
from querybus_translator.rewording.ordered import higher_than, sorted_from_to, without_values
from querybus_translator.rewording.persons import (
    by_whom,
    each_did,
    everybody,
    names_of_persons,
    people,
    roles_by_verbs,
    spends_most,
    staff_members,
    two_names,
    who_did,
    who_did_first,
    who_earns,
    who_owns,
    whole_names,
)
from querybus_translator.rewording.plain_forms import in_plain_forms
from querybus_translator.rewording.spelt import as_spelt, as_stored, by_initials, here, what_about, whose_records
from querybus_translator.rewording.spoken import SPOKEN_BY_CATALOG, who_of_rows
from querybus_translator.rewording.turned import TURNED_BY_CATALOG, turned
from querybus_translator.schema.chinese import TRANSLATED
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.other_names import doers_of
from querybus_translator.schema.values import stored_as

_UNDONE: Final = re.compile(
    r"\b(?P<noun>[A-Za-z]+) (?:that |which )?(?:are|is|were|was|remain) (?P<not>un|in)(?P<done>[a-z]{3,})\b",
    re.IGNORECASE,
)
_UNDONE_BEFORE: Final = re.compile(r"\b(?P<not>un|in)(?P<done>[a-z]{3,}) (?P<noun>[a-z]+)\b", re.IGNORECASE)
_RATE: Final = re.compile(
    r"\b(?:the )?(?P<deed>[A-Za-z]+(?:[-_ ][A-Za-z]+)?) (?:rate|ratio|percentage)\b", re.IGNORECASE
)
_AVERAGE_NUMBER: Final = re.compile(
    r"\b(average|mean) number of (?=[A-Za-z]+ (?:per|for each|for every) )", re.IGNORECASE
)
_TOTAL_NUMBER: Final = re.compile(r"\b(?P<total>total) (?:number|amount|count) of (?P<noun>[A-Za-z]+)\b", re.IGNORECASE)
_IN_USE: Final = re.compile(
    r"\b(?:in use|in service|in operation|(?<=are )employed(?= (?:right now|now|currently|today)))\b", re.IGNORECASE
)
_WORTH: Final = re.compile(
    r"\b(?:total|combined|overall) (?:value|worth) of (?:the |our |all )?(?P<noun>[a-z]+)\b", re.IGNORECASE
)
_PRICES: Final = frozenset({"price", "cost", "value", "worth"})
_NUMBERED: Final = re.compile(
    r"\b(?P<number>one|two|three|four|five|six|[1-9]\d?)[- ](?P<unit>[a-z]+) (?P<noun>[a-z]+)\b", re.IGNORECASE
)
_RATING: Final = re.compile(r"\b(?:stars? )?(?:ratings?|scores?)\b", re.IGNORECASE)
_BEST_REVIEWS: Final = re.compile(
    r"\b(?P<which>best|worst) (?:customer )?(?:reviews|ratings?|scores?)\b", re.IGNORECASE
)
_AVERAGE_AGE: Final = re.compile(
    r"\b(?:what is )?(?:the )?average age of (?:the |our |all )?(?P<whose>[a-z]+)|how old is (?:the|our) average (?P<one>[a-z]+)",
    re.IGNORECASE,
)
_BEST_RATED: Final = re.compile(
    r"\b(?P<which>best|top|highest|worst|lowest)[- ]rated (?P<noun>[a-z]+)\b", re.IGNORECASE
)
_NO_SHOW: Final = re.compile(r"\bno-shows?\b", re.IGNORECASE)
_RATING_TABLES: Final = frozenset({"rating", "review", "vote", "feedback", "evaluation"})
_RATING_OWNERS: Final = frozenset({"average", "mean", "overall", "user", "customer", "guest", "star", "review"})
_POINTS: Final = frozenset({"point", "points", "value", "vote"})
_SUCCESS: Final = ("approved", "accepted", "successful", "succeeded", "passed", "won", "completed")
_NUMBER_OF: Final = re.compile(r"\bnumber of (?P<noun>[a-z]+)\b", re.IGNORECASE)
_FILLED: Final = re.compile(
    r"\b(?P<what>e-?mail|phone|telephone|mobile|fax) (?P<filler>address(?:es)?|numbers?)\b", re.IGNORECASE
)
_THE_YEAR: Final = re.compile(r"\b(?P<bound>before|after|since|until) the year (?:of )?(?=\d{4}\b)", re.IGNORECASE)
_RATE_ZH: Final = re.compile(r"(?P<run>[\u4e00-\u9fff]{2,})率")
_TOTAL_ZH: Final = re.compile(r"(?P<run>[\u4e00-\u9fff]{2,})总额")
_DONE_ZH: Final = re.compile(r"已(?P<deed>[\u4e00-\u9fff]{2})")
STEM_LENGTH_MIN: Final = 4
DEED_SIGNS_MAX: Final = 4


def reworded(question: str, index: CatalogIndex) -> str:
    """Return a question with the words that the catalog has, where it means them by others."""
    if any(is_han(sign) for sign in question):
        index.read_chinese()
        # Loaded with the first Chinese question: it compiles many patterns.
        from querybus_translator.rewording.in_chinese import plain_chinese

        question = plain_chinese(question, index)
        question = question.replace("平均年龄", "平均多大") if _knows_births_alone(index) else question
        return _done_in_chinese(_totals_in_chinese(_rates_in_chinese(question, index), index), index)
    question = in_plain_forms(turned(question))
    for rewrite in _BY_CATALOG:
        question = rewrite(question, index)
    return question


def _bare_years(question: str, index: CatalogIndex) -> str:
    """ "Before the year of 2010", where nothing is called a year."""
    return question if "year" in index.own else _THE_YEAR.sub(r"\g<bound> ", question)


def _numbered(question: str, index: CatalogIndex) -> str:
    """ "Five star reviews" are reviews with stars 5, where a column of theirs counts stars."""

    def written(match: re.Match[str]) -> str:
        wanted = base_form(match["unit"].lower())
        columns = {
            column.name
            for table in index.called_by(base_form(match["noun"].lower()))
            for column in index.table(table).columns
            if column.kind is ColumnKind.INTEGER and tuple(map(base_form, name_words(column.name))) == (wanted,)
        }
        said = match["number"].lower()
        number = lexicon().numbers.get(said, said)
        return f"{match['noun']} with {spoken_name(columns.pop())} {number}" if len(columns) == 1 else match[0]

    return _NUMBERED.sub(written, question)


def _in_use(question: str, index: CatalogIndex) -> str:
    """What is in use is active, where nothing is called so."""
    return question if index.own.get("use") or index.own.get("employed") else _IN_USE.sub("active", question)


_MORE_OF: Final = re.compile(r"\b(?P<how>more|fewer|less) (?P<what>[a-z]+(?: [a-z]+)?) than\b", re.IGNORECASE)


def _more_of(question: str, index: CatalogIndex) -> str:
    """ "More calories than the soup" are calories above its, where a column of numbers and no table is called so."""

    def written(said: re.Match[str]) -> str:
        words = tuple(base_form(word) for word in said["what"].lower().split())
        entries = (index.entries[item] for item in index.own.get(words[-1], ()))
        figures = {
            (entry.table, entry.column)
            for entry in entries
            if entry.column is not None
            and any(name[-len(words) :] == words for name in entry.names)
            and index.column(entry.table, entry.column).kind in (ColumnKind.INTEGER, ColumnKind.NUMBER)
        }
        if index.called_by(words[-1]) or len(figures) != 1:
            return said[0]
        return f"{said['what']} {'higher' if said['how'].lower() == 'more' else 'lower'} than"

    return _MORE_OF.sub(written, question)


_MOST_DONE: Final = re.compile(
    r"\b(?P<which>most|least) (?P<done>(?!used\b|needed\b)[a-z]+(?:ed|ght|en|old)) (?P<noun>[a-z]+)\b(?! (?:of|in|for|by)\b)",
    re.IGNORECASE,
)


def _most_done(question: str, index: CatalogIndex) -> str:
    """ "The most reviewed recipe" has the most reviews, "the most visited park" the most visitors, where there are such."""

    def written(said: re.Match[str]) -> str:
        tables = index.called_by(base_form(said["noun"].lower()))
        if len(tables) != 1 or index.knows(said["done"]):
            return said[0]
        home, root = tables[0], stem(said["done"].lower())
        roots = {root, *(stem(doer) for doer in doers_of(said["done"].lower()))}
        figures = [
            column.name
            for number, column in enumerate(index.table(home).columns)
            if index.holds_figures(home, number)
            and not index.is_key(home, number)
            and roots & set(map(stem, name_words(column.name)))
        ]
        rows = [
            table.name
            for number, table in enumerate(index.catalog.tables)
            if number != home and root in map(stem, name_words(table.name)) and index.graph.is_many(home, number)
        ]
        named = figures or rows
        which = said["which"].lower() if rows and not figures else "highest" if said["which"] == "most" else "lowest"
        which = "fewest" if which == "least" else which
        return f"{said['noun']} with the {which} {spoken_name(named[0])}" if len(named) == 1 else said[0]

    return _MOST_DONE.sub(written, question)


def _worth(question: str, index: CatalogIndex) -> str:
    """The value of machines is the sum of their one price, where there is one."""

    def written(match: re.Match[str]) -> str:
        prices = {
            column.name
            for table in index.called_by(base_form(match["noun"].lower()))
            for column in index.table(table).columns
            if column.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER)
            and not _PRICES.isdisjoint(name_words(column.name))
        }
        # Of no price, or of several, nothing is counted instead.
        return (
            f"total {spoken_name(prices.pop())} of {match['noun']}" if len(prices) == 1 else f"worth of {match['noun']}"
        )

    return _WORTH.sub(written, question)


def _ages(question: str, index: CatalogIndex) -> str:
    """The average age is how old somebody is on average, where births are known and no ages."""
    if not _knows_births_alone(index):
        return question

    def written(said: re.Match[str]) -> str:
        whose = said["whose"] or said["one"]
        # "The average age of winners", where a column is called the winner's age.
        own = any((base_form(whose.lower()), "age") in index.entries[item].names for item in index.own.get("age", ()))
        return f"average {base_form(whose.lower())} age" if own else f"How old are {whose} on average"

    return _AVERAGE_AGE.sub(written, question)


def _knows_births_alone(index: CatalogIndex) -> bool:
    """Whether it is known when somebody was born, and nowhere how old they are."""
    has_ages = any(("age",) in index.entries[item].names for item in index.own.get("age", ()))
    return not has_ages and any(index.own.get(word) for word in ("birth", "birthday", "born"))


def _best_reviews(question: str, index: CatalogIndex) -> str:
    """The worst reviews are those with the lowest rating on average, by the one column that rates; so is the best rated film."""
    found = {
        spoken_name(index.column(entry.table, entry.column).name)
        for word in (*lexicon().averaged, *_POINTS)
        for entry in (index.entries[item] for item in index.own.get(word, ()))
        if entry.column is not None
        and index.holds_figures(entry.table, entry.column)
        and not index.is_key(entry.table, entry.column)
        # An age rating rates nothing.
        and any(name[-1] == word and _RATING_OWNERS.issuperset(name[:-1]) for name in entry.names)
        and (word not in _POINTS or not index.table_words[entry.table].isdisjoint(_RATING_TABLES))
    }
    if len(found) != 1:
        return question
    rating = found.pop()

    def which(said: re.Match[str]) -> str:
        return "lowest" if said["which"].lower() in ("worst", "lowest") else "highest"

    question = _BEST_RATED.sub(lambda said: f"{said['noun']} with the {which(said)} average {rating}", question)
    return _BEST_REVIEWS.sub(lambda said: f"{which(said)} average {rating}", question)


def _stars(question: str, index: CatalogIndex) -> str:
    """A rating is counted in stars, where only one column does and none is called a rating."""
    if _RATING.search(question) is None or any(index.own.get(word) for word in ("rating", "score")):
        return question
    entries = [index.entries[item] for item in index.own.get("star", ())]
    called = [entry for entry in entries if entry.column is not None and ("star",) in entry.names]
    return _RATING.sub("stars", question) if len(called) == 1 else question


def _stored_numbers(question: str, index: CatalogIndex) -> str:
    """ "The average number of hosts of parties", where parties have a column of just that name: what it holds, and no rows of hosts."""
    said = {base_form(word) for word in re.findall(r"[a-z]+", question.lower())}

    def written(match: re.Match[str]) -> str:
        wanted = ("number", base_form(match["noun"].lower()))
        found = {
            column.name
            for entry in (index.entries[item] for item in index.own.get("number", ()))
            if entry.column is not None and entry.table < len(index.catalog.tables)
            for column in (index.column(entry.table, entry.column),)
            if column.name.lower().startswith("number")
            and tuple(base_form(word) for word in name_words(column.name) if word != "of") == wanted
            and index.holds_figures(entry.table, entry.column)
            and said & (index.table_words[entry.table] - set(wanted))
        }
        return found.pop() if len(found) == 1 else match[0]

    return _NUMBER_OF.sub(written, question)


def _without_filler(question: str, index: CatalogIndex) -> str:
    """An email address is an email, and a phone number a phone, where no name says the second word."""

    def written(said: re.Match[str]) -> str:
        whole = f"{said['what']} {said['filler']}".lower().removesuffix("es" if said["filler"].endswith("ses") else "s")
        names = {word for word in index.own if index.own[word]}
        is_known = said["filler"].lower().rstrip("s") in {"addres", "address"} and "address" in names
        is_known = is_known or index.knows(whole.replace(" ", "_")) or index.knows(whole.replace(" ", ""))
        return said[0] if is_known or not index.similar(said["what"].lower()) else said["what"]

    return _FILLED.sub(written, question)


def _numbers_of(question: str, index: CatalogIndex) -> str:
    """ "The total number of horses" is what a column of total horses holds, where there is one."""

    def written(said: re.Match[str]) -> str:
        called = f"{said['total']} {said['noun']}"
        return called if index.knows(called.replace(" ", "_")) else said[0]

    return _TOTAL_NUMBER.sub(written, question)


def _without_prefix(question: str, index: CatalogIndex) -> str:
    """Return "unpaid invoices" as "invoices that are not paid", where the catalog knows the one word and not the other."""

    def written(match: re.Match[str]) -> str:
        done = match["done"].lower()
        is_known = not index.similar(match["not"].lower() + done) and (
            index.similar(done) or index.similar(base_form(done))
        )
        return f"{match['noun']} that are not {done}" if is_known else match[0]

    return _UNDONE_BEFORE.sub(written, _UNDONE.sub(written, question))


def _average_numbers(question: str, index: CatalogIndex) -> str:
    """ "Average number of bookings per guest" is average bookings per guest, where a column is called a number as well."""
    return _AVERAGE_NUMBER.sub(r"\1 ", question) if index.similar("number") else question


def _rates(question: str, index: CatalogIndex) -> str:
    """Return "cancellation rate" as the share of cancelled bookings, where one column of one table holds that value."""

    def written(match: re.Match[str]) -> str:
        before, _, last = match["deed"].rpartition(" ")
        # "Grant approval rate": what is approved stands before it.
        for deed, thing in ((match["deed"], ""), (last, before)):
            found = _states(deed, index)
            if len(found) != 1 or index.knows(f"{deed} rate"):
                continue
            value, table = found.pop()
            if not thing or base_form(thing.lower()) in map(base_form, name_words(table)):
                return f"share of {value} {table}"
        return match[0]

    question = _RATE.sub(written, question)
    if _NO_SHOW.search(question) is None:
        return question
    # "No-show", where nothing is called so, denies nothing.
    named = (spoken_name(column.name) for table in index.catalog.tables for column in table.columns)
    held = (item.text for stored in index.values.values() for item in stored)
    is_known = any(_NO_SHOW.fullmatch(re.sub("[_ ]", "-", text)) for text in (*held, *named))
    return question if is_known else _NO_SHOW.sub("noshow", question)


def _rates_in_chinese(question: str, index: CatalogIndex) -> str:
    """Return 取消率 as 取消的预订占比, where one column of one table holds 取消 or 已取消 in either language."""

    def written(match: re.Match[str]) -> str:
        run = match["run"]
        for length in range(min(DEED_SIGNS_MAX, len(run)), 1, -1):
            deed = run[-length:]
            held = [item for said in (deed, f"已{deed}") for item in stored_as(said, index)]
            places = {(item.table, item.column) for item in held}
            if len(places) == 1 and not index.knows(f"{deed}率"):
                return f"{run[:-length]}{deed}的{index.table(held[0].table).name}占比"
        return match[0]

    return _RATE_ZH.sub(written, question)


def _totals_in_chinese(question: str, index: CatalogIndex) -> str:
    """Return 发票总额 as 发票总金额, where 发票 is a table that has an amount."""
    if "总额" not in question or index.knows("总额"):
        return question
    amounts = {said for said, closeness in index.similar("金额").items() if closeness >= TRANSLATED}
    having = {
        entry.table
        for entry in index.entries
        if entry.column is not None and any(name[-1] in amounts for name in entry.names if name)
    }

    def written(match: re.Match[str]) -> str:
        run = match["run"]
        things = (run[-length:] for length in range(min(DEED_SIGNS_MAX, len(run)), 1, -1))
        return f"{run}总金额" if any(_tables_alone(thing, index) & having for thing in things) else match[0]

    return _TOTAL_ZH.sub(written, question)


def _tables_alone(word: str, index: CatalogIndex) -> set[int]:
    """Return the tables that a word is the whole name of, none if it is that of a column as well."""
    called = [
        entry
        for said in index.similar(word)
        for entry in (index.entries[item] for item in index.own[said])
        if (said,) in entry.names
    ]
    return {entry.table for entry in called} if all(entry.column is None for entry in called) else set()


def _done_in_chinese(question: str, index: CatalogIndex) -> str:
    """Return 已付款 as 付款, where the catalog knows the one word and does not hold the other."""

    def written(match: re.Match[str]) -> str:
        deed = match["deed"]
        is_known = not stored_as(match[0], index) and (index.similar(deed) or stored_as(deed, index))
        return deed if is_known else match[0]

    return _DONE_ZH.sub(written, question)


def _states(deed: str, index: CatalogIndex) -> set[tuple[str, str]]:
    """Return the stored values and the flags, each with its table, that name a deed as done: cancelled, of a cancellation."""
    said = re.split(r"[-_ ]", deed.lower())
    if len("".join(said)) < STEM_LENGTH_MIN:
        return set()
    wanted = {tuple(stem(base_form(word)) for word in said)}
    flags = [
        (spoken_name(column.name), spoken_name(table.name))
        for table in index.catalog.tables
        for column in table.columns
        if not column.personal
        and flag_values(column) is not None
        and set(map(stem, name_words(column.name))) >= {*next(iter(wanted))}
    ]
    if len(flags) == 1:
        # "Fraud rate", where a flag says that fraud is suspected.
        return set(flags)
    if said == ["success"]:
        wanted |= {(stem(word),) for word in _SUCCESS}
    return {
        (value, spoken_name(table.name))
        for table in index.catalog.tables
        for column in table.columns
        if not column.personal
        for value in (column.values if flag_values(column) is None else (spoken_name(column.name),))
        if wanted & {tuple(map(stem, words)) for words in (name_words(value), re.split(r"[-_ ]", value.lower()))}
    }


_BY_CATALOG: Final = (
    as_stored,
    as_spelt,
    by_initials,
    here,
    whose_records,
    what_about,
    *TURNED_BY_CATALOG,
    *SPOKEN_BY_CATALOG,
    sorted_from_to,
    without_values,
    _numbered,
    roles_by_verbs,
    staff_members,
    _bare_years,
    higher_than,
    _in_use,
    _worth,
    _more_of,
    _most_done,
    who_did,
    who_owns,
    inhabitants,
    countries_of_people,
    _ages,
    _best_reviews,
    _stars,
    _average_numbers,
    names_of_persons,
    who_did_first,
    by_whom,
    each_did,
    who_earns,
    two_names,
    everybody,
    whole_names,
    spends_most,
    who_of_rows,
    _numbers_of,
    _stored_numbers,
    _without_filler,
    _rates,
    _without_prefix,
    people,
)
"""Rewrites by what the catalog has, in this order."""
