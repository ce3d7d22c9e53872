"""Facts to decision: a query may only read the catalog's tables, with listed functions, within the policy.

Default deny: what is not listed is refused, with the rule's name. The guard needs no database, holds for a read-only
connection whatever the options say, and is run twice: by the validator on the draft and on its own rendering, and by
the executor on what it is handed. It decides on the tree only; that names resolve is the resolver's matter, except
for what an engine would read as a call without brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy, Reader, StatementKind
from querybus.sql.cost_limits import over_size
from querybus.sql.facts import (
    StatementFacts,
    TableUse,
    facts_of,
    fold_of,
    is_statement,
    kind_of_node,
    source_names,
    sources_of,
)
from querybus.sql.guard import functions
from querybus.sql.guard.nodes import ARGUMENT_RULES, NODE_RULES, NODES, STRUCTURE, words
from querybus.sql.guard.rules import Rule, refuse, unsafe
from querybus.sql.names.canonical import uncanonical
from querybus.sql.names.index import DEFAULT_SCHEMAS, KnownTable, NameIndex, index_of
from querybus.sql.parse import RENDERED_BYTES_MAX, Form, Statement, parse
from querybus.sql.row_security import masked_in_use, unnarrowed

_WORD: Final = re.compile(r"[^\W\d][\w$]*")
_NAME: Final = re.compile(r"\w[\w$]*")
_PATH: Final = re.compile(
    r"[/\\:*?@]|\.(csv|tsv|json|jsonl|ndjson|parquet|txt|db|sqlite|xlsx|arrow|gz|zst)$", re.IGNORECASE
)

_STRUCTS: Final = frozenset({Dialect.DUCKDB, Dialect.BIGQUERY, Dialect.CLICKHOUSE, Dialect.SNOWFLAKE})
_SYSTEM_SCHEMAS: Final = words(
    """information_schema pg_catalog pg_toast mysql sys performance_schema system sqlite_temp temp snowflake
    account_usage organization_usage ctxsys mdsys xdb dbsnmp outln wmsys"""
)
_SYSTEM_NAMES: Final[dict[Dialect, re.Pattern[str]]] = {
    Dialect.SQLITE: re.compile(r"sqlite_|pragma_|(dbstat|bytecode|tables_used|completion|fsdir|zipfile|csv)$"),
    Dialect.DUCKDB: re.compile(r"sqlite_|pragma_|duckdb_|pg_"),
    Dialect.POSTGRESQL: re.compile(r"pg_"),
    Dialect.ORACLE: re.compile(r"(g?v_?\$|x\$|dba_|cdb_|all_|user_)|.*\$$|(dict|dictionary|cat|tab|obj)$"),
    Dialect.BIGQUERY: re.compile(r"__tables|information_schema"),
}


def protected(guarded: Guarded, dialect: Dialect) -> Failure | None:
    """Return why a draft must not run as it is written: a table that is not allowed, a denied or a masked column."""
    refusal = _tables_allowed(guarded, ())
    if refusal is None and guarded.index.has_denied:
        refusal = _denied_by_name(guarded.facts, guarded.known, guarded.statement)
    if refusal is not None:
        return refusal
    return masked_in_use(guarded.facts, guarded.known, dialect)


def _tables_allowed(guarded: Guarded, inside: Container[int]) -> Failure | None:
    """Return why one of the tables must not be read; what a row filter itself looks up is the configuration's."""
    if not guarded.index.is_restricted and not guarded.index.protects_parts:
        return None
    for use in guarded.facts.tables:
        found = guarded.known.get(id(use.node))
        if found is None or (found.is_allowed and found.is_open) or id(use.node) in inside:
            continue
        if not found.is_allowed:
            return refuse(FailureCode.PERMISSION, Rule.TABLE_DENIED, "a table that is not allowed", use.written)
        return refuse(
            FailureCode.PERMISSION,
            Rule.VIEW_DENIED,
            "a view of which it is not known that it shows no protected row or column",
            use.written,
        )
    return None


