"""Rule: WITH tables are queries, under names of their own."""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.sql.facts import StatementFacts, fold_of
from querybus.sql.guard.allowed.system_names import is_system
from querybus.sql.guard.context import Context
from querybus.sql.guard.rules import Rule, refuse, unsafe
from querybus.sql.names.index import NameIndex


def with_tables(facts: StatementFacts, context: Context) -> Failure | None:
    """Refuse a WITH table that is no query or bears a name that belongs to something else."""
    for cte in facts.ctes:
        refusal = _cte(cte, context.dialect, context.index)
        if refusal is not None:
            return refusal
    return None


def _cte(cte: exp.CTE, dialect: Dialect, index: NameIndex) -> Failure | None:
    name = fold_of(cte.args["alias"].this, dialect)
    if is_system(name, None, dialect):
        return unsafe(Rule.SYSTEM_CATALOG, "WITH name of a system catalog is not allowed", name)
    if not isinstance(cte.this, exp.Query | exp.Values) and not cte.args.get("scalar"):
        return unsafe(Rule.NODE, "WITH must be a query", name)
    result = index.find(name, None)
    if result is not None and not result.is_allowed:
        return refuse(
            FailureCode.PERMISSION, Rule.TABLE_DENIED, "WITH name is that of a table that is not allowed", name
        )
    return None
