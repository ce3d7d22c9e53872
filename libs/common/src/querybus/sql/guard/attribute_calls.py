"""Rule: on PostgreSQL no function is called by naming it as a column."""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.engines import ENGINES
from querybus.sql.facts import StatementFacts, fold_of, source_names, sources_of
from querybus.sql.guard.allowed import functions
from querybus.sql.guard.context import Context
from querybus.sql.guard.rules import Rule, refuse, unsafe


def attribute_calls(facts: StatementFacts, context: Context) -> Failure | None:
    """Refuse PostgreSQL's calls by attribute, in both forms: `(row).name` and `alias.name`."""
    if not ENGINES[context.dialect].calls_by_attribute:
        return None
    return _attribute_call(facts, context) or _call_by_column(facts, context.dialect)


def _attribute_call(facts: StatementFacts, context: Context) -> Failure | None:
    """Refuse PostgreSQL's calls by attribute: `(row).name` calls the function `name` where the row has no such column.

    Only the row of a source in scope, or of a listed function, is taken, with a name that could be a column of it.
    """
    for node in facts.nodes:
        if isinstance(node, exp.Dot) and isinstance(node.args.get("expression"), exp.Identifier):
            name = fold_of(node.expression, context.dialect)
            if functions.is_dangerous(name):
                return unsafe(Rule.FUNCTION_QUALIFIED, "column does not exist", node.expression.name)
            if name not in _attributes(node.this.unnest(), facts, context):
                return refuse(
                    FailureCode.COLUMN_NOT_FOUND,
                    Rule.FUNCTION_QUALIFIED,
                    "field of a row is not known: name the columns of the table instead",
                    node.expression.name,
                )
    return None


def _attributes(row: exp.Expr, facts: StatementFacts, context: Context) -> set[str]:
    """Return the names that may stand behind a row: none where the expression is not known to be one."""
    dialect = context.dialect
    if isinstance(row, exp.Anonymous):
        return set(ENGINES[dialect].table_function_columns.get(str(row.this).lower(), ()))
    if not isinstance(row, exp.Column) or row.args.get("table") is not None:
        return set()
    source = fold_of(row.this, dialect)
    select = row.find_ancestor(exp.Select)
    while select is not None:
        columns = _columns_of_functions(select, dialect)
        if source in columns:
            return columns[source]
        if source in source_names(select, dialect):
            names = facts.aliases.union(*(table.columns for table in context.sources))
            for alias in facts.nodes:
                if isinstance(alias, exp.TableAlias):
                    names.update(fold_of(column, dialect) for column in alias.args.get("columns") or ())
            return names
        select = select.find_ancestor(exp.Select)
    return set()


def _call_by_column(facts: StatementFacts, dialect: Dialect) -> Failure | None:
    """Refuse PostgreSQL's other call by attribute: `f.name` behind a function in FROM calls `name` on what f returns.

    Behind such an alias only the alias itself, its list of columns and the function's known columns may stand.
    """
    allowed: dict[int, dict[str, set[str]]] = {}
    for column in facts.columns:
        qualifier = column.args.get("table")
        if qualifier is None or isinstance(column.this, exp.Star):
            continue
        name, wanted = fold_of(qualifier, dialect), fold_of(column.this, dialect)
        select = column.find_ancestor(exp.Select)
        while select is not None:
            columns = allowed.get(id(select))
            if columns is None:
                columns = allowed[id(select)] = _columns_of_functions(select, dialect)
            if name in columns:
                if wanted not in columns[name]:
                    return unsafe(Rule.FUNCTION_QUALIFIED, "function does not return this column", column.name)
                break
            select = select.find_ancestor(exp.Select)
    return None


def _columns_of_functions(select: exp.Select, dialect: Dialect) -> dict[str, set[str]]:
    """Return the columns of the functions in FROM by their folded aliases."""
    result: dict[str, set[str]] = {}
    for source in sources_of(select):
        function = source if isinstance(source, exp.Unnest) else source.this
        if not isinstance(function, exp.Func | exp.Unnest) and not source.args.get("rows_from"):
            continue
        called = ""
        if isinstance(function, exp.Func):
            called = str(function.this) if isinstance(function, exp.Anonymous) else function.sql_names()[0]
        alias = source.args.get("alias")
        name = fold_of(alias.this, dialect) if isinstance(alias, exp.TableAlias) and alias.this else ""
        listed = alias.args.get("columns") or () if isinstance(alias, exp.TableAlias) else ()
        columns = {fold_of(node.this if isinstance(node, exp.ColumnDef) else node, dialect) for node in listed}
        columns |= set(ENGINES[dialect].table_function_columns.get(called.lower(), ()))
        offset = function.args.get("offset") if isinstance(function, exp.Unnest) else None
        if isinstance(offset, exp.Identifier):
            columns.add(fold_of(offset, dialect))
        name = name or called.lower()
        result[name] = columns | {name, "ordinality"}
    return result
