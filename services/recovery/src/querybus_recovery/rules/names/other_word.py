"""A column that nothing is called like is the one that is called so in other words or other forms of the words.

`salary` is `wage`, `hire_date` is `hired_on`, `return_date` is `date_returned`. What is looked at are the columns that the
block does not use yet, of the kind that the place asks for: numbers within sums, dates beside dates. An assumption;
never by an abbreviation, and not where another table owns the name as it was written. What is nearly spelt so is for the
rule that renames.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, ColumnKind, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import Site, Source, glance, identifier, own_columns, own_sources, read, unresolved, write
from querybus.text.similarity import SCORE_MIN, score, words
from querybus.text.synonyms import link_words
from querybus.text.words import stem
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.joins.links import owners_of

OTHER_WORD_DOUBT: Final = 0.5
STEM_LENGTH_MIN: Final = 5
_NUMBERS: Final = (ColumnKind.INTEGER, ColumnKind.NUMBER)
_DATES: Final = (ColumnKind.DATE, ColumnKind.DATETIME)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_DATE_WORDS: Final = frozenset({"date", "day", "datetime", "timestamp"})
_MOMENTS: Final = _DATE_WORDS | {"on", "at", "time"}


def other_word(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with each such column renamed."""
    if failure.code is not FailureCode.COLUMN_NOT_FOUND:
        return ()
    lacking_names = glance(draft.sql, draft.dialect, catalog, failure.facts.name).lacking
    if all(owners_of(catalog, name) for name in lacking_names):
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    lacking = [
        site
        for site in unresolved(tree, catalog, failure.facts.name)
        if not isinstance(site.column.find_ancestor(exp.Join, exp.Select), exp.Join)
        and not _orders_groups(site)
        and not owners_of(catalog, site.column.name)
    ]
    changed: dict[str, str] = {}
    for site in lacking:
        known = changed.get(site.column.name)
        if known is not None and any(source.owned(known) for source in _sources(site, catalog)):
            site.column.set("this", identifier(known, site.column.this))
            continue
        called = [
            column
            for source in _sources(site, catalog)
            for column in _fitting(site, source)
            if score(site.column.name, column.name) < SCORE_MIN and _is_called(site.column.name, column.name, source)
        ] or _only_date(site, catalog)
        if len(called) == 1:
            changed[site.column.name] = called[0].name
            site.column.set("this", identifier(called[0].name, site.column.this))
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.OTHER_WORD,
            write(tree, draft.dialect),
            keeps_meaning=False,
            before=", ".join(changed),
            after=", ".join(changed.values()),
            doubt=OTHER_WORD_DOUBT,
        ),
    )


def _orders_groups(site: Site) -> bool:
    """Return whether groups are ordered by it: then it is rather a result."""
    is_grouped = site.select is not None and site.select.args.get("group") is not None
    return is_grouped and isinstance(site.column.find_ancestor(exp.Order, exp.Select), exp.Order)


def _is_called(written: str, known: str, source: Source) -> bool:
    """Return whether two names say the same, word by word in any order, in other forms or in other words."""
    one, other = (_without_table(name, source) for name in (written, known))
    left = list(other)
    for word in one:
        same = next((item for item in left if _means(word, item)), None)
        if same is None:
            return False
        left.remove(same)
    return bool(one) and not left


def _without_table(name: str, source: Source) -> list[str]:
    own = {stem(word) for word in words(source.table or "")}
    return [word for word in words(name) if stem(word) not in own]


def _only_date(site: Site, catalog: Catalog) -> list[Column]:
    """Return the one date of a table for a name that says no more than its date: `date`, `order_date` of orders."""
    dated = [
        source
        for source in _sources(site, catalog)
        if (said := _without_table(site.column.name, source)) and set(said) <= _DATE_WORDS
    ]
    if len(dated) != 1:
        return []
    table = dated[0].known
    dates = [column for column in table.columns if column.kind in _DATES or _holds(column, _DATES)] if table else []
    return dates if len(dates) == 1 else []


def _means(word: str, other: str) -> bool:
    if word in _MOMENTS and other in _MOMENTS:
        return True
    one, two = sorted((stem(word), stem(other)), key=len)
    if one == two or (len(one) >= STEM_LENGTH_MIN and two.startswith(one)):
        return True
    return other in link_words().get(word, ()) and not _abbreviates(*sorted((word, other), key=len))


def _abbreviates(short: str, long: str) -> bool:
    """Return whether a word is made of letters of another, from the first on: what was measured of such is poor."""
    letters = iter(long)
    return short[:1] == long[:1] and all(letter in letters for letter in short)


def _sources(site: Site, catalog: Catalog) -> list[Source]:
    return [
        source
        for source in own_sources(site.scope, catalog)
        if source.table and (not site.qualifier or source.alias.lower() == site.qualifier.lower())
    ]


def _fitting(site: Site, source: Source) -> list[Column]:
    """Return the columns of a source that may stand there: not used in the block, no keys, of the kind that is asked for."""
    table = source.known
    if table is None:
        return []
    used = {column.name.lower() for column in own_columns(site.scope)} | _keys(table)
    kinds = _kinds(site.column)
    return [
        column
        for column in table.columns
        if column.name.lower() not in used and (not kinds or column.kind in kinds or _holds(column, kinds))
    ]


def _holds(column: Column, kinds: tuple[ColumnKind, ...]) -> bool:
    """Return whether a column of texts holds dates where those are asked for."""
    return kinds == _DATES and bool(column.values) and all(_DATE.match(value) for value in column.values)


def _keys(table: Table) -> set[str]:
    return {
        name.lower() for names in (table.primary_key, *(key.columns for key in table.foreign_keys)) for name in names
    }


def _kinds(column: exp.Column) -> tuple[ColumnKind, ...]:
    """Return the kinds of column that the place asks for; none for any."""
    around = column.parent
    if isinstance(around, exp.Sum | exp.Avg):
        return _NUMBERS
    if _DATE_WORDS & set(words(column.name)):
        return _DATES
    beside = list(around.find_all(exp.Literal)) if isinstance(around, exp.Predicate) else []
    if not beside:
        return ()
    if _DATE.match(beside[0].name):
        return _DATES
    return (ColumnKind.TEXT,) if beside[0].is_string else _NUMBERS
