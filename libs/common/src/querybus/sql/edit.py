"""Statement text to tree and back, and who owns which column in a scope, for the rules.

Text comes from a model or a person, so it is capped before the parser sees it, exactly as the validator caps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from querybus.core.catalog import Catalog, Dialect, Table
from querybus.core.failure import Failure
from querybus.sql.names.meaning import table_meant
from querybus.sql.parse import Form, parse


class CatalogKey:
    """A catalog by identity, so that what follows from it can be remembered."""

    __slots__ = ("catalog",)

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def __hash__(self) -> int:
        return id(self.catalog)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogKey) and other.catalog is self.catalog


READ_MAX: Final = 128

_PLAIN_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read(sql: str, dialect: Dialect) -> exp.Expr | None:
    """Return an own tree of exactly one query, or None for anything else."""
    tree = _read(sql, dialect)
    return None if tree is None else tree.copy()


@lru_cache(maxsize=READ_MAX)
def _read(sql: str, dialect: Dialect) -> exp.Expr | None:
    """Many rules look at one text; it is parsed once."""
    statement = parse(sql, dialect)
    if isinstance(statement, Failure) or statement.form is not Form.QUERY or statement.tree is None:
        return None
    tree = statement.tree.copy()
    # Rules write new text, so where a name stood in the old one is nothing to them; without it a copy costs a fifth.
    for node in tree.walk():
        node._meta = None  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return tree


def write(tree: exp.Expr, dialect: Dialect) -> str:
    """Return the text of a tree in its dialect."""
    return tree.sql(dialect=dialect.value)


@dataclass(frozen=True, slots=True)
class Source:
    """One entry of a FROM: its alias or name, the columns that it gives, the table's own name if it is one."""

    alias: str
    columns: tuple[str, ...]
    table: str | None = None
    known: Table | None = None
    """The catalog's table, where the name is one of its."""

    def owned(self, column: str) -> str | None:
        """Return the column's name as the source spells it, case ignored."""
        return next((text for text in self.columns if text.lower() == column.lower()), None)


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
        return next((source for source in self.sources if source.alias.lower() == alias.lower()), None)

    @property
    def select(self) -> exp.Select | None:
        """The query block that the reference stands in, if it is a SELECT."""
        block = self.scope.expression
        return block if isinstance(block, exp.Select) else None

    @property
    def sees_unknown(self) -> bool:
        """Whether a source whose columns are not known may give the column."""
        if self.qualifier:
            source = self.source(self.qualifier)
            return source is not None and not source.columns
        return any(not source.columns for source in self.sources)

    @property
    def is_output_alias(self) -> bool:
        """Whether the bare name is one that the block itself gives to an output, outside of its outputs."""
        block = self.select
        if (
            block is None
            or self.qualifier
            or any(
                self.column is expression or self.column in expression.find_all(exp.Column)
                for expression in block.expressions
            )
        ):
            return False
        return any(
            isinstance(expression, exp.Alias) and expression.alias.lower() == self.column.name.lower()
            for expression in block.expressions
        )

    @property
    def is_resolved(self) -> bool:
        """Whether some visible source gives the column as it is written."""
        name = self.column.name
        if self.qualifier:
            source = self.source(self.qualifier)
            return source is not None and source.owned(name) is not None
        return any(source.owned(name) for source in self.sources) or self.is_output_alias


def unresolved(tree: exp.Expr, catalog: Catalog, name: str | None = None) -> list[Site]:
    """Return the references that no visible source gives.

    Where all resolve and the engine still does not know the name, those are meant that only an outer block gives.
    """
    every = list(sites(tree, catalog))
    result = [item for item in every if not item.is_resolved and not item.sees_unknown]
    if result or name is None:
        return result
    return [
        item
        for item in every
        if item.column.name.lower() == name.lower()
        and not item.qualifier
        and not item.is_output_alias
        and not any(source.owned(name) for source in own_sources(item.scope, catalog))
    ]