@dataclass(frozen=True, slots=True)
class Guarded:
    """A statement that may run, with its facts. `known` maps the id of a table's node to the catalog's table."""

    statement: Statement
    facts: StatementFacts
    known: dict[int, KnownTable]
    index: NameIndex

    @property
    def tables(self) -> tuple[str, ...]:
        """The catalog's tables that the statement reads, sorted, each once."""
        return tuple(
            sorted(
                {
                    f"{link.table.schema_name}.{link.table.name}" if link.table.schema_name else link.table.name
                    for link in self.known.values()
                }
            )
        )


def guard(
    sql: str,
    dialect: Dialect,
    catalog: Catalog,
    policy: ConnectionPolicy,
    reader: Reader | None = None,
    *,
    checks_size: bool = True,
) -> Failure | None:
    """Return why this text, as `check` has written it, must not run for this reader, or None.

    Errors: safety, permission, cost, too_complex, multi_statement, syntax_error, table_not_found, missing_alias,
    function_not_found, join_error; `facts.rule` is one of GUARD_RULES.
    """
    decision = admitted(sql, dialect, catalog, policy, reader, checks_size=checks_size)
    return decision if isinstance(decision, Failure) else None


def admitted(
    sql: str,
    dialect: Dialect,
    catalog: Catalog,
    policy: ConnectionPolicy,
    reader: Reader | None = None,
    *,
    checks_size: bool = True,
) -> Guarded | Failure:
    """Return what `guard` has read, for whoever wants more of it than its verdict, or the refusal."""
    policy = policy if reader is None else policy.of(reader.tenant)
    statement = parse(sql, dialect)
    if isinstance(statement, Failure):
        return statement
    decision = decide(statement, dialect, index_of(catalog, policy), policy, checks_size=checks_size)
    return finish(decision, reader) if isinstance(decision, Guarded) else decision


def examine(
    sql: str,
    dialect: Dialect,
    catalog: Catalog,
    policy: ConnectionPolicy,
    *,
    bytes_max: int = RENDERED_BYTES_MAX,
    checks_size: bool = True,
) -> Guarded | Failure:
    """Return a draft with its facts, or why it must not run; nothing of it is narrowed yet."""
    statement = parse(sql, dialect, bytes_max=bytes_max)
    if isinstance(statement, Failure):
        return statement
    return decide(statement, dialect, index_of(catalog, policy), policy, checks_size=checks_size)


def finish(guarded: Guarded, reader: Reader | None) -> Guarded | Failure:
    """Return a statement of our own writing, or why it must not run for this reader: what it shows of which tables."""
    loose = uncanonical(guarded.facts, guarded.index)
    if loose is not None:
        return loose
    inside: set[int] = set()
    if any(item.is_guarded for item in guarded.known.values()):
        found = unnarrowed(guarded.facts, guarded.known, guarded.index, reader, guarded.statement.form)
        if isinstance(found, Failure):
            return found
        inside = found
    refusal = _tables_allowed(guarded, inside)
    if refusal is not None:
        return refusal
    if guarded.index.has_denied:
        refusal = _denied_by_name(guarded.facts, guarded.known, guarded.statement, inside)
        if refusal is not None:
            return refusal
    return guarded


def decide(
    statement: Statement, dialect: Dialect, index: NameIndex, policy: ConnectionPolicy, *, checks_size: bool = True
) -> Guarded | Failure:
    """Return the parsed statement with its facts, or why it must not run whoever the reader is."""
    kind = StatementKind.QUERY if statement.form is Form.QUERY else StatementKind.DESCRIBE
    if kind not in policy.kinds:
        return refuse(FailureCode.PERMISSION, Rule.STATEMENT_DENIED, f"no statement that is a {kind} is allowed here")
    if statement.tree is None:
        if index.is_restricted:
            return refuse(FailureCode.PERMISSION, Rule.TABLE_DENIED, "a list of all tables", "SHOW TABLES")
        return Guarded(statement, StatementFacts(), {}, index)
    refusal = _root(statement)
    if refusal is not None:
        return refusal
    facts = facts_of(statement.tree, dialect)
    allowed_names = functions.LISTED[dialect] | {function.lower() for function in policy.functions_allowed}
    for node in facts.nodes:
        refusal = _node(node, dialect, allowed_names)
        if refusal is not None:
            return refusal
    for cte in facts.ctes:
        refusal = _cte(cte, dialect, index)
        if refusal is not None:
            return refusal
    known: dict[int, KnownTable] = {}
    for use in facts.tables:
        found = _table(use, dialect, index)
        if isinstance(found, Failure):
            return found
        if found is not None:
            known[id(use.node)] = found
    refusal = _columns(facts, known, dialect, index) or (over_size(facts, dialect) if checks_size else None)
    if refusal is None and dialect is Dialect.POSTGRESQL:
        refusal = _attribute_call(facts, known) or _call_by_column(facts)
    if refusal is None and dialect is Dialect.CLICKHOUSE:
        refusal = _by_bare_name(facts, known)
    return refusal if refusal is not None else Guarded(statement, facts, known, index)


