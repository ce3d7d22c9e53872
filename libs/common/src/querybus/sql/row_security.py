"""Row filters and masks, put into the tree at every reference of a table: `t` becomes `(SELECT ... WHERE ...) AS t`.

Wrapping the reference itself, and never adding to the statement's own conditions, leaves joins, set operations,
aggregates and correlation as they were: the statement means what it would mean on a table that holds only the reader's
rows. `narrow` writes the wrapping, `unnarrowed` finds any reference without it, so the executor can say that what it
was handed had been narrowed for this reader. What cannot stand around such a table (a sample of it, its hidden
columns) is refused or not found.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, cast

from sqlglot import ErrorLevel, exp

from querybus.core.catalog import Column, Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ROW_FILTER_PARAMETERS, ConnectionPolicy, Reader
from querybus.engines import ENGINES
from querybus.sql.conditions.row_errors import bad_patterns, may_fail
from querybus.sql.facts import StatementFacts, facts_of, fold_of, sources_of
from querybus.sql.guard.rules import Rule, refuse
from querybus.sql.names.canonical import canonicalise, in_engine_case
from querybus.sql.names.index import KnownTable, NameIndex
from querybus.sql.names.sources import Sources
from querybus.sql.parse import GRAMMARS, PARSER_ERRORS, Form, Statement, parse

MASK: Final = "***"
FILTER_LENGTH_MAX: Final = 4_000
WRAPPERS_KEPT_MAX: Final = 512
FILTERS_KEPT_MAX: Final = 1_024
FENCE_ROWS: Final = 9_223_372_036_854_775_807
"""A limit that limits nothing: no engine moves a condition of the statement below it."""

_MOVED: Final = ("joins", "laterals", "pivots")
"""What follows a table in FROM and stays behind its wrapping."""
_UNWRAPPABLE: Final = ("sample", "ordinality", "only")
_UNMASKED_TYPES: Final = frozenset(
    {exp.DataType.Type.USERDEFINED, exp.DataType.Type.XML, exp.DataType.Type.FILE, exp.DataType.Type.UNKNOWN}
)


class BadFilter(Exception):
    """A row filter that cannot be used; the message says why."""


def row_filter(condition: str, dialect: Dialect, columns: Mapping[str, str] | None = None) -> exp.Expr:
    """Return a row filter's tree, its parameters still in it; BadFilter says what is wrong with it.

    `columns` are the folded names that the table has, where they are known.
    """
    result = _parsed(condition, dialect)
    if columns is None:
        return result.copy()
    for column in result.find_all(exp.Column):
        if column.find_ancestor(exp.Select) is not None:
            continue
        if column.args.get("table") is not None or fold_of(column.this, dialect) not in columns:
            raise BadFilter(f"{column.sql()[:80]} is no column of the table")
    return result.copy()


@lru_cache(maxsize=FILTERS_KEPT_MAX)
def _parsed(condition: str, dialect: Dialect) -> exp.Expr:
    """Return the tree of a condition, made once; nobody may change it."""
    if len(condition) > FILTER_LENGTH_MAX:
        raise BadFilter(f"longer than {FILTER_LENGTH_MAX} characters")
    statement = parse(f"SELECT 1 FROM filtered WHERE {condition}", dialect)  # noqa: S608 - parsed, never run
    if isinstance(statement, Failure):
        raise BadFilter(statement.detail)
    tree = statement.tree
    where = tree.args.get("where") if isinstance(tree, exp.Select) else None
    extra = [name for name, value in tree.args.items() if value and name not in _PLAIN_SELECT] if tree else []
    if statement.form is not Form.QUERY or not isinstance(where, exp.Where) or extra:
        raise BadFilter("not one condition")
    result = cast("exp.Expr", where.this)
    for node in result.find_all(exp.Placeholder, exp.Parameter):
        if not isinstance(node, exp.Placeholder) or node.name not in ROW_FILTER_PARAMETERS:
            raise BadFilter(
                f"a parameter that is none of {', '.join(':' + parameter for parameter in ROW_FILTER_PARAMETERS)}"
            )
    if result.find(exp.With) is not None:
        raise BadFilter("a WITH clause; write its query in place of its name")
    # Without what was only there to read it, so that nothing of it counts as a query around the condition.
    return result.copy()


def reachable_tables(policy: ConnectionPolicy, dialect: Dialect) -> tuple[str, ...] | None:
    """Return the names of all tables that a statement may touch: those allowed, and those that row filters look up.

    None: every table. A filter that cannot be read adds none; it shuts its own table in any case.
    """
    if policy.tables_allowed is None:
        return None
    result = dict.fromkeys(policy.tables_allowed)
    for rules in (policy, *policy.tenants.values()):
        for condition in rules.row_filters.values():
            try:
                tree = row_filter(condition, dialect)
            except BadFilter:
                continue
            for table in tree.find_all(exp.Table):
                result[f"{table.db}.{table.name}" if table.db else table.name] = None
    return tuple(result)


_PLAIN_SELECT: Final = frozenset({"expressions", "from_", "where"})


def narrow(
    statement: Statement,
    facts: StatementFacts,
    sources: Sources,
    index: NameIndex,
    reader: Reader | None,
) -> Statement | Failure:
    """Return the statement with every protected table narrowed to what the reader may see; its tree is used up."""
    dialect = index.dialect
    tree = statement.tree
    bare: set[tuple[str | None, str]] = set()
    fenced = may_fail(facts, sources, dialect)
    if facts.ctes:
        # Under its own name a WITH table would stand for the table that a filter looks up.
        canonicalise(facts, index)
    if (
        ENGINES[dialect].tries_patterns_on_statistics
        and any(table.filters for table in sources)
        and bad_patterns(facts)
    ):
        detail = "a LIKE pattern that may end in its escape sign, over a table whose rows are filtered"
        return refuse(FailureCode.PERMISSION, Rule.ROW_FILTER, detail)
    for use in facts.tables:
        table = sources.of(use.node)
        if table is None or not table.is_guarded or statement.form is Form.DESCRIBE:
            continue
        refused = next((name for name in _UNWRAPPABLE if use.node.args.get(name)), None)
        if refused is not None:
            return refuse(FailureCode.PERMISSION, Rule.ROW_FILTER, f"{refused} of a table whose rows are filtered")
        try:
            select = _select(use.node, table, dialect, reader, fenced=fenced)
        except BadFilter as error:
            return _bad(table, error)
        if use.node is tree:
            tree = select
            continue
        target = use.node.parent if isinstance(use.node.parent, exp.Final) else use.node
        alias = use.node.args.get("alias")
        if alias is None:
            bare.add((use.schema, use.name))
            alias = exp.TableAlias(this=use.node.this.copy())
        elif alias.this is None:
            alias.set("this", use.node.this.copy())
        wrapper = exp.Subquery(alias=alias)
        for name in _MOVED:
            wrapper.set(name, use.node.args.get(name))
        target.replace(wrapper)
        if isinstance(target, exp.Final):
            _finalise(select)
        wrapper.set("this", select)
    _unqualify(facts, bare, index)
    return Statement(statement.form, tree, statement.prefix)


def unnarrowed(
    facts: StatementFacts, sources: Sources, index: NameIndex, reader: Reader | None, form: Form
) -> set[int] | Failure:
    """Return the ids of all nodes inside of wrappings, or a failure if any protected table stands without its own."""
    inside: set[int] = set()
    guarded = [
        (use.node, table)
        for use in facts.tables
        if (table := sources.of(use.node)) is not None and table.is_guarded and form is not Form.DESCRIBE
    ]
    for node, table in guarded:
        try:
            for select in _around(node):
                if _is_expected(select, node, table, index, reader):
                    inside.update(id(node) for node in select.walk())
        except BadFilter as error:
            return _bad(table, error)
    if all(id(node) in inside for node, _ in guarded):
        return inside
    return refuse(FailureCode.PERMISSION, Rule.ROW_FILTER, "a table that is not narrowed to its reader's rows")


def _bad(table: KnownTable, error: BadFilter) -> Failure:
    return refuse(FailureCode.PERMISSION, Rule.ROW_FILTER, f"the row filter of {table.table.name}: {error}")


def _around(node: exp.Table) -> list[exp.Select]:
    """Return the SELECT whose only source this table is, and the one around it that may mask its columns."""
    result: list[exp.Select] = []
    holder: exp.Expr | None = node.parent if isinstance(node.parent, exp.Final) else node
    while holder is not None and len(result) < 2:
        source = holder.parent
        select = source.parent if isinstance(source, exp.From) else None
        if not isinstance(select, exp.Select):
            break
        result.append(select)
        holder = select.parent if isinstance(select.parent, exp.Subquery) else None
    return result


def _is_expected(
    select: exp.Select, node: exp.Table, table: KnownTable, index: NameIndex, reader: Reader | None
) -> bool:
    text = _text(select, index.dialect)
    return any(text == _expected(node, table, index, reader, fenced=fenced) for fenced in (False, True))


def _expected(node: exp.Table, table: KnownTable, index: NameIndex, reader: Reader | None, *, fenced: bool) -> str:
    """Return the text of the wrapping as it reads after a round through our own rendering."""
    final = isinstance(node.parent, exp.Final)
    named = exp.Table(this=node.this.copy(), db=_copied(node, "db"), catalog=_copied(node, "catalog"))
    key = (f"{table.key} {final} {fenced}", named.sql(), reader)
    text = index.wrappers.get(key)
    if text is None:
        select = _select(named, table, index.dialect, reader, fenced=fenced)
        if final:
            _finalise(select)
        canonicalise(facts_of(select, index.dialect), index)
        again = parse(_text(select, index.dialect), index.dialect)
        if isinstance(again, Failure) or again.tree is None:
            raise BadFilter("it does not read back")
        text = index.wrappers[key] = _text(again.tree, index.dialect)
        while len(index.wrappers) > WRAPPERS_KEPT_MAX:
            index.wrappers.popitem(last=False)
    return text


def _finalise(select: exp.Select) -> None:
    """Put ClickHouse's FINAL behind the table, where alone it may stand."""
    source = cast("exp.From", select.args["from_"])
    if isinstance(source.this, exp.Subquery):
        return _finalise(source.this.this)
    source.set("this", exp.Final(this=source.this))
    return None


