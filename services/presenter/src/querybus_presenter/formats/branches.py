"""The queries that a set operation puts together."""

from __future__ import annotations

from sqlglot import exp


def branches_of(select: exp.Select) -> tuple[exp.Select, ...]:
    """Return all queries of the set operation that a query begins, in order; a query of its own alone."""
    top: exp.Expr = select
    while isinstance(top.parent, exp.SetOperation | exp.Subquery) and _begins(top.parent, top):
        top = top.parent
    found: list[exp.Select] = []
    left: list[exp.Expr] = [top]
    while left:
        node = left.pop()
        if isinstance(node, exp.SetOperation):
            left += [node.expression, node.this]
        elif isinstance(node, exp.Subquery):
            left.append(node.this)
        elif isinstance(node, exp.Select):
            found.append(node)
    return tuple(found) or (select,)


def _begins(parent: exp.Expr, node: exp.Expr) -> bool:
    """Whether a query is the first of the set operation; a derived table in FROM is none."""
    if isinstance(parent, exp.SetOperation):
        return parent.this is node
    return isinstance(parent.parent, exp.SetOperation)
