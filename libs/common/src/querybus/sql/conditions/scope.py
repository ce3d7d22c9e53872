"""What the columns of one query may come from, and the conditions that hold in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, Table
from querybus.sql.names.meaning import table_meant


@dataclass(frozen=True, slots=True)
class Scope:
    """One query with what its columns may come from: a catalog's table, or a query of its own."""

    select: exp.Select
    catalog: Catalog | None
    sources: dict[str, Table | exp.Select | None] = field(default_factory=dict[str, Table | exp.Select | None])
    nodes: dict[str, exp.Expr] = field(default_factory=dict[str, exp.Expr])
    """What the FROM clause writes for each source."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables of the catalog that it reads from directly."""
        return tuple(source for source in self.sources.values() if isinstance(source, Table))

    def owners(self, written: exp.Column) -> list[Table | exp.Select | None]:
        """Return what a reference may belong to: one source if it is certain, none if it is not."""
        if written.table:
            return [source for alias, source in self.sources.items() if alias == written.table.lower()]
        found = [source for source in self.sources.values() if offers(source, written.name)]
        return found if len(found) == 1 else []

    def origin(self, written: exp.Column) -> tuple[Table, Column] | None:
        """Return the catalog's table and column of a reference, if they are certain."""
        for source in self.owners(written):
            if isinstance(source, Table) and (column := source.column(written.name)) is not None:
                return source, column
        return None

    def role(self, written: exp.Column) -> Column | None:
        """Return the key by which a reference's table is joined, where the table that bears it has several to that one: where a trip ends."""
        joined = written.table.lower()
        known = self.sources.get(joined)
        for join in self.select.args.get("joins") or ():
            on: exp.Expr | None = join.args.get("on")
            for equal in () if on is None else on.find_all(exp.EQ):
                sides = [side for side in (equal.this, equal.expression) if isinstance(side, exp.Column)]
                keys = [side for side in sides if side.table.lower() != joined]
                if len(sides) != 2 or len(keys) != 1 or not isinstance(known, Table):
                    continue
                origin = self.origin(keys[0])
                if origin is not None and (_refers_often(origin[0], known) or _refers_to_own(*origin, known)):
                    return origin[1]
        return None

    def inner(self) -> Iterator[Scope]:
        """Yield the queries that it reads from."""
        for source in self.sources.values():
            if isinstance(source, exp.Select):
                yield scope_of(source, self.catalog)


def _refers_to_own(table: Table, key: Column, other: Table) -> bool:
    """Whether a key refers to rows of its own table: an employee's manager."""
    is_own = table.name.lower() == other.name.lower()
    return is_own and any(
        reference.columns == (key.name,) and reference.referred_table.lower() == table.name.lower()
        for reference in table.foreign_keys
    )


def _refers_often(table: Table, other: Table) -> bool:
    return sum(key.referred_table.lower() == other.name.lower() for key in table.foreign_keys) > 1


def scope_of(select: exp.Select, catalog: Catalog | None) -> Scope:
    """Return a query's scope."""
    own: dict[str, exp.Select | None] = {}
    above: exp.Expr | None = select
    while above is not None:
        with_: exp.Expr | None = above.args.get("with_")
        for table in with_.expressions if with_ else ():
            own.setdefault(table.alias.lower(), outermost(table.this))
        above = above.parent
    scope = Scope(select, catalog)
    from_: exp.Expr | None = select.args.get("from_")
    nodes = [] if from_ is None else [from_.this]
    nodes += [join.this for join in select.args.get("joins") or ()]
    for node in nodes:
        known: Table | exp.Select | None = None
        if isinstance(node, exp.Subquery):
            known = outermost(node.this)
        elif isinstance(node, exp.Table) and not node.db and node.name.lower() in own:
            known = own[node.name.lower()]
            known = None if known is select else known
        elif isinstance(node, exp.Table) and catalog is not None:
            known = table_meant(node, catalog)
        scope.sources[node.alias_or_name.lower()] = known
        scope.nodes[node.alias_or_name.lower()] = node
    return scope


def outermost(tree: exp.Expr | None) -> exp.Select | None:
    """Return the query whose columns are the result's: of several put together, the first."""
    while isinstance(tree, exp.SetOperation | exp.Subquery):
        tree = tree.this
    return tree if isinstance(tree, exp.Select) else None


def conjuncts(select: exp.Select) -> tuple[exp.Expr, ...]:
    """Return the conditions that all hold, of WHERE and HAVING and QUALIFY, in the order of the text."""
    parts: list[exp.Expr] = []
    for key in ("where", "having", "qualify"):
        holder: exp.Expr | None = select.args.get(key)
        if holder is not None:
            parts.extend(all_of(holder.this))
    return tuple(parts)


def all_of(condition: exp.Expr) -> list[exp.Expr]:
    """Return the conditions that one condition says hold together; brackets around some of them are of no account."""
    parts: list[exp.Expr] = []
    left = [condition]
    while left:
        part = left.pop().unnest()
        if isinstance(part, exp.And):
            left += [part.expression, part.this]
        else:
            parts.append(part)
    return parts


def offers(source: Table | exp.Select | None, name: str) -> bool:
    """Whether a source may have a column of a name."""
    if isinstance(source, Table):
        return source.column(name) is not None
    # A source that nobody knows may have any column.
    return source is None or projection(source, name) is not None


def projection(select: exp.Select, name: str) -> exp.Expr | None:
    """Return what a query shows under a name."""
    for item in select.expressions:
        if item.alias_or_name.lower() == name.lower():
            return item
    return exp.column(name) if select.is_star else None