def _text(tree: exp.Expr, dialect: Dialect) -> str:
    try:
        return GRAMMARS[dialect].generate(tree, comments=False, unsupported_level=ErrorLevel.IGNORE)
    except PARSER_ERRORS as error:
        raise BadFilter("it has no rendering") from error


def _copied(node: exp.Expr, name: str) -> exp.Expr | None:
    result = node.args.get(name)
    return result.copy() if isinstance(result, exp.Expr) else None


def _select(node: exp.Table, table: KnownTable, dialect: Dialect, reader: Reader | None, *, fenced: bool) -> exp.Select:
    """Return what the reader may see of a table, as a query over the table alone."""
    inner = exp.Table(this=node.this.copy(), db=_copied(node, "db"), catalog=_copied(node, "catalog"))
    condition = filter_of(table, dialect, reader)
    shown: list[exp.Expr] = [exp.Star()]
    if table.masked or table.denied:
        shown = [
            _shown(column, table, dialect) for column in table.table.columns if column.name.lower() not in table.denied
        ]
    if condition is None:
        return exp.Select(expressions=shown, from_=exp.From(this=inner))
    # Some engines read a mask's name in WHERE as the mask: the rows are filtered in a query of their own.
    is_masked = bool(table.masked)
    filtered = exp.Select(
        expressions=[exp.Star()] if is_masked else shown,
        from_=exp.From(this=inner),
        where=exp.Where(this=condition),
        limit=exp.Limit(expression=exp.Literal.number(FENCE_ROWS)) if fenced else None,
    )
    if not is_masked:
        return filtered
    around = exp.Subquery(this=filtered, alias=exp.TableAlias(this=node.this.copy()))
    return exp.Select(expressions=shown, from_=exp.From(this=around))


