"""What is selected beside aggregates and not grouped is added to GROUP BY.

An assumption: the groups become finer where the added column does not follow from the others. Rows that are ordered by
an aggregate are grouped as well; where another table's rows are counted for each row of theirs, by that row's own key.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import own_sources, read, reference, scopes, write
from querybus.text.similarity import words
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.joins.links import links_of

_NAMING: Final = frozenset({"name", "title"})
"""Two rows may bear the same of these and are two for all that; what is no name is a category."""


def group_completion(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with every plain output column grouped."""
    if failure.code not in (FailureCode.GROUPING_ERROR, FailureCode.AGGREGATE_MISUSE):
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    added: list[str] = []
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        grouped = list(group.expressions) if isinstance(group, exp.Group) else []
        outputs = [expression.unalias() for expression in select.expressions]
        having = select.args.get("having")
        ordered: exp.Order | None = select.args.get("order")
        by_aggregate = ordered is not None and not grouped and _own_aggregate(ordered, select)
        if (
            not grouped
            and having is None
            and not any(output.find(exp.AggFunc) for output in outputs)
            and not by_aggregate
        ):
            continue
        also = [expression.this for expression in ordered.expressions] if ordered is not None and grouped else []
        lacking = [
            output
            for output in [*outputs, *also]
            if isinstance(output, exp.Column) and not isinstance(output.this, exp.Star) and output not in grouped
        ]
        if by_aggregate:
            lacking = [*_key_of_outputs(select, outputs, tree, catalog), *lacking]
        lacking = list(dict.fromkeys(lacking))
        if lacking:
            added += [attempt.sql(dialect=draft.dialect.value) for attempt in lacking]
            select.set("group", exp.Group(expressions=[*grouped, *(item.copy() for item in lacking)]))
    if not added:
        return ()
    return (
        Candidate(
            RuleName.GROUP_COMPLETION,
            write(tree, draft.dialect),
            keeps_meaning=False,
            before="GROUP BY",
            after=", ".join(added),
            doubt=0.3,
        ),
    )


def _own_aggregate(node: exp.Expr, select: exp.Select) -> bool:
    return any(aggregate.find_ancestor(exp.Select) is select for aggregate in node.find_all(exp.AggFunc))


def _key_of_outputs(select: exp.Select, outputs: list[exp.Expr], tree: exp.Expr, catalog: Catalog) -> list[exp.Column]:
    """Return the key of the one table whose rows are shown, where rows of a table that refers to it are joined."""
    scope = next((item for item in scopes(tree) if item.expression is select), None)
    sources = list(own_sources(scope, catalog)) if scope is not None else []
    shown = {
        source.alias
        for output in outputs
        if isinstance(output, exp.Column)
        for source in sources
        if source.alias.lower() == output.table.lower() or (not output.table and source.owned(output.name))
    }
    own = next((source for source in sources if shown == {source.alias}), None)
    table = own.known if own is not None else None
    names = any(_NAMING & set(words(output.name)) for output in outputs)
    if own is None or table is None or len(table.primary_key) != 1 or not names:
        return []
    refers = any(
        link.multiplies and link.other.lower() == (source.table or "").lower()
        for link in links_of(catalog, table.name)
        for source in sources
    )
    return [reference(own.alias, table.primary_key[0])] if refers else []
