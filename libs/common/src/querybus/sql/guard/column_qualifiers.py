"""Rule: a column is qualified by a source in scope, and no bare name is a call."""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.engines import ENGINES
from querybus.sql.facts import StatementFacts, cte_of, fold_of, source_names, sources_of
from querybus.sql.guard.allowed import functions
from querybus.sql.guard.allowed.system_names import is_system
from querybus.sql.guard.context import Context
from querybus.sql.guard.rules import Rule, refuse, unsafe
from querybus.sql.names.index import NameIndex
from querybus.sql.names.sources import Sources


def column_qualifiers(facts: StatementFacts, context: Context) -> Failure | None:
    """Refuse a qualifier that names no source in scope, and names that the engine reads as a call."""
    sources, dialect, index = context.sources, context.dialect, context.index
    names: dict[int, set[str]] = {}
    bare = ENGINES[dialect].bare_calls
    for column in facts.columns:
        qualifier = column.args.get("table")
        if qualifier is None:
            identifier = column.this
            if (
                isinstance(identifier, exp.Identifier)
                and not identifier.args.get("quoted")
                and identifier.name.lower() in bare
            ):
                return unsafe(
                    Rule.SESSION_FUNCTION, "function call without parentheses is not allowed", identifier.name
                )
            continue
        schema = column.args.get("db")
        if schema is not None and not _is_schema(schema, column, dialect, index):
            return _unknown_qualifier(column, dialect)
        if not _is_in_scope(column, fold_of(qualifier, dialect), names, facts, sources, dialect):
            return _unknown_qualifier(column, dialect)
    return None


def _is_schema(schema: exp.Expr, column: exp.Column, dialect: Dialect, index: NameIndex) -> bool:
    folded, engine = fold_of(schema, dialect), ENGINES[dialect]
    if column.args.get("catalog") is not None and not engine.has_structs:
        return False
    return index.knows_schema(folded) or folded == engine.default_schema or engine.has_structs


def _is_in_scope(
    column: exp.Column,
    qualifier: str,
    names: dict[int, set[str]],
    facts: StatementFacts,
    sources: Sources,
    dialect: Dialect,
) -> bool:
    has_structs = ENGINES[dialect].has_structs
    outermost = column.args.get("db") if has_structs else None
    wanted = {qualifier} | ({fold_of(outermost, dialect)} if outermost is not None else set())
    if column.args.get("catalog") is not None and has_structs:
        wanted.add(fold_of(column.args["catalog"], dialect))
    parent: exp.Expr | None = column
    while parent is not None:
        if isinstance(parent, exp.Select | exp.Subquery | exp.Table | exp.Pivot):
            visible = names.get(id(parent))
            if visible is None:
                visible = source_names(parent, dialect) | _struct_names(parent, sources, dialect)
                if isinstance(parent, exp.Table) and parent.args.get("joins"):
                    visible.add(_own_name(parent, dialect))
                names[id(parent)] = visible
            if wanted & visible:
                return True
            if (
                isinstance(parent, exp.Pivot)
                and isinstance(parent.this, exp.Table)
                and parent.this.name.lower() in wanted
            ):
                return True
        elif isinstance(parent, exp.Lambda) and wanted & {fold_of(name, dialect) for name in parent.expressions}:
            return True
        parent = parent.parent
    return has_structs and bool(wanted & facts.aliases)


def _own_name(table: exp.Table, dialect: Dialect) -> str:
    """Return the name of the first table of a join in brackets."""
    alias = table.args.get("alias")
    return fold_of(alias.this if isinstance(alias, exp.TableAlias) and alias.this else table.this, dialect)


def _struct_names(query: exp.Expr, sources: Sources, dialect: Dialect) -> set[str]:
    if not ENGINES[dialect].has_structs:
        return set()
    names: set[str] = set()
    for source in sources_of(query):
        table = sources.of(source)
        names |= set(table.columns) if table is not None else _derived_columns(source, dialect)
        if isinstance(source, exp.Unnest):
            # The fields of its elements are columns: `UNNEST(event_params)` gives `key` and `value.int_value`.
            names |= sources.struct_fields()
    return names


def _derived_columns(source: exp.Expr, dialect: Dialect) -> set[str]:
    """Return the names of the columns of a WITH table or a query in FROM, as far as its text says them."""
    query: object = source.this
    if isinstance(source, exp.Table):
        cte = cte_of(source, dialect)
        query = cte.this if cte is not None else None
    alias = source.args.get("alias")
    listed = alias.args.get("columns") or () if isinstance(alias, exp.TableAlias) else ()
    names = {fold_of(column, dialect) for column in listed}
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    if isinstance(query, exp.Select):
        outputs = (output.args.get("alias") or output.this for output in query.expressions if output.this is not None)
        names |= {fold_of(output, dialect) for output in outputs if isinstance(output, exp.Identifier)}
    return names


def _unknown_qualifier(column: exp.Column, dialect: Dialect) -> Failure:
    parts = [column.args[name].name for name in ("catalog", "db", "table") if column.args.get(name)]
    qualifier = ".".join(parts)
    select = column.find_ancestor(exp.Select)
    visible = source_names(select, dialect) if select is not None else set[str]()
    if (
        column.name.lower() in ("nextval", "currval")
        or functions.is_dangerous(parts[0])
        or (len(parts) > 1 and not _follows(column, visible, dialect))
        or is_system(parts[0].lower(), parts[0], dialect)
        or parts[0].lower().startswith(ENGINES[dialect].package_prefixes)
    ):
        return unsafe(
            Rule.QUALIFIER_UNKNOWN, "function call without parentheses is not allowed", f"{qualifier}.{column.name}"
        )
    scope = tuple(sorted(visible))[:8]
    identifier = column.args["table"]
    return refuse(
        FailureCode.MISSING_ALIAS,
        Rule.QUALIFIER_UNKNOWN,
        f"missing FROM-clause entry for table {qualifier}",
        column.name,
        qualifier=qualifier[:200],
        candidates=scope,
        tables=scope,
        line=identifier.meta.get("line"),
        column=identifier.meta.get("col"),
    )


def _follows(column: exp.Column, visible: set[str], dialect: Dialect) -> bool:
    """Return whether a source in scope stands before a column and a further name, as if keys could be followed.

    That may call a method of an object where an engine calls without brackets.
    """
    if ENGINES[dialect].calls_without_brackets or column.args.get("catalog") is not None:
        return False
    return fold_of(column.args["db"], dialect) in visible
