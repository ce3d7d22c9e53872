"""Forms that the parser reads and no renderer writes back, or that hide what they read from the rules.

Each is written in words that every rule knows: APPLY as a lateral join, a call of ClickHouse's function of a WITH as the
function's own expression, DuckDB's SUMMARIZE of a table as that of a query, a PIVOT in WITH as a query of it.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

NODES_COPIED_MAX: Final = 2_000
"""Of all calls of functions of a WITH: calls within calls double what they copy."""

_LEFT_FIRST: Final = (exp.Binary, exp.Between, exp.In, exp.Bracket, exp.Cast, exp.If)
"""What begins with its own first operand."""


def spell_out(tree: exp.Expr) -> exp.Expr:
    """Return the tree without APPLY and, as far as they can be put in place, without functions of a WITH."""
    for node in list(tree.find_all(exp.Lateral, exp.With, exp.Summarize, exp.CTE)):
        if isinstance(node, exp.CTE):
            if isinstance(node.this, exp.Pivot | exp.Summarize):
                node.set("this", _all_of(exp.Subquery(this=node.this)))
        elif isinstance(node, exp.With):
            _put_in_place(node)
        elif isinstance(node, exp.Summarize):
            if isinstance(node.this, exp.Table):
                node.set("this", _all_of(node.this))
        elif isinstance(node.parent, exp.Join) and node.args.get("cross_apply") is not None:
            _join_laterally(node.parent, node)
    return tree


def _all_of(source: exp.Expr) -> exp.Select:
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=source))


def _join_laterally(join: exp.Join, lateral: exp.Lateral) -> None:
    """Write `CROSS APPLY q` as `CROSS JOIN LATERAL q`, and `OUTER APPLY q` as `LEFT JOIN LATERAL q ON 1 = 1`."""
    if lateral.args["cross_apply"]:
        join.set("kind", "CROSS")
    else:
        join.set("side", "LEFT")
        join.set("on", exp.EQ(this=exp.Literal.number(1), expression=exp.Literal.number(1)))
    lateral.set("cross_apply", None)


def _put_in_place(clause: exp.With) -> None:
    """Write `WITH x -> x + 1 AS f SELECT f(2)` as `SELECT (2 + 1)`; a function that is not called stays as it is."""
    owner = clause.parent
    for cte in reversed(list(clause.expressions)):
        lambda_ = _function_of(cte)
        if owner is None or lambda_ is None:
            continue
        parameters, body = lambda_
        copied, called = 0, False
        # Calls within calls first: what is put in place is then free of the function's name.
        for call in reversed([node for node in owner.find_all(exp.Anonymous) if node.name == cte.alias]):
            if len(call.expressions) != len(parameters):
                return
            copied += sum(1 for _ in call.walk()) + sum(1 for _ in body.walk())
            if copied > NODES_COPIED_MAX:
                return
            call.replace(exp.Paren(this=_with_arguments(body, dict(zip(parameters, call.expressions, strict=True)))))
            called = True
        if called:
            cte.pop()
    if not clause.expressions:
        clause.pop()


def _function_of(cte: exp.Expr) -> tuple[list[str], exp.Expr] | None:
    """Return the parameters and the expression of `parameters -> expression AS name`.

    The parser takes the arrow for the operator that binds closest: (x -> x) + 1.
    """
    if not cte.args.get("scalar"):
        return None
    body: exp.Expr = cte.this.copy()
    arrow = body
    while isinstance(arrow, _LEFT_FIRST) and not isinstance(arrow, exp.JSONExtract):
        arrow = arrow.this
    # NOT reaches further than the arrow does.
    if not isinstance(arrow, exp.JSONExtract) or isinstance(arrow.expression, exp.Not):
        return None
    names = arrow.this.expressions if isinstance(arrow.this, exp.Tuple) else [arrow.this.unnest()]
    if not all(isinstance(name, exp.Identifier | exp.Column) and not name.args.get("table") for name in names):
        return None
    if arrow is body:
        body = arrow.expression
    else:
        arrow.replace(arrow.expression)
    # A function within it may bear a parameter of the same name.
    return None if body.find(exp.Lambda, exp.JSONExtract) else ([name.name for name in names], body)


def _with_arguments(body: exp.Expr, arguments: dict[str, exp.Expr]) -> exp.Expr:
    """Return a copy of a function's expression with its arguments in place of its parameters."""
    holder = exp.Paren(this=body.copy())
    for column in [node for node in holder.find_all(exp.Column) if not node.table and node.name in arguments]:
        column.replace(exp.Paren(this=arguments[column.name].copy()))
    return holder.this
