"""A condition on a window function is asked of the rows that the function was computed for.

`WHERE rank <= 3` beside `RANK() OVER (...) AS rank`: the block becomes a derived table and the condition stands outside of
it. No engine takes it otherwise, so nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import bare, identifier, read, write
from querybus_recovery.rules.candidate import Candidate

_CODES: Final = (
    FailureCode.AGGREGATE_MISUSE,
    FailureCode.COLUMN_NOT_FOUND,
    FailureCode.GROUPING_ERROR,
    FailureCode.SYNTAX_ERROR,
)
_DERIVED: Final = "numbered"
_OUTSIDE: Final = ("order", "limit", "offset")


def window_condition(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with the conditions on window functions outside of the block that computes them."""
    del catalog
    tree = read(draft.sql, draft.dialect) if failure.code in _CODES else None
    if not isinstance(tree, exp.Select) or tree.find(exp.Window) is None:
        return ()
    where, having = tree.args.get("where"), tree.args.get("having")
    windows = {
        item.alias.lower(): item for item in tree.expressions if isinstance(item, exp.Alias) and item.find(exp.Window)
    }
    names = [item.alias_or_name for item in tree.expressions]
    if not all(names) or tree.args.get("distinct") is not None:
        return ()
    moved: list[exp.Expr] = []
    for clause in (where, having):
        parts = _parts(clause)
        outside = [part for part in parts if _is_of_window(part, windows)]
        moved += outside
        if clause is not None and outside:
            kept = [part.copy() for part in parts if part not in outside]
            tree.set(clause.key, type(clause)(this=exp.and_(*kept, copy=False)) if kept else None)
    if not moved:
        return ()
    inner = tree.copy()
    for key in _OUTSIDE:
        inner.set(key, None)
    outer = exp.Select(expressions=[bare(name) for name in names])
    outer = outer.from_(exp.Subquery(this=inner, alias=exp.TableAlias(this=identifier(_DERIVED))))
    outer.set("where", exp.Where(this=exp.and_(*[part.copy() for part in moved], copy=False)))
    for key in _OUTSIDE:
        clause = tree.args.get(key)
        outer.set(key, clause.copy() if clause is not None else None)
    before = ", ".join(part.sql(dialect=draft.dialect.value) for part in moved)
    return (
        Candidate(RuleName.WINDOW_CONDITION, write(outer, draft.dialect), keeps_meaning=True, before=before, doubt=0.1),
    )


def _parts(clause: exp.Expr | None) -> list[exp.Expr]:
    if clause is None:
        return []
    return list(clause.this.flatten()) if isinstance(clause.this, exp.And) else [clause.this]


def _is_of_window(part: exp.Expr, windows: Container[str]) -> bool:
    return any(not column.table and column.name.lower() in windows for column in part.find_all(exp.Column))
