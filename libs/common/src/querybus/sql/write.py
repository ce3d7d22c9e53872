"""Statements that change something: one table, one statement, every expression under the same guard as a query's.

A change is read as two parts. Its shape is an allow-list of plain INSERT, UPDATE and DELETE, and under full access of
plain CREATE, ALTER, DROP and TRUNCATE. What it reads (conditions, new values, a SELECT) is made into a query over the
same table and judged as one. Row filters hold for what is changed as well: the condition of an UPDATE or DELETE is
narrowed, and what a filter stands for cannot be set. Nothing here allows a change to run: that takes a confirmation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

from sqlglot import ErrorLevel, exp

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import KINDS, Access, ConnectionPolicy, Reader, StatementKind
from querybus.sql.check import check
from querybus.sql.facts import StatementFacts, TableUse, facts_of, fold_of
from querybus.sql.guard.decide import decide
from querybus.sql.guard.rules import Rule, refuse, unsafe
from querybus.sql.names.canonical import canonicalise, uncanonical
from querybus.sql.names.index import KnownTable, NameIndex, index_of
from querybus.sql.names.sources import Sources
from querybus.sql.parse import CHANGES, GRAMMARS, PARSER_ERRORS, SQL_BYTES_MAX, Form, Statement, kind_of, parse_change
from querybus.sql.row_security import BadFilter, filter_of, narrow, unnarrowed

ROWS_COUNTED_MAX: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class CheckedWrite:
    """A change that may be asked to be confirmed: as rendered, what it changes, and the query that reads its rows.

    `rows` is the number of rows where the text itself says it (INSERT ... VALUES). `counted` is a draft of a query
    that returns one row for each row that would change; None where there is none (CREATE, ALTER).
    """

    sql: str
    kind: StatementKind
    table: str
    columns: tuple[str, ...]
    rows: int | None
    counted: str | None

    @property
    def sql_sha256(self) -> str:
        return sha256_of(self.sql)

    @property
    def is_structure(self) -> bool:
        """Whether it changes the structure: such a change has no number of rows that could be held to."""
        return self.kind not in KINDS[Access.READ_WRITE]


def sha256_of(sql: str) -> str:
    """Return the hash by which a statement is confirmed: 64 hex digits."""
    return hashlib.sha256(sql.encode("utf-8", "surrogatepass")).hexdigest()


def is_change(sql: str, dialect: Dialect) -> bool:
    """Return whether the text is one of the statements that may be confirmed, by its first word."""
    return kind_of(sql, dialect) in CHANGES


def check_write(
    sql: str, *, dialect: Dialect, catalog: Catalog, policy: ConnectionPolicy, reader: Reader
) -> CheckedWrite | Failure:
    """Return the change as it would run for this reader, or why it must not.

    Errors: permission (what the policy does not take), safety (shapes that are not known), and those of `check` for
    what the change reads.
    """
    policy = policy.of(reader.tenant)
    tree = parse_change(sql, dialect, bytes_max=SQL_BYTES_MAX)
    if isinstance(tree, Failure):
        return tree
    index = index_of(catalog, policy)
    parts = _parts(tree, dialect, index, policy)
    if isinstance(parts, Failure):
        return parts
    for query in (parts.read, parts.counted):
        if query is None:
            continue
        # Read as a query: every name resolves, nothing is read that the reader may not read.
        judged = check(
            _text(query, dialect), dialect=dialect, catalog=catalog, policy=policy, row_limit=1, reader=reader
        )
        if isinstance(judged, Failure):
            return judged
    counted = None if parts.counted is None else _text(parts.counted, dialect)
    narrowed = _narrowed(tree, parts, dialect, index, policy, reader)
    if isinstance(narrowed, Failure):
        return narrowed
    canonicalise(narrowed, index)
    if parts.known is None and parts.target.args.get("db") is None and catalog.default_schema is not None:
        parts.target.set("db", exp.to_identifier(catalog.default_schema, quoted=True))
    try:
        text = _text(narrowed, dialect)
    except PARSER_ERRORS:
        return refuse(FailureCode.SYNTAX_ERROR, Rule.RENDERING, "the statement has no rendering")
    refused = guard_write(text, dialect, catalog, policy, reader)
    if refused is not None:
        return unsafe(Rule.RENDERING, f"our own rendering was refused: {refused.detail}")
    return CheckedWrite(text, parts.kind, parts.name, parts.columns, parts.rows, counted)


def guard_write(
    sql: str, dialect: Dialect, catalog: Catalog, policy: ConnectionPolicy, reader: Reader
) -> Failure | None:
    """Return why this text, as `check_write` has written it, must not run for this reader, or None."""
    policy = policy.of(reader.tenant)
    tree = parse_change(sql, dialect)
    if isinstance(tree, Failure):
        return tree
    index = index_of(catalog, policy)
    parts = _parts(tree, dialect, index, policy)
    if isinstance(parts, Failure):
        return parts
    read = _read(tree, parts, dialect, index, policy)
    if isinstance(read, Failure):
        return read
    loose = uncanonical(read.facts, index)
    if loose is not None:
        return loose
    others = read.sources.without(read.targets)
    inside = unnarrowed(read.facts, others, index, reader, Form.QUERY)
    if isinstance(inside, Failure):
        return inside
    for use in read.facts.tables:
        result = others.of(use.node)
        if result is not None and id(use.node) not in inside and not (result.is_allowed and result.is_open):
            return refuse(FailureCode.PERMISSION, Rule.TABLE_DENIED, "a table that is not allowed", use.written)
    if parts.known is None or not parts.known.filters:
        return None
    try:
        expected = _condition(parts.known, dialect, reader)
        where = tree.args.get("where")
        condition = where.this if isinstance(where, exp.Where) else None
        last = condition.expression if isinstance(condition, exp.And) else condition
        if last is not None and _text(last, dialect) == _round_trip(expected, dialect, index):
            return None
    except (BadFilter, *PARSER_ERRORS):
        pass
    return refuse(FailureCode.PERMISSION, Rule.ROW_FILTER, "a change that is not narrowed to its reader's rows")


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a change is made of. `read` is everything that it reads, as a query; `known` is what it changes."""

    kind: StatementKind
    name: str
    target: exp.Table
    known: KnownTable | None
    columns: tuple[str, ...] = ()
    rows: int | None = None
    read: exp.Query | None = None
    counted: exp.Query | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    """The tables of a whole change; `targets` are the ids of the nodes of what it changes."""

    facts: StatementFacts
    sources: Sources
    targets: frozenset[int]


