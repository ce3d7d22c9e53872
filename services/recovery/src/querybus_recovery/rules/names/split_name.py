"""The name of a person, where the table has a first and a last name, becomes both of them.

Two outputs and groups, an order by the last name before the first, and beside a text the two with a blank between. An
assumption. Not within an aggregate, and not where the block's outputs must be of one number.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import Site, Source, bare, glance, own_columns, own_sources, read, reference, unresolved, write
from querybus.text.similarity import words
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.joins.links import owners_of
from querybus_recovery.rules.names.label import parts_of_name

SPLIT_DOUBT: Final = 0.2
_ALSO: Final = frozenset({"full", "complete", "whole"})


def split_name(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with each such name written as the two columns."""
    if failure.code is not FailureCode.COLUMN_NOT_FOUND:
        return ()
    lacking = glance(draft.sql, draft.dialect, catalog, failure.facts.name).lacking
    if not any(words(name)[-1:] == ("name",) for name in lacking):
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    changed: dict[str, str] = {}
    for site in unresolved(tree, catalog, failure.facts.name):
        found = parts_of(site, catalog)
        before = site.column.sql(dialect=draft.dialect.value)
        if found is not None and _split(site, *found):
            changed[before] = ", ".join(column.name for column in found[1])
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.SPLIT_NAME,
            write(tree, draft.dialect),
            keeps_meaning=False,
            before=", ".join(changed),
            after=", ".join(changed.values()),
            doubt=SPLIT_DOUBT,
        ),
    )


def parts_of(site: Site, catalog: Catalog) -> tuple[Source, tuple[Column, Column]] | None:
    """Return the one source whose rows go by that name and have it in two columns."""
    found: list[tuple[Source, tuple[Column, Column]]] = []
    for source in own_sources(site.scope, catalog):
        table = source.known
        if table is None or (site.qualifier and site.qualifier.lower() != source.alias.lower()):
            continue
        used = {column.name.lower() for column in own_columns(site.scope)}
        said = [word for word in words(site.column.name) if word not in (*words(table.name), *_ALSO)]
        parts = parts_of_name(table)
        if parts is None or said != ["name"] or used & {part.name.lower() for part in parts}:
            continue
        # Where another table has a column of that name, a text of one word rather stands there.
        beside = site.column.parent.expression if isinstance(site.column.parent, exp.Binary) else None
        if not owners_of(catalog, site.column.name) or beside is None or " " in beside.name:
            found.append((source, parts))
    return found[0] if len(found) == 1 else None


def _split(site: Site, source: Source, parts: tuple[Column, Column]) -> bool:
    column = site.column
    first, last = (reference(source.alias, part.name) if column.table else bare(part.name) for part in parts)
    place: exp.Expr = column
    around = column.parent
    if isinstance(around, exp.Select | exp.Group) and not isinstance(site.scope.expression.parent, exp.SetOperation):
        new: list[exp.Expr] = [first, last]
    elif isinstance(around, exp.Ordered):
        place = around
        new = []
        for part in (last, first):
            one = around.copy()
            one.set("this", part)
            new.append(one)
    elif isinstance(around, exp.EQ | exp.NEQ | exp.Like) and isinstance(around.expression, exp.Literal):
        blank = exp.Literal.string(" ")
        column.replace(exp.DPipe(this=exp.DPipe(this=first, expression=blank), expression=last))
        return True
    else:
        return False
    holder = place.parent
    if holder is None or place.arg_key != "expressions":
        return False
    every = list(holder.expressions)
    at = next(number for number, item in enumerate(every) if item is place)
    holder.set("expressions", [*every[:at], *new, *every[at + 1 :]])
    return True