def _root(statement: Statement) -> Failure | None:
    tree = statement.tree
    if statement.form in (Form.DESCRIBE, Form.SUMMARIZE) and isinstance(tree, exp.Table):
        return None
    if isinstance(tree, exp.Query | exp.Values):
        return None
    if isinstance(tree, exp.Pivot) and isinstance(tree.this, exp.Table | exp.Subquery):
        return None
    kind = kind_of_node(tree) if tree is not None else "?"
    return unsafe(Rule.STATEMENT_KIND, f"{kind} is no query", kind)


def _node(node: exp.Expr, dialect: Dialect, allowed_names: frozenset[str] | set[str]) -> Failure | None:
    kind = type(node)
    if kind in functions.BY_NAME_KINDS:
        return _call(node, dialect, allowed_names)
    if kind not in NODES and kind not in functions.KNOWN:
        return _refused_node(node)
    structure = STRUCTURE.get(kind)
    if structure is not None:
        for name, value in node.args.items():
            if value and name not in structure:
                rule = ARGUMENT_RULES.get(name, Rule.ARGUMENT)
                return unsafe(rule, f"{name.rstrip('_')} of {kind.__name__}", name.rstrip("_"))
    check = _CHECKS.get(kind)
    if check is not None:
        return check(node)
    if kind is exp.DataType:
        return _data_type(node, dialect)
    return _assignment(node, dialect) if kind is exp.PropertyEQ else None


def _refused_node(node: exp.Expr) -> Failure:
    if is_statement(node):
        kind = kind_of_node(node)
        return unsafe(Rule.STATEMENT_KIND, f"{kind} inside a query", kind)
    if isinstance(node, exp.Func):
        name = node.sql_names()[0].lower() if node.sql_names() else type(node).__name__
        return unsafe(Rule.SESSION_FUNCTION if name.startswith(("current", "session")) else Rule.FUNCTION, name, name)
    rule = NODE_RULES.get(type(node), Rule.NODE)
    return unsafe(rule, f"{type(node).__name__} is not known to be harmless", type(node).__name__)


def _call(node: exp.Expr, dialect: Dialect, allowed_names: frozenset[str] | set[str]) -> Failure | None:
    called = node.this
    if isinstance(called, exp.Expr):
        if not isinstance(called, exp.Identifier) or called.args.get("quoted"):
            return unsafe(Rule.FUNCTION, "a quoted function name", called.name)
        called = called.name
    name = str(called)
    if isinstance(node.parent, exp.Dot) and node.parent.expression is node:
        return _qualified_call(node.parent, name, dialect, allowed_names)
    in_from = isinstance(node.parent, exp.Table | exp.TableFromRows | exp.Lateral) and node.parent.this is node
    if in_from and name.lower() in functions.TABLE_FUNCTIONS[dialect]:
        return None
    if in_from and name.lower() not in allowed_names - functions.LISTED[dialect]:
        return unsafe(Rule.TABLE_FUNCTION, f"{name} in FROM is not a listed function", name)
    if name.lower() in allowed_names or _combined(name.lower(), dialect):
        return None
    if functions.is_dangerous(name):
        return unsafe(Rule.FUNCTION, f"{name} is no harmless function", name)
    return refuse(
        FailureCode.FUNCTION_NOT_FOUND,
        Rule.FUNCTION,
        f"{name} is not a listed function of {dialect}",
        name,
        candidates=_similar_functions(name, dialect),
    )


_COMBINATORS: Final = ("if", "array", "map", "distinct", "ornull", "ordefault", "merge", "state", "foreach")


