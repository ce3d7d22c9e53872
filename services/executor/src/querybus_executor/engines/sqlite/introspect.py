"""Reads the catalog of a SQLite database: tables, views, columns, keys, row estimates, frequent values.

Synchronous and read-only. The structure is read by four statements for TABLES_AT_ONCE tables, so that nobody who writes
waits for long; kinds, counts and values are bounded in time, and what time does not allow is left out, never guessed.
A view or table that the engine itself cannot describe is no table of the catalog; it is listed with the reason. Keys that point at nothing are dropped. Text is
read with replacement characters where it is no UTF-8. Values are kept of text columns only, never of personal ones.
"""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from querybus.core.catalog import (
    COLUMN_VALUES_MAX,
    VALUE_LENGTH_MAX,
    Catalog,
    Column,
    ColumnKind,
    Dialect,
    ForeignKey,
    Table,
)
from querybus_executor.catalog.annotations import Known, Names
from querybus_executor.catalog.column_kinds import kind_of_column, kind_of_type
from querybus_executor.catalog.profiles import is_profiled, profiled

SECONDS_MAX: Final = 20.0
STATEMENT_SECONDS_MAX: Final = 2.0
ROWS_COUNTED_MAX: Final = 1_000_000
ROWS_SAMPLED_MAX: Final = 200_000
TABLES_AT_ONCE: Final = 200
_ROWS_TYPED_MAX: Final = 500
_COLUMNS_PROFILED_MAX: Final = 200
_COLUMNS_TYPED_MAX: Final = 200
_PROGRESS_STEPS: Final = 10_000

_TABLES: Final = """SELECT name, type FROM pragma_table_list WHERE schema = 'main'
 AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY type, name"""
"""A shadow table holds a full-text index's copy of other tables' texts: it is nobody's to read."""
_COLUMNS: Final = """SELECT n.value, c.name, c.type, c."notnull", c.pk FROM json_each(?) n
 JOIN pragma_table_xinfo(n.value) c WHERE c.hidden <> 1 ORDER BY n.key, c.cid"""
_FOREIGN: Final = """SELECT n.value, f.id, f."from", f."table", f."to" FROM json_each(?) n
 JOIN pragma_foreign_key_list(n.value) f ORDER BY n.key, f.id, f.seq"""
_UNIQUE: Final = """SELECT n.value, i.name, c.name FROM json_each(?) n JOIN pragma_index_list(n.value) i
 JOIN pragma_index_info(i.name) c WHERE i."unique" AND NOT i.partial ORDER BY n.key, i.seq, c.seqno"""
"""SQLite makes an index for each UNIQUE. The column of an expression has no name."""


def introspect(
    engine: sa.Engine,
    connection: str,
    *,
    display_names: Mapping[str, Names] | None = None,
    synonyms: Mapping[str, Sequence[str]] | None = None,
    glossary: Mapping[str, str] | None = None,
    definitions: Mapping[str, str] | None = None,
    today: dt.date | None = None,
    values: bool = True,
    personal: Collection[str] = (),
    not_personal: Collection[str] = (),
    without_values: Collection[str] = (),
    tables_allowed: Collection[str] | None = None,
    seconds_max: float = SECONDS_MAX,
) -> Catalog:
    """Return the catalog of a SQLite database under the name `connection`.

    `display_names` and `synonyms` are keyed by `table` or `table.column`; `personal`, `not_personal` and `without_values`
    list such keys as well (a table's key stands for all its columns). Case is ignored in all of them. `tables_allowed` leaves
    out every other table. Raises SQLAlchemyError where the database cannot be opened or is none.
    """
    known = Known(
        display_names=display_names or {},
        synonyms=synonyms or {},
        personal=personal,
        not_personal=not_personal,
        without_values=without_values,
        values=values,
    )
    allowed = None if tables_allowed is None else {table.casefold() for table in tables_allowed}
    with engine.connect() as opened:
        raw = cast("sqlite3.Connection", opened.connection.driver_connection)
        raw.text_factory = lambda data: data.decode("utf-8", "replace")
        listed = [(str(name), str(kind)) for name, kind in opened.exec_driver_sql(_TABLES)]
        wanted = [item for item in listed if allowed is None or item[0].casefold() in allowed]
        rows = _Rows(raw, time.monotonic() + seconds_max)
        # The kinds of all columns before the values of any: what time does not allow is the lesser thing.
        unreadable: dict[str, str] = {}
        typed = [_typed(structure, rows) for structure in _structures(opened, wanted, known, unreadable)]
        valued = [_with_values(item, rows, known) for item in typed]
        described = [item.model_copy(update={"columns": _profiled(item, rows, known)}) for item in valued]
    by_name = {column.name.casefold(): column for column in described}
    return Catalog(
        connection=connection,
        dialect=Dialect.SQLITE,
        tables=tuple(_with_real_keys(column, by_name) for column in described),
        glossary=dict(glossary or {}),
        definitions=dict(definitions or {}),
        unreadable=unreadable,
        today=today,
    )