@dataclass(frozen=True, slots=True)
class Glance:
    """What a text offers to the rules about names, so that most of them need no tree of their own."""

    lacks: bool = False
    """Some reference does not resolve."""
    lacks_qualified: bool = False
    """Some of them are qualified."""
    lacks_alias: bool = False
    """Some of them are qualified by what is no source."""
    lacks_in_joins: bool = False
    """Some of them stand in the condition of a join."""
    lacks_in_order: bool = False
    """Some of them stand in ORDER BY or HAVING."""
    lacks_in_where: bool = False
    lacking: frozenset[str] = frozenset()
    """The names of them."""
    shares: bool = False
    """Some unqualified name is given by two sources of its block."""
    has_sub_query: bool = False
    has_quoted: bool = False
    has_text_comparison: bool = False


def glance(sql: str, dialect: Dialect, catalog: Catalog, name: str | None = None) -> Glance:
    """Return what a text offers; nothing where it is not one query."""
    return _glance(sql, dialect, CatalogKey(catalog), name)


@lru_cache(maxsize=READ_MAX)
def _glance(sql: str, dialect: Dialect, key: CatalogKey, name: str | None) -> Glance:
    tree = _read(sql, dialect)
    if tree is None:
        return Glance()
    catalog = key.catalog
    lacking = unresolved(tree, catalog, name)
    shares = any(
        sum(source.owned(site.column.name) is not None for source in own_sources(site.scope, catalog)) > 1
        for site in sites(tree, catalog, name)
        if not site.qualifier
    )
    columns = list(tree.find_all(exp.Column))
    return Glance(
        lacks=bool(lacking),
        lacks_qualified=any(item.qualifier for item in lacking),
        lacks_alias=any(item.qualifier and item.source(item.qualifier) is None for item in lacking),
        lacks_in_joins=any(isinstance(item.column.find_ancestor(exp.Join, exp.Select), exp.Join) for item in lacking),
        lacks_in_order=any(
            item.column.find_ancestor(exp.Order, exp.Having, exp.Select) is not item.select for item in lacking
        ),
        lacks_in_where=any(item.column.find_ancestor(exp.Where, exp.Select) is not item.select for item in lacking),
        lacking=frozenset(item.column.name for item in lacking),
        shares=shares,
        has_sub_query=tree.find(exp.Subquery, exp.In) is not None,
        has_quoted=any(
            isinstance(column.this, exp.Identifier) and bool(column.this.args.get("quoted")) for column in columns
        ),
        has_text_comparison=any(isinstance(column.parent, exp.EQ | exp.NEQ | exp.Like) for column in columns),
    )


def scopes(tree: exp.Expr) -> list[Scope]:
    """Return the query's scopes, innermost first; none where they cannot be known."""
    try:
        found = traverse_scope(tree)
        for scope in found:
            # Read once here, because a name that stands for two sources shows itself only now.
            _ = scope.selected_sources
    except (SqlglotError, RecursionError):
        return []
    return found


def sites(tree: exp.Expr, catalog: Catalog, name: str | None = None) -> Iterator[Site]:
    """Yield the column references of a tree; with a name, only those of that name (case ignored)."""
    for scope in scopes(tree):
        sources = visible(scope, catalog)
        for column in own_columns(scope):
            if name is None or column.name.lower() == name.lower():
                yield Site(column, scope, sources)


def own_columns(scope: Scope) -> list[exp.Column]:
    """Return the references that are written in the block itself, not in a sub-query of it."""
    block = scope.expression
    if not isinstance(block, exp.Select):
        return list(scope.columns)
    columns = [column for column in scope.columns if column.find_ancestor(exp.Select) is block]
    # The scope leaves out bare names in HAVING, which may be outputs.
    having = block.args.get("having")
    named = having.find_all(exp.Column) if having is not None else ()
    return columns + [column for column in named if not column.table and column.find_ancestor(exp.Select) is block]