def _combined(name: str, dialect: Dialect) -> bool:
    """Return whether a ClickHouse aggregate with a combinator, e.g. `uniqIf`, is listed without it."""
    if dialect is not Dialect.CLICKHOUSE:
        return False
    return any(
        name.endswith(combinator) and name[: -len(combinator)] in functions.LISTED[dialect]
        for combinator in _COMBINATORS
    )


def _similar_functions(name: str, dialect: Dialect) -> tuple[str, ...]:
    lowered = name.lower()
    return tuple(sorted(text for text in functions.LISTED[dialect] if text.startswith(lowered[:4])))[:8]


def _qualified_call(
    dot: exp.Dot, name: str, dialect: Dialect, allowed_names: frozenset[str] | set[str]
) -> Failure | None:
    full = f"{dot.this.name}.{name}".lower()
    if isinstance(dot.this, exp.Identifier) and not dot.this.args.get("quoted"):
        if full in functions.QUALIFIED.get(dialect, frozenset()) or full in allowed_names:
            return None
        if dot.this.name.lower() in functions.QUALIFIERS.get(dialect, frozenset()) and name.lower() in allowed_names:
            return None
    return unsafe(Rule.FUNCTION_QUALIFIED, f"{full} is not a listed function", full)


def _identifier(node: exp.Expr) -> Failure | None:
    if not node.args.get("quoted") and not _NAME.fullmatch(node.name):
        return unsafe(Rule.NAME_FORM, "a name that is no word", node.name)
    return None


def _var(node: exp.Expr) -> Failure | None:
    return None if _WORD.fullmatch(node.name) else unsafe(Rule.NAME_FORM, "a word that is no word", node.name)


_TYPES_REFUSED: Final = frozenset({exp.DataType.Type.XML, exp.DataType.Type.FILE})


def _data_type(node: exp.Expr, dialect: Dialect) -> Failure | None:
    if node.this in _TYPES_REFUSED:
        return unsafe(Rule.CAST, "a type that can reach outside", str(node.this))
    if node.this is exp.DataType.Type.USERDEFINED and dialect is not Dialect.SQLITE:
        return unsafe(Rule.CAST, "a type of the database's own", node.sql()[:80])
    return None


def _dot(node: exp.Expr) -> Failure | None:
    member = node.args.get("expression")
    if isinstance(member, exp.Identifier | exp.Star | exp.Literal) or type(member) in functions.BY_NAME_KINDS:
        if isinstance(node.this, exp.Identifier) and not isinstance(member, exp.Func):
            return unsafe(Rule.FUNCTION_QUALIFIED, "a name with a qualifier of no table", node.sql()[:80])
        return None
    return unsafe(Rule.FUNCTION_QUALIFIED, "a qualified call", node.sql()[:80])


def _attribute_call(facts: StatementFacts, known: dict[int, KnownTable]) -> Failure | None:
    """Refuse PostgreSQL's calls by attribute: `(row).name` calls the function `name` where the row has no such column.

    Only the row of a source in scope, or of a listed function, is taken, with a name that could be a column of it.
    """
    for node in facts.nodes:
        if isinstance(node, exp.Dot) and isinstance(node.args.get("expression"), exp.Identifier):
            name = fold_of(node.expression, Dialect.POSTGRESQL)
            if functions.is_dangerous(name) or name not in _attributes(node.this.unnest(), facts, known):
                return unsafe(Rule.FUNCTION_QUALIFIED, "an attribute that is no column", node.expression.name)
    return None


def _attributes(row: exp.Expr, facts: StatementFacts, known: dict[int, KnownTable]) -> set[str]:
    """Return the names that may stand behind a row: none where the expression is not known to be one."""
    if isinstance(row, exp.Anonymous):
        return set(functions.TABLE_FUNCTION_COLUMNS.get((Dialect.POSTGRESQL, str(row.this).lower()), ()))
    if not isinstance(row, exp.Column) or row.args.get("table") is not None:
        return set()
    source = fold_of(row.this, Dialect.POSTGRESQL)
    select = row.find_ancestor(exp.Select)
    while select is not None:
        columns = _columns_of_functions(select)
        if source in columns:
            return columns[source]
        if source in source_names(select, Dialect.POSTGRESQL):
            names = facts.aliases.union(*(table.columns for table in known.values()))
            for alias in facts.nodes:
                if isinstance(alias, exp.TableAlias):
                    names.update(fold_of(column, Dialect.POSTGRESQL) for column in alias.args.get("columns") or ())
            return names
        select = select.find_ancestor(exp.Select)
    return set()


