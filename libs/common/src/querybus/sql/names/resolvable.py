"""What the parser's own resolution of names does not know, written in forms that it knows: for resolution only.

Nothing of it runs: the tree is one that resolution uses up.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.engines import ENGINES
from querybus.sql.facts import fold_of, sources_of

_SUMMARY_COLUMNS: Final = (
    "column_name",
    "column_type",
    "min",
    "max",
    "approx_unique",
    "avg",
    "std",
    "q25",
    "q50",
    "q75",
    "count",
    "null_percentage",
)
"""Of DuckDB's SUMMARIZE; source: its manual."""


def spell_for_resolution(select: exp.Select, dialect: Dialect) -> bool:
    """Write the sources and the grouping of one SELECT so that the names of their columns are known.

    Returns whether a source became a query of all columns, whose star has to be expanded.
    """
    has_query = False
    for source in sources_of(select):
        if not isinstance(source, exp.Subquery):
            continue
        inner = source.this
        if isinstance(inner, exp.Summarize):
            source.set("this", exp.select(*(exp.alias_(exp.Null(), name) for name in _SUMMARY_COLUMNS)))
        elif source.args.get("alias") is not None and _is_join(inner):
            # A join in brackets with a name of its own: `(a JOIN b USING (id)) AS j`.
            source.set("this", exp.Select(expressions=[exp.Star()], from_=exp.From(this=inner)))
            has_query = True
    if ENGINES[dialect].groups_by_outputs:
        _group_by_outputs(select, dialect)
    return has_query


def _is_join(node: exp.Expr) -> bool:
    return isinstance(node, exp.Table | exp.Subquery) and bool(node.args.get("joins"))


def _group_by_outputs(select: exp.Select, dialect: Dialect) -> None:
    """Write `SELECT a.st ... GROUP BY st` as `GROUP BY a.st`: the output named `st` is meant."""
    group = select.args.get("group")
    columns = [output for output in select.expressions if isinstance(output, exp.Column) and output.args.get("table")]
    outputs = {fold_of(output.this, dialect): output for output in columns}
    for key in list(group.expressions) if isinstance(group, exp.Group) else ():
        if isinstance(key, exp.Column) and key.args.get("table") is None:
            output = outputs.get(fold_of(key.this, dialect))
            if output is not None:
                key.replace(output.copy())
