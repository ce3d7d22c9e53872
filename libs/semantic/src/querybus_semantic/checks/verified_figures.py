"""Figures that verified statements add up: what an owner has already said is right is the best draft of a definition."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, ColumnKind, Table
from querybus.core.failure import Failure
from querybus.sql.names.meaning import table_meant
from querybus.sql.parse import parse
from querybus_semantic.compiling.expressions import aggregates
from querybus_semantic.layer.definitions import Metric, Words

_NOT_PLAIN: Final = (exp.Subquery, exp.SetOperation, exp.Window, exp.CTE, exp.Join)


def figures_of(catalog: Catalog, question: str, sql: str) -> list[Metric]:
    """Return what a verified statement adds up, as drafts with the conditions that are no period.

    Only of statements over one table: what a join multiplies is no figure of either side.
    """
    parsed = parse(sql, catalog.dialect)
    tree = None if isinstance(parsed, Failure) else parsed.tree
    named = list(tree.find_all(exp.Table)) if isinstance(tree, exp.Select) and tree.find(*_NOT_PLAIN) is None else []
    table = table_meant(named[0], catalog) if len(named) == 1 else None
    if tree is None or table is None:
        return []
    where = tree.args.get("where")
    parts = [] if where is None else list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
    condition = " AND ".join(_own(part, table).sql() for part in parts if not _is_dated(part, table))
    found: list[Metric] = []
    for item in tree.expressions:
        figure = _own(item.unalias(), table)
        if aggregates(figure) and figure.find(exp.Column) is not None and figure.find(exp.Star) is None:
            words = Words(f"A draft from the verified question: {question}", state="draft")
            found.append(Metric(_name(item, table), figure.sql(), dataset=table.name, condition=condition, words=words))
    return found


def _name(item: exp.Expr, table: Table) -> str:
    """Return the column's own name in the statement, or one made of its function and columns: sum_orders_amount."""
    if isinstance(item, exp.Alias):
        return item.alias.lower()
    function = re.findall(r"[a-z]+", item.sql().lower())[0]
    return "_".join((function, table.name, *dict.fromkeys(column.name for column in item.find_all(exp.Column)))).lower()


def _own(tree: exp.Expr, table: Table) -> exp.Expr:
    tree = tree.copy()
    for column in tree.find_all(exp.Column):
        column.set("table", exp.to_identifier(table.name))
    return tree


def _is_dated(condition: exp.Expr, table: Table) -> bool:
    """Whether a condition is of a day: a period is asked for, it is no part of what a figure means."""
    columns = [table.column(column.name) for column in condition.find_all(exp.Column)]
    return any(column is None or column.kind in {ColumnKind.DATE, ColumnKind.DATETIME} for column in columns)
