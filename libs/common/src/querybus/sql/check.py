"""The whole static check: text -> tree -> decision -> bound -> our own text, which is then checked again.

Pure and bounded: no statement costs more than the caps of `parse` allow. Safety never depends on resolution; a doubt
about a column may be overruled by the engine, a refusal of the guard by nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.sql.facts import facts_of
from querybus.sql.guard.decide import Guarded, guard, read, refused_as_written, verify
from querybus.sql.guard.rules import Rule, refuse, unsafe
from querybus.sql.limits.row_limit import bind, limit_of
from querybus.sql.names.canonical import canonicalise
from querybus.sql.names.lost_words import lost_word
from querybus.sql.parse import SQL_BYTES_MAX, Form
from querybus.sql.render import lost_text, render
from querybus.sql.resolve import quoted_texts, resolve
from querybus.sql.row_security import narrow

__all__ = ["QUOTED_TEXT_WARNING", "Checked", "check", "check_in_doubt", "guard"]

QUOTED_TEXT_WARNING = "a double-quoted word that is no column was read as a text"
NOT_ASKED_NOTE = "Not checked by the engine."
"""The note of a statement that was approved without an EXPLAIN; an answer says so to every reader."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A statement that may run: as rendered, bound to one row more than the limit.

    `doubt` is set only by `check_in_doubt`: a column that did not resolve, for the engine to decide. `is_query` is
    False for a statement that only describes (EXPLAIN, DESCRIBE, SUMMARIZE, SHOW TABLES): it has no dry run.
    `limit_asked`: its own limit where that is not below the bound. `has_hidden_rows`: a table that it reads is filtered
    or masked, so that no figure of the planner is shown or held against a limit.
    """

    sql: str
    tables: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    doubt: Failure | None = None
    is_query: bool = True
    limit_asked: int | None = None
    has_hidden_rows: bool = False


def _is_about_a_name(doubt: Failure) -> bool:
    return doubt.facts.rule in (Rule.COLUMN_UNKNOWN, Rule.COLUMN_AMBIGUOUS)


def check(
    sql: str,
    *,
    dialect: Dialect,
    catalog: Catalog,
    policy: ConnectionPolicy,
    row_limit: int,
    reader: Reader | None = None,
    checks_size: bool = True,
) -> Checked | Failure:
    """Return the statement as it may run for this reader, or the first reason why not.

    `checks_size` False leaves out what a text may cost (rules SIZE to PATTERN): the limits of its session remain.
    Errors: those of `guard`, and column_not_found, ambiguous_column, aggregate_misuse, grouping_error, join_error.
    """
    checked = check_in_doubt(
        sql,
        dialect=dialect,
        catalog=catalog,
        policy=policy,
        row_limit=row_limit,
        reader=reader,
        checks_size=checks_size,
    )
    if isinstance(checked, Checked) and checked.doubt is not None:
        return checked.doubt
    return checked


def check_in_doubt(
    sql: str,
    *,
    dialect: Dialect,
    catalog: Catalog,
    policy: ConnectionPolicy,
    row_limit: int,
    reader: Reader | None = None,
    checks_size: bool = True,
) -> Checked | Failure:
    """Return what `check` does, but a doubt about a column as part of the result instead of a failure."""
    policy = policy if reader is None else policy.of(reader.tenant)
    guarded = read(sql, dialect, catalog, policy, bytes_max=SQL_BYTES_MAX, checks_size=checks_size)
    if isinstance(guarded, Failure):
        return guarded
    refused = refused_as_written(guarded)
    if refused is not None:
        return refused
    has_quoted_texts = quoted_texts(guarded, dialect) > 0
    replaced = _replaced_names(guarded)
    tables, statement = guarded.tables, guarded.statement
    if any(item.is_guarded for item in guarded.sources):
        narrowed = narrow(statement, guarded.facts, guarded.sources, guarded.index, reader)
        if isinstance(narrowed, Failure):
            return narrowed
        statement = narrowed
    if statement.tree is not None:
        is_unchanged = statement is guarded.statement and not has_quoted_texts
        canonicalise(guarded.facts if is_unchanged else facts_of(statement.tree, dialect), guarded.index)
    own_limit = limit_of(statement)
    if own_limit is not None and own_limit > row_limit:
        replaced.add(str(own_limit))
    rendered = render(bind(statement, dialect, row_limit + 1), dialect)
    if isinstance(rendered, Failure):
        return rendered
    decision = _same_statement(
        guarded, rendered, read(rendered, dialect, catalog, policy, checks_size=checks_size), reader
    )
    if isinstance(decision, Failure):
        return decision
    lost = lost_word(guarded.statement.tokens, decision.statement.tokens, dialect, replaced)
    if lost is not None:
        detail = f"{lost[:80]} would be lost; it has to be written in another way"
        return refuse(FailureCode.SYNTAX_ERROR, Rule.RENDERING, detail, lost)
    resolved = resolve(decision, dialect, lambda: read(sql, dialect, catalog, policy))
    if isinstance(resolved, Failure):
        return resolved
    if resolved.doubt is not None and _is_about_a_name(resolved.doubt) and guarded.index.protects:
        # What the engine would read here may be what is protected: its word counts for nothing.
        return resolved.doubt
    return Checked(
        sql=rendered,
        tables=tables,
        warnings=(*((QUOTED_TEXT_WARNING,) if has_quoted_texts else ()), *resolved.warnings),
        doubt=resolved.doubt,
        is_query=statement.form is Form.QUERY,
        limit_asked=own_limit if own_limit is not None and own_limit > row_limit else None,
        has_hidden_rows=guarded.has_hidden_rows,
    )


def _replaced_names(guarded: Guarded) -> set[str]:
    """Return the names that our own rewriting replaces: of WITH tables, and the database and schema before a table."""
    names = [cte.args["alias"].this.name for cte in guarded.facts.ctes]
    names.extend(name for use in guarded.facts.tables for name in (use.catalog, use.schema) if name)
    names.extend(part.name for column in guarded.facts.columns if (part := column.args.get("db")) is not None)
    return {name.lower() for name in names}


def _same_statement(
    guarded: Guarded, rendered: str, decision: Guarded | Failure, reader: Reader | None
) -> Guarded | Failure:
    """Return what was read of the rendered statement if it still says what `guarded` says and holds by its rules."""
    if isinstance(decision, Guarded):
        decision = verify(decision, reader) or decision
    if isinstance(decision, Failure):
        detail = f"rewritten statement was refused: {decision.detail}"
        if decision.code is FailureCode.TOO_COMPLEX:
            return refuse(decision.code, Rule.RENDERING, detail)
        return unsafe(Rule.RENDERING, detail, decision.facts.name)
    if not set(decision.tables) >= set(guarded.tables) or decision.statement.form is not guarded.statement.form:
        return unsafe(Rule.RENDERING, "rewritten statement reads other tables")
    lost = lost_text(guarded.statement.texts, decision.statement.texts, rendered)
    if lost is not None:
        detail = f"the text {lost[:80]!r} would be lost; it has to be written in another way"
        return refuse(FailureCode.SYNTAX_ERROR, Rule.RENDERING, detail, lost)
    return decision
