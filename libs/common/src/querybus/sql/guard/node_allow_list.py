"""Rule: every node of the tree, with each of its arguments, is listed; what is not listed is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.engines import ENGINES
from querybus.sql.facts import StatementFacts, is_statement, kind_of_node
from querybus.sql.guard.allowed import functions
from querybus.sql.guard.allowed.call import call, typed_call
from querybus.sql.guard.allowed.nodes import ARGUMENT_RULES, CLAUSES, NODE_RULES, NODES, NOT_SUPPORTED, STRUCTURE
from querybus.sql.guard.context import Context
from querybus.sql.guard.rules import Rule, refuse, unsafe, written

_WORD: Final = re.compile(r"[^\W\d][\w$]*")
_NAME: Final = re.compile(r"\w[\w$]*")
_PATH: Final = re.compile(
    r"[/\\:*?@]|\.(csv|tsv|json|jsonl|ndjson|parquet|txt|db|sqlite|xlsx|arrow|gz|zst)$", re.IGNORECASE
)


def node_allow_list(facts: StatementFacts, context: Context) -> Failure | None:
    """Refuse the first node, argument, function or type that is not listed."""
    for node in facts.nodes:
        if type(node) in _HARMLESS:
            continue
        refusal = _node(node, context.dialect, context.functions)
        if refusal is not None:
            return refusal
    return None


def _node(node: exp.Expr, dialect: Dialect, allowed_names: frozenset[str]) -> Failure | None:
    kind = type(node)
    if kind in functions.BY_NAME_KINDS:
        return call(node, dialect, allowed_names)
    if kind in functions.KNOWN:
        if (refusal := typed_call(node, dialect, allowed_names)) is not None:
            return refusal
    elif kind not in NODES:
        return _refused_node(node)
    structure = STRUCTURE.get(kind)
    if structure is not None:
        for name, value in node.args.items():
            if value and name not in structure:
                rule = ARGUMENT_RULES.get(name, Rule.ARGUMENT)
                clause = CLAUSES.get(name, name.rstrip("_").replace("_", " ").upper())
                if (kind, name) in NOT_SUPPORTED:
                    detail = f"{clause} is not supported here; write the query without it"
                    return refuse(FailureCode.SYNTAX_ERROR, rule, detail, clause)
                return unsafe(rule, f"{clause} is not allowed in {kind.__name__.upper()}")
    if kind is exp.Table:
        return _table_form(node, dialect)
    check = _CHECKS.get(kind)
    if check is not None:
        return check(node)
    if kind is exp.DataType:
        return _data_type(node, dialect)
    return _assignment(node, dialect) if kind is exp.PropertyEQ else None


def _refused_node(node: exp.Expr) -> Failure:
    if is_statement(node):
        kind = kind_of_node(node)
        return unsafe(Rule.STATEMENT_KIND, f"{kind} inside a query is not allowed", kind)
    if isinstance(node, exp.Func):
        name = node.sql_names()[0].lower() if node.sql_names() else type(node).__name__
        if name.startswith(("current", "session")):
            return unsafe(Rule.SESSION_FUNCTION, f"function {name} is not allowed", name)
        if functions.is_dangerous(name):
            return unsafe(Rule.FUNCTION, f"function {name} is not allowed", name)
        return refuse(
            FailureCode.FUNCTION_NOT_FOUND, Rule.FUNCTION, f"function {name} does not exist or is not allowed", name
        )
    rule = NODE_RULES.get(type(node), Rule.NODE)
    if rule is Rule.HINT:
        return refuse(FailureCode.SYNTAX_ERROR, rule, "a hint is not supported here; write the query without it")
    return unsafe(rule, f"{type(node).__name__} is not allowed", type(node).__name__)


_PRINTED_QUOTES: Final = re.compile("[‘’‚‛“”„‟«»]")


def _identifier(node: exp.Expr) -> Failure | None:
    if node.args.get("quoted") or _NAME.fullmatch(node.name):
        return None
    if _PRINTED_QUOTES.search(node.name):  # a text as a word processor quotes it: broken, and no harm meant
        return refuse(FailureCode.SYNTAX_ERROR, Rule.NAME_FORM, "curly quotes around a text")
    return unsafe(Rule.NAME_FORM, "invalid identifier", node.name)


_EXCLUSIONS: Final = frozenset({"CURRENT ROW", "NO OTHERS"})


def _var(node: exp.Expr) -> Failure | None:
    if isinstance(node.parent, exp.WindowSpec) and node.arg_key == "exclude" and node.name.upper() in _EXCLUSIONS:
        return None
    return None if _WORD.fullmatch(node.name) else unsafe(Rule.NAME_FORM, "invalid keyword", node.name)


_TYPES_REFUSED: Final = frozenset({exp.DataType.Type.XML, exp.DataType.Type.FILE})


def _data_type(node: exp.Expr, dialect: Dialect) -> Failure | None:
    if node.this in _TYPES_REFUSED:
        return unsafe(Rule.CAST, "type is not allowed", str(node.this))
    if node.this is exp.DataType.Type.USERDEFINED and not ENGINES[dialect].any_word_is_type:
        if written(node).lower() in ENGINES[dialect].types_unknown_to_parser:
            return None
        return unsafe(Rule.CAST, "user-defined type is not allowed", written(node))
    return None


def _dot(node: exp.Expr) -> Failure | None:
    member = node.args.get("expression")
    if isinstance(member, exp.Identifier | exp.Star | exp.Literal) or type(member) in functions.BY_NAME_KINDS:
        if isinstance(node.this, exp.Identifier) and not isinstance(member, exp.Func):
            return unsafe(Rule.FUNCTION_QUALIFIED, "qualifier is not a table or alias", written(node))
        return None
    return unsafe(Rule.FUNCTION_QUALIFIED, "schema-qualified function call is not allowed", written(node))


def _assignment(node: exp.Expr, dialect: Dialect) -> Failure | None:
    if ENGINES[dialect].assigns_variables or not isinstance(node.parent, exp.Struct | exp.ToMap | exp.Func):
        return unsafe(Rule.VARIABLE, "variable assignment is not allowed", ":=")
    return None


_SOURCES: Final = (exp.Table, exp.Subquery, exp.Unnest, exp.Values, exp.TableFromRows, exp.Lateral)


def _source(node: exp.Expr) -> Failure | None:
    # The parser turns every table behind ARRAY JOIN into a column, those of a query in brackets there too: what the
    # engine reads as a table would be none for us.
    source = node.this.this if isinstance(node.this, exp.Final) else node.this
    if isinstance(source, _SOURCES) or (isinstance(node, exp.Join) and node.args.get("kind") == "ARRAY"):
        return None
    return unsafe(Rule.TABLE_FORM, "only tables and queries may stand in FROM and JOIN", written(source))


def _table_form(node: exp.Expr, dialect: Dialect) -> Failure | None:
    if isinstance(node.this, exp.Identifier):
        # Elsewhere a quoted name is a table of the catalog or none.
        if ENGINES[dialect].reads_files_by_name and node.this.args.get("quoted") and _PATH.search(node.this.name):
            return unsafe(Rule.TABLE_FORM, "file name in place of a table is not allowed", node.this.name)
        return None
    return _source_function(node)


def _source_function(node: exp.Expr) -> Failure | None:
    source = node.this
    if type(source) in functions.BY_NAME_KINDS:
        return None  # looked at by _call
    if isinstance(source, functions.TABLE_KINDS):
        return None
    if isinstance(node, exp.Lateral) and isinstance(source, exp.Subquery | exp.Unnest | exp.Query):
        return None
    name = written(source)
    if isinstance(source, exp.Dot):
        return unsafe(Rule.FUNCTION_QUALIFIED, "schema-qualified function in FROM is not allowed", name)
    rule = Rule.TABLE_FUNCTION if isinstance(source, exp.Func) else Rule.TABLE_FORM
    return unsafe(rule, "only tables and allowed functions may stand in FROM", name)


_CHECKS: Final[dict[type[exp.Expr], Callable[[exp.Expr], Failure | None]]] = {
    exp.Identifier: _identifier,
    exp.Var: _var,
    exp.Dot: _dot,
    exp.From: _source,
    exp.Join: _source,
    exp.TableFromRows: _source_function,
    exp.Lateral: _source_function,
}


_HARMLESS: Final = (
    NODES
    - functions.KNOWN
    - {*STRUCTURE, *_CHECKS, *functions.BY_NAME_KINDS}
    - {exp.Table, exp.DataType, exp.PropertyEQ}
)
"""Kinds that are listed with all of their arguments, whatever stands in them."""
