"""What a follow-up took over from the last question: the conditions that both statements have."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure
from querybus.sql.conditions.parts import Conditions, conditions_of
from querybus.sql.conditions.scope import Scope, outermost, scope_of
from querybus.sql.parse import parse

PERIOD = "period"


def carried_parts(previous: str, sql: str, catalog: Catalog) -> tuple[str, ...]:
    """Return the ids of a statement's conditions that the statement before it has as well: `period`, `f1`, `f2`, ...

    Both are statements in the catalog's dialect. A condition is the same if it says the same of the same column of the
    same table, however its sources are called.
    """
    before, now = _conditions(previous, catalog), _conditions(sql, catalog)
    if before is None or now is None:
        return ()
    known = {*_texts(before, before[1].period_parts), *_texts(before, [part for _, part in before[1].filters])}
    period = _texts(now, now[1].period_parts)
    filters = [name for name, part in now[1].filters if known.issuperset(_texts(now, [part]))]
    return (*([PERIOD] if period and known.issuperset(period) else []), *filters)


def _conditions(sql: str, catalog: Catalog) -> tuple[Scope, Conditions] | None:
    statement = parse(sql, catalog.dialect)
    select = None if isinstance(statement, Failure) else outermost(statement.tree)
    if select is None:
        return None
    scope = scope_of(select, catalog)
    return scope, conditions_of(scope)


def _texts(found: tuple[Scope, Conditions], parts: Sequence[exp.Expr]) -> list[str]:
    return [part.transform(_with_origin, found[0]).sql() for part in parts]


def _with_origin(node: exp.Expr, scope: Scope) -> exp.Expr:
    origin = scope.origin(node) if isinstance(node, exp.Column) else None
    return node if origin is None else exp.column(origin[1].name, origin[0].name)