def _parts(tree: exp.Expr, dialect: Dialect, index: NameIndex, policy: ConnectionPolicy) -> _Parts | Failure:
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
    parts: _Parts, tree: exp.Expr, dialect: Dialect, index: NameIndex, policy: ConnectionPolicy
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


def _insert(tree: exp.Expr, dialect: Dialect, index: NameIndex) -> _Parts | Failure:
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
        return _Parts(StatementKind.INSERT, _name(node), node, known, columns, rows=len(cells), read=read)
    if not isinstance(source, exp.Query):
        return unsafe(Rule.NODE, "an INSERT of neither values nor a query")
    return _Parts(
        StatementKind.INSERT,
        _name(node),
        node,
        known,
        columns,
        read=source.copy(),
        counted=_one_for_each(source.copy()),
    )


def _update(tree: exp.Expr, dialect: Dialect, index: NameIndex) -> _Parts | Failure:
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
    return _Parts(
        StatementKind.UPDATE,
        _name(node),
        node,
        known,
        tuple(columns),
        read=_over(node, values, tree.args.get("where")),
        counted=_over(node, [exp.Literal.number(1)], tree.args.get("where")),
    )


def _delete(tree: exp.Expr, dialect: Dialect, index: NameIndex) -> _Parts | Failure:
    target = _target(tree.this, dialect, index)
    if isinstance(target, Failure):
        return target
    node, known = target
    counted = _over(node, [exp.Literal.number(1)], tree.args.get("where"))
    return _Parts(StatementKind.DELETE, _name(node), node, known, counted=counted, read=counted.copy())


def _truncate(tree: exp.Expr, dialect: Dialect, index: NameIndex) -> _Parts | Failure:
    target = _target(tree.expressions[0] if len(tree.expressions) == 1 else None, dialect, index)
    if isinstance(target, Failure):
        return target
    node, known = target
    return _Parts(StatementKind.TRUNCATE, _name(node), node, known, counted=_over(node, [exp.Literal.number(1)], None))


def _drop(tree: exp.Expr, dialect: Dialect, index: NameIndex) -> _Parts | Failure:
    tables = tree.args.get("tables") or []
    if tree.args.get("kind") != "TABLE" or len(tables) != 1:
        return unsafe(Rule.STATEMENT_KIND, "DROP of something else than one table", "DROP")
    target = _target(tables[0], dialect, index)
    if isinstance(target, Failure):
        return target
    node, known = target
    return _Parts(StatementKind.DROP, _name(node), node, known, counted=_over(node, [exp.Literal.number(1)], None))