def filter_of(table: KnownTable, dialect: Dialect, reader: Reader | None) -> exp.Expr | None:
    """Return all row filters of a table as one condition, bound to the reader; BadFilter if one cannot be used."""
    result: exp.Expr | None = None
    for text in table.filters:
        if reader is None:
            raise BadFilter("nobody is named for whom the rows are filtered")
        condition = exp.Paren(this=_bound(row_filter(text, dialect, table.columns), reader))
        result = condition if result is None else exp.And(this=result, expression=condition)
    return result


def _bound(condition: exp.Expr, reader: Reader) -> exp.Expr:
    values = {"tenant": reader.tenant, "user": reader.user}
    holder = exp.Paren(this=condition)
    for node in list(holder.find_all(exp.Placeholder)):
        node.replace(exp.Literal.string(values[node.name]))
    return holder.this


def _shown(column: Column, table: KnownTable, dialect: Dialect) -> exp.Expr:
    name = exp.to_identifier(in_engine_case(column.name, dialect), quoted=True)
    if column.name.lower() not in table.masked:
        return exp.Column(this=name)
    return exp.Alias(this=_mask(column, dialect), alias=name)


def _mask(column: Column, dialect: Dialect) -> exp.Expr:
    """Return what is shown in place of a masked value: *** for a text, else NULL of the column's type."""
    try:
        kind = exp.DataType.build(column.type, dialect=dialect.value)
    except PARSER_ERRORS:
        return exp.Null()
    if kind.this in exp.DataType.TEXT_TYPES:
        return exp.Literal.string(MASK)
    if kind.this in _UNMASKED_TYPES or not ENGINES[dialect].casts_null_to_types or kind.args.get("nested"):
        return exp.Null()
    return exp.Cast(this=exp.Null(), to=kind)


