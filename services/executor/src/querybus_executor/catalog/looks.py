"""Looks at the rows of many tables with few statements: numbers of rows, frequent values, ranges and shares of empty cells.

Where a statement over several columns fails, its halves are asked alone. Bounded in time, rows and text.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from querybus.core.catalog import COLUMN_VALUES_MAX, VALUE_LENGTH_MAX, Column
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Scalar
from querybus_executor.ports import Rows

STATEMENT_SECONDS_MAX: Final = 2.0
ROWS_SAMPLED_MAX: Final = 200_000
TABLES_AT_ONCE: Final = 50
COLUMNS_AT_ONCE: Final = 25
ROWS_TOGETHER_MAX: Final = 10_000
"""Columns of a table with more rows are each looked at by a statement of its own."""

Ask = Callable[[str, int, float], Awaitable[Rows | Failure]]
"""Runs a statement of our own: text, at most so many rows, within so many seconds."""


@dataclass(frozen=True, slots=True)
class CatalogQueries:
    """One engine's statements.

    `tables`: schema, table, 'table' or 'view', comment, estimate of rows. `columns`: schema, table, column, type,
    nullable, comment, in the engine's order. `keys`: schema, table, key, 'p' or 'u', column, in the key's order.
    `foreign`: schema, table, key, column, referred schema, table and column, in the key's order.
    `estimates_are_bounds`: no table has more rows than `tables` says, so they need not be counted.
    """

    tables: str
    columns: str
    keys: str
    foreign: str
    quote: str = '"'
    text: str = "TEXT"
    limit: str = "LIMIT {}"
    alias: str = " AS "
    values: bool = True
    estimates_are_bounds: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """A column whose values are wanted: its table's number and quoted place, and how many rows that has, if few."""

    table: int
    place: str
    column: Column
    rows: int | None

    @property
    def is_small(self) -> bool:
        return self.rows is not None and self.rows <= ROWS_TOGETHER_MAX


T = TypeVar("T")
Answer = Sequence[Sequence[Scalar]]
Found = Mapping[tuple[int, str], Answer]
"""By a table's number and a column's name: value, how often, of how many distinct ones; most frequent first."""


