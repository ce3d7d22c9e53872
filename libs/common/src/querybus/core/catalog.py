"""What is known of a connected database: tables, columns, keys, names for people, and some values.

Quoted names are exact on PostgreSQL, Oracle, Snowflake and ClickHouse; everywhere else case does not count. A catalog's
lower-case name on Oracle and Snowflake is one that was made without quotes, as SQLAlchemy reports it.

A catalog is a frozen value without I/O. Text in it (comments, names, values) is data from outside: it is quoted
and bounded wherever it is shown or sent, never followed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from querybus.engines import ENGINES
from querybus.engines.dialect import Dialect as Dialect  # noqa: PLC0414 - every package takes it from here

Language = Literal["en", "zh"]
Personal = Literal["contact", "name"]
"""What a person can be reached or identified by, or is called."""

USUAL_MEASURE_WORD: Final = "个"
"""What things are counted in in Chinese where nobody has said it."""
COLUMN_VALUES_MAX: Final = 500
VALUE_LENGTH_MAX: Final = 80


def fold(name: str, dialect: Dialect, *, quoted: bool) -> str:
    """Return the name as the engine compares it.

    >>> fold("Orders", Dialect.ORACLE, quoted=False), fold("Orders", Dialect.SQLITE, quoted=True)
    ('ORDERS', 'orders')
    >>> fold("\u212a", Dialect.SQLITE, quoted=False) == "k"
    False
    """
    engine = ENGINES[dialect]
    return name if quoted and engine.quoted_is_exact else engine.fold(name)


def fold_known(name: str, dialect: Dialect) -> str:
    """Return a catalog's own name as the engine compares it."""
    if ENGINES[dialect].folds_to_upper and name == name.lower():
        return name.upper()
    return fold(name, dialect, quoted=True)


class ColumnKind(StrEnum):
    """A column's type, reduced to what questions and charts need."""

    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"
    TIME = "time"
    BYTES = "bytes"
    JSON = "json"
    OTHER = "other"


class _Value(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy that has computed nothing yet: what this value keeps of itself does not fit changed fields."""
        del deep
        fields: dict[str, Any] = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_construct(**(fields | (self.__pydantic_extra__ or {}) | dict(update or {})))


class ColumnProfile(_Value):
    """What was measured of a column over its first rows; `value_min` and `value_max` as the database writes them."""

    value_min: str | None = None
    value_max: str | None = None
    empty_share: float = Field(default=0.0, ge=0, le=1, description="of NULL among the rows")


class Column(_Value):
    """One column. `values` are frequent values, most frequent first, bounded by COLUMN_VALUES_MAX."""

    name: str
    type: str = Field(description="the engine's own type text")
    kind: ColumnKind = ColumnKind.OTHER
    nullable: bool = True
    comment: str = ""
    display_names: Mapping[Language, str] = {}
    synonyms: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    values_complete: bool = Field(default=False, description="`values` holds every distinct value")
    distinct_count: int | None = None
    profile: ColumnProfile | None = Field(default=None, description="None: not measured, or nothing to say")
    unit: Mapping[Language, str] = Field(default={}, description="what its amounts are in: CNY, days, %")
    personal: bool = Field(default=False, description="no value of it is ever kept or sent")
    person_name: bool = Field(default=False, description="of a personal column: it holds names of persons")

    @property
    def personal_kind(self) -> Personal | None:
        """What personal data the column holds, or None."""
        if not self.personal:
            return None
        return "name" if self.person_name else "contact"


class ForeignKey(_Value):
    """`columns` of this table refer to `referred_columns` of `referred_table`, in the same order."""

    columns: tuple[str, ...]
    referred_table: str
    referred_columns: tuple[str, ...]
    referred_schema: str | None = None


class Table(_Value):
    """One table or view, columns in the engine's order."""

    name: str
    schema_name: str | None = None
    kind: Literal["table", "view"] = "table"
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    comment: str = ""
    display_names: Mapping[Language, str] = {}
    measure_word: str = Field(default="", description="what its rows are counted in in Chinese: 位, 笔, 件")
    synonyms: tuple[str, ...] = ()
    row_estimate: int | None = None

    @property
    def qualified(self) -> str:
        """The name of a table, with its schema where that is not the default one."""
        return f"{self.schema_name}.{self.name}" if self.schema_name else self.name

    def column(self, name: str) -> Column | None:
        """Return the column of that name, case ignored, or None."""
        return self._by_name.get(name.lower())

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name.lower(): column for column in self.columns}


def _alike(one: str | None, other: str | None) -> bool:
    return (one or "").lower() == (other or "").lower()