def open_sqlite_catalog(path: str | Path, connection: str | None = None, *, values: bool = True) -> Catalog:
    """Return the catalog of a SQLite file, opened read-only; the connection is named after the file."""
    engine = sqlite_engine(path)
    try:
        return introspect(engine, connection or Path(path).stem, values=values)
    finally:
        engine.dispose()


def sqlite_engine(path: str | Path) -> sa.Engine:
    """Return a SQLAlchemy engine that can only read this file and never creates it."""
    # as_uri() escapes what a path may hold and a URI may not: `?`, `#`, `%`, spaces.
    uri = Path(path).absolute().as_uri() + "?mode=ro"
    return sa.create_engine(
        "sqlite://", creator=lambda: _connect_sqlite(uri), poolclass=sa.pool.NullPool, echo=False, hide_parameters=True
    )


def _connect_sqlite(uri: str) -> Any:
    import sqlite3

    opened = sqlite3.connect(uri, uri=True, timeout=1.0, check_same_thread=False)
    opened.execute("PRAGMA query_only=ON")
    opened.execute("PRAGMA trusted_schema=OFF")
    return opened


def _structures(
    opened: sa.Connection, listed: Sequence[tuple[str, str]], known: Known, unreadable: dict[str, str]
) -> Iterator[Table]:
    """Return the tables with the kinds that were declared; those that SQLite cannot describe go to `unreadable`."""
    for start in range(0, len(listed), TABLES_AT_ONCE):
        some = listed[start : start + TABLES_AT_ONCE]
        try:
            yield from _described(opened, some, known)
        except DBAPIError:
            # One of them is a broken view, or made by a module that is not here.
            for item in some:
                try:
                    alone = _described(opened, [item], known)
                except DBAPIError as error:
                    unreadable[item[0]] = str(error.orig)[:VALUE_LENGTH_MAX]
                    continue
                yield from alone


def _described(opened: sa.Connection, listed: Sequence[tuple[str, str]], known: Known) -> list[Table]:
    names = (json.dumps([name for name, _ in listed], ensure_ascii=False),)
    columns: defaultdict[str, list[Column]] = defaultdict(list)
    primary: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for table, name, type_text, is_filled, place in opened.exec_driver_sql(_COLUMNS, names):
        columns[table].append(
            Column(
                name=name,
                type=type_text or "",
                kind=kind_of_type(type_text or ""),
                nullable=not is_filled,
                display_names=known.names_of(table, name),
                synonyms=known.synonyms_of(table, name),
            )
        )
        if place:
            primary[table][place] = name
    unique: defaultdict[str, dict[str, list[str | None]]] = defaultdict(dict)
    for table, index, column in opened.exec_driver_sql(_UNIQUE, names):
        unique[table].setdefault(index, []).append(column)
    foreign: defaultdict[str, dict[int, tuple[str, list[str], list[str]]]] = defaultdict(dict)
    for table, number, own, referred, other in opened.exec_driver_sql(_FOREIGN, names):
        _, owns, others = foreign[table].setdefault(number, (referred, [], []))
        owns.append(own)
        others += [] if other is None else [other]
    made: list[Table] = []
    for name, kind in listed:
        if not columns[name]:
            continue
        key = tuple(column for _, column in sorted(primary[name].items()))
        keys = {tuple(item) for item in unique[name].values()}
        made.append(
            Table(
                name=name,
                # A virtual table may show the rows of another one, as a view does.
                kind="table" if kind == "table" else "view",
                columns=known.marked(name, columns[name]),
                primary_key=key,
                unique_keys=tuple(
                    sorted(cast("set[tuple[str, ...]]", {key for key in keys if None not in key} - {key}))
                ),
                foreign_keys=_foreign_keys(foreign[name].values()),
                display_names=known.names_of(name),
                synonyms=known.synonyms_of(name),
            )
        )
    return made