def _call_by_column(facts: StatementFacts) -> Failure | None:
    """Refuse PostgreSQL's other call by attribute: `f.name` behind a function in FROM calls `name` on what f returns.

    Behind such an alias only the alias itself, its list of columns and the function's known columns may stand.
    """
    allowed: dict[int, dict[str, set[str]]] = {}
    for column in facts.columns:
        qualifier = column.args.get("table")
        if qualifier is None or isinstance(column.this, exp.Star):
            continue
        name, wanted = fold_of(qualifier, Dialect.POSTGRESQL), fold_of(column.this, Dialect.POSTGRESQL)
        select = column.find_ancestor(exp.Select)
        while select is not None:
            columns = allowed.get(id(select))
            if columns is None:
                columns = allowed[id(select)] = _columns_of_functions(select)
            if name in columns:
                if wanted not in columns[name]:
                    return unsafe(Rule.FUNCTION_QUALIFIED, "a column that the function does not return", column.name)
                break
            select = select.find_ancestor(exp.Select)
    return None


def _columns_of_functions(select: exp.Select) -> dict[str, set[str]]:
    """Return the columns of the functions in FROM by their folded aliases."""
    found: dict[str, set[str]] = {}
    for source in sources_of(select):
        function = source if isinstance(source, exp.Unnest) else source.this
        if not isinstance(function, exp.Func | exp.Unnest) and not source.args.get("rows_from"):
            continue
        called = ""
        if isinstance(function, exp.Func):
            called = str(function.this) if isinstance(function, exp.Anonymous) else function.sql_names()[0]
        alias = source.args.get("alias")
        name = fold_of(alias.this, Dialect.POSTGRESQL) if isinstance(alias, exp.TableAlias) and alias.this else ""
        listed = alias.args.get("columns") or () if isinstance(alias, exp.TableAlias) else ()
        columns = {
            fold_of(node.this if isinstance(node, exp.ColumnDef) else node, Dialect.POSTGRESQL) for node in listed
        }
        columns |= set(functions.TABLE_FUNCTION_COLUMNS.get((Dialect.POSTGRESQL, called.lower()), ()))
        offset = function.args.get("offset") if isinstance(function, exp.Unnest) else None
        if isinstance(offset, exp.Identifier):
            columns.add(fold_of(offset, Dialect.POSTGRESQL))
        name = name or called.lower()
        found[name] = columns | {name, "ordinality"}
    return found


def _by_bare_name(facts: StatementFacts, known: dict[int, KnownTable]) -> Failure | None:
    """Refuse ClickHouse's calls of a function by its bare name: in APPLY and in the place of a lambda.

    `arrayMap(file, [...])` calls `file`. Where a lambda may stand a name has to be a WITH name or a table's column.
    """
    named = {cte.alias for cte in facts.ctes if cte.args.get("scalar")}
    columns = {name for table in known.values() for name in table.columns}
    for node in facts.nodes:
        if isinstance(node, exp.Apply):
            name = node.expression.name
            if not isinstance(node.expression, exp.Var | exp.Identifier | exp.Column) or (
                name.lower() not in functions.LISTED[Dialect.CLICKHOUSE]
            ):
                return unsafe(Rule.FUNCTION, f"APPLY of {name[:80]}, which is not a listed function", name)
        elif isinstance(node, exp.Func) and not isinstance(node, exp.Array | exp.Struct | exp.Cast):
            arguments = list(node.iter_expressions())
            if len(arguments) < 2 or any(isinstance(argument, exp.Lambda) for argument in arguments):
                continue
            for argument in arguments:
                name = argument.name
                if not isinstance(argument, exp.Column) or argument.args.get("table") is not None or name in named:
                    continue
                is_column, may_be_called = name in columns, _takes_a_lambda(node)
                if (functions.is_dangerous(name) and (may_be_called or not is_column)) or (
                    may_be_called and not is_column
                ):
                    return unsafe(Rule.FUNCTION, "a function's name in place of a value", name)
    return None


