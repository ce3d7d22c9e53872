"""Reads a database's catalog through SQLAlchemy: tables, views, columns, keys, row estimates, frequent values.

Synchronous and read-only; bounded in time, and what time does not allow is left out, never guessed. A view or
table that the engine itself cannot describe is left out too. Keys that point at nothing are dropped. Text is read
with replacement characters where it is no UTF-8. Values are kept of text columns only, never of personal ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

import sqlalchemy as sa
from sqlalchemy.exc import SAWarning, SQLAlchemyError

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
from querybus_executor.kinds import kind_of_column, kind_of_type
from querybus_executor.known import Known, Names

SECONDS_MAX: Final = 20.0
STATEMENT_SECONDS_MAX: Final = 2.0
ROWS_COUNTED_MAX: Final = 1_000_000
ROWS_SAMPLED_MAX: Final = 200_000
_ROWS_TYPED_MAX: Final = 500
_COLUMNS_TYPED_MAX: Final = 200
_PROGRESS_STEPS: Final = 10_000


def introspect(
    engine: sa.Engine,
    connection: str,
    *,
    dialect: Dialect = Dialect.SQLITE,
    display_names: Mapping[str, Names] | None = None,
    synonyms: Mapping[str, Sequence[str]] | None = None,
    glossary: Mapping[str, str] | None = None,
    values: bool = True,
    personal: Collection[str] = (),
    without_values: Collection[str] = (),
    tables_allowed: Collection[str] | None = None,
    seconds_max: float = SECONDS_MAX,
) -> Catalog:
    """Return the catalog of a database under the name `connection`.

    `display_names` and `synonyms` are keyed by `table` or `table.column`; `personal` and `without_values` list such
    keys as well (a table's key stands for all its columns). Case is ignored in all of them. `tables_allowed` leaves
    out every other table. Raises SQLAlchemyError where the database cannot be opened or is none.
    """
    with engine.connect() as opened:
        reader = _Reader(opened, dialect, time.monotonic() + seconds_max)
        known = Known(
            display_names=display_names or {},
            synonyms=synonyms or {},
            personal=personal,
            without_values=without_values,
            values=values,
        )
        allowed = None if tables_allowed is None else {each.casefold() for each in tables_allowed}
        found = [reader.table(name, known) for name in reader.names() if allowed is None or name.casefold() in allowed]
    described = [each for each in found if each is not None]
    return Catalog(
        connection=connection,
        dialect=dialect,
        tables=tuple(
            _with_real_keys(each, {other.name.casefold(): other for other in described}) for each in described
        ),
        glossary=dict(glossary or {}),
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


class _Reader:
    """One opened connection, read until the time is up."""

    def __init__(self, opened: sa.Connection, dialect: Dialect, until: float) -> None:
        self._opened = opened
        self._dialect = dialect
        self._until = until
        self._raw = cast("Any", opened.connection.driver_connection)
        if dialect is Dialect.SQLITE:
            self._raw.text_factory = lambda data: data.decode("utf-8", "replace")
        self._inspector: sa.Inspector = sa.inspect(opened)
        self._views: frozenset[str] = frozenset()

    def names(self) -> list[str]:
        """Return tables, then views, each sorted by name."""
        views = self._inspector.get_view_names()
        self._views = frozenset(views)
        return [*sorted(self._inspector.get_table_names()), *sorted(views)]

    def table(self, name: str, known: Known) -> Table | None:
        columns = self._or([], lambda: self._inspector.get_columns(name))
        if not columns:
            return None
        types = self._type_texts(name)
        samples = self._samples(name, [each["name"] for each in columns])
        rows = self._row_estimate(name)
        made: list[Column] = []
        for each in columns:
            column_name = each["name"]
            type_text = types.get(column_name, str(each["type"]) if self._dialect is not Dialect.SQLITE else "")
            kind = (
                kind_of_column(type_text, samples.get(column_name, ()))
                if self._dialect is Dialect.SQLITE
                else kind_of_type(type_text)
            )
            column = Column(
                name=column_name,
                type=type_text,
                kind=kind,
                nullable=bool(each["nullable"]),
                comment=each.get("comment") or "",
                display_names=known.names_of(name, column_name),
                synonyms=known.synonyms_of(name, column_name),
                personal=known.is_personal(name, column_name),
            )
            if kind is ColumnKind.TEXT and known.wants_values(name, column_name):
                column = column.model_copy(update=self._values(name, column_name, rows))
            made.append(column)
        key = self._or({"constrained_columns": []}, lambda: self._inspector.get_pk_constraint(name))
        primary_key = tuple(key["constrained_columns"])
        return Table(
            name=name,
            kind="view" if name in self._views else "table",
            columns=tuple(made),
            primary_key=primary_key,
            foreign_keys=self._foreign_keys(name),
            unique_keys=self._unique_keys(name, primary_key),
            display_names=known.names_of(name),
            synonyms=known.synonyms_of(name),
            row_estimate=rows,
        )

    def _foreign_keys(self, name: str) -> tuple[ForeignKey, ...]:
        found = self._or([], lambda: self._inspector.get_foreign_keys(name))
        keys = [
            ForeignKey(
                columns=tuple(each["constrained_columns"]),
                referred_table=each["referred_table"],
                referred_columns=tuple(each["referred_columns"]),
                referred_schema=each["referred_schema"],
            )
            for each in found
        ]
        # The engine lists keys in the reverse order of their declaration; a catalog is ordered by its own rule.
        return tuple(sorted(keys, key=lambda key: (key.columns, key.referred_table)))

    def _unique_keys(self, name: str, primary_key: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        # SQLite makes an index for each UNIQUE; SQLAlchemy's own look at constraints parses the DDL and misses some.
        hidden: dict[str, Any] = {"include_auto_indexes": True} if self._dialect is Dialect.SQLITE else {}
        keys: set[tuple[str, ...]] = set()
        for each in self._or([], lambda: self._inspector.get_indexes(name, **hidden)):
            columns = each["column_names"]
            partial = any("where" in option for option in each.get("dialect_options", {}))
            if each["unique"] and not partial and all(column is not None for column in columns):
                keys.add(tuple(cast("list[str]", columns)))
        if self._dialect is not Dialect.SQLITE:
            for each in self._or([], lambda: self._inspector.get_unique_constraints(name)):
                keys.add(tuple(each["column_names"]))
        return tuple(sorted(keys - {primary_key}))

    def _type_texts(self, name: str) -> dict[str, str]:
        if self._dialect is not Dialect.SQLITE:
            return {}
        # SQLAlchemy turns a free type text into one of its own types; people wrote, and should see, their own.
        rows = self._rows(sa.text("SELECT name, type FROM pragma_table_xinfo(:name)").bindparams(name=name))
        return {str(column): str(type_text or "") for column, type_text in rows}

    def _samples(self, name: str, columns: Sequence[str]) -> dict[str, list[object]]:
        if self._dialect is not Dialect.SQLITE:
            return {}
        found: dict[str, list[object]] = {}
        for start in range(0, len(columns), _COLUMNS_TYPED_MAX):
            some = columns[start : start + _COLUMNS_TYPED_MAX]
            cells = [_short(sa.column(each)).label(f"c{index}") for index, each in enumerate(some)]
            rows = self._rows(sa.select(*cells).select_from(sa.table(name)).limit(_ROWS_TYPED_MAX))
            found.update({each: [row[index] for row in rows] for index, each in enumerate(some)})
        return found

    def _row_estimate(self, name: str) -> int | None:
        bounded = sa.select(sa.literal(1)).select_from(sa.table(name)).limit(ROWS_COUNTED_MAX + 1).subquery()
        rows = self._rows(sa.select(sa.func.count()).select_from(bounded))
        counted = int(rows[0][0]) if rows else None
        if counted is not None and counted <= ROWS_COUNTED_MAX:
            return counted
        if self._dialect is not Dialect.SQLITE or name in self._views:
            return counted
        # Beyond the bound the highest row id is the cheapest estimate; tables WITHOUT ROWID have none.
        highest = self._rows(sa.select(sa.func.max(sa.literal_column("_rowid_"))).select_from(sa.table(name)))
        return max(counted or 0, int(highest[0][0])) if highest and isinstance(highest[0][0], int) else counted

    def _values(self, name: str, column: str, rows: int | None) -> dict[str, object]:
        kept = sa.select(sa.column(column).label("v")).select_from(sa.table(name)).limit(ROWS_SAMPLED_MAX).subquery()
        groups = (
            sa.select(kept.c.v.label("v"), sa.func.count().label("n"))
            .where(kept.c.v.is_not(None))
            .group_by(kept.c.v)
            .subquery()
        )
        if self._dialect is Dialect.SQLITE:
            text = sa.case((sa.func.typeof(groups.c.v) == "text", sa.func.substr(groups.c.v, 1, VALUE_LENGTH_MAX + 1)))
        else:
            text = groups.c.v
        found = self._rows(
            sa.select(text, groups.c.n, sa.func.count().over())
            .order_by(groups.c.n.desc(), groups.c.v)
            .limit(COLUMN_VALUES_MAX)
        )
        if not found:
            return {"values_complete": rows == 0, "distinct_count": 0 if rows == 0 else None}
        distinct = int(found[0][2])
        scanned_all = rows is not None and rows <= ROWS_SAMPLED_MAX
        few = distinct <= COLUMN_VALUES_MAX
        # Of a column with more values than are kept only the ones that recur say anything about the next question.
        kept_values = tuple(
            value
            for value, count, _ in found
            if isinstance(value, str) and len(value) <= VALUE_LENGTH_MAX and (few or count > 1)
        )
        return {
            "values": kept_values,
            "values_complete": scanned_all and few and len(kept_values) == distinct,
            "distinct_count": distinct if scanned_all else None,
        }

    def _rows(self, statement: sa.Executable) -> Sequence[Any]:
        """Return the rows, or none where the engine refuses the statement or the time is up."""
        if time.monotonic() >= self._until:
            return ()
        with self._bounded():
            return self._or((), lambda: self._opened.execute(statement).all())

    def _or(self, otherwise: Any, read: Callable[[], Any]) -> Any:
        import warnings

        try:
            with warnings.catch_warnings():
                # SQLAlchemy warns of keys in the DDL that the engine does not know; those are dropped below.
                warnings.simplefilter("ignore", SAWarning)
                return read()
        except SQLAlchemyError:
            return otherwise

    @contextmanager
    def _bounded(self) -> Generator[None]:
        if self._dialect is not Dialect.SQLITE:
            yield
            return
        until = min(self._until, time.monotonic() + STATEMENT_SECONDS_MAX)
        self._raw.set_progress_handler(lambda: time.monotonic() >= until, _PROGRESS_STEPS)
        try:
            yield
        finally:
            self._raw.set_progress_handler(None, 0)


def _short(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """A cell cut to what its type needs: nobody wants a gigabyte of text to see that it is text."""
    return sa.case(
        (sa.func.typeof(column) == "text", sa.func.substr(column, 1, 40)),
        (sa.func.typeof(column) == "blob", sa.literal_column("x''")),
        else_=column,
    )


def _with_real_keys(table: Table, tables: Mapping[str, Table]) -> Table:
    """Return the table with names in keys spelt as their owners spell them; keys that point at nothing are dropped."""
    kept: list[ForeignKey] = []
    for key in table.foreign_keys:
        referred = tables.get(key.referred_table.casefold())
        if referred is None:
            continue
        own = [table.column(each) for each in key.columns]
        theirs = [referred.column(each) for each in key.referred_columns or referred.primary_key]
        if len(own) == len(theirs) and all(own) and all(theirs):
            fixed = key.model_copy(
                update={
                    "columns": tuple(each.name for each in own if each),
                    "referred_table": referred.name,
                    "referred_columns": tuple(each.name for each in theirs if each),
                }
            )
            if fixed not in kept:
                kept.append(fixed)
    return table.model_copy(update={"foreign_keys": tuple(kept)})