def _unqualify(facts: StatementFacts, bare: set[tuple[str | None, str]], index: NameIndex) -> None:
    """Drop the schema before `schema.table.column`: what is wrapped is known by its bare name only."""
    if not bare:
        return
    dialect = index.dialect
    names = {name for _, name in bare}
    for column in facts.columns:
        schema, table = column.args.get("db"), column.args.get("table")
        if schema is None or table is None or fold_of(table, dialect) not in names:
            continue
        folded = fold_of(schema, dialect)
        if index.knows_schema(folded) or folded == ENGINES[dialect].default_schema:
            column.set("db", None)
            column.set("catalog", None)


def masked_in_use(facts: StatementFacts, sources: Sources, dialect: Dialect) -> Failure | None:
    """Refuse a masked column anywhere but as a plain column of a SELECT list.

    The mask alone keeps the value: this keeps a condition on it from silently finding nothing.
    """
    masked = {name for item in sources for name in item.masked}
    if not masked:
        return None
    for column in facts.columns:
        if column.name.lower() in masked and not _is_shown(column) and _may_be_masked(column, sources, dialect):
            return _used(column.name)
    for node in facts.nodes:
        if isinstance(node, exp.Join):
            using = {column.name.lower() for column in node.args.get("using") or ()}
            if using & masked or node.args.get("method") == "NATURAL":
                return _used("a join by names")
    return None


def _is_shown(column: exp.Column) -> bool:
    node: exp.Expr = column
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    node = node.parent if isinstance(node.parent, exp.Alias) else node
    return isinstance(node.parent, exp.Select) and node.arg_key == "expressions"


def _may_be_masked(column: exp.Column, sources: Sources, dialect: Dialect) -> bool:
    """Return whether the column could be a masked one: unless its source is a table that does not mask it."""
    name = column.name.lower()
    qualifier = fold_of(column.args["table"], dialect) if column.args.get("table") else None
    select = column.find_ancestor(exp.Select)
    while select is not None:
        for source in sources_of(select):
            table = sources.of(source)
            alias = source.args.get("alias")
            called = fold_of(alias.this if isinstance(alias, exp.TableAlias) and alias.this else source.this, dialect)
            if qualifier is not None and called != qualifier:
                continue
            if table is not None and name not in table.masked and name in {column.lower() for column in table.columns}:
                return False
            if table is None or name in table.masked:
                return True
        select = select.find_ancestor(exp.Select)
    return True


def _used(name: str) -> Failure:
    return refuse(
        FailureCode.PERMISSION, Rule.COLUMN_MASKED, "a masked column can be shown, not compared or computed with", name
    )