def _foreign_keys(found: Collection[tuple[str, list[str], list[str]]]) -> tuple[ForeignKey, ...]:
    keys = [
        ForeignKey(columns=tuple(owns), referred_table=referred, referred_columns=tuple(others))
        for referred, owns, others in found
    ]
    # The engine lists keys in the reverse order of their declaration; a catalog is ordered by its own rule.
    return tuple(sorted(keys, key=lambda key: (key.columns, key.referred_table)))


def _typed(table: Table, rows: _Rows) -> Table:
    """Return the table with the kinds that its values have, and its number of rows where that look found it."""
    columns: list[Column] = []
    counted: int | None = None
    for start in range(0, len(table.columns), _COLUMNS_TYPED_MAX):
        some = table.columns[start : start + _COLUMNS_TYPED_MAX]
        cells = ", ".join(_short(_quoted(path.name)) for path in some)
        result = rows.of(f"SELECT {cells} FROM {_quoted(table.name)} LIMIT {_ROWS_TYPED_MAX}")  # noqa: S608 - quoted
        counted = len(result) if result is not None and len(result) < _ROWS_TYPED_MAX else None
        samples: Sequence[Sequence[object]] = list(zip(*result, strict=True)) if result else [()] * len(some)
        for column, sample in zip(some, samples, strict=True):
            kind = kind_of_column(column.type, sample)
            columns.append(column if kind is column.kind else column.model_copy(update={"kind": kind}))
    return table.model_copy(update={"columns": tuple(columns), "row_estimate": counted})


def _with_values(table: Table, rows: _Rows, known: Known) -> Table:
    counted = table.row_estimate if table.row_estimate is not None else _counted(table, rows)
    columns = tuple(
        _with_value(table, column, counted, rows, known)
        if column.kind is ColumnKind.TEXT and known.wants_values(table, column)
        else column
        for column in table.columns
    )
    return table.model_copy(update={"columns": columns, "row_estimate": counted})


def _profiled(table: Table, rows: _Rows, known: Known) -> tuple[Column, ...]:
    """Return the columns with what was measured of them, many in one statement."""
    measured = [column for column in table.columns if is_profiled(table, column) and known.wants_values(table, column)]
    found: dict[str, Sequence[Sequence[object]]] = {}
    for start in range(0, len(measured), _COLUMNS_PROFILED_MAX):
        some = measured[start : start + _COLUMNS_PROFILED_MAX]
        names = [_quoted(column.name) for column in some]
        cells = ", ".join(f"min({name}), max({name}), count({name})" for name in names)
        result = rows.of(
            f"SELECT count(*), {cells} FROM (SELECT {', '.join(names)} FROM {_quoted(table.name)} LIMIT {ROWS_SAMPLED_MAX})"  # noqa: S608 - quoted
        )
        if result:
            total, *rest = result[0]
            found |= {column.name: [(*rest[place * 3 : place * 3 + 3], total)] for place, column in enumerate(some)}
    return tuple(profiled(column, found.get(column.name, ())) for column in table.columns)


