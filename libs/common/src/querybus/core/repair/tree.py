"""Statement text to tree and back, and who owns which column in a scope, for the rules.

Text comes from a model or a person, so it is capped before the parser sees it, exactly as the validator caps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure
from querybus.core.sql.parse import Form, parse

_PLAIN_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read(sql: str, dialect: Dialect) -> exp.Expr | None:
    """Return the tree of exactly one query, or None for anything else."""
    statement = parse(sql, dialect)
    if isinstance(statement, Failure) or statement.form is not Form.QUERY:
        return None
    return statement.tree


def write(tree: exp.Expr, dialect: Dialect) -> str:
    """Return the text of a tree in its dialect."""
    return tree.sql(dialect=dialect.value)


@dataclass(frozen=True, slots=True)
class Source:
    """One entry of a FROM: its alias or name, the columns that it gives, the table's own name if it is one."""

    alias: str
    columns: tuple[str, ...]
    table: str | None

    def owned(self, column: str) -> str | None:
        """Return the column's name as the source spells it, case ignored."""
        return next((each for each in self.columns if each.lower() == column.lower()), None)


@dataclass(frozen=True, slots=True)
class Site:
    """One column reference that is written in a scope, and the sources that it can see, nearest scope first."""

    column: exp.Column
    scope: Scope
    sources: tuple[Source, ...]

    @property
    def qualifier(self) -> str:
        return self.column.table

    def source(self, alias: str) -> Source | None:
        """Return the source of that alias, case ignored."""
        return next((each for each in self.sources if each.alias.lower() == alias.lower()), None)

    @property
    def is_resolved(self) -> bool:
        """Whether some visible source gives the column as it is written."""
        name = self.column.name
        if self.qualifier:
            source = self.source(self.qualifier)
            return source is not None and source.owned(name) is not None
        return any(each.owned(name) for each in self.sources)


def scopes(tree: exp.Expr) -> list[Scope]:
    """Return the query's scopes, innermost first; none where they cannot be told."""
    try:
        return traverse_scope(tree)
    except (SqlglotError, RecursionError):
        return []


def sites(tree: exp.Expr, catalog: Catalog, name: str | None = None) -> Iterator[Site]:
    """Yield the column references of a tree; with a name, only those of that name (case ignored)."""
    for scope in scopes(tree):
        sources = visible(scope, catalog)
        for column in scope.columns:
            if name is None or column.name.lower() == name.lower():
                yield Site(column, scope, sources)


def visible(scope: Scope, catalog: Catalog) -> tuple[Source, ...]:
    """Return the sources of a scope and, for a sub-query, of the scopes around it."""
    found: list[Source] = list(own_sources(scope, catalog))
    parent = scope.parent if scope.is_subquery or scope.is_correlated_subquery else None
    while parent is not None:
        found.extend(own_sources(parent, catalog))
        parent = parent.parent
    return tuple(found)


def own_sources(scope: Scope, catalog: Catalog) -> Iterator[Source]:
    """Yield the sources of a scope's own FROM and joins, in their order."""
    for alias, (_, source) in scope.selected_sources.items():
        if isinstance(source, exp.Table):
            table = catalog.table(source.name, source.db or None)
            columns = tuple(each.name for each in table.columns) if table else ()
            yield Source(alias, columns, source.name)
        else:
            columns = tuple(each for each in getattr(source.expression, "named_selects", ()) if each)
            yield Source(alias, columns, None)


def identifier(name: str, like: exp.Expr | None = None) -> exp.Identifier:
    """Return a name as it has to stand in a statement: quoted where it must be, or where it was."""
    was_quoted = isinstance(like, exp.Identifier) and bool(like.args.get("quoted"))
    return exp.to_identifier(name, quoted=was_quoted or not _PLAIN_IDENTIFIER.fullmatch(name))
