"""What a change may be: plain INSERT, UPDATE and DELETE, and under full access plain CREATE, ALTER, DROP and TRUNCATE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy, Reader, StatementKind
from querybus.sql.facts import fold_of
from querybus.sql.guard.rules import Rule, refuse, unsafe
from querybus.sql.names.index import KnownTable, NameIndex
from querybus.sql.row_security import BadFilter, filter_of


@dataclass(frozen=True, slots=True)
class Parts:
    """What a change is made of. `read` is everything that it reads, as a query; `known` is what it changes."""

    kind: StatementKind
    name: str
    target: exp.Table
    known: KnownTable | None
    columns: tuple[str, ...] = ()
    rows: int | None = None
    read: exp.Query | None = None
    counted: exp.Query | None = None


def parts_of(tree: exp.Expr, dialect: Dialect, index: NameIndex, policy: ConnectionPolicy) -> Parts | Failure:
    reads = _SHAPES.get(type(tree))
    if reads is None:
        return unsafe(Rule.STATEMENT_KIND, "a change of a shape that is not known")
    kind, allowed, read = reads
    if kind not in policy.kinds:
        return refuse(FailureCode.PERMISSION, Rule.STATEMENT_DENIED, f"this connection takes no {kind.value.upper()}")
    extra = sorted(name for name, value in tree.args.items() if value and name not in allowed)
    if extra:
        return unsafe(Rule.ARGUMENT, f"{extra[0].rstrip('_')} of {kind.value.upper()}")
    parts = read(tree, dialect, index)
    if isinstance(parts, Failure):
        return parts
    return _protected(parts, tree, dialect, index, policy) or parts


def _protected(
    parts: Parts, tree: exp.Expr, dialect: Dialect, index: NameIndex, policy: ConnectionPolicy
) -> Failure | None:
    """Return why this table must not be changed, or not in this way."""
    known = parts.known
    if known is None:
        if policy.protects_parts or index.is_restricted:
            return refuse(
                FailureCode.PERMISSION, Rule.TABLE_DENIED, "a new table, where tables or parts of them are protected"
            )
        return None
    if not known.is_allowed or known.table.kind == "view":
        return refuse(FailureCode.PERMISSION, Rule.TABLE_DENIED, "a table that must not be changed", parts.name)
    if known.filters and parts.kind not in (StatementKind.UPDATE, StatementKind.DELETE):
        return refuse(
            FailureCode.PERMISSION, Rule.ROW_FILTER, f"{parts.kind.value.upper()} on a table whose rows are filtered"
        )
    hidden = known.masked | known.denied
    if hidden and parts.kind not in (StatementKind.UPDATE, StatementKind.DELETE):
        return refuse(FailureCode.PERMISSION, Rule.COLUMN_DENIED, "a table some of whose columns are protected")
    for node in tree.find_all(exp.Column):
        if node.name.lower() in hidden:
            return refuse(FailureCode.PERMISSION, Rule.COLUMN_DENIED, "a protected column in a change", node.name)
    try:
        condition = filter_of(known, dialect, Reader("", ""))
    except BadFilter as error:
        return refuse(FailureCode.PERMISSION, Rule.ROW_FILTER, f"the row filter of {known.table.name}: {error}")
    held = {column.name.lower() for column in condition.find_all(exp.Column)} if condition is not None else set[str]()
    moved = next((column for column in parts.columns if column.lower() in held), None)
    if moved is not None:
        return refuse(FailureCode.PERMISSION, Rule.ROW_FILTER, "a column by which rows are filtered", moved)
    return None


def _target(node: object, dialect: Dialect, index: NameIndex) -> tuple[exp.Table, KnownTable] | Failure:
    """Return the table that is changed: one of the catalog, by plain name and alias."""
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        return unsafe(Rule.TABLE_FORM, "no plain table to change")
    extra = [name for name, value in node.args.items() if value and name not in ("this", "db", "alias")]
    alias = node.args.get("alias")
    if extra or (isinstance(alias, exp.TableAlias) and alias.args.get("columns")):
        return unsafe(Rule.TABLE_FORM, "no plain table to change")
    schema = node.args.get("db")
    known = index.find(fold_of(node.this, dialect), fold_of(schema, dialect) if schema else None)
    if known is None:
        return refuse(
            FailureCode.TABLE_NOT_FOUND,
            Rule.TABLE_UNKNOWN,
            f"no table {node.name[:200]}",
            node.name,
            candidates=index.similar_tables(node.name),
        )
    return node, known


def _insert(tree: exp.Expr, dialect: Dialect, index: NameIndex) -> Parts | Failure:
    into, columns = tree.this, tuple[str, ...]()
    if isinstance(into, exp.Schema):
        if not all(isinstance(expression, exp.Identifier) for expression in into.expressions):
            return unsafe(Rule.TABLE_FORM, "no plain columns to fill")
        columns = tuple(expression.name for expression in into.expressions)
        into = into.this
    target = _target(into, dialect, index)
    if isinstance(target, Failure):
        return target
    node, known = target
    source = tree.args.get("expression")
    if isinstance(source, exp.Values):
        cells = [
            expression.expressions if isinstance(expression, exp.Tuple) else [expression]
            for expression in source.expressions
        ]
        read = exp.Select(expressions=[cell.copy() for row in cells for cell in row])
        return Parts(StatementKind.INSERT, _name(node), node, known, columns, rows=len(cells), read=read)
    if not isinstance(source, exp.Query):
        return unsafe(Rule.NODE, "an INSERT of neither values nor a query")
    return Parts(
        StatementKind.INSERT,
        _name(node),
        node,
        known,
        columns,
        read=source.copy(),
        counted=_one_for_each(source.copy()),
    )


def _update(tree: exp.Expr, dialect: Dialect, index: NameIndex) -> Parts | Failure:
    target = _target(tree.this, dialect, index)
    if isinstance(target, Failure):
        return target
    node, known = target
    columns: list[str] = []
    values: list[exp.Expr] = []
    for expression in tree.expressions:
        if not isinstance(expression, exp.EQ) or not isinstance(expression.this, exp.Column):
            return unsafe(Rule.NODE, "SET of something else than a column")
        columns.append(expression.this.name)
        values += [expression.this.copy(), expression.expression.copy()]
    return Parts(
        StatementKind.UPDATE,
        _name(node),
        node,
        known,
        tuple(columns),
        read=_over(node, values, tree.args.get("where")),
        counted=_over(node, [exp.Literal.number(1)], tree.args.get("where")),
    )


def _delete(tree: exp.Expr, dialect: Dialect, index: NameIndex) -> Parts | Failure:
    target = _target(tree.this, dialect, index)
    if isinstance(target, Failure):
        return target
    node, known = target
    counted = _over(node, [exp.Literal.number(1)], tree.args.get("where"))
    return Parts(StatementKind.DELETE, _name(node), node, known, counted=counted, read=counted.copy())


def _truncate(tree: exp.Expr, dialect: Dialect, index: NameIndex) -> Parts | Failure:
    target = _target(tree.expressions[0] if len(tree.expressions) == 1 else None, dialect, index)
    if isinstance(target, Failure):
        return target
    node, known = target
    return Parts(StatementKind.TRUNCATE, _name(node), node, known, counted=_over(node, [exp.Literal.number(1)], None))


def _drop(tree: exp.Expr, dialect: Dialect, index: NameIndex) -> Parts | Failure:
    tables = tree.args.get("tables") or []
    if tree.args.get("kind") != "TABLE" or len(tables) != 1:
        return unsafe(Rule.STATEMENT_KIND, "DROP of something else than one table", "DROP")
    target = _target(tables[0], dialect, index)
    if isinstance(target, Failure):
        return target
    node, known = target
    return Parts(StatementKind.DROP, _name(node), node, known, counted=_over(node, [exp.Literal.number(1)], None))


def _alter(tree: exp.Expr, dialect: Dialect, index: NameIndex) -> Parts | Failure:
    target = _target(tree.this, dialect, index)
    if isinstance(target, Failure):
        return target
    node, known = target
    actions: list[Any] = tree.args.get("actions") or []
    if tree.args.get("kind") != "TABLE" or len(actions) != 1:
        return unsafe(Rule.STATEMENT_KIND, "ALTER of something else than one thing of one table", "ALTER")
    action = actions[0]
    if isinstance(action, exp.ColumnDef):
        problem = _column_def(action)
        return problem or Parts(StatementKind.ALTER, _name(node), node, known, (action.name,))
    if isinstance(action, exp.RenameColumn) and isinstance(action.args.get("to"), exp.Column):
        return Parts(StatementKind.ALTER, _name(node), node, known, (action.this.name,))
    if isinstance(action, exp.Drop) and action.args.get("kind") == "COLUMN":
        tables = action.args.get("tables") or [action.this]
        extra = [
            name for name, value in action.args.items() if value and name not in ("this", "kind", "tables", "exists")
        ]
        if not extra and len(tables) == 1:
            return Parts(StatementKind.ALTER, _name(node), node, known, (tables[0].name,))
    return unsafe(Rule.STATEMENT_KIND, "ALTER beyond adding, renaming and dropping a column", "ALTER")


def _create(tree: exp.Expr, dialect: Dialect, index: NameIndex) -> Parts | Failure:
    schema = tree.this
    if tree.args.get("kind") != "TABLE" or not isinstance(schema, exp.Schema):
        return unsafe(Rule.STATEMENT_KIND, "CREATE of something else than a table of columns", "CREATE")
    node = schema.this
    if not isinstance(node, exp.Table) or any(
        value and name not in ("this", "db") for name, value in node.args.items()
    ):
        return unsafe(Rule.TABLE_FORM, "no plain name for a table")
    result = index.find(fold_of(node.this, dialect), fold_of(node.args["db"], dialect) if node.args.get("db") else None)
    if result is not None:
        return refuse(FailureCode.SYNTAX_ERROR, Rule.TABLE_FORM, f"the table {node.name[:200]} is there already")
    names: list[str] = []
    for expression in schema.expressions:
        if isinstance(expression, exp.ColumnDef):
            problem = _column_def(expression)
            if problem is not None:
                return problem
            names.append(expression.name)
        elif not isinstance(expression, exp.PrimaryKey) or not all(
            isinstance(part, exp.Identifier | exp.Ordered | exp.Column) for part in expression.expressions
        ):
            return unsafe(Rule.NODE, "a constraint that is not known", "CREATE")
    return Parts(StatementKind.CREATE, _name(node), node, None, tuple(names))


_CONSTRAINTS: Final = (
    exp.NotNullColumnConstraint,
    exp.PrimaryKeyColumnConstraint,
    exp.UniqueColumnConstraint,
    exp.DefaultColumnConstraint,
)


def _column_def(column: exp.ColumnDef) -> Failure | None:
    """Return why a column cannot be defined so: a built-in type, and plain constraints with literal defaults only."""
    kind = column.args.get("kind")
    if not isinstance(kind, exp.DataType) or kind.this is exp.DataType.Type.USERDEFINED:
        return unsafe(Rule.CAST, "a column of no built-in type")
    for constraint in column.args.get("constraints") or ():
        held = constraint.args.get("kind")
        if not isinstance(held, _CONSTRAINTS):
            return unsafe(Rule.NODE, "a constraint that is not known")
        if isinstance(held, exp.DefaultColumnConstraint) and not isinstance(
            held.this, exp.Literal | exp.Null | exp.Boolean | exp.Neg
        ):
            return unsafe(Rule.NODE, "a default that is no literal")
    return None


_Read = Callable[[exp.Expr, Dialect, NameIndex], "Parts | Failure"]


_SHAPES: Final[dict[type[exp.Expr], tuple[StatementKind, frozenset[str], _Read]]] = {
    exp.Insert: (StatementKind.INSERT, frozenset({"this", "expression"}), _insert),
    exp.Update: (StatementKind.UPDATE, frozenset({"this", "expressions", "where"}), _update),
    exp.Delete: (StatementKind.DELETE, frozenset({"this", "where"}), _delete),
    exp.TruncateTable: (StatementKind.TRUNCATE, frozenset({"expressions"}), _truncate),
    exp.Drop: (StatementKind.DROP, frozenset({"tables", "kind", "exists"}), _drop),
    exp.Alter: (StatementKind.ALTER, frozenset({"this", "kind", "actions"}), _alter),
    exp.Create: (StatementKind.CREATE, frozenset({"this", "kind", "exists"}), _create),
}
"""What a change may be: its node, the arguments that it may have, and how its parts are read. All else is refused."""


def _over(table: exp.Table, expressions: list[exp.Expr], where: object) -> exp.Select:
    """Return a query over the changed table with the change's own condition."""
    select = exp.Select(expressions=expressions, from_=exp.From(this=table.copy()))
    if isinstance(where, exp.Where):
        select.set("where", where.copy())
    return select


def _one_for_each(query: exp.Query) -> exp.Query:
    inner = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier("changed")))
    return exp.Select(expressions=[exp.Literal.number(1)], from_=exp.From(this=inner))


def _name(table: exp.Table) -> str:
    return f"{table.db}.{table.name}" if table.args.get("db") else table.name