def _counted(table: Table, rows: _Rows) -> int | None:
    place = _quoted(table.name)
    result = rows.of(f"SELECT count(*) FROM (SELECT 1 FROM {place} LIMIT {ROWS_COUNTED_MAX + 1})")  # noqa: S608 - quoted
    counted = int(result[0][0]) if result else None
    if (counted is not None and counted <= ROWS_COUNTED_MAX) or table.kind == "view":
        return counted
    # Beyond the bound the highest row id is the cheapest estimate; tables WITHOUT ROWID have none.
    highest = rows.of(f"SELECT max(_rowid_) FROM {place}")  # noqa: S608 - quoted
    return max(counted or 0, int(highest[0][0])) if highest and isinstance(highest[0][0], int) else counted


def _with_value(table: Table, column: Column, counted: int | None, rows: _Rows, known: Known) -> Column:
    result = rows.of(
        f"SELECT CASE WHEN typeof(v) = 'text' THEN substr(v, 1, {VALUE_LENGTH_MAX + 1}) END, n, count(*) OVER () FROM ("  # noqa: S608 - quoted
        f"SELECT v, count(*) AS n FROM (SELECT {_quoted(column.name)} AS v FROM {_quoted(table.name)} LIMIT {ROWS_SAMPLED_MAX})"
        f" WHERE v IS NOT NULL GROUP BY v) ORDER BY n DESC, v LIMIT {COLUMN_VALUES_MAX}"
    )
    if not result:
        empty = (
            {} if column.personal else {"values_complete": counted == 0, "distinct_count": 0 if counted == 0 else None}
        )
        return column.model_copy(update=empty)
    column = known.judged(table, column, [str(value or "") for value, _, _ in result])
    distinct = int(result[0][2])
    scanned_all = counted is not None and counted <= ROWS_SAMPLED_MAX
    if column.personal:
        return column.model_copy(update={"distinct_count": distinct if scanned_all else None})
    few = distinct <= COLUMN_VALUES_MAX
    # Of a column with more values than are kept only the ones that recur say anything about the next question.
    kept = tuple(
        value
        for value, count, _ in result
        if isinstance(value, str) and len(value) <= VALUE_LENGTH_MAX and (few or count > 1)
    )
    return column.model_copy(
        update={
            "values": kept,
            "values_complete": scanned_all and few and len(kept) == distinct,
            "distinct_count": distinct if scanned_all else None,
        }
    )


class _Rows:
    """Runs statements about a table's rows until the time is up."""

    def __init__(self, raw: sqlite3.Connection, until: float) -> None:
        self._raw = raw
        self._until = until

    def of(self, sql: str) -> list[tuple[Any, ...]] | None:
        """Return the rows, or None where the engine refuses the statement or the time is up."""
        now = time.monotonic()
        if now >= self._until:
            return None
        until = min(self._until, now + STATEMENT_SECONDS_MAX)
        self._raw.set_progress_handler(lambda: time.monotonic() >= until, _PROGRESS_STEPS)
        try:
            return self._raw.execute(sql).fetchall()
        except sqlite3.Error:
            return None
        finally:
            self._raw.set_progress_handler(None, 0)


def _short(name: str) -> str:
    """A cell cut to what its type needs: nobody wants a gigabyte of text to see that it is text."""
    return f"CASE typeof({name}) WHEN 'text' THEN substr({name}, 1, 40) WHEN 'blob' THEN x'' ELSE {name} END"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _with_real_keys(table: Table, tables: Mapping[str, Table]) -> Table:
    """Return the table with names in keys spelt as their owners spell them; keys that point at nothing are dropped."""
    kept: list[ForeignKey] = []
    for key in table.foreign_keys:
        referred = tables.get(key.referred_table.casefold())
        if referred is None:
            continue
        own = [table.column(column) for column in key.columns]
        theirs = [referred.column(referred_column) for referred_column in key.referred_columns or referred.primary_key]
        if len(own) == len(theirs) and all(own) and all(theirs):
            fixed = key.model_copy(
                update={
                    "columns": tuple(path.name for path in own if path),
                    "referred_table": referred.name,
                    "referred_columns": tuple(path.name for path in theirs if path),
                }
            )
            if fixed not in kept:
                kept.append(fixed)
    return table.model_copy(update={"foreign_keys": tuple(kept)})
