"""Names: does every column exist, and is it clear which one is meant?

The parser's own resolution runs on the re-read rendering, in which every table stands under a key of the catalog's
index, so that schemas and equal names in two schemas cannot confuse it. Its complaints become typed facts. It is not the authority:
where it complains about a column of known tables, the engine's dry run may overrule it (`check.Checked.doubt`). What
security needs of names is the guard's and is not decided here. Columns of ClickHouse are judged only by whether the
name occurs anywhere, because its aliases are visible in places that the parser does not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, cast

from sqlglot import exp
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.qualify import qualify

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.engines import ENGINES
from querybus.engines.record import DoubleQuoted
from querybus.sql.facts import StatementFacts, facts_of, fold_of, source_names, sources_of
from querybus.sql.guard.allowed.functions import LISTED, is_dangerous
from querybus.sql.guard.decide import Guarded
from querybus.sql.guard.denied_columns import reads_all_columns
from querybus.sql.guard.rules import Rule, refuse
from querybus.sql.names.grouping import Resolved, judge_aggregates
from querybus.sql.names.index import QUALIFYING, KnownTable
from querybus.sql.names.resolvable import spell_for_resolution
from querybus.sql.parse import PARSER_ERRORS, Form

EXPANDED_MAX: Final = 10_000
"""Nodes or columns that resolution may make of one statement."""

UNCHECKED_WARNING: Final = "columns were not checked before the database was asked"


def resolve(rendered: Guarded, dialect: Dialect, draft: Callable[[], Guarded | Failure]) -> Resolved | Failure:
    """Return the doubt about the names of a rendered statement, or a failure that no engine can overrule.

    The rendered statement's tree is used up. `draft` reads the draft once more, for the facts that repair needs.
    """
    tree = rendered.statement.tree
    if rendered.statement.form is Form.DESCRIBE or not isinstance(tree, exp.Query):
        return Resolved()
    _move_scalars(rendered, dialect)
    swollen = _too_large(rendered.facts, rendered, dialect)
    if swollen is not None:
        return swollen
    plain = plainly_named(tree, rendered, dialect)
    if plain is not None:
        return judge_aggregates([plain], rendered, dialect)
    _key_tables(rendered, dialect)
    has_query = [spell_for_resolution(select, dialect) for select in rendered.facts.selects]
    try:
        qualified = qualify(
            tree,
            dialect=QUALIFYING[dialect],
            schema=rendered.index.schema,
            quote_identifiers=False,
            identify=False,
            expand_stars=any(has_query) or (rendered.facts.has_star and len(rendered.facts.selects) > 1),
        )
    except OptimizeError as error:
        read = draft()
        return read if isinstance(read, Failure) else _doubt(str(error), read, dialect)
    except PARSER_ERRORS:
        return Resolved(warnings=(UNCHECKED_WARNING,))
    return judge_aggregates(list(qualified.find_all(exp.Select)), rendered, dialect)


def _move_scalars(guarded: Guarded, dialect: Dialect) -> None:
    """Take ClickHouse's scalars (`WITH 1 AS x`) out of WITH, so that the names in and beside them are resolved.

    What a scalar stands for becomes one more column of the query that has it; where it is used, nothing is left.
    """
    scalars = [cte for cte in guarded.facts.ctes if cte.args.get("scalar")]
    if not scalars:
        return
    names = {fold_of(scalar.args["alias"].this, dialect) for scalar in scalars}
    for column in guarded.facts.columns:
        if column.args.get("table") is None and fold_of(column.this, dialect) in names:
            column.replace(exp.Null())
    for cte in scalars:
        clause = cast("exp.With", cte.parent)
        owner = clause.parent
        if isinstance(owner, exp.Select) and not isinstance(cte.this, exp.Lambda):
            owner.append("expressions", cte.this)
        cte.pop()
        if not clause.expressions:
            clause.pop()
    facts = facts_of(cast("exp.Expr", guarded.statement.tree), dialect)
    guarded.facts.nodes[:], guarded.facts.columns[:] = facts.nodes, facts.columns
    guarded.facts.tables[:], guarded.facts.ctes[:], guarded.facts.selects[:] = facts.tables, facts.ctes, facts.selects


def plainly_named(tree: exp.Query, guarded: Guarded, dialect: Dialect) -> exp.Select | None:
    """Return the statement with every column under its table if that needs no thought, else None and nothing changed.

    It needs none for one SELECT over known tables, each column of which is in one of them, or is an alias to sort by.
    Most statements are of that kind, and the parser's own resolution is a third of what their check costs.
    """
    facts = guarded.facts
    if ENGINES[dialect].aliases_everywhere or len(facts.selects) != 1 or not isinstance(tree, exp.Select):
        return None
    if len(guarded.sources) != len(facts.tables) or facts.has_any(*_NOT_PLAIN):
        return None
    if any(join.args.get("using") or join.args.get("method") for join in tree.args.get("joins") or ()):
        return None
    sources = _plain_sources(guarded, dialect)
    group = tree.args.get("group")
    if sources is None or (isinstance(group, exp.Group) and not _groups_by_columns(group, facts, dialect)):
        return None
    owners: list[tuple[exp.Column, str]] = []
    for column in facts.columns:
        name = fold_of(column.this, dialect)
        if name in facts.aliases and isinstance(column.parent, exp.Ordered) and column.args.get("table") is None:
            if any(name in known.columns for known in sources.values()):
                return None
            continue
        owner = _plain_owner(column, name, facts, sources, dialect)
        if owner is None:
            return None
        owners.append((column, owner))
    for column, owner in owners:
        column.set("this", exp.Identifier(this=fold_of(column.this, dialect)))
        column.set("table", exp.Identifier(this=owner))
    for use, name in zip(facts.tables, sources, strict=True):
        use.node.set("alias", exp.TableAlias(this=exp.Identifier(this=name)))
        use.node.set("this", exp.Identifier(this=sources[name].key))
    return tree


_NOT_PLAIN: Final = (
    exp.Subquery,
    exp.With,
    exp.SetOperation,
    exp.Lateral,
    exp.Unnest,
    exp.UDTF,
    exp.Pivot,
    exp.Dot,
    exp.Lambda,
    exp.Pseudocolumn,
    exp.Aliases,
    exp.Qualify,
    exp.Connect,
)


def _plain_sources(guarded: Guarded, dialect: Dialect) -> dict[str, KnownTable] | None:
    """Return the known tables by the names under which a column may stand, or None if one name stands for two."""
    result: dict[str, KnownTable] = {}
    for use in guarded.facts.tables:
        known = guarded.sources.of(use.node)
        alias = use.node.args.get("alias")
        if known is None or (isinstance(alias, exp.TableAlias) and alias.args.get("columns")):
            return None
        name = fold_of(alias.this, dialect) if isinstance(alias, exp.TableAlias) and alias.this else use.name
        if name in result:
            return None
        result[name] = known
    return result


def _groups_by_columns(group: exp.Group, facts: StatementFacts, dialect: Dialect) -> bool:
    """Return whether nothing but columns of tables is grouped by: no position, no alias, no set of sets."""
    if any(value for name, value in group.args.items() if name != "expressions"):
        return False
    return all(
        isinstance(expression, exp.Column)
        and (expression.args.get("table") or fold_of(expression.this, dialect) not in facts.aliases)
        for expression in group.expressions
    )


def _plain_owner(
    column: exp.Column, name: str, facts: StatementFacts, sources: dict[str, KnownTable], dialect: Dialect
) -> str | None:
    """Return the name of the one source that has the column, or None if that is not plain."""
    if column.args.get("db") is not None or not isinstance(column.this, exp.Identifier):
        return None
    table = column.args.get("table")
    if table is not None:
        qualifier = fold_of(table, dialect)
        return qualifier if qualifier in sources and name in sources[qualifier].columns else None
    if name in facts.aliases:
        return None
    owning = [alias for alias, known in sources.items() if name in known.columns]
    return owning[0] if len(owning) == 1 else None


def _too_large(facts: StatementFacts, guarded: Guarded, dialect: Dialect) -> Failure | None:
    """Refuse what resolution would blow up: aliases made of aliases made of aliases, and stars of stars."""
    if facts.has_star and len(facts.selects) > 1:
        stars = sum(isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count) for node in facts.nodes)
        widest = max((len(table.columns) for table in guarded.sources), default=1)
        if stars > 1 and stars * widest > EXPANDED_MAX:
            return refuse(FailureCode.TOO_COMPLEX, Rule.REPETITION, "too many columns by `*`", "*")
    if not facts.aliases or not any(
        column.args.get("table") is None and fold_of(column.this, dialect) in facts.aliases for column in facts.columns
    ):
        return None
    total = 0
    for select in facts.selects:
        sizes: dict[str, int] = {}
        for part in (*select.expressions, *(value for name, value in select.args.items() if name in _SEES_ALIASES)):
            size = 0
            for node in part.walk() if isinstance(part, exp.Expr) else ():
                size += 1
                if isinstance(node, exp.Column) and node.args.get("table") is None:
                    size += sizes.get(fold_of(node.this, dialect), 0)
            total += size
            if isinstance(part, exp.Alias):
                sizes[fold_of(part.args.get("alias"), dialect)] = size
        if total > EXPANDED_MAX:
            return refuse(FailureCode.TOO_COMPLEX, Rule.REPETITION, "columns made of columns made of columns")
    return None


_SEES_ALIASES: Final = frozenset({"where", "group", "having", "qualify", "order"})


def quoted_texts(guarded: Guarded, dialect: Dialect) -> int:
    """Turn SQLite's double-quoted texts (`name = "Bob"`) into plain texts; return how many there were.

    SQLite reads a double-quoted word that is no column as a text. Only what is compared or chosen by CASE and unknown everywhere in the
    statement is turned.
    """
    if ENGINES[dialect].double_quoted is not DoubleQuoted.NAME_OR_TEXT:
        return 0
    quoted = [
        column
        for column in guarded.facts.columns
        if isinstance(column.this, exp.Identifier)
        and column.this.args.get("quoted")
        and column.args.get("table") is None
        and isinstance(column.parent, exp.Predicate | exp.In | exp.Tuple | exp.Between | exp.Like | exp.If | exp.Case)
    ]
    if not quoted:
        return 0
    names = _all_names(guarded, dialect)
    unknown = [node for node in quoted if fold_of(node.this, dialect) not in names]
    for path in unknown:
        path.replace(exp.Literal.string(path.name))
    return len(unknown)


def _all_names(guarded: Guarded, dialect: Dialect) -> set[str]:
    engine = ENGINES[dialect]
    names = set(guarded.facts.aliases) | engine.pseudo_columns
    for known in guarded.sources:
        names.update(known.columns)
    for node in guarded.facts.nodes:
        if isinstance(node, exp.TableAlias):
            names.update(fold_of(column, dialect) for column in node.args.get("columns") or ())
            names.add(fold_of(node.this, dialect))
        elif isinstance(node, exp.Lambda):
            names.update(fold_of(expression, dialect) for expression in node.expressions)
        elif isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
            names.update(engine.table_function_columns.get(str(node.this).lower(), ()))
        elif isinstance(node, exp.Identifier) and isinstance(node.parent, exp.Aliases):
            names.add(fold_of(node, dialect))
    return names


def _key_tables(guarded: Guarded, dialect: Dialect) -> None:
    """Put every known table under its key, and make known what the parser cannot know."""
    for use in guarded.facts.tables:
        known = guarded.sources.of(use.node)
        if known is not None:
            node = use.node
            if node.args.get("alias") is None:
                node.set("alias", exp.TableAlias(this=node.this))
            node.set("this", exp.Identifier(this=known.key, quoted=True))
            node.set("db", None)
            node.set("catalog", None)
    engine = ENGINES[dialect]
    if engine.recurses_without_word:
        for cte in guarded.facts.ctes:
            if isinstance(cte.parent, exp.With) and isinstance(cte.this, exp.SetOperation):
                cte.parent.set("recursive", True)
    pseudo = engine.pseudo_columns
    real = {name for table in guarded.sources for name in table.columns} if pseudo else set[str]()
    for column in guarded.facts.columns:
        if column.args.get("db") is not None and not engine.has_structs:
            # What stands before table and column can only be a schema.
            column.set("db", None)
            column.set("catalog", None)
        if pseudo and (folded := fold_of(column.this, dialect)) in pseudo and folded not in real:
            column.replace(exp.Pseudocolumn(**{name: value for name, value in column.args.items() if value}))
    for node in guarded.facts.nodes:
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous):
            _name_columns(node, node.this, dialect)


def _name_columns(node: exp.Table, function: exp.Anonymous, dialect: Dialect) -> None:
    columns = ENGINES[dialect].table_function_columns.get(str(function.this).lower())
    alias = node.args.get("alias")
    if columns and not (isinstance(alias, exp.TableAlias) and alias.args.get("columns")):
        name = alias.this if isinstance(alias, exp.TableAlias) else exp.to_identifier(str(function.this).lower())
        node.set("alias", exp.TableAlias(this=name, columns=[exp.to_identifier(column) for column in columns]))


_NAMED: Final = re.compile(r"(?:Column|Ambiguous column|Cannot resolve|Cannot automatically join:)\s*'?\"?([^'\"]+)")
_AFTER_COLON: Final = re.compile(r": (.+?)(?:\.|$|\n)")


def _doubt(message: str, guarded: Guarded, dialect: Dialect) -> Resolved | Failure:
    first = message.split("\n", 1)[0]
    if first.startswith("Alias already used"):
        return refuse(
            FailureCode.AMBIGUOUS_COLUMN, Rule.COLUMN_AMBIGUOUS, "two tables under one alias", first[20:].strip()
        )
    if first.startswith(("Cannot automatically join", "Joins ")):
        return refuse(FailureCode.JOIN_ERROR, Rule.COLUMN_UNKNOWN, first, first.rpartition(":")[2].strip() or None)
    result = _NAMED.search(first) or _AFTER_COLON.search(first)
    name = result.group(1) if result else ""
    column = _written(name, guarded.facts, dialect)
    engine = ENGINES[dialect]
    if engine.aliases_everywhere and name in _all_names(guarded, dialect):
        return Resolved(warnings=(UNCHECKED_WARNING,))
    if column is not None and engine.has_structs and _is_field(column, guarded, dialect):
        return Resolved(warnings=(UNCHECKED_WARNING,))
    failure = _unknown_column(column, name, guarded, dialect)
    if any(map(reads_all_columns, guarded.facts.nodes)) and not is_dangerous(name):
        return Resolved(doubt=failure)
    if engine.calls_by_attribute and name in _function_aliases(guarded, dialect):
        return Resolved(warnings=(UNCHECKED_WARNING,))
    is_call = engine.calls_by_attribute and failure.facts.qualifier is not None and name in LISTED[dialect]
    if engine.calls_without_brackets or not failure.facts.tables or is_dangerous(name) or is_call:
        # Without a table of the catalog in scope, and always where calls need no brackets, the engine may read the name as a call.
        return failure
    return Resolved(doubt=failure)


def _is_field(column: exp.Column, guarded: Guarded, dialect: Dialect) -> bool:
    """Return whether a column may be the field of a struct, which no catalog lists as a column.

    Its qualifier names no source, which the guard has looked at; or it stands bare beside an unfolded list of structs.
    """
    qualifier = column.args.get("table")
    if qualifier is None:
        has_list = any(isinstance(node, exp.Unnest) for node in guarded.facts.nodes)
        return has_list and fold_of(column.this, dialect) in guarded.sources.struct_fields()
    select = column.find_ancestor(exp.Select)
    while select is not None:
        lists = (source for source in sources_of(select) if isinstance(source, exp.Unnest | exp.Alias))
        elements = {fold_of(source.args["alias"], dialect) for source in lists if source.args.get("alias")}
        if fold_of(qualifier, dialect) in source_names(select, dialect) - elements:
            return False
        select = select.find_ancestor(exp.Select)
    return True


def _function_aliases(guarded: Guarded, dialect: Dialect) -> set[str]:
    """Return the names of functions in FROM: on PostgreSQL such a name is a column as well."""
    return {
        fold_of(alias.this, dialect)
        for node in guarded.facts.nodes
        if (
            isinstance(node, exp.Unnest)
            or (isinstance(node, exp.Lateral | exp.Table) and isinstance(node.this, exp.Func))
        )
        and isinstance(alias := node.args.get("alias"), exp.TableAlias)
        and not alias.args.get("columns")
    }


def _written(name: str, facts: StatementFacts, dialect: Dialect) -> exp.Column | None:
    same = [column for column in facts.columns if column.name == name] or [
        column for column in facts.columns if fold_of(column.this, dialect).lower() == name.lower()
    ]
    return same[0] if same else None


def _unknown_column(column: exp.Column | None, name: str, guarded: Guarded, dialect: Dialect) -> Failure:
    """Return the facts of a column that does not resolve: which tables are in scope, who owns it, what is close."""
    if column is None:
        tables = tuple({link.table.name: None for link in guarded.sources})[:8]
        return refuse(
            FailureCode.COLUMN_NOT_FOUND,
            Rule.COLUMN_UNKNOWN,
            f"column {name[:200]} does not exist",
            name,
            tables=tables,
        )
    # Several columns may share the name; the one that no table in its scope owns exactly once is meant.
    for path in guarded.facts.columns:
        if path.name == column.name and len(_owning(path, guarded, dialect)[0]) != 1:
            column = path
            break
    owning, scope = _owning(column, guarded, dialect)
    qualifier = column.args["table"].name if column.args.get("table") else None
    where = column.this.meta if isinstance(column.this, exp.Expr) else {}
    code, rule, detail = FailureCode.COLUMN_NOT_FOUND, Rule.COLUMN_UNKNOWN, f"column {column.name[:200]} does not exist"
    if len(owning) > 1 and qualifier is None:
        code, rule = FailureCode.AMBIGUOUS_COLUMN, Rule.COLUMN_AMBIGUOUS
        detail = f"column reference {column.name[:200]} is ambiguous"
    return refuse(
        code,
        rule,
        detail,
        column.name,
        qualifier=qualifier,
        candidates=guarded.index.similar_columns(column.name, scope),
        owners=guarded.index.owners(column.name),
        tables=tuple({link.table.name: None for link in (owning if len(owning) > 1 else scope)})[:8],
        line=where.get("line"),
        column=where.get("col"),
    )


def _owning(column: exp.Column, guarded: Guarded, dialect: Dialect) -> tuple[list[KnownTable], list[KnownTable]]:
    """Return the known tables in scope that own the column's name (nearest query first), and all in scope."""
    name = fold_of(column.this, dialect)
    qualifier = fold_of(column.args["table"], dialect) if column.args.get("table") else None
    scope: list[KnownTable] = []
    parent = column.find_ancestor(exp.Select)
    while parent is not None:
        here: list[KnownTable] = []
        for source in sources_of(parent):
            known = guarded.sources.of(source)
            if known is None:
                continue
            if qualifier is None or _goes_by(source, qualifier, dialect):
                here.append(known)
        owners = [table for table in here if name in table.columns]
        scope.extend(here)
        if owners:
            return owners, scope
        parent = parent.find_ancestor(exp.Select)
    return [], scope


def _goes_by(source: exp.Expr, qualifier: str, dialect: Dialect) -> bool:
    alias = source.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.this is not None:
        return fold_of(alias.this, dialect) == qualifier
    return fold_of(source.this, dialect) == qualifier