_LAMBDA_KINDS: Final = (exp.Transform, exp.ArrayFilter, exp.ArrayAll, exp.ArrayAny, exp.ArraySort, exp.Reduce)
_LAMBDA_NAMES: Final = re.compile(r"(array|map)\w*", re.IGNORECASE)
_NO_LAMBDA: Final = words(
    """arrayelement arrayconcat arrayslice arrayresize arraypushback arraypushfront arraypopback arraypopfront
    arraystringconcat arrayzip arrayzipunaligned arrayintersect arrayunion arrayexcept arrayenumerate arrayenumerateuniq
    arrayenumeratedense arraydifference arrayjoin arrayuniq arraydistinct arrayreverse arrayreduce arrayreduceinranges
    arraycompact arrayauc arraydotproduct arraywithconstant arrayhas has hasall hasany indexof countequal arrayrotateleft
    arrayrotateright arrayshiftleft arrayshiftright arraylevenshteindistance mapcontains mapcontainskey mapcontainsvalue
    mapkeys mapvalues mapadd mapsubtract mapupdate mapconcat mapfromarrays mappopulateseries map array arrayflatten
    arrayempty arraymin arrayshingles arrayrange arrayjaccardindex arraysymmetricdifference"""
)


def _takes_a_lambda(node: exp.Func) -> bool:
    if isinstance(node, _LAMBDA_KINDS):
        return True
    name = str(node.this) if type(node) in functions.BY_NAME_KINDS else node.sql_names()[0].replace("_", "")
    return _LAMBDA_NAMES.fullmatch(name) is not None and name.lower() not in _NO_LAMBDA


def _assignment(node: exp.Expr, dialect: Dialect) -> Failure | None:
    if dialect is Dialect.MYSQL or not isinstance(node.parent, exp.Struct | exp.ToMap | exp.Func):
        return unsafe(Rule.VARIABLE, "an assignment", ":=")
    return None


def _table_form(node: exp.Expr) -> Failure | None:
    if isinstance(node.this, exp.Identifier):
        if node.this.args.get("quoted") and _PATH.search(node.this.name):
            return unsafe(Rule.TABLE_FORM, "a file in place of a table", node.this.name)
        return None
    return _source_function(node)


def _source_function(node: exp.Expr) -> Failure | None:
    source = node.this
    if type(source) in functions.BY_NAME_KINDS:
        return None  # looked at by _call
    if isinstance(source, functions.TABLE_KINDS):
        return None
    if isinstance(node, exp.Lateral) and isinstance(source, exp.Subquery | exp.Unnest | exp.Query):
        return None
    name = source.sql()[:80] if isinstance(source, exp.Expr) else str(source)[:80]
    if isinstance(source, exp.Dot):
        return unsafe(Rule.FUNCTION_QUALIFIED, "a qualified call in FROM", name)
    rule = Rule.TABLE_FUNCTION if isinstance(source, exp.Func) else Rule.TABLE_FORM
    return unsafe(rule, "no table and no listed function in FROM", name)


_CHECKS: Final[dict[type[exp.Expr], Callable[[exp.Expr], Failure | None]]] = {
    exp.Identifier: _identifier,
    exp.Var: _var,
    exp.Dot: _dot,
    exp.Table: _table_form,
    exp.TableFromRows: _source_function,
    exp.Lateral: _source_function,
}


def _cte(cte: exp.CTE, dialect: Dialect, index: NameIndex) -> Failure | None:
    name = fold_of(cte.args["alias"].this, dialect)
    if _is_system(name, None, dialect):
        return unsafe(Rule.SYSTEM_CATALOG, "a name of the system catalog", name)
    if not isinstance(cte.this, exp.Query | exp.Values) and not cte.args.get("scalar"):
        return unsafe(Rule.NODE, "a WITH that is no query", name)
    found = index.find(name, None)
    if found is not None and not found.is_allowed:
        return refuse(FailureCode.PERMISSION, Rule.TABLE_DENIED, "the name of a table that is not allowed", name)
    return None