class Catalog(_Value):
    """All tables of one connection that its callers may see."""

    connection: str
    dialect: Dialect
    tables: tuple[Table, ...] = ()
    default_schema: str | None = None
    database: str | None = Field(
        default=None,
        description="the database or project in which the schemas stand; None: no such level, or not known",
    )
    glossary: Mapping[str, str] = Field(default={}, description="business term -> its meaning in words")
    definitions: Mapping[str, str] = Field(
        default={}, description="`metric:revenue`, `dataset:orders` or the like -> the owner's definition, as JSON"
    )
    unreadable: Mapping[str, str] = Field(
        default={},
        exclude_if=lambda value: not value,
        description="a view that the engine itself cannot read -> why, in the engine's words",
    )
    today: date | None = Field(default=None, description="the day that counts as today, of data that stands still")

    def table(self, name: str, schema_name: str | None = None) -> Table | None:
        """Return the table that a name means, the one place where a qualified name meets the catalog.

        A table without a schema stands in the default schema. Without `schema_name` a table of the default schema wins,
        then the first. Case is ignored, but of two tables that differ by case the one that is spelt so wins.
        """
        found = self._by_name.get(name.lower(), ())
        if schema_name:
            found = tuple(table for table in found if _alike(self.schema_of(table), schema_name))
        else:
            found = tuple(table for table in found if self.is_default(table)) or found
        if len(found) < 2:
            return found[0] if found else None
        return max(
            found,
            key=lambda table: (
                not schema_name or self._is_spelt(self.schema_of(table) or "", schema_name),
                self._is_spelt(table.name, name),
            ),
        )

    def table_at(self, text: str) -> Table | None:
        """Return the table of a text as `qualified` writes it: `table`, or `schema.table`."""
        schema, _, name = text.rpartition(".")
        return (self.table(name, schema) if schema else None) or self.table(text)

    def referred(self, key: ForeignKey, table: Table) -> Table | None:
        """Return the table that a foreign key of `table` refers to: without a schema in the default one, else beside it."""
        found = self.table(key.referred_table, key.referred_schema)
        if key.referred_schema is None and (found is None or not self.is_default(found)):
            return self.table(key.referred_table, self.schema_of(table)) or found
        return found

    def schema_of(self, table: Table) -> str | None:
        """Return the schema in which a table stands; None where nothing says it."""
        return table.schema_name or self.default_schema or ENGINES[self.dialect].default_schema

    def is_own_database(self, name: str) -> bool:
        """Return whether a name before a schema is that of the connection's own database, as far as that is known."""
        if not ENGINES[self.dialect].has_databases_above_schemas:
            return False
        return self.database is None or _alike(self.database, name)

    def is_default(self, table: Table) -> bool:
        """Return whether a table stands in the default schema."""
        return table.schema_name is None or self._is_spelt(table.schema_name, self.default_schema or "")

    def names_of(self, table: Table) -> frozenset[str]:
        """Return the names by which a policy may list a table, in lower case: with and without its schema."""
        return frozenset({table.name.lower(), f"{self.schema_of(table)}.{table.name}".lower()})

    def _is_spelt(self, known: str, written: str) -> bool:
        return fold_known(known, self.dialect) == fold_known(written, self.dialect)

    def position(self, table: Table | None) -> int | None:
        """Return the position of one of the catalog's own tables."""
        return None if table is None else self._positions[table.schema_name, table.name]

    @cached_property
    def _positions(self) -> dict[tuple[str | None, str], int]:
        return {(table.schema_name, table.name): number for number, table in enumerate(self.tables)}

    @cached_property
    def has_units(self) -> bool:
        """Whether the owner has said of any column what its amounts are in."""
        return any(column.unit for table in self.tables for column in table.columns)

    @cached_property
    def _by_name(self) -> dict[str, tuple[Table, ...]]:
        result: dict[str, tuple[Table, ...]] = {}
        for table in self.tables:
            result[table.name.lower()] = (*result.get(table.name.lower(), ()), table)
        return result

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """Every schema, table and column name as it is spelt: what no business reader may be shown."""
        names = {table.name for table in self.tables} | {
            table.schema_name for table in self.tables if table.schema_name
        }
        return frozenset(names | {column.name for table in self.tables for column in table.columns})

    @cached_property
    def folded_identifiers(self) -> frozenset[str]:
        """The identifiers without their case."""
        return frozenset(identifier.casefold() for identifier in self.identifiers)

    @cached_property
    def fingerprint(self) -> str:
        """32 hex digits of the SHA-256 of the canonical JSON: equal catalogs have equal fingerprints."""
        # Table by table: one call for ten thousand of them would let no other thread work for a third of a second.
        # What has no definitions or day of its own keeps the fingerprint that it had before there were any.
        left_out = {name for name in ("definitions", "today", "database") if not getattr(self, name)}
        hashed = hashlib.sha256(self.model_copy(update={"tables": ()}).model_dump_json(exclude=left_out).encode())
        for table in self.tables:
            hashed.update(table.model_dump_json().encode())
        return hashed.hexdigest()[:32]
