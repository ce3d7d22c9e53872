"""An aggregate of an aggregate becomes an aggregate over the groups of a nested query.

`SELECT MAX(COUNT(*)) ... GROUP BY x` takes the largest of the groups' counts. An assumption.
"""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import bare, identifier, read, write
from querybus_recovery.rules.candidate import Candidate


def aggregate_of_aggregate(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with every such output computed in two steps."""
    del catalog
    if failure.code is not FailureCode.AGGREGATE_MISUSE:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    changed: list[str] = []
    for select in list(tree.find_all(exp.Select)):
        outers = [aggregate for aggregate in select.find_all(exp.AggFunc) if _holds_own(aggregate, select)]
        if not outers:
            continue
        if all(
            outer.find_ancestor(exp.Order, exp.Having, exp.Select) is select for outer in outers
        ) and select.args.get("group"):
            changed += [outer.sql(dialect=draft.dialect.value) for outer in outers]
            _nest(select, outers)
        else:
            changed += [outer.sql(dialect=draft.dialect.value) for outer in outers]
            for outer in outers:
                # Ordering or filtering groups by MAX(COUNT(*)) can only mean each group's own count.
                inner = next(one for one in outer.find_all(exp.AggFunc) if one is not outer)
                outer.replace(inner.copy())
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.AGGREGATE_OF_AGGREGATE,
            write(tree, draft.dialect),
            keeps_meaning=False,
            before=", ".join(changed),
            after="(SELECT ...)",
            doubt=0.4,
        ),
    )


def _holds_own(aggregate: exp.AggFunc, select: exp.Select) -> bool:
    return aggregate.find_ancestor(exp.Select) is select and any(
        node is not aggregate and node.find_ancestor(exp.Select) is select for node in aggregate.find_all(exp.AggFunc)
    )


def _nest(select: exp.Select, outers: list[exp.AggFunc]) -> None:
    inner = exp.Select()
    outputs: list[exp.Expr] = []
    for number, outer in enumerate(outers, 1):
        name = f"value_{number}"
        outputs.append(exp.Alias(this=outer.this.copy(), alias=identifier(name)))
        outer.set("this", bare(name))
    for number, expression in enumerate(select.expressions):
        if expression.find(*[type(one) for one in outers]) is None and not isinstance(expression, exp.Star):
            name = expression.alias or (expression.name if isinstance(expression, exp.Column) else f"part_{number}")
            outputs.append(exp.Alias(this=expression.unalias().copy(), alias=identifier(name)))
            expression.replace(bare(name))
    inner.set("expressions", outputs)
    for part in ("from_", "joins", "where", "group", "having"):
        value = select.args.get(part)
        if value is not None:
            inner.set(part, [element.copy() for element in value] if isinstance(value, list) else value.copy())
            select.set(part, None)
    table = exp.Subquery(this=inner, alias=exp.TableAlias(this=identifier("grouped")))
    select.set("from_", exp.From(this=table))
