"""Percentages as statements compute them: 100 * how many rows fit / how many there are, in either order."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Percentage:
    """Of all rows, those that `condition` holds for; without one, those of a group."""

    condition: exp.Expr | None


def percentage_in(expression: exp.Expr) -> Percentage | None:
    """Return the percentage that an expression computes, None for any other.

    >>> import sqlglot
    >>> percentage_in(sqlglot.parse_one("100.0 * SUM(CASE WHEN paid THEN 1 ELSE 0 END) / COUNT(*)")).condition.name
    'paid'
    """
    factors = _factors(_bare(expression))
    quotient = next((item for item in factors if isinstance(item, exp.Div)), None)
    if quotient is None:
        return None
    part = (*_factors(quotient.this), *(item for item in factors if item is not quotient))
    hundreds = [item for item in part if _is_hundred(item)]
    rest = [item for item in part if not _is_hundred(item)]
    if len(hundreds) != 1 or len(rest) != 1:
        return None
    return _of(rest[0], _bare(quotient.expression))


def _of(part: exp.Expr, whole: exp.Expr) -> Percentage | None:
    if _counts_rows(whole):
        case = part.this if isinstance(part, exp.Sum | exp.Count) else None
        if not isinstance(case, exp.Case) or case.this or len(case.args.get("ifs") or ()) != 1:
            return None
        branch, default = case.args["ifs"][0], case.args.get("default")
        is_plain = isinstance(part, exp.Count) and default is None
        is_summed = (
            isinstance(part, exp.Sum) and branch.args["true"].name == "1" and (default is None or default.name == "0")
        )
        return Percentage(branch.this) if is_plain or is_summed else None
    total = whole.this if isinstance(whole, exp.Window) else None
    is_all = isinstance(total, exp.Sum) and _counts_rows(total.this) and not whole.args.get("partition_by")
    return Percentage(None) if is_all and _counts_rows(part) else None


def _bare(expression: exp.Expr) -> exp.Expr:
    """Return what stands within parentheses, roundings and casts: engines that divide whole numbers are given those."""
    while isinstance(expression, exp.Paren | exp.Round | exp.Cast) and isinstance(expression.this, exp.Expr):
        expression = expression.this
    return expression


def _factors(expression: exp.Expr) -> list[exp.Expr]:
    expression = _bare(expression)
    if isinstance(expression, exp.Mul):
        return [*_factors(expression.this), *_factors(expression.expression)]
    return [expression]


def _is_hundred(expression: exp.Expr) -> bool:
    return isinstance(expression, exp.Literal) and not expression.is_string and float(expression.name) == 100


def _counts_rows(expression: exp.Expr) -> bool:
    return isinstance(expression, exp.Count) and isinstance(expression.this, exp.Star)
