"""Tree to facts: one walk collects what the guard, the resolver and the policy decide on.

Nothing is decided here. A name counts as a CTE only where the CTE is visible: earlier in the same WITH, itself in a
recursive one, or an enclosing WITH; otherwise `WITH t AS (SELECT * FROM t)` would hide a real table behind a name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from sqlglot import exp

from querybus.core.catalog import Dialect, fold
from querybus.engines import ENGINES
from querybus.sql.guard.allowed.nodes import STATEMENT_NODES


@dataclass(frozen=True, slots=True)
class TableUse:
    """One reference to a table by name. Names are folded; `written` is as in the text."""

    node: exp.Table
    name: str
    schema: str | None
    catalog: str | None
    written: str
    cte: exp.CTE | None = None

    @property
    def is_cte(self) -> bool:
        """Whether the name is that of a WITH table."""
        return self.cte is not None


@dataclass(slots=True)
class StatementFacts:
    """Everything that occurs in one statement, in the order of the text."""

    nodes: list[exp.Expr] = field(default_factory=list[exp.Expr])
    tables: list[TableUse] = field(default_factory=list[TableUse])
    columns: list[exp.Column] = field(default_factory=list[exp.Column])
    selects: list[exp.Select] = field(default_factory=list[exp.Select])
    ctes: list[exp.CTE] = field(default_factory=list[exp.CTE])
    aliases: set[str] = field(default_factory=set[str])
    has_star: bool = False

    def has_any(self, *kinds: type[exp.Expr]) -> bool:
        """Return whether a node of one of these kinds occurs."""
        return any(issubclass(kind, kinds) for kind in set(map(type, self.nodes)))


def facts_of(tree: exp.Expr, dialect: Dialect) -> StatementFacts:
    """Return the facts of a tree of bounded depth."""
    facts = StatementFacts(nodes=list(tree.dfs()))
    tables: list[exp.Table] = []
    for node in facts.nodes:
        if not _is_collected(type(node)):
            continue
        if isinstance(node, exp.Table):
            if isinstance(node.this, exp.Identifier):
                tables.append(node)
        elif isinstance(node, exp.Column):
            facts.columns.append(node)
        elif isinstance(node, exp.Select):
            facts.selects.append(node)
        elif isinstance(node, exp.CTE):
            facts.ctes.append(node)
        elif isinstance(node, exp.Alias):
            facts.aliases.add(fold_of(node.args.get("alias"), dialect))
        else:
            facts.has_star = True
    facts.tables.extend(_use(node, dialect, has_ctes=bool(facts.ctes)) for node in tables)
    return facts


@cache
def _is_collected(kind: type[exp.Expr]) -> bool:
    return issubclass(kind, (exp.Table, exp.Column, exp.Select, exp.CTE, exp.Alias, exp.Star))


def fold_of(node: object, dialect: Dialect) -> str:
    """Return the folded name of an identifier, or of the plain text that the parser sometimes gives."""
    if isinstance(node, exp.Identifier):
        return fold(node.name, dialect, quoted=bool(node.args.get("quoted")))
    if isinstance(node, exp.Expr):
        return fold(node.name, dialect, quoted=False)
    return fold(str(node), dialect, quoted=False) if node else ""


def kind_of_node(node: exp.Expr) -> str:
    """Return the plain kind of a statement's node: INSERT, DROP, ..."""
    if isinstance(node, exp.Command):
        return str(node.this).upper()[:20]
    return "TRUNCATE" if isinstance(node, exp.TruncateTable) else type(node).__name__.upper()


def is_statement(node: exp.Expr) -> bool:
    """Return whether the node is a statement that does something else than read."""
    return isinstance(node, STATEMENT_NODES)


def _use(node: exp.Table, dialect: Dialect, *, has_ctes: bool) -> TableUse:
    schema, catalog = node.args.get("db"), node.args.get("catalog")
    name = fold_of(node.this, dialect)
    parts = [path.name for path in (catalog, schema, node.this) if isinstance(path, exp.Expr)]
    return TableUse(
        node=node,
        name=name,
        schema=fold_of(schema, dialect) if schema else None,
        catalog=fold_of(catalog, dialect) if catalog else None,
        written=".".join(parts),
        cte=_cte_named(node, name, dialect) if has_ctes and schema is None and catalog is None else None,
    )


