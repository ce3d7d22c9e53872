"""What statements about hidden rows are made of: tables, joins, and values that hidden rows alone hold.

The hidden rows are found by the owner's own filters, without and with a negation. Nothing is written anywhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, cast

from sqlglot import ErrorLevel, exp

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table, fold_known
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.sql.facts import facts_of
from querybus.sql.names.canonical import canonicalise, in_engine_case
from querybus.sql.names.index import KnownTable, NameIndex, index_of
from querybus.sql.parse import GRAMMARS
from querybus.sql.row_security import BadFilter, filter_of
from querybus_executor.ports import Database, Purpose

TABLES_MAX: Final = 12
"""Of those that statements are made of."""
TABLES_READ_MAX: Final = 200
VALUES_MAX: Final = 20
MARK_LENGTH_MIN: Final = 6
"""Shorter values occur by chance."""
SECONDS_MAX: Final = 60.0

_NUMBERS: Final = (ColumnKind.INTEGER, ColumnKind.NUMBER)
_TIMES: Final = (ColumnKind.DATE, ColumnKind.DATETIME)


class UnreadableError(Exception):
    """A table or a filter that cannot be examined; the text says why."""


@dataclass(frozen=True, slots=True)
class Guess:
    """Two conditions over the alias `a` that no row of the reader meets: one that hidden rows meet, and one that none does."""

    hidden: str
    nobody: str


@dataclass(frozen=True, slots=True)
class ExaminedTable:
    """A table as statements name it. Columns are quoted; denied and masked ones are not among them.

    `marks` are texts of hidden rows, or of columns that nobody sees, which the reader finds nowhere. `also_shown_by` are
    columns, `table.column`, in which the reader does find some: a view that is open, or a coincidence.
    """

    name: str
    bare_name: str
    key: str
    columns: tuple[str, ...]
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    times: tuple[str, ...]
    shows_all: bool
    guesses: tuple[Guess, ...] = ()
    marks: frozenset[str] = frozenset()
    also_shown_by: tuple[str, ...] = ()
    rows: int = 0
    hidden_rows: int = 0


@dataclass(frozen=True, slots=True)
class Join:
    """Two tables and the condition that joins them; the first is called `a`, the second `b`."""

    table: ExaminedTable
    other: ExaminedTable
    condition: str


class Examiner:
    """Reads as the owner what a reader may not see, by statements of its own."""

    def __init__(self, database: Database, catalog: Catalog, policy: ConnectionPolicy, reader: Reader) -> None:
        self._database = database
        self._catalog = catalog
        self._dialect = catalog.dialect
        self._index: NameIndex = index_of(catalog, policy.of(reader.tenant))
        self._reader = reader

    async def tables(self, on_table: Callable[[str], None] = lambda _: None) -> list[ExaminedTable]:
        """Return the protected tables of a policy, and a few others to join them with; raises UnreadableError."""
        known = [item for item in map(self._known, self._catalog.tables) if item is not None and item.is_allowed]
        known = [item for item in known if item.is_open][:TABLES_READ_MAX]
        guarded = [item for item in known if item.is_guarded][:TABLES_MAX]
        others = [item for item in known if not item.is_guarded][: max(2, TABLES_MAX - len(guarded)) // 2]
        result: list[ExaminedTable] = []
        for item in (*guarded, *others):
            on_table(item.table.name)
            table = self._plain(item)
            if table is not None:
                result.append(await self._with_guesses(table, item))
        for place, table in enumerate(result):
            seen = await self._seen(table.marks, known)
            marks = table.marks.difference(*seen.values())
            result[place] = replace(table, marks=marks, also_shown_by=tuple(sorted(seen)))
        return result

    def joins(self, tables: Sequence[ExaminedTable]) -> list[Join]:
        """Return each pair of tables with a condition that joins them: a foreign key, else their keys."""
        return [Join(table, other, self._condition(table, other)) for table, other in itertools.permutations(tables, 2)]

    def _condition(self, table: ExaminedTable, other: ExaminedTable) -> str:
        for one, two, left, right in ((table, other, "a", "b"), (other, table, "b", "a")):
            for key in self._table(one).foreign_keys:
                if key.referred_table.lower() == two.bare_name.lower() and len(key.columns) == 1:
                    names = (self._quoted(key.columns[0]), self._quoted(key.referred_columns[0]))
                    if names[0] in one.columns and names[1] in two.columns:
                        return f"{left}.{names[0]} = {right}.{names[1]}"
        same = [name for name in table.numbers if name in other.numbers and name != table.key]
        return f"a.{same[0]} = b.{same[0]}" if same else f"a.{table.key} = b.{other.key}"

    def _table(self, table: ExaminedTable) -> Table:
        return next(item for item in self._catalog.tables if item.name == table.bare_name)

    def _known(self, table: Table) -> KnownTable | None:
        schema = table.schema_name
        return self._index.find(
            fold_known(table.name, self._dialect), None if schema is None else fold_known(schema, self._dialect)
        )

    def _quoted(self, name: str) -> str:
        return exp.to_identifier(in_engine_case(name, self._dialect), quoted=True).sql(self._dialect.value)

    def _plain(self, known: KnownTable) -> ExaminedTable | None:
        hidden = known.denied | known.masked
        columns = [column for column in known.table.columns if column.name.lower() not in hidden]
        named = {column.name: self._quoted(column.name) for column in columns}
        key = next((name for name in known.table.primary_key if name in named), None)
        key = key or next((column.name for column in columns if column.kind is ColumnKind.INTEGER), None)
        if key is None:
            return None

        def of(kinds: Iterable[ColumnKind]) -> tuple[str, ...]:
            return tuple(named[column.name] for column in columns if column.kind in tuple(kinds))

        return ExaminedTable(
            name=_sql(self._source(known), self._dialect),
            bare_name=known.table.name,
            key=named[key],
            columns=tuple(named.values()),
            numbers=of(_NUMBERS),
            texts=of([ColumnKind.TEXT]),
            times=of(_TIMES),
            shows_all=not known.denied,
        )

    def _source(self, known: KnownTable) -> exp.Table:
        schema = self._index.schema_of(known)
        return exp.Table(
            this=exp.to_identifier(in_engine_case(known.table.name, self._dialect), quoted=True),
            db=None if schema is None else exp.to_identifier(in_engine_case(schema, self._dialect), quoted=True),
        )

    async def _with_guesses(self, table: ExaminedTable, known: KnownTable) -> ExaminedTable:
        ((visible,),) = await self._rows(known, ["COUNT(*)"], hidden=False)
        ((hidden,),) = await self._rows(known, ["COUNT(*)"], hidden=True)
        guesses: list[Guess] = []
        marks: set[str] = set()
        for column in known.table.columns:
            is_shown = column.name.lower() not in known.denied | known.masked
            if hidden and is_shown and column.kind in _NUMBERS:
                guesses += await self._of_number(known, column)
            elif column.kind is ColumnKind.TEXT and (hidden or not is_shown):
                values = await self._texts_of_hidden(known, column, everywhere=not is_shown)
                marks.update(value for value in values if len(value) >= MARK_LENGTH_MIN)
                if is_shown:
                    guesses += [guess for value in values[:2] for guess in self._of_text(column, value)]
        return replace(
            table, guesses=tuple(guesses), marks=frozenset(marks), rows=int(visible), hidden_rows=int(hidden)
        )

    async def _of_number(self, known: KnownTable, column: Column) -> list[Guess]:
        name = self._quoted(column.name)
        extremes = [f"MAX({name})", f"MIN({name})"]
        ((seen_most, seen_least),) = await self._rows(known, extremes, hidden=False)
        ((most, least),) = await self._rows(known, extremes, hidden=True)
        if most is None or seen_most is None:
            return []
        result: list[Guess] = []
        high, low = max(_number(most), _number(seen_most)), min(_number(least), _number(seen_least))
        if _number(most) > _number(seen_most):
            result.append(Guess(f"a.{name} > {_written(seen_most)}", f"a.{name} > {_written(high + 1)}"))
            result.append(Guess(f"a.{name} = {_written(most)}", f"a.{name} = {_written(high + 1)}"))
        if _number(least) < _number(seen_least):
            result.append(Guess(f"a.{name} < {_written(seen_least)}", f"a.{name} < {_written(low - 1)}"))
        values = [value for (value,) in await self._distinct(known, column, hidden=True)]
        seen = {value for (value,) in await self._distinct(known, column, hidden=False, among=values)}
        alone = next((value for value in values if value not in seen), None)
        if alone is not None:
            result.append(Guess(f"a.{name} IN ({_written(alone)})", f"a.{name} IN ({_written(high + 1)})"))
        return result

    def _of_text(self, column: Column, value: str) -> list[Guess]:
        name = f"a.{self._quoted(column.name)}"
        nobody = f"{value[:8]}~qx"
        start = value[: max(1, len(value) - 1)]
        result = [Guess(f"{name} = {self._text(value)}", f"{name} = {self._text(nobody)}")]
        if not set("%_\\") & set(start):
            # LIKE reads no case on some engines: the start is the whole value, so that no row of the reader fits.
            result.append(Guess(f"{name} LIKE {self._text(value)}", f"{name} LIKE {self._text(nobody + '%')}"))
        return result

    def _text(self, value: str) -> str:
        return exp.Literal.string(value).sql(self._dialect.value)

    async def _texts_of_hidden(self, known: KnownTable, column: Column, *, everywhere: bool) -> list[str]:
        """Return texts that hidden rows alone hold; of a column that nobody sees, `everywhere`, any of its texts."""
        values = [str(value) for (value,) in await self._distinct(known, column, hidden=True) if value]
        if everywhere:
            return values + [str(value) for (value,) in await self._distinct(known, column, hidden=False) if value]
        seen = {str(value).lower() for (value,) in await self._distinct(known, column, hidden=False, among=values)}
        return [value for value in values if value.lower() not in seen]

    async def _seen(self, marks: frozenset[str], known: Sequence[KnownTable]) -> dict[str, set[str]]:
        """Return which of those texts the reader sees all the same, by the column that shows them."""
        result: dict[str, set[str]] = {}
        for item in known if marks else ():
            for column in item.table.columns:
                if column.kind is not ColumnKind.TEXT or column.name.lower() in item.denied | item.masked:
                    continue
                rows = await self._distinct(item, column, hidden=False, among=sorted(marks))
                if rows:
                    result[f"{item.table.name}.{column.name}"] = {str(value) for (value,) in rows}
        return result

    async def _distinct(
        self, known: KnownTable, column: Column, *, hidden: bool, among: Sequence[Any] | None = None
    ) -> Sequence[Sequence[Any]]:
        """Return some values of a column: of the hidden rows or of the reader's, and only those among the given."""
        name = self._quoted(column.name)
        if among is not None and not among:
            return []
        kept = f"{name} IS NOT NULL"
        if among is not None:
            literals = [self._text(value) if isinstance(value, str) else _written(value) for value in among]
            kept = f"{name} IN ({', '.join(literals)})"
        most = VALUES_MAX if among is None else len(among)
        return await self._rows(known, [f"DISTINCT {name}"], hidden=hidden, kept=kept, rows_max=most)

    async def _rows(
        self, known: KnownTable, shown: Sequence[str], *, hidden: bool, kept: str = "", rows_max: int = 1
    ) -> Sequence[Sequence[Any]]:
        try:
            condition = filter_of(known, self._dialect, self._reader)
        except BadFilter as error:
            raise UnreadableError(f"the row filter of {known.table.name}: {error}") from error
        if condition is None and hidden:
            return [[0] * len(shown)] if shown == ["COUNT(*)"] else [] if kept else [[None] * len(shown)]
        text = f"SELECT {', '.join(shown)} FROM {_sql(self._source(known), self._dialect)}"  # noqa: S608 - quoted names
        tree = cast("exp.Select", GRAMMARS[self._dialect].parse(text)[0])
        conditions: list[exp.Expr] = [condition] if condition is not None else []
        if hidden:
            # A filter that is NULL hides its row as well.
            hides = exp.If(this=condition, true=exp.Literal.number(0))
            case = exp.Case(ifs=[hides], default=exp.Literal.number(1))
            conditions = [exp.EQ(this=case, expression=exp.Literal.number(1))]
        if kept:
            wanted = cast("Any", GRAMMARS[self._dialect].parse(f"{text} WHERE {kept}")[0])
            conditions.append(exp.Paren(this=wanted.args["where"].this))
        if conditions:
            both = conditions[0] if len(conditions) == 1 else exp.And(this=conditions[0], expression=conditions[1])
            tree.set("where", exp.Where(this=both))
        canonicalise(facts_of(tree, self._dialect), self._index)
        sql = _sql(tree, self._dialect)
        found = await self._database.run(sql, rows_max=rows_max, seconds_max=SECONDS_MAX, purpose=Purpose.EXECUTE)
        if isinstance(found, Failure):
            raise UnreadableError(f"{known.table.name}: {found.detail}")
        return found.rows


def _sql(tree: exp.Expr, dialect: Dialect) -> str:
    return GRAMMARS[dialect].generate(tree, comments=False, unsupported_level=ErrorLevel.IGNORE)


def _number(value: Any) -> Decimal:
    return Decimal(str(value))


def _written(value: Any) -> str:
    return format(_number(value), "f")
