"""Rule: the tree is a query, or the table that is described."""

from __future__ import annotations

from sqlglot import exp

from querybus.core.failure import Failure
from querybus.sql.facts import StatementFacts, kind_of_node
from querybus.sql.guard.context import Context
from querybus.sql.guard.rules import Rule, unsafe
from querybus.sql.parse import Form


def statement_kind(_facts: StatementFacts, context: Context) -> Failure | None:
    """Refuse a tree that is anything else than a query or a described table."""
    statement = context.statement
    tree = statement.tree
    if statement.form in (Form.DESCRIBE, Form.SUMMARIZE) and isinstance(tree, exp.Table):
        return None
    if isinstance(tree, exp.Query | exp.Values):
        return None
    if isinstance(tree, exp.Pivot) and isinstance(tree.this, exp.Table | exp.Subquery):
        return None
    kind = kind_of_node(tree) if tree is not None else "?"
    return unsafe(Rule.STATEMENT_KIND, f"{kind} is not a query", kind)
