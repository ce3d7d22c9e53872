"""Parentheses, ORDER BY and LIMIT of a set operation's parts are written so that the engine takes them.

A part with a LIMIT becomes a derived table; an ORDER BY without LIMIT has no effect in a part and goes (SQLite). What the
whole is ordered by is the name of an output: a column of a part that is one of its outputs takes that name.
"""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.engines import ENGINES
from querybus.sql.edit import identifier, read, write
from querybus_recovery.rules.candidate import Candidate

_CODES_OF_ORDER = (FailureCode.MISSING_ALIAS, FailureCode.COLUMN_NOT_FOUND, FailureCode.TABLE_NOT_FOUND)


def set_operands(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with plain parts, or ordered by an output."""
    del catalog
    if failure.code in _CODES_OF_ORDER:
        return _ordered_by_output(draft)
    if failure.code is not FailureCode.SYNTAX_ERROR or ENGINES[draft.dialect].brackets_set_operands:
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


def _ordered_by_output(draft: Draft) -> tuple[Candidate, ...]:
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    changed: dict[str, str] = {}
    for operation in tree.find_all(exp.SetOperation):
        order = operation.args.get("order")
        parts = _parts(operation)
        for term in order.expressions if order is not None else ():
            column = term.this
            if not isinstance(column, exp.Column):
                continue
            name = _output(column, parts)
            if name is not None and (column.table or name.lower() != column.name.lower()):
                changed[column.sql(dialect=draft.dialect.value)] = name
                term.set("this", exp.column(identifier(name)))
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.SET_OPERANDS,
            write(tree, draft.dialect),
            keeps_meaning=True,
            before=", ".join(changed),
            after=", ".join(changed.values()),
            doubt=0.05,
        ),
    )


def _parts(operation: exp.SetOperation) -> list[exp.Select]:
    """Return the blocks of a set operation from left to right."""
    parts: list[exp.Select] = []
    for side in (operation.this, operation.expression):
        inner = side.unnest() if isinstance(side, exp.Subquery) else side
        if isinstance(inner, exp.SetOperation):
            parts += _parts(inner)
        elif isinstance(inner, exp.Select):
            parts.append(inner)
    return parts


def _output(column: exp.Column, parts: list[exp.Select]) -> str | None:
    """Return the name of the whole's output that a part makes of a column, which the first part gives it."""
    for part in parts:
        for place, output in enumerate(part.expressions):
            same = output.unalias()
            if not isinstance(same, exp.Column) or same.name.lower() != column.name.lower():
                continue
            is_of_part = not column.table or same.table.lower() == column.table.lower() or not same.table
            if is_of_part and place < len(parts[0].expressions):
                return parts[0].expressions[place].alias_or_name or None
    return None
