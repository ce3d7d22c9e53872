"""The row bound: an outer limit of one row more than wanted, pushed into the statement without changing its meaning.

No limit: one is added. A larger literal one: it is lowered. A smaller one: kept. A limit that is no plain number, or
counts percent or ties, goes inside a derived table around which the bound stands. VALUES needs none: its rows are in
its text, and the executor counts rows in any case.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure
from querybus.engines import ENGINES
from querybus.sql.parse import Form, Statement, parse
from querybus.sql.render import render

BOUND_ALIAS = "bounded"
TOTAL_ALIAS = "counted"


def bind(statement: Statement, dialect: Dialect, rows: int) -> Statement:
    """Return the statement with at most `rows` rows; one that only describes is returned as it is.

    The statement's tree is used up.
    """
    if statement.form is not Form.QUERY or not isinstance(statement.tree, exp.Query):
        return statement
    tree = _without_brackets(statement.tree)
    limit = tree.args.get("limit")
    if limit is None:
        bound = _limited(tree, rows)
    else:
        count = _count(limit)
        if count is None:
            bound = _wrapped(tree, dialect, rows)
        elif count > rows:
            bound = tree
            if isinstance(limit, exp.Fetch):
                bound.args["limit"].set("count", exp.Literal.number(rows))
            else:
                bound.args["limit"].set("expression", exp.Literal.number(rows))
        else:
            bound = tree
    return Statement(statement.form, bound, statement.prefix)


def limit_of(statement: Statement) -> int | None:
    """Return the statement's own outer limit where it is a plain number of rows."""
    if statement.form is not Form.QUERY or not isinstance(statement.tree, exp.Query):
        return None
    limit = _without_brackets(statement.tree).args.get("limit")
    return None if limit is None else _count(limit)


@dataclass(frozen=True, slots=True)
class Unbound:
    """A bound statement without its bound, and what counts its rows."""

    sql: str
    counting: str


def unbind(sql: str, dialect: Dialect, rows: int) -> Unbound | None:
    """Return the statement that `bind` bound to `rows` rows as it was before, or None for one that has no rows to count.

    >>> unbind("SELECT a FROM t ORDER BY a LIMIT 11", Dialect.SQLITE, 11).counting
    'SELECT COUNT(*) FROM (SELECT a FROM t) AS counted'
    """
    statement = parse(sql, dialect)
    if isinstance(statement, Failure) or statement.form is not Form.QUERY or not isinstance(statement.tree, exp.Query):
        return None
    tree = _without_brackets(statement.tree)
    limit = tree.args.get("limit")
    if limit is not None and _count(limit) == rows:
        tree.set("limit", None)
        if tree.args.get("offset") is None:
            # The order of all rows is work, and changes no count.
            tree.set("order", None)
    alias = f" AS {TOTAL_ALIAS}" if ENGINES[dialect].aliases_derived_tables else ""
    text = render(Statement(Form.QUERY, tree), dialect)
    return None if isinstance(text, Failure) else Unbound(text, f"SELECT COUNT(*) FROM ({text}){alias}")  # noqa: S608


def _without_brackets(tree: exp.Query) -> exp.Query:
    while (
        isinstance(tree, exp.Subquery)
        and isinstance(tree.this, exp.Query)
        and not any(value for name, value in tree.args.items() if name != "this")
    ):
        tree = tree.this
    return tree


def _count(limit: exp.Expr) -> int | None:
    """Return the number of rows of a plain limit; None for every other kind; LIMIT ALL and NULL are no kind."""
    options = limit.args.get("limit_options")
    if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
        return None
    if limit.args.get("expressions"):
        return None
    count = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.args.get("expression")
    if isinstance(limit, exp.Fetch) and count is None:
        return 1
    if isinstance(count, exp.Literal) and not count.is_string:
        return int(count.name) if count.name.isdigit() else None
    return None


def _limited(tree: exp.Query, rows: int) -> exp.Query:
    tree.set("limit", exp.Limit(expression=exp.Literal.number(rows)))
    return tree


def _wrapped(tree: exp.Query, dialect: Dialect, rows: int) -> exp.Query:
    inner = exp.Subquery(this=tree)
    if ENGINES[dialect].aliases_derived_tables:
        inner.set("alias", exp.TableAlias(this=exp.to_identifier(BOUND_ALIAS)))
    return exp.Select(
        expressions=[exp.Star()],
        from_=exp.From(this=inner),
        limit=exp.Limit(expression=exp.Literal.number(rows)),
    )
