"""Calls: only functions that the engine's own list has, and those that a policy adds."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from sqlglot import ErrorLevel, exp

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.engines import ENGINES
from querybus.sql.guard.allowed import functions
from querybus.sql.guard.allowed.system_names import is_system
from querybus.sql.guard.rules import Rule, refuse, unsafe
from querybus.sql.parse import GRAMMARS, PARSER_ERRORS

NAMES_KEPT_MAX: Final = 4_096
_CALL: Final = re.compile(r"\b([A-Za-z_]\w*)\(")
_LANGUAGE: Final = frozenset({"all", "any", "cast", "exists", "in", "of", "safe_cast", "try_cast"})
"""Words of the language that stand before a bracket."""


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
    return _unlisted(name, dialect)


def typed_call(node: exp.Expr, dialect: Dialect, allowed_names: frozenset[str]) -> Failure | None:
    """Return why a call that the parser knows by type is refused, or None: by the names under which it would run.

    The parser has one set of types for all engines. Where an engine lacks the function, a function of the database's
    own by that name would run.
    """
    if isinstance(node, exp.JSONTable) and isinstance(node.parent, exp.Table | exp.Lateral):
        allowed_names |= ENGINES[dialect].table_functions
    for name in sorted(_names_of(node, dialect) - allowed_names):
        if not _combined(name, dialect):
            return _unlisted(name, dialect)
    return None


def _names_of(node: exp.Expr, dialect: Dialect) -> frozenset[str]:
    """Return the names that the call itself has in the dialect, in lower case; none where it is written as an operator."""
    kept = _names(dialect)
    # Some grammars keep the name as it was written.
    own_name = tuple(value for name, value in node.meta.items() if name.endswith("name"))
    key = (type(node), own_name, *((name, _form(value)) for name, value in node.args.items() if value))
    known = kept.get(key)
    if known is None:
        try:
            inner = [name for child in node.iter_expressions() for name in _calls_in(child, dialect)]
            known = frozenset(_calls_in(node, dialect)) - set(inner) - _LANGUAGE
        except PARSER_ERRORS:
            return frozenset({type(node).__name__.lower()})
        if len(kept) >= NAMES_KEPT_MAX:
            kept.clear()
        kept[key] = known
    return known


def _calls_in(node: exp.Expr, dialect: Dialect) -> list[str]:
    text = GRAMMARS[dialect].generate(node, comments=False, unsupported_level=ErrorLevel.IGNORE)
    return [name.lower() for name in _CALL.findall(text)]


def _form(value: object) -> object:
    """Return what of an argument may decide the name of its call: its type, and a unit's or a flag's own word."""
    if isinstance(value, exp.Literal):
        return value.is_string
    if isinstance(value, exp.Var | exp.DataType):
        return value.name or str(value.args.get("this"))
    return type(value) if isinstance(value, exp.Expr | list) else value


@lru_cache
def _names(dialect: Dialect) -> dict[tuple[object, ...], frozenset[str]]:
    """Return the names that calls of the dialect were found to have, by type and by the form of their arguments."""
    del dialect
    return {}


def _unlisted(name: str, dialect: Dialect) -> Failure:
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
    if (
        ENGINES[dialect].calls_methods
        and not functions.is_dangerous(name)
        and not is_system(full, dot.this.name, dialect)
    ):
        detail = f"{full} is not supported here: call {name} with its value in brackets"
        return refuse(FailureCode.FUNCTION_NOT_FOUND, Rule.FUNCTION_QUALIFIED, detail, full)
    return unsafe(Rule.FUNCTION_QUALIFIED, f"function {full} is not allowed", full)
