"""Facts to decision: a query may only read the catalog's tables, with listed functions, within the policy.

Default deny: what is not listed is refused, with the rule's name. The guard needs no database, holds for a read-only
connection whatever the options say, and is run twice: by the validator on the draft and on its own rendering, and by
the executor on what it is handed. It decides on the tree only; that names resolve is the resolver's matter, except
for what an engine would read as a call without parentheses.

Two entry points: `decide` says whether a statement may run whoever asks, `verify` whether one of our own writing shows
its reader no more than the policy allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy, Reader, StatementKind
from querybus.sql.facts import StatementFacts, facts_of
from querybus.sql.guard.allowed import functions
from querybus.sql.guard.attribute_calls import attribute_calls
from querybus.sql.guard.bare_function_names import bare_function_names
from querybus.sql.guard.column_qualifiers import column_qualifiers
from querybus.sql.guard.context import Context
from querybus.sql.guard.denied_columns import denied_columns
from querybus.sql.guard.node_allow_list import node_allow_list
from querybus.sql.guard.rules import Rule, refuse
from querybus.sql.guard.statement_kind import statement_kind
from querybus.sql.guard.tables import table_meant, tables
from querybus.sql.guard.tables_allowed import tables_allowed
from querybus.sql.guard.with_tables import with_tables
from querybus.sql.limits.cost_limits import over_size
from querybus.sql.names.canonical import uncanonical
from querybus.sql.names.index import NameIndex, index_of
from querybus.sql.names.sources import Sources
from querybus.sql.parse import RENDERED_BYTES_MAX, Form, Statement, parse
from querybus.sql.row_security import masked_in_use, unnarrowed


def cost(facts: StatementFacts, context: Context) -> Failure | None:
    """Refuse what a text alone shows to be too expensive."""
    return over_size(facts, context.dialect) if context.checks_size else None


def plan_of_filtered_rows(facts: StatementFacts, context: Context) -> Failure | None:
    """Refuse the plan of a statement over a filtered table: its figures are drawn from everybody's rows."""
    del facts
    if context.statement.form is not Form.EXPLAIN or not context.statement.prefix.startswith("EXPLAIN"):
        return None
    if not any(source.filters or source.masked for source in context.sources):
        return None
    return refuse(FailureCode.PERMISSION, Rule.ROW_FILTER, "the plan of a table whose rows are filtered", "EXPLAIN")


RULES: Final[tuple[Callable[[StatementFacts, Context], Failure | None], ...]] = (
    statement_kind,
    node_allow_list,
    with_tables,
    tables,
    plan_of_filtered_rows,
    column_qualifiers,
    cost,
    attribute_calls,
    bare_function_names,
)
"""In this order; the first refusal counts."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """A statement that may run, with its facts and the catalog's tables that it reads."""

    statement: Statement
    facts: StatementFacts
    sources: Sources
    index: NameIndex

    @property
    def tables(self) -> tuple[str, ...]:
        """The catalog's tables that the statement reads, sorted, each once."""
        return tuple(sorted({source.table.qualified for source in self.sources}))

    @property
    def has_hidden_rows(self) -> bool:
        """Whether a table that it reads is filtered or masked, so that what the engine says of it stays unsaid."""
        return any(source.filters or source.masked for source in self.sources)