class Looks:
    """Looks at rows of tables until the time is up."""

    def __init__(self, ask: Ask, queries: CatalogQueries, until: float, timer: Callable[[], float]) -> None:
        self._ask = ask
        self._queries = queries
        self._until = until
        self._timer = timer

    async def rows(self, places: Sequence[str]) -> list[int | None]:
        """Return how many rows each table has, counted up to ROWS_SAMPLED_MAX + 1; None where that is not known."""
        numbers: list[int | None] = []
        for start in range(0, len(places), TABLES_AT_ONCE):
            answers = await self._together(places[start : start + TABLES_AT_ONCE], self._count, 1)
            numbers += [int(answer[0][0] or 0) if answer else None for answer in answers]
        return numbers

    async def values(self, wanted: Sequence[Wanted]) -> Found:
        """Return what was found of each column, small tables first."""
        result: dict[tuple[int, str], Answer] = {}
        small = [item for item in wanted if item.is_small]
        large = [item for item in wanted if not item.is_small]
        for columns, at_once in ((small, COLUMNS_AT_ONCE), (large, 1)):
            for start in range(0, len(columns), at_once):
                some = columns[start : start + at_once]
                answers = await self._together(some, self._frequent, COLUMN_VALUES_MAX)
                result |= {(link.table, link.column.name): answer for link, answer in zip(some, answers, strict=True)}
        return result

    async def profiles(self, wanted: Sequence[Wanted]) -> Found:
        """Return of each column: least, greatest, how many cells are filled, of how many rows; small tables first."""
        result: dict[tuple[int, str], Answer] = {}
        small = [item for item in wanted if item.is_small]
        large = [item for item in wanted if not item.is_small]
        for columns, at_once in ((small, COLUMNS_AT_ONCE), (large, 1)):
            for start in range(0, len(columns), at_once):
                some = columns[start : start + at_once]
                answers = await self._together(some, self._profile, 1)
                result |= {(item.table, item.column.name): answer for item, answer in zip(some, answers, strict=True)}
        return result

    def _profile(self, wanted: Sequence[Wanted]) -> str:
        """Return what measures each column over its first rows."""
        return " UNION ALL ".join(
            f"SELECT {number} AS i, CAST(min(v) AS {self._queries.text}) AS lo, CAST(max(v) AS {self._queries.text}) AS hi,"  # noqa: S608 - quoted
            f" count(v) AS n, count(*) AS d FROM (SELECT {quoted(item.column.name, self._queries)} AS v FROM {item.place}"
            f" {self._limit(ROWS_SAMPLED_MAX)}){self._queries.alias}k"
            for number, item in enumerate(wanted)
        )

    def _count(self, places: Sequence[str]) -> str:
        alias = self._queries.alias
        return " UNION ALL ".join(
            f"SELECT {number} AS i, count(*) AS n FROM (SELECT 1 AS one FROM {place} {self._limit(ROWS_SAMPLED_MAX + 1)})"  # noqa: S608 - quoted
            f"{alias}k"
            for number, place in enumerate(places)
        )

    def _frequent(self, wanted: Sequence[Wanted]) -> str:
        """Return what finds the most frequent values of each column, with one grouping for all."""
        alias, cells = self._queries.alias, " UNION ALL ".join(map(self._cells, range(len(wanted)), wanted))
        return (
            f"SELECT i, substr(v, 1, {VALUE_LENGTH_MAX + 1}) AS x, n, d FROM (SELECT i, v, n,"  # noqa: S608 - quoted
            " count(*) OVER (PARTITION BY i) AS d, row_number() OVER (PARTITION BY i ORDER BY n DESC, v) AS k"
            f" FROM (SELECT i, v, count(*) AS n FROM ({cells}){alias}u WHERE v IS NOT NULL GROUP BY i, v){alias}g){alias}r"
            f" WHERE k <= {COLUMN_VALUES_MAX} ORDER BY i, k"
        )

    def _cells(self, number: int, wanted: Wanted) -> str:
        name, place = quoted(wanted.column.name, self._queries), wanted.place
        if not wanted.is_small:
            place = f"(SELECT {name} FROM {place} {self._limit(ROWS_SAMPLED_MAX)}){self._queries.alias}k"  # noqa: S608 - quoted
        return f"SELECT {number} AS i, CAST({name} AS {self._queries.text}) AS v FROM {place}"  # noqa: S608 - quoted

    async def _together(
        self, wanted: Sequence[T], statement: Callable[[Sequence[T]], str], rows_max: int
    ) -> Sequence[Answer]:
        """Return the rows for each of what is wanted; none where the engine refuses it or the time is up."""
        left = self._until - self._timer()
        if left <= 0:
            return [()] * len(wanted)
        answer = await self._ask(statement(wanted), rows_max * len(wanted), min(left, STATEMENT_SECONDS_MAX))
        if not isinstance(answer, Failure):
            rows: list[list[Sequence[Scalar]]] = [[] for _ in wanted]
            for number, *row in answer.rows:
                rows[int(number or 0)].append(row)
            return rows
        if len(wanted) == 1 or answer.code is FailureCode.CONNECTION:
            return [()] * len(wanted)
        middle = len(wanted) // 2
        return [
            *await self._together(wanted[:middle], statement, rows_max),
            *await self._together(wanted[middle:], statement, rows_max),
        ]

    def _limit(self, rows: int) -> str:
        return self._queries.limit.format(rows)


def quoted(name: str, queries: CatalogQueries) -> str:
    mark = queries.quote
    return mark + name.replace(mark, mark * 2) + mark
