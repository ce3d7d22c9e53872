"""A text that another dialect reads as one query is written in the connection's: TOP, FETCH, ROWNUM, brackets, backticks.

Only a text that the own dialect cannot read, or that names ROWNUM. The reading alone changes no meaning.
"""

from __future__ import annotations

from typing import Final

import sqlglot
from sqlglot import ErrorLevel, exp
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.engines import ENGINES
from querybus.sql.edit import read, write
from querybus.sql.names.quoting import needs_quotes
from querybus.sql.parse import parse
from querybus_recovery.rules.candidate import Candidate

_READERS: Final = ("tsql", "mysql", "postgres", "snowflake", "bigquery", "oracle", "duckdb")


def foreign_dialect(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft as the first dialect reads it that can, in the connection's own."""
    del catalog
    text = draft.sql.strip().rstrip(";").rstrip()
    if failure.code is FailureCode.COLUMN_NOT_FOUND and (failure.facts.name or "").upper() == "ROWNUM":
        return _without_rownum(draft)
    if failure.code is not FailureCode.SYNTAX_ERROR:
        return ()
    refused = parse(text, draft.dialect)
    # Caps were checked by the own reading: only a plain syntax error goes on to other readers.
    if not isinstance(refused, Failure) or refused.code is not FailureCode.SYNTAX_ERROR:
        return ()
    if text.count("(") != text.count(")"):
        return ()
    for reader in _READERS:
        if reader == draft.dialect.value:
            continue
        try:
            trees = [item for item in sqlglot.parse(text, dialect=reader, error_level=ErrorLevel.RAISE) if item]
            if len(trees) != 1 or not isinstance(trees[0], exp.Query):
                continue
            if ENGINES[draft.dialect].folds_to_upper:
                _unquote_plain_names(trees[0], draft.dialect)
            written = trees[0].sql(dialect=draft.dialect.value, unsupported_level=ErrorLevel.IGNORE)
        except (SqlglotError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
            continue
        if written != text and read(written, draft.dialect) is not None:
            return (
                Candidate(
                    RuleName.FOREIGN_DIALECT,
                    written,
                    keeps_meaning=True,
                    before=reader,
                    after=draft.dialect.value,
                    doubt=0.1,
                ),
            )
    return ()


def _unquote_plain_names(tree: exp.Expr, dialect: Dialect) -> None:
    """Take the quotes of another dialect off names: what folds names would take a quoted one for another name."""
    for identifier in tree.find_all(exp.Identifier):
        if identifier.name.isidentifier() and not needs_quotes(identifier.name.upper(), dialect):
            identifier.set("quoted", False)


def _without_rownum(draft: Draft) -> tuple[Candidate, ...]:
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    for select in tree.find_all(exp.Select):
        where = select.args.get("where")
        parts = [] if where is None else list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
        for part in parts:
            if not isinstance(part, exp.LT | exp.LTE | exp.EQ) or part.left.name.upper() != "ROWNUM":
                continue
            if not isinstance(part.right, exp.Literal) or not part.right.name.isdigit() or select.args.get("limit"):
                return ()
            count = int(part.right.name) - isinstance(part, exp.LT)
            kept = [other for other in parts if other is not part]
            select.set("where", exp.Where(this=exp.and_(*[e.copy() for e in kept], copy=False)) if kept else None)
            select.set("limit", exp.Limit(expression=exp.Literal.number(count)))
            return (
                Candidate(
                    RuleName.FOREIGN_DIALECT,
                    write(tree, draft.dialect),
                    keeps_meaning=False,
                    before="ROWNUM",
                    after=f"LIMIT {count}",
                    doubt=0.2,
                ),
            )
    return ()
