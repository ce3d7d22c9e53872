"""An aggregate in WHERE moves to HAVING, or becomes a sub-query where a row's own value is compared with it.

`COUNT(*) > 3` is a condition on groups; `age > AVG(age)` compares each row with the whole table. Both are assumptions.
"""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import read, write
from querybus_recovery.rules.candidate import Candidate


def aggregate_condition(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with every aggregate out of WHERE."""
    del catalog
    if failure.code not in (FailureCode.AGGREGATE_MISUSE, FailureCode.GROUPING_ERROR):
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    changed: list[str] = []
    by_having = False
    for select in list(tree.find_all(exp.Select)):
        by_having = _ungrouped_having(select) or by_having
        where = select.args.get("where")
        if where is None:
            continue
        _expand_aliases(select, where)
        parts = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
        moved = [part for part in parts if _own_aggregates(part, select)]
        if not moved:
            continue
        kept = [part for part in parts if part not in moved]
        groups: list[exp.Expr] = []
        for attempt in moved:
            changed.append(attempt.sql(dialect=draft.dialect.value))
            if _compares_rows(attempt, select):
                kept.append(_with_sub_query(attempt, select, draft))
            else:
                groups.append(attempt)
        select.set("where", exp.Where(this=exp.and_(*[item.copy() for item in kept], copy=False)) if kept else None)
        if groups:
            having = select.args.get("having")
            conditions = [*([having.this] if having is not None else []), *groups]
            select.set("having", exp.Having(this=exp.and_(*[condition.copy() for condition in conditions], copy=False)))
            if select.args.get("group") is None:
                plain = [
                    expression.unalias() for expression in select.expressions if expression.find(exp.AggFunc) is None
                ]
                if plain and all(isinstance(item, exp.Column) for item in plain):
                    select.set("group", exp.Group(expressions=[item.copy() for item in plain]))
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.AGGREGATE_CONDITION,
            write(tree, draft.dialect),
            keeps_meaning=False,
            before=", ".join(changed),
            after="HAVING",
            doubt=0.2 if by_having else 0.4,
        ),
    )


def _ungrouped_having(select: exp.Select) -> bool:
    """Read HAVING as WHERE where nothing is grouped and it compares a row's own value with an aggregate."""
    having = select.args.get("having")
    if having is None or select.args.get("where") is not None or not _compares_rows(having.this, select):
        return False
    select.set("having", None)
    select.set("where", exp.Where(this=having.this))
    return True


def _own_aggregates(node: exp.Expr, select: exp.Select) -> list[exp.AggFunc]:
    return [aggregate for aggregate in node.find_all(exp.AggFunc) if aggregate.find_ancestor(exp.Select) is select]


def _expand_aliases(select: exp.Select, where: exp.Expr) -> None:
    meant = {
        expression.alias.lower(): expression.this
        for expression in select.expressions
        if isinstance(expression, exp.Alias) and expression.find(exp.AggFunc)
    }
    for column in list(where.find_all(exp.Column)):
        if not column.table and column.name.lower() in meant and column.find_ancestor(exp.Select) is select:
            column.replace(meant[column.name.lower()].copy())


def _compares_rows(condition: exp.Expr, select: exp.Select) -> bool:
    """Return whether one side is a plain column of the row and the other an aggregate."""
    if not isinstance(condition, exp.Binary) or select.args.get("group") is not None:
        return False
    sides = (condition.left, condition.right)
    return any(isinstance(one, exp.Column) and _own_aggregates(other, select) for one, other in (sides, sides[::-1]))


def _with_sub_query(condition: exp.Expr, select: exp.Select, draft: Draft) -> exp.Expr:
    del draft
    changed = condition.copy()
    for aggregate in list(changed.find_all(exp.AggFunc)):
        if aggregate.find_ancestor(exp.Select) is not None:
            continue
        inner = exp.Select(expressions=[aggregate.copy()])
        inner.set("from_", select.args["from_"].copy())
        if select.args.get("joins"):
            inner.set("joins", [join.copy() for join in select.args["joins"]])
        aggregate.replace(exp.Subquery(this=inner))
    return changed