def visible(scope: Scope, catalog: Catalog) -> tuple[Source, ...]:
    """Return the sources of a scope and, for a sub-query, of the scopes around it."""
    sources: list[Source] = list(own_sources(scope, catalog))
    parent = scope.parent if scope.is_subquery or scope.is_correlated_subquery else None
    while parent is not None:
        sources.extend(own_sources(parent, catalog))
        parent = parent.parent
    return tuple(sources)


def own_sources(scope: Scope, catalog: Catalog) -> Iterator[Source]:
    """Yield the sources of a scope's own FROM and joins, in their order."""
    for alias, (_, source) in scope.selected_sources.items():
        if isinstance(source, exp.Table):
            table = table_meant(source, catalog)
            columns = tuple(column.name for column in table.columns) if table else ()
            yield Source(alias, columns, source.name, table)
        else:
            columns = tuple(item for item in getattr(source.expression, "named_selects", ()) if item)
            yield Source(alias, columns)


def is_compared(select: exp.Select | None) -> bool:
    """Return whether a block is a sub-query that something is compared with."""
    around = select.parent if select is not None else None
    while isinstance(around, exp.Subquery):
        around = around.parent
    return isinstance(around, exp.Predicate)


def identifier(name: str, like: exp.Expr | None = None) -> exp.Identifier:
    """Return a name as it has to stand in a statement: quoted where it must be, or where it was."""
    was_quoted = isinstance(like, exp.Identifier) and bool(like.args.get("quoted"))
    return exp.to_identifier(name, quoted=was_quoted or not _PLAIN_IDENTIFIER.fullmatch(name))


def bare(name: str) -> exp.Column:
    """Return an unqualified reference to a column."""
    return exp.Column(this=identifier(name))


def reference(alias: str, name: str) -> exp.Column:
    """Return a reference to a column of a source."""
    return exp.Column(this=identifier(name), table=identifier(alias))


def free_alias(tree: exp.Expr, table: str) -> str:
    """Return the table's own name, or the first of it with a number that nothing in the statement goes by."""
    taken = {node.alias_or_name.lower() for node in tree.find_all(exp.Table, exp.Subquery, exp.CTE)}
    if table.lower() not in taken:
        return table
    return next(f"{table}_{number}" for number in range(2, 1_000) if f"{table}_{number}".lower() not in taken)


def equal(alias: str, columns: tuple[str, ...], other: str, other_columns: tuple[str, ...]) -> exp.Expr:
    """Return the condition of a join on keys."""
    parts: list[exp.Expr] = [
        exp.EQ(this=reference(alias, one), expression=reference(other, two))
        for one, two in zip(columns, other_columns, strict=True)
    ]
    condition = parts[0]
    for part in parts[1:]:
        condition = exp.And(this=condition, expression=part)
    return condition


def keep_owners(select: exp.Select, scope: Scope, catalog: Catalog, added: tuple[str, ...]) -> None:
    """Qualify what a table that is about to be joined would make ambiguous, and keep what `*` stands for."""
    sources = list(own_sources(scope, catalog))
    for column in own_columns(scope):
        if column.table or column.name.lower() not in added:
            continue
        owner = next((source.alias for source in sources if source.owned(column.name)), None)
        if owner is not None:
            column.set("table", identifier(owner))
    for place, expression in enumerate(list(select.expressions)):
        if isinstance(expression, exp.Star):
            stars: list[exp.Expr] = [exp.Column(this=exp.Star(), table=identifier(source.alias)) for source in sources]
            select.set("expressions", [*select.expressions[:place], *stars, *select.expressions[place + 1 :]])
            break


def add_join(select: exp.Select, table: str, alias: str, condition: exp.Expr) -> exp.Join:
    """Add an inner join at the end of the FROM."""
    node = exp.Table(this=identifier(table))
    if alias.lower() != table.lower():
        node.set("alias", exp.TableAlias(this=identifier(alias)))
    join = exp.Join(this=node, on=condition)
    select.append("joins", join)
    return join