def _is_system(name: str, schema: str | None, dialect: Dialect) -> bool:
    if schema is not None and schema.lower() in _SYSTEM_SCHEMAS:
        return True
    pattern = _SYSTEM_NAMES.get(dialect)
    return pattern is not None and pattern.match(name.lower()) is not None


def _table(use: TableUse, dialect: Dialect, index: NameIndex) -> KnownTable | Failure | None:
    """Return the catalog's table, None for a CTE, `dual` or an array of a row, or why it must not be read."""
    if use.is_cte:
        return None
    found = index.find(use.name, use.schema) if use.catalog is None else None
    if found is not None and not (
        use.schema and use.schema.lower() in _SYSTEM_SCHEMAS and not index.knows_schema(use.schema)
    ):
        return found
    if use.schema is None and use.name.lower() == "dual" and dialect in (Dialect.ORACLE, Dialect.MYSQL):
        return None
    if use.schema is None and use.name in ("EXCLUDED", "excluded"):
        return _unknown(use, index)
    if _is_system(use.name, use.schema, dialect) or (use.catalog or "").lower() in _SYSTEM_SCHEMAS:
        return unsafe(Rule.SYSTEM_CATALOG, "the system catalog", use.written)
    if not _NAME.fullmatch(use.name.replace(" ", "_").replace("-", "_")) and not index.similar_tables(use.name):
        return unsafe(Rule.TABLE_FORM, "no name of a table", use.written)
    return _unknown(use, index)


def _unknown(use: TableUse, index: NameIndex) -> Failure:
    identifier = use.node.this
    return refuse(
        FailureCode.TABLE_NOT_FOUND,
        Rule.TABLE_UNKNOWN,
        f"no table {use.written[:200]}",
        use.node.name,
        qualifier=use.schema,
        candidates=index.similar_tables(use.node.name),
        line=identifier.meta.get("line"),
        column=identifier.meta.get("col"),
    )


def _columns(facts: StatementFacts, known: dict[int, KnownTable], dialect: Dialect, index: NameIndex) -> Failure | None:
    names: dict[int, set[str]] = {}
    bare = functions.BARE_SESSION[dialect]
    for column in facts.columns:
        qualifier = column.args.get("table")
        if qualifier is None:
            identifier = column.this
            if (
                isinstance(identifier, exp.Identifier)
                and not identifier.args.get("quoted")
                and identifier.name.lower() in bare
            ):
                return unsafe(Rule.SESSION_FUNCTION, "a call without brackets", identifier.name)
            continue
        schema = column.args.get("db")
        if schema is not None and not _is_schema(schema, column, dialect, index):
            return _unknown_qualifier(column, dialect)
        if not _is_in_scope(column, fold_of(qualifier, dialect), names, facts, known, dialect):
            return _unknown_qualifier(column, dialect)
    return None


def _is_schema(schema: exp.Expr, column: exp.Column, dialect: Dialect, index: NameIndex) -> bool:
    folded = fold_of(schema, dialect)
    if column.args.get("catalog") is not None and dialect not in _STRUCTS:
        return False
    return index.knows_schema(folded) or folded in DEFAULT_SCHEMAS.get(dialect, frozenset()) or dialect in _STRUCTS


def _is_in_scope(
    column: exp.Column,
    qualifier: str,
    names: dict[int, set[str]],
    facts: StatementFacts,
    known: dict[int, KnownTable],
    dialect: Dialect,
) -> bool:
    outermost = column.args.get("db") if dialect in _STRUCTS else None
    wanted = {qualifier} | ({fold_of(outermost, dialect)} if outermost is not None else set())
    if column.args.get("catalog") is not None and dialect in _STRUCTS:
        wanted.add(fold_of(column.args["catalog"], dialect))
    parent: exp.Expr | None = column
    while parent is not None:
        if isinstance(parent, exp.Select | exp.Subquery | exp.Table | exp.Pivot):
            visible = names.get(id(parent))
            if visible is None:
                visible = names[id(parent)] = source_names(parent, dialect) | _struct_names(parent, known, dialect)
            if wanted & visible:
                return True
            if (
                isinstance(parent, exp.Pivot)
                and isinstance(parent.this, exp.Table)
                and parent.this.name.lower() in wanted
            ):
                return True
        elif isinstance(parent, exp.Lambda):
            if wanted & {fold_of(expression, dialect) for expression in parent.expressions}:
                return True
        elif isinstance(parent, exp.Pivot) and parent.parent is not None:
            pass
        parent = parent.parent
    return dialect in _STRUCTS and bool(wanted & facts.aliases)