def _alter(tree: exp.Expr, dialect: Dialect, index: NameIndex) -> _Parts | Failure:
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
        return problem or _Parts(StatementKind.ALTER, _name(node), node, known, (action.name,))
    if isinstance(action, exp.RenameColumn) and isinstance(action.args.get("to"), exp.Column):
        return _Parts(StatementKind.ALTER, _name(node), node, known, (action.this.name,))
    if isinstance(action, exp.Drop) and action.args.get("kind") == "COLUMN":
        tables = action.args.get("tables") or [action.this]
        extra = [
            name for name, value in action.args.items() if value and name not in ("this", "kind", "tables", "exists")
        ]
        if not extra and len(tables) == 1:
            return _Parts(StatementKind.ALTER, _name(node), node, known, (tables[0].name,))
    return unsafe(Rule.STATEMENT_KIND, "ALTER beyond adding, renaming and dropping a column", "ALTER")


def _create(tree: exp.Expr, dialect: Dialect, index: NameIndex) -> _Parts | Failure:
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
    return _Parts(StatementKind.CREATE, _name(node), node, None, tuple(names))


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


_Read = Callable[[exp.Expr, Dialect, NameIndex], "_Parts | Failure"]
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


def count_of(counted: str, dialect: Dialect) -> str:
    """Return the draft that counts the rows of `CheckedWrite.counted`."""
    alias = "" if dialect is Dialect.ORACLE else " AS changed"
    return f"SELECT COUNT(*) FROM ({counted}){alias}"  # noqa: S608 - a draft; it is checked like any other


def _name(table: exp.Table) -> str:
    return f"{table.db}.{table.name}" if table.args.get("db") else table.name


def _read(
    tree: exp.Expr, parts: _Parts, dialect: Dialect, index: NameIndex, policy: ConnectionPolicy
) -> _Reading | Failure:
    """Return the tables of the whole change after the guard has looked at all that it reads."""
    if parts.read is not None:
        judged = decide(Statement(Form.QUERY, parts.read), index, policy)
        if isinstance(judged, Failure):
            return judged
    facts = facts_of(tree, dialect)
    by_node: dict[int, KnownTable] = {}
    targets: set[int] = set()
    for use in facts.tables:
        if use.node is parts.target:
            targets.add(id(use.node))
        if not use.is_cte and (result := _known(use, index)) is not None:
            by_node[id(use.node)] = result
    return _Reading(facts, Sources(by_node), frozenset(targets))


def _known(use: TableUse, index: NameIndex) -> KnownTable | None:
    return index.find(use.name, use.schema) if use.catalog is None else None


def _narrowed(
    tree: exp.Expr, parts: _Parts, dialect: Dialect, index: NameIndex, policy: ConnectionPolicy, reader: Reader
) -> exp.Expr | Failure:
    """Return the change with its condition and everything that it reads narrowed to the reader; uses up the tree."""
    read = _read(tree, parts, dialect, index, policy)
    if isinstance(read, Failure):
        return read
    others = read.sources.without(read.targets)
    narrowed = narrow(Statement(Form.QUERY, tree), read.facts, others, index, reader)
    if isinstance(narrowed, Failure):
        return narrowed
    if parts.known is not None and parts.known.filters:
        try:
            condition = _condition(parts.known, dialect, reader)
        except BadFilter as error:
            return refuse(FailureCode.PERMISSION, Rule.ROW_FILTER, f"the row filter: {error}")
        where = tree.args.get("where")
        if isinstance(where, exp.Where):
            condition = exp.And(this=exp.Paren(this=where.this), expression=condition)
        tree.set("where", exp.Where(this=condition))
    return tree


def _condition(known: KnownTable, dialect: Dialect, reader: Reader) -> exp.Expr:
    result = filter_of(known, dialect, reader)
    if result is None:
        raise BadFilter("there is none")
    return exp.Paren(this=result)


def _round_trip(condition: exp.Expr, dialect: Dialect, index: NameIndex) -> str:
    """Return the condition's text as it reads after a round through our own rendering."""
    holder = exp.Select(expressions=[exp.Literal.number(1)], where=exp.Where(this=condition))
    canonicalise(holder, index)
    tree = cast("Any", GRAMMARS[dialect].parse(_text(holder, dialect))[0])
    return _text(tree.args["where"].this, dialect)


def _text(tree: exp.Expr, dialect: Dialect) -> str:
    return GRAMMARS[dialect].generate(tree, comments=False, unsupported_level=ErrorLevel.IGNORE)


__all__ = [
    "CheckedWrite",
    "check_write",
    "count_of",
    "guard_write",
    "is_change",
    "sha256_of",
]
