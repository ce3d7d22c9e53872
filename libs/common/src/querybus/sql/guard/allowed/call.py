"""Calls by name: only listed functions, and those that a policy adds."""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.engines import ENGINES
from querybus.sql.guard.allowed import functions
from querybus.sql.guard.rules import Rule, refuse, unsafe


def call(node: exp.Expr, dialect: Dialect, allowed_names: frozenset[str]) -> Failure | None:
    """Return why a call that the parser knows by name only is refused, or None."""
    called = node.this
    if isinstance(called, exp.Expr):
        if not isinstance(called, exp.Identifier) or called.args.get("quoted"):
            return unsafe(Rule.FUNCTION, "quoted function name is not allowed", called.name)
        called = called.name
    name = str(called)
    if isinstance(node.parent, exp.Dot) and node.parent.expression is node:
        return _qualified_call(node.parent, name, dialect, allowed_names)
    in_from = isinstance(node.parent, exp.Table | exp.TableFromRows | exp.Lateral) and node.parent.this is node
    if in_from and name.lower() in ENGINES[dialect].table_functions:
        return None
    if in_from and name.lower() not in allowed_names - functions.LISTED[dialect]:
        return unsafe(Rule.TABLE_FUNCTION, f"table function {name} is not allowed", name)
    if name.lower() in allowed_names or _combined(name.lower(), dialect):
        return None
    if functions.is_dangerous(name):
        return unsafe(Rule.FUNCTION, f"function {name} is not allowed", name)
    return refuse(
        FailureCode.FUNCTION_NOT_FOUND,
        Rule.FUNCTION,
        f"function {name} does not exist or is not allowed in {dialect}",
        name,
        candidates=_similar_functions(name, dialect),
    )


def _combined(name: str, dialect: Dialect) -> bool:
    """Return whether an aggregate with a combinator, e.g. `uniqIf` on ClickHouse, is listed without it."""
    return any(
        name.endswith(combinator) and name[: -len(combinator)] in functions.LISTED[dialect]
        for combinator in ENGINES[dialect].aggregate_combinators
    )


def _similar_functions(name: str, dialect: Dialect) -> tuple[str, ...]:
    lowered = name.lower()
    return tuple(sorted(text for text in functions.LISTED[dialect] if text.startswith(lowered[:4])))[:8]


def _qualified_call(dot: exp.Dot, name: str, dialect: Dialect, allowed_names: frozenset[str]) -> Failure | None:
    full = f"{dot.this.name}.{name}".lower()
    if isinstance(dot.this, exp.Identifier) and not dot.this.args.get("quoted"):
        if full in ENGINES[dialect].qualified_functions or full in allowed_names:
            return None
        if dot.this.name.lower() in ENGINES[dialect].function_schemas and name.lower() in allowed_names:
            return None
    return unsafe(Rule.FUNCTION_QUALIFIED, f"function {full} is not allowed", full)
