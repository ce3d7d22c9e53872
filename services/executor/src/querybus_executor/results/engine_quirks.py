"""What a database does silently and a reader should know: conversions, first rows, names chosen, division by zero.

Pure, decided from the statement and the catalog; what cannot be decided is not claimed. No warning names a table, a
column or a value. Engines that refuse these things say so themselves, MySQL and MariaDB say something of conversions and cut
recursion in their own warnings, and columns that are neither grouped nor aggregated are seen when names are resolved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.engines import ENGINES
from querybus.sql.names.meaning import table_meant
from querybus.sql.parse import Form, Statement

COMPARED_WARNING: Final = (
    "a text is compared with a number, which the database does not do as it is meant: rows may be missing or too many"
)
COUNTED_WARNING: Final = "a text is used as a number: what is no number counts as 0"
FIRST_ROW_WARNING: Final = "a sub-query in the place of one value may return several rows: the database takes the first"
CHOSEN_WARNING: Final = "a column without its table's name is in more than one table: the database chose one of them"
ZERO_WARNING: Final = "something is divided by what may be 0: the database gives {} there, and raises no error"

_EQUATIONS: Final = (exp.EQ, exp.NEQ)
_ORDERS: Final = (exp.GT, exp.GTE, exp.LT, exp.LTE)
_ARITHMETIC: Final = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Sum, exp.Avg)
_TEXTS: Final = (exp.TimeToStr, exp.Substring, exp.Lower, exp.Upper, exp.Trim, exp.Concat, exp.DPipe)
_NUMBERS: Final = (exp.Count, exp.Sum, exp.Avg, exp.Length, exp.Round, exp.Abs, exp.Add, exp.Sub, exp.Mul, exp.Div)
_INFINITE: Final = frozenset({"Infinity", "-Infinity", "NaN", "inf", "-inf", "nan"})


_TEXT_TYPE: Final = re.compile(r"char|clob|text", re.IGNORECASE)


class _Sort(Enum):
    """What SQLite makes of one side of a comparison: a column converts the other side to its type, a value does not."""

    TEXT_COLUMN = 1
    TEXT_VALUE = 2
    WORDS = 3
    """A literal text that is no number."""
    DIGITS = 4
    NUMBER_COLUMN = 5
    NUMBER_VALUE = 6


_NUMERIC: Final = frozenset({_Sort.NUMBER_COLUMN, _Sort.NUMBER_VALUE})
_NO_NUMBER: Final = frozenset({_Sort.TEXT_COLUMN, _Sort.TEXT_VALUE, _Sort.WORDS})


@dataclass(frozen=True, slots=True)
class Silent:
    """What follows from a statement; `divides`: what its engine gives for a division by zero, if it may make one."""

    warnings: tuple[str, ...] = ()
    divides: str | None = None

    def of(self, rows: Iterable[Sequence[object]]) -> tuple[str, ...]:
        """Return the warnings of an answer with these first rows: one about zero only where its trace is to be seen."""
        if self.divides is None:
            return self.warnings
        is_empty = self.divides == "nothing"
        seen = any(cell is None if is_empty else str(cell) in _INFINITE for row in rows for cell in row)
        return (*self.warnings, ZERO_WARNING.format(self.divides)) if seen else self.warnings


def silent(statement: Statement, dialect: Dialect, catalog: Catalog) -> Silent:
    """Return what the engine would do silently with this statement, which the guard has read."""
    engine = ENGINES[dialect]
    if engine.by_zero == "error" or statement.form is not Form.QUERY or statement.tree is None:
        return Silent()
    names = _Names(statement.tree, catalog)
    result: dict[str, None] = {}
    divides: str | None = None
    for node in statement.tree.walk():
        if engine.has_column_affinity:
            result |= dict.fromkeys(_converted(node, names))
        if engine.takes_first_row and isinstance(node, exp.Subquery) and _takes_first(node, names):
            result[FIRST_ROW_WARNING] = None
        if engine.chooses_ambiguous_columns and isinstance(node, exp.Column) and names.is_ambiguous(node):
            result[CHOSEN_WARNING] = None
        if isinstance(node, exp.Div | exp.IntDiv | exp.Mod) and _may_be_zero(node.expression):
            divides = engine.by_zero
    return Silent(tuple(result), divides)


def _converted(node: exp.Expr, names: _Names) -> Iterator[str]:
    others: list[exp.Expr] = []
    if isinstance(node, (*_EQUATIONS, *_ORDERS)):
        others = [node.expression]
    elif isinstance(node, exp.Between):
        others = [node.args["low"], node.args["high"]]
    elif isinstance(node, exp.In):
        others = node.expressions
    elif isinstance(node, _ARITHMETIC) and (names.is_text(node.this) or names.is_text(node.args.get("expression"))):
        yield COUNTED_WARNING
    is_ordered = isinstance(node, (*_ORDERS, exp.Between))
    if any(_differ(names.sort(node.this), names.sort(item), is_ordered=is_ordered) for item in others):
        yield COMPARED_WARNING


def _differ(one: _Sort | None, other: _Sort | None, *, is_ordered: bool) -> bool:
    if one in _NUMERIC:
        one, other = other, one
    if other is _Sort.NUMBER_COLUMN:
        return one is _Sort.WORDS
    if other is _Sort.NUMBER_VALUE:
        # A column of texts makes a text of the number: equal where it is written the same, ordered by letters.
        return one in (_Sort.TEXT_VALUE, _Sort.WORDS, _Sort.DIGITS) or (one is _Sort.TEXT_COLUMN and is_ordered)
    return False


def _may_be_zero(divisor: exp.Expr | None) -> bool:
    while isinstance(divisor, exp.Paren | exp.Cast):
        divisor = divisor.this
    if isinstance(divisor, exp.Literal):
        return not divisor.is_string and float(divisor.name) == 0
    return not isinstance(divisor, exp.Nullif)


def _takes_first(node: exp.Subquery, names: _Names) -> bool:
    """Return whether this stands for one value and nothing makes sure that it is one."""
    holder, select = node.parent, node.this
    if isinstance(holder, exp.From | exp.Join | exp.In | exp.Exists | exp.Subquery | exp.CTE | exp.SetOperation):
        return False
    if not isinstance(select, exp.Select):
        return isinstance(select, exp.SetOperation)
    limit = select.args.get("limit")
    if limit is not None and isinstance(limit.args.get("expression"), exp.Literal) and limit.expression.name == "1":
        return False
    if select.args.get("group") is None and any(
        expression.find(exp.AggFunc) is not None and expression.find(exp.Window) is None
        for expression in select.expressions
    ):
        return False
    return not names.is_one_row(select)


class _Names:
    """Which catalog table and kind a column of the statement has, as far as that is plain."""

    def __init__(self, tree: exp.Expr, catalog: Catalog) -> None:
        ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        self._sources: dict[int, dict[str, Table | None]] = {}
        self._using: dict[int, set[str]] = {}
        for select in tree.find_all(exp.Select):
            joins: list[exp.Join] = select.args.get("joins") or []
            source = select.args.get("from_")
            sources: dict[str, Table | None] = {}
            for node in [*([source.this] if source is not None else []), *(join.this for join in joins)]:
                is_table = isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier)
                is_cte = is_table and node.name.lower() in ctes and not node.args.get("db")
                table = table_meant(node, catalog) if isinstance(node, exp.Table) and is_table else None
                sources[node.alias_or_name.lower()] = None if is_cte else table
            self._sources[id(select)] = sources
            self._using[id(select)] = {
                column.name.lower() for join in joins for column in join.args.get("using") or []
            } | ({"*"} if any(join.args.get("method") for join in joins) else set())

    def sort(self, node: exp.Expr | None) -> _Sort | None:
        """Return what one side of a comparison is; None where that is not plain."""
        match node:
            case exp.Paren() | exp.Neg():
                return self.sort(node.this)
            case exp.Literal():
                return _of_literal(node)
            case exp.Cast():
                return _of_type(node.to)
            case exp.Column():
                return _of_column(self._column(node))
            case exp.Anonymous():
                return _Sort.TEXT_VALUE if node.name.lower() == "strftime" else None
            case _ if isinstance(node, _TEXTS):
                return _Sort.TEXT_VALUE
            case _ if isinstance(node, _NUMBERS):
                return _Sort.NUMBER_VALUE
            case _:
                return None

    def is_text(self, node: exp.Expr | None) -> bool:
        """Return whether an expression is a text that may be no number."""
        if isinstance(node, exp.Column):
            column = self._column(node)
            return column is not None and column.kind is ColumnKind.TEXT
        return self.sort(node) in _NO_NUMBER

    def is_ambiguous(self, column: exp.Column) -> bool:
        """Return whether an unqualified name belongs to more than one table of its own SELECT."""
        select = column.find_ancestor(exp.Select)
        if column.table or select is None or self._using[id(select)] & {"*", column.name.lower()}:
            return False
        sources = self._sources[id(select)].values()
        return sum(1 for source in sources if source is not None and source.column(column.name)) > 1

    def is_one_row(self, select: exp.Select) -> bool:
        """Return whether equations with a whole key of its one table leave at most one row."""
        tables = list(self._sources[id(select)].values())
        where = select.args.get("where")
        if not tables:
            return True
        if len(tables) != 1 or tables[0] is None or where is None:
            return False
        fixed: set[str] = set()
        for node in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
            if isinstance(node, exp.EQ):
                fixed |= {side.name.lower() for side in (node.this, node.expression) if isinstance(side, exp.Column)}
        keys = [key for key in (tables[0].primary_key, *tables[0].unique_keys) if key]
        return any({column.lower() for column in key} <= fixed for key in keys)

    def _column(self, column: exp.Column) -> Column | None:
        select = column.find_ancestor(exp.Select)
        while select is not None:
            sources = self._sources[id(select)]
            if column.table:
                if column.table.lower() in sources:
                    return _column_in(sources[column.table.lower()], column.name)
            elif sources:
                owners = [source for source in sources.values() if source is None or source.column(column.name)]
                if owners:
                    return _column_in(owners[0], column.name) if len(owners) == 1 else None
            select = select.find_ancestor(exp.Select)
        return None


def _column_in(table: Table | None, name: str) -> Column | None:
    return table.column(name) if table is not None else None


def _of_column(column: Column | None) -> _Sort | None:
    if column is None:
        return None
    if column.kind is ColumnKind.TEXT:
        # What was declared decides how it compares; declared as a number it converts the other side to one.
        return _Sort.TEXT_COLUMN if _TEXT_TYPE.search(column.type) else None
    return _Sort.NUMBER_COLUMN if column.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER) else None


def _of_literal(literal: exp.Literal) -> _Sort:
    if not literal.is_string:
        return _Sort.NUMBER_VALUE
    try:
        float(literal.name)
    except ValueError:
        return _Sort.WORDS
    return _Sort.DIGITS


def _of_type(to: exp.DataType) -> _Sort | None:
    if to.this in exp.DataType.TEXT_TYPES:
        return _Sort.TEXT_COLUMN
    return _Sort.NUMBER_COLUMN if to.this in exp.DataType.NUMERIC_TYPES else None