def _struct_names(query: exp.Expr, known: dict[int, KnownTable], dialect: Dialect) -> set[str]:
    if dialect not in _STRUCTS:
        return set()
    return {
        name for source in sources_of(query) if (table := known.get(id(source))) is not None for name in table.columns
    }


def _unknown_qualifier(column: exp.Column, dialect: Dialect) -> Failure:
    parts = [column.args[name].name for name in ("catalog", "db", "table") if column.args.get(name)]
    qualifier = ".".join(parts)
    if (
        column.name.lower() in ("nextval", "currval")
        or functions.is_dangerous(parts[0])
        or len(parts) > 1
        or _is_system(parts[0].lower(), parts[0], dialect)
        or (dialect is Dialect.ORACLE and parts[0].lower().startswith(("utl_", "dbms_", "ctx", "htp", "owa", "sys")))
    ):
        return unsafe(Rule.QUALIFIER_UNKNOWN, "a call without brackets", f"{qualifier}.{column.name}")
    select = column.find_ancestor(exp.Select)
    scope = tuple(sorted(source_names(select, dialect)))[:8] if select is not None else ()
    identifier = column.args["table"]
    return refuse(
        FailureCode.MISSING_ALIAS,
        Rule.QUALIFIER_UNKNOWN,
        f"{qualifier} is no table or alias in scope",
        column.name,
        qualifier=qualifier[:200],
        candidates=scope,
        tables=scope,
        line=identifier.meta.get("line"),
        column=identifier.meta.get("col"),
    )


def _denied_by_name(
    facts: StatementFacts, known: dict[int, KnownTable], statement: Statement, inside: Container[int] = ()
) -> Failure | None:
    """Refuse a denied column wherever its name, a star or the whole row could bring it into the result.

    What stands inside of our own wrapping of a table is left out. Deliberately wider than need be: a column of the same name of another table in the statement is refused as well.
    """
    denied: dict[str, str] = {}
    for link in known.values():
        for name in link.denied:
            denied[name] = link.table.name
    if not denied:
        return None
    tables = {link.table.name.lower() for link in known.values() if link.denied}
    aliases = {
        use.node.alias.lower()
        for use in facts.tables
        if use.node.alias and known.get(id(use.node)) and known[id(use.node)].denied
    }
    for use in facts.tables:
        alias = use.node.args.get("alias")
        if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
            return _column_denied("a list of other names")
    for node in facts.nodes:
        if id(node) in inside:
            continue
        if isinstance(node, exp.Identifier) and node.name.lower() in denied and not _is_left_out(node):
            return _column_denied(node.name)
        if isinstance(node, exp.Columns) or (
            isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count) and not _covers(node, denied)
        ):
            return _column_denied("*")
        if isinstance(node, exp.Column) and node.args.get("table") is None and node.name.lower() in tables | aliases:
            return _column_denied(node.name)
        if isinstance(node, exp.Join) and node.args.get("method") == "NATURAL":
            return _column_denied("natural join")
    # SUMMARIZE and PIVOT read every column of their table without naming one.
    if statement.form is Form.SUMMARIZE or isinstance(statement.tree, exp.Pivot):
        return _column_denied("*")
    return None


def _is_left_out(name: exp.Expr) -> bool:
    """Return whether the name stands in `* EXCEPT (name)`, where it is not read."""
    node = name.parent if isinstance(name.parent, exp.Column) else name
    return isinstance(node.parent, exp.Star) and node.arg_key == "except_"


def _covers(star: exp.Star, denied: dict[str, str]) -> bool:
    excluded = {path.name.lower() for path in star.args.get("except_") or ()}
    return denied.keys() <= excluded


def _column_denied(name: str) -> Failure:
    return refuse(FailureCode.PERMISSION, Rule.COLUMN_DENIED, "a column that nobody may read", name)
