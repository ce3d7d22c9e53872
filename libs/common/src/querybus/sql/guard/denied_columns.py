"""Denied columns: refused wherever a name, a star or a whole row could bring them into the result."""

from __future__ import annotations

from collections.abc import Container

from sqlglot import exp

from querybus.core.failure import Failure, FailureCode
from querybus.sql.facts import StatementFacts
from querybus.sql.guard.rules import Rule, refuse
from querybus.sql.names.sources import Sources
from querybus.sql.parse import Form, Statement


def denied_columns(
    facts: StatementFacts, sources: Sources, statement: Statement, inside: Container[int] = ()
) -> Failure | None:
    """Refuse a denied column wherever its name, a star or the whole row could bring it into the result.

    What stands inside of our own wrapping of a table is left out. Deliberately wider than need be: a column of the same
    name of another table in the statement is refused as well.
    """
    denied: dict[str, str] = {}
    for link in sources:
        for name in link.denied:
            denied[name] = link.table.name
    if not denied:
        return None
    tables = {link.table.name.lower() for link in sources if link.denied}
    aliases = {
        use.node.alias.lower()
        for use in facts.tables
        if use.node.alias and (source := sources.of(use.node)) is not None and source.denied
    }
    for use in facts.tables:
        alias = use.node.args.get("alias")
        if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
            return _column_denied("a list of other names")
    for node in facts.nodes:
        if id(node) in inside:
            continue
        if isinstance(node, exp.Identifier) and node.name.lower() in denied and not _is_left_out(node):
            return _column_denied(node.name)
        if isinstance(node, exp.Columns) or (
            isinstance(node, exp.Star)
            and not isinstance(node.parent, exp.Count)
            and not _covers(node, denied)
            and _reaches(node, sources)
        ):
            return _column_denied("*")
        if isinstance(node, exp.Column) and node.args.get("table") is None and node.name.lower() in tables | aliases:
            return _column_denied(node.name)
        if isinstance(node, exp.Join) and node.args.get("method") == "NATURAL":
            return _column_denied("natural join")
    # SUMMARIZE and PIVOT read every column of their table without naming one.
    if statement.form is Form.SUMMARIZE or any(map(reads_all_columns, facts.nodes)):
        return _column_denied("*")
    return None


def reads_all_columns(node: exp.Expr) -> bool:
    """Return whether the node stands in the place of a query and reads all columns of its table: PIVOT, SUMMARIZE."""
    return isinstance(node, exp.Summarize) or (isinstance(node, exp.Pivot) and node.this is not None)


def _is_left_out(name: exp.Expr) -> bool:
    """Return whether the name stands in `* EXCEPT (name)`, where it is not read."""
    node = name.parent if isinstance(name.parent, exp.Column) else name
    return isinstance(node.parent, exp.Star) and node.arg_key == "except_"


def _covers(star: exp.Star, denied: dict[str, str]) -> bool:
    excluded = {path.name.lower() for path in star.args.get("except_") or ()}
    return denied.keys() <= excluded


def _reaches(star: exp.Star, sources: Sources) -> bool:
    """Return whether the star stands for columns of a table with denied ones, and not of derived tables alone.

    What a derived table or WITH table shows is looked at where it is read.
    """
    select = star.find_ancestor(exp.Select)
    if select is None or any(star.find_ancestor(kind) is not None for kind in (exp.Pivot, exp.Lateral)):
        return True
    if isinstance(select.parent, exp.Exists):
        return False  # shows no column
    parts = [select.args.get("from_"), *select.args.get("joins", ()), *select.args.get("laterals", ())]
    tables = [table for part in parts if isinstance(part, exp.Expr) for table in _own_sources(part)]
    qualifier = star.parent.args.get("table") if isinstance(star.parent, exp.Column) else None
    if qualifier is not None:
        # A name of an outer statement's table would not be found among its own.
        named = [table for table in tables if table.alias_or_name.lower() == qualifier.name.lower()]
        if not named:
            return True
        tables = named
    return any((source := sources.of(table)) is not None and source.denied for table in tables)


def _own_sources(part: exp.Expr) -> list[exp.Expr]:
    """Return the tables and derived tables of a FROM or JOIN that stand in it directly, not within a query of their own."""
    walked = part.walk(
        prune=lambda node: isinstance(node, exp.Query) and not isinstance(node, exp.Subquery | exp.Table)
    )
    return [node for node in walked if isinstance(node, exp.Table | exp.Subquery)]


def _column_denied(name: str) -> Failure:
    return refuse(FailureCode.PERMISSION, Rule.COLUMN_DENIED, "permission denied for column", name)
