"""What single engines need in a finished tree: quotients that keep their fraction, and nothing where there is no row."""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus_semantic.compiling.forms import FORMS, Percentiles
from querybus_semantic.layer.refusal import Code, RefusedError

_OR_NULL = {exp.Sum: "sumOrNull", exp.Avg: "avgOrNull", exp.Min: "minOrNull", exp.Max: "maxOrNull"}


def finished(tree: exp.Select, dialect: Dialect) -> exp.Select:
    """Return the statement as the engine needs it."""
    _quotients(tree)
    _percentiles(tree, dialect)
    if FORMS[dialect].nothing_is_zero:
        _null_for_nothing(tree)
    return tree


def _percentiles(tree: exp.Select, dialect: Dialect) -> None:
    """A percentile is computed from all rows or not at all: engines without one refuse, by name."""
    found = list(tree.find_all(exp.PercentileCont, exp.PercentileDisc, exp.Median))
    way = FORMS[dialect].percentiles
    if found and way is Percentiles.NONE:
        raise RefusedError(
            Code.UNSUPPORTED,
            f"{dialect.value} has no median and no percentiles, so this metric cannot be computed there.",
        )
    for node in found:
        if isinstance(node, exp.Median) and way is Percentiles.WITHIN_GROUP_ONLY:
            order = exp.Order(expressions=[exp.Ordered(this=node.this.copy())])
            share = exp.PercentileCont(this=exp.Literal.number("0.5"))
            node.replace(exp.WithinGroup(this=share, expression=order))
        if (
            not isinstance(node, exp.Median)
            and way is Percentiles.QUANTILE
            and isinstance(node.parent, exp.WithinGroup)
        ):
            value = node.parent.expression.expressions[0].this.copy()
            node.parent.replace(exp.Quantile(this=value, quantile=node.this.copy()))


def _quotients(tree: exp.Select) -> None:
    """7 / 2 is 3 on some engines and 3.5 on others: every quotient is of fractions, and by zero it is nothing."""
    for division in list(tree.find_all(exp.Div)):
        left, right = division.this, division.expression
        division.set("this", exp.Cast(this=left.copy(), to=exp.DType.DOUBLE.into_expr()))
        divisor = right.unnest()
        if not isinstance(divisor, exp.Nullif) and not (
            isinstance(divisor, exp.Literal) and divisor.name not in {"0", "0.0"}
        ):
            division.set("expression", exp.Nullif(this=right.copy(), expression=exp.Literal.number(0)))
        division.set("typed", False)
        division.set("safe", False)


def _null_for_nothing(tree: exp.Select) -> None:
    """An unmatched LEFT JOIN gives zeros on ClickHouse, and so does a sum of nothing: joined columns are made nullable, sums too."""
    for call in list(tree.find_all(*_OR_NULL)):
        if isinstance(call.parent, exp.Window):
            continue
        call.replace(exp.Anonymous(this=_OR_NULL[type(call)], expressions=[call.this.copy()]))
    for select in list(tree.find_all(exp.Select)):
        for join in select.args.get("joins") or []:
            if join.side == "LEFT" and isinstance(join.this, exp.Table):
                _nullable(select, join)


def _nullable(select: exp.Select, join: exp.Join) -> None:
    alias = join.this.alias_or_name
    used: dict[str, exp.Column] = {
        column.name: column for column in select.find_all(exp.Column) if column.table == alias
    }
    table = join.this.copy()
    inner_alias = "n"
    table.set("alias", exp.TableAlias(this=exp.to_identifier(inner_alias)))
    columns = [
        exp.alias_(
            exp.Anonymous(
                this="toNullable",
                expressions=[exp.Column(this=column.this.copy(), table=exp.to_identifier(inner_alias))],
            ),
            column.this.copy(),
        )
        for column in used.values()
    ]
    query = exp.select(*columns).from_(table, copy=False)
    join.set("this", exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias))))