def decide(
    statement: Statement, index: NameIndex, policy: ConnectionPolicy, *, checks_size: bool = True
) -> Guarded | Failure:
    """Return the parsed statement with its facts, or why it must not run whoever the reader is."""
    kind = StatementKind.QUERY if statement.form is Form.QUERY else StatementKind.DESCRIBE
    if kind not in policy.kinds:
        return refuse(FailureCode.PERMISSION, Rule.STATEMENT_DENIED, f"{kind} statements are not allowed")
    if statement.tree is None:
        if index.is_restricted:
            return refuse(FailureCode.PERMISSION, Rule.TABLE_DENIED, "permission denied for SHOW TABLES", "SHOW TABLES")
        return Guarded(statement, StatementFacts(), Sources(), index)
    facts = facts_of(statement.tree, index.dialect)
    context = Context(
        statement=statement,
        dialect=index.dialect,
        index=index,
        policy=policy,
        sources=_sources(facts, index.dialect, index),
        functions=functions.LISTED[index.dialect].union(map(str.lower, policy.functions_allowed))
        if policy.functions_allowed
        else functions.LISTED[index.dialect],
        checks_size=checks_size,
    )
    for rule in RULES:
        refusal = rule(facts, context)
        if refusal is not None:
            return refusal
    return Guarded(statement, facts, context.sources, index)


def _sources(facts: StatementFacts, dialect: Dialect, index: NameIndex) -> Sources:
    meant = ((use.node, table_meant(use, dialect, index)) for use in facts.tables)
    return Sources({id(node): table for node, table in meant if table is not None and not isinstance(table, Failure)})


def verify(guarded: Guarded, reader: Reader | None) -> Failure | None:
    """Return why a statement of our own writing shows this reader too much or leaves a name to the engine, or None."""
    facts, sources, index = guarded.facts, guarded.sources, guarded.index
    inside: set[int] = set()
    refusal = uncanonical(facts, index)
    if refusal is None and any(source.is_guarded for source in sources):
        wrapped = unnarrowed(facts, sources, index, reader, guarded.statement.form)
        if isinstance(wrapped, Failure):
            return wrapped
        inside = wrapped
    if refusal is None:
        refusal = tables_allowed(facts, sources, index, inside)
    if refusal is None and index.has_denied:
        refusal = denied_columns(facts, sources, guarded.statement, inside)
    return refusal


def refused_as_written(guarded: Guarded) -> Failure | None:
    """Return why a draft must not run as it is written: a table that is not allowed, a denied or a masked column."""
    facts, sources, index = guarded.facts, guarded.sources, guarded.index
    refusal = tables_allowed(facts, sources, index, ())
    if refusal is None and index.has_denied:
        refusal = denied_columns(facts, sources, guarded.statement)
    return refusal or masked_in_use(facts, sources, index.dialect)


def read(
    sql: str,
    dialect: Dialect,
    catalog: Catalog,
    policy: ConnectionPolicy,
    *,
    bytes_max: int = RENDERED_BYTES_MAX,
    checks_size: bool = True,
) -> Guarded | Failure:
    """Return a text parsed and decided on, or why it must not run whoever the reader is."""
    statement = parse(sql, dialect, bytes_max=bytes_max)
    if isinstance(statement, Failure):
        return statement
    return decide(statement, index_of(catalog, policy), policy, checks_size=checks_size)


def admitted(
    sql: str,
    dialect: Dialect,
    catalog: Catalog,
    policy: ConnectionPolicy,
    reader: Reader | None = None,
    *,
    checks_size: bool = True,
) -> Guarded | Failure:
    """Return a text of our own writing, decided on and verified for this reader, or the refusal.

    Errors: safety, permission, cost, too_complex, multi_statement, syntax_error, table_not_found, missing_alias,
    function_not_found, join_error; `facts.rule` is one of GUARD_RULES.
    """
    policy = policy if reader is None else policy.of(reader.tenant)
    guarded = read(sql, dialect, catalog, policy, checks_size=checks_size)
    return guarded if isinstance(guarded, Failure) else verify(guarded, reader) or guarded


def guard(
    sql: str,
    dialect: Dialect,
    catalog: Catalog,
    policy: ConnectionPolicy,
    reader: Reader | None = None,
    *,
    checks_size: bool = True,
) -> Failure | None:
    """Return why this text, as `check` has written it, must not run for this reader, or None."""
    decision = admitted(sql, dialect, catalog, policy, reader, checks_size=checks_size)
    return decision if isinstance(decision, Failure) else None
