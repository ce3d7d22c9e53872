"""Parentheses, ORDER BY and LIMIT of a set operation's parts are written so that the engine takes them.

A part with a LIMIT becomes a derived table; an ORDER BY without LIMIT has no effect in a part and goes. For SQLite.
"""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import identifier, read, write
from querybus_recovery.rules.candidate import Candidate


def set_operands(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with plain parts."""
    del catalog
    if failure.code is not FailureCode.SYNTAX_ERROR or draft.dialect is not Dialect.SQLITE:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    changed = 0
    for operation in list(tree.find_all(exp.SetOperation)):
        for side in ("this", "expression"):
            part: exp.Expr = operation.args[side]
            is_wrapped = isinstance(part, exp.Subquery)
            inner = part.unnest() if is_wrapped else part
            if isinstance(inner, exp.SetOperation) and not is_wrapped:
                continue
            if not isinstance(inner, exp.Query):
                continue
            limited = inner.args.get("limit") is not None or inner.args.get("offset") is not None
            ordered = inner.args.get("order") is not None
            if not (is_wrapped or limited or ordered):
                continue
            own = inner.copy()
            if ordered and not limited:
                own.set("order", None)
            if limited or isinstance(inner, exp.SetOperation):
                wrapped = exp.Subquery(this=own, alias=exp.TableAlias(this=identifier(f"part_{changed + 1}")))
                own = exp.Select(expressions=[exp.Star()]).from_(wrapped)
            operation.set(side, own)
            changed += 1
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.SET_OPERANDS, write(tree, draft.dialect), keeps_meaning=True, before="", after="", doubt=0.05
        ),
    )
