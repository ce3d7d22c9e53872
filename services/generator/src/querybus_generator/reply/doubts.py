"""Why a first draft is doubtful before it runs: a value that its column cannot have, one of the question left unused, or so its table.

Decided on the parsed statement and the catalog, so that it holds for any model. What is not complete is no evidence: a value
that stands in no kept list may still be there. Measured by `make bench-drafts`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Catalog
from querybus.sql.conditions.scope import scope_of
from querybus_generator.linking.index import LinkIndex

NAMED_LENGTH_MIN: Final = 4
NAMED_PLACES_MAX: Final = 2
"""A value that stands in more columns is a word of everybody's."""


class DraftDoubt(StrEnum):
    """What a second draft is asked for."""

    ABSENT_VALUE = "absent_value"
    UNUSED_VALUE = "unused_value"
    UNUSED_TABLE = "unused_table"
    """The table that the question's words lead to first is not read."""
    SECOND_DOUBTFUL = "second_doubtful"
    """The second draft has a doubt of its own: it may agree, but it replaces nothing."""


def doubts_of(sql: str, question: str, index: LinkIndex, *, asked: str | None = None) -> frozenset[DraftDoubt]:
    """Return what is doubtful about a draft; nothing where it cannot be read, which is the validator's matter.

    `asked` is what tables are linked by, where a question goes on from others.
    """
    catalog, values = index.catalog, index.values
    try:
        tree = sqlglot.parse_one(sql, dialect=catalog.dialect.value)
    except (SqlglotError, RecursionError):
        return frozenset()
    found: set[DraftDoubt] = set()
    if any(_is_absent(select, catalog) for select in tree.find_all(exp.Select)):
        found.add(DraftDoubt.ABSENT_VALUE)
    first = index.first_table(asked or question)
    read = {table.name.casefold() for table in tree.find_all(exp.Table)}
    # A name that is no table's is repaired by rule, which no second draft is needed for.
    knows_one = any(table.name.rpartition(".")[2].casefold() in read for table in catalog.tables)
    if first is not None and knows_one and first.casefold() not in read:
        found.add(DraftDoubt.UNUSED_TABLE)
    written = sql.casefold()
    for text, (_, _, value) in values.found(question):
        is_name = len(text) >= NAMED_LENGTH_MIN and not text.isdigit() and text[0].isupper()
        if is_name and values.count(value) <= NAMED_PLACES_MAX and value.casefold() not in written:
            found.add(DraftDoubt.UNUSED_VALUE)
    return frozenset(found)


def _is_absent(select: exp.Select, catalog: Catalog) -> bool:
    """Return whether a condition of this query compares a column with a text that all its values, which are known, lack."""
    scope = scope_of(select, catalog)
    for condition in select.find_all(exp.EQ, exp.In):
        if condition.find_ancestor(exp.Select) is not select:
            continue
        column = condition.this
        if not isinstance(column, exp.Column) or (origin := scope.origin(column)) is None:
            continue
        if not origin[1].values_complete or not origin[1].values:
            continue
        known = {value.casefold() for value in origin[1].values}
        texts = [condition.expression] if isinstance(condition, exp.EQ) else condition.expressions
        if any(
            isinstance(item, exp.Literal) and item.is_string and item.name.casefold() not in known for item in texts
        ):
            return True
    return False