def cte_of(node: exp.Table, dialect: Dialect) -> exp.CTE | None:
    """Return the WITH table that a table's name means, or None."""
    if node.args.get("db") is not None or not isinstance(node.this, exp.Identifier):
        return None
    return _cte_named(node, fold_of(node.this, dialect), dialect)


def _cte_named(node: exp.Expr, name: str, dialect: Dialect) -> exp.CTE | None:
    """Return the visible WITH table of a folded name; a scalar (`WITH 1 AS x`) is none."""
    child: exp.Expr = node
    parent = node.parent
    while parent is not None:
        if isinstance(parent, exp.With):
            for cte in _tables_of(parent):
                if cte is child:
                    if _named(cte, name, dialect) and _sees_itself(cte, parent, node, dialect):
                        return cte
                    break
                if _named(cte, name, dialect):
                    return cte
            # The query that owns this WITH was reached through the WITH: its other CTEs are not visible from here.
            child, parent = cast("exp.Expr", parent.parent), cast("exp.Expr", parent.parent).parent
            continue
        owned = parent.args.get("with_")
        if isinstance(owned, exp.With) and owned is not child:
            for cte in _tables_of(owned):
                if _named(cte, name, dialect):
                    return cte
        child, parent = parent, parent.parent
    return None


def _tables_of(clause: exp.With) -> list[exp.CTE]:
    return [expression for expression in clause.expressions if not expression.args.get("scalar")]


def _named(cte: exp.CTE, name: str, dialect: Dialect) -> bool:
    return fold_of(cte.args["alias"].this, dialect) == name


def _sees_itself(cte: exp.CTE, owner: exp.With, node: exp.Expr, dialect: Dialect) -> bool:
    """Return whether the name of a WITH table means itself at this place of its own query.

    Only behind the first arm of a UNION: elsewhere engines differ, and some read the table of that name.
    """
    if not isinstance(cte.this, exp.SetOperation) or not (
        owner.args.get("recursive") or ENGINES[dialect].recurses_without_word
    ):
        return False
    first: object = cte.this
    while isinstance(first, exp.SetOperation):
        first = first.this
    above: exp.Expr | None = node
    while above is not None and above is not first:
        above = above.parent
    return above is None


def sources_of(node: exp.Expr) -> list[exp.Expr]:
    """Return the direct sources of a query: tables, derived tables, laterals, table functions, nested joins."""
    nodes: list[exp.Expr] = []
    stack: list[Any] = [node.args.get("from_"), *(node.args.get("joins") or ()), *(node.args.get("laterals") or ())][
        ::-1
    ]
    while stack:
        source = stack.pop()
        if isinstance(source, exp.From | exp.Join):
            stack.append(source.this)
            continue
        if not isinstance(source, exp.Expr):
            continue
        nodes.append(source)
        if isinstance(source, exp.Table | exp.Subquery):
            stack.extend(reversed(source.args.get("laterals") or ()))
            stack.extend(reversed(source.args.get("joins") or ()))
            # A join in brackets; its first source may be a derived table itself.
            is_query = isinstance(source.this, exp.Query) and not isinstance(source.this, exp.Subquery)
            if isinstance(source, exp.Subquery) and not source.args.get("alias") and not is_query:
                stack.append(source.this)
    return nodes


def source_names(node: exp.Expr, dialect: Dialect) -> set[str]:
    """Return the folded names by which the sources of a query may qualify a column."""
    names: set[str] = set()
    for source in sources_of(node):
        alias = source.args.get("alias")
        if isinstance(alias, exp.TableAlias):
            if alias.this is not None:
                names.add(fold_of(alias.this, dialect))
            if isinstance(source, exp.Unnest | exp.Lateral | exp.Alias) or not isinstance(
                source, exp.Table | exp.Query
            ):
                names.update(fold_of(column, dialect) for column in alias.args.get("columns") or ())
        elif alias is not None:
            names.add(fold_of(alias, dialect))
        elif isinstance(source, exp.Table) and isinstance(source.this, exp.Expr):
            names.add(fold_of(source.this if isinstance(source.this, exp.Identifier) else source.this.name, dialect))
        for pivot in source.args.get("pivots") or ():
            if pivot.args.get("alias"):
                names.add(fold_of(pivot.args["alias"].this, dialect))
    names.discard("")
    return names
