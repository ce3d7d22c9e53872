"""Statements that change something: one table, one statement, every expression under the same guard as a query's.

A change is read as two parts. Its shape is an allow-list of plain INSERT, UPDATE and DELETE, and under full access of
plain CREATE, ALTER, DROP and TRUNCATE. What it reads (conditions, new values, a SELECT) is made into a query over the
same table and judged as one. Row filters hold for what is changed as well: the condition of an UPDATE or DELETE is
narrowed, and what a filter stands for cannot be set. Nothing here allows a change to run: that takes a confirmation.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final, cast

from sqlglot import ErrorLevel, exp

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import KINDS, Access, ConnectionPolicy, Reader, StatementKind
from querybus.engines import ENGINES
from querybus.sql.check import check
from querybus.sql.facts import StatementFacts, TableUse, facts_of
from querybus.sql.guard.change_shapes import Parts, parts_of
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
    parts = parts_of(tree, dialect, index, policy)
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
    canonicalise(facts_of(narrowed, dialect), index)
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
    parts = parts_of(tree, dialect, index, policy)
    if isinstance(parts, Failure):
        return parts
    read = _read(tree, parts, dialect, index, policy)
    if isinstance(read, Failure):
        return read
    loose = uncanonical(read.facts, index)
    if loose is not None:
        return loose
    own_filter = _own_filter(tree, parts, dialect, index, reader)
    if isinstance(own_filter, Failure):
        return own_filter
    # What a filter looks up is read for everybody, so that it stands without a filter of its own.
    others = read.sources.without(read.targets | own_filter)
    inside = unnarrowed(read.facts, others, index, reader, Form.QUERY)
    if isinstance(inside, Failure):
        return inside
    for use in read.facts.tables:
        result = others.of(use.node)
        if result is not None and id(use.node) not in inside and not (result.is_allowed and result.is_open):
            return refuse(FailureCode.PERMISSION, Rule.TABLE_DENIED, "a table that is not allowed", use.written)
    return None


def _own_filter(
    tree: exp.Expr, parts: Parts, dialect: Dialect, index: NameIndex, reader: Reader
) -> frozenset[int] | Failure:
    """Return the ids of the nodes of the row filter that narrows a change; none where its table has none."""
    if parts.known is None or not parts.known.filters:
        return frozenset()
    try:
        expected = _condition(parts.known, dialect, reader)
        where = tree.args.get("where")
        condition = where.this if isinstance(where, exp.Where) else None
        last = condition.expression if isinstance(condition, exp.And) else condition
        if last is not None and _text(last, dialect) == _round_trip(expected, dialect, index):
            return frozenset(id(node) for node in last.walk())
    except (BadFilter, *PARSER_ERRORS):
        pass
    return refuse(FailureCode.PERMISSION, Rule.ROW_FILTER, "a change that is not narrowed to its reader's rows")


@dataclass(frozen=True, slots=True)
class _Reading:
    """The tables of a whole change; `targets` are the ids of the nodes of what it changes."""

    facts: StatementFacts
    sources: Sources
    targets: frozenset[int]


def count_of(counted: str, dialect: Dialect) -> str:
    """Return the draft that counts the rows of `CheckedWrite.counted`."""
    alias = " AS changed" if ENGINES[dialect].aliases_derived_tables else ""
    return f"SELECT COUNT(*) FROM ({counted}){alias}"  # noqa: S608 - a draft; it is checked like any other


def _read(
    tree: exp.Expr, parts: Parts, dialect: Dialect, index: NameIndex, policy: ConnectionPolicy
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
    tree: exp.Expr, parts: Parts, dialect: Dialect, index: NameIndex, policy: ConnectionPolicy, reader: Reader
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
    canonicalise(facts_of(holder, dialect), index)
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
