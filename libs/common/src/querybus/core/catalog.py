"""What is known of a connected database: tables, columns, keys, names for people, and some values.

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

Language = Literal["en", "zh"]
Personal = Literal["contact", "name"]
"""What a person can be reached or identified by, or is called."""

USUAL_MEASURE_WORD: Final = "个"
"""What things are counted in in Chinese where nobody has said it."""
COLUMN_VALUES_MAX: Final = 500
VALUE_LENGTH_MAX: Final = 80


class Dialect(StrEnum):
    """The SQL dialects, named as sqlglot names them."""

    SQLITE = "sqlite"
    DUCKDB = "duckdb"
    POSTGRESQL = "postgres"
    MYSQL = "mysql"
    CLICKHOUSE = "clickhouse"
    ORACLE = "oracle"
    SNOWFLAKE = "snowflake"
    BIGQUERY = "bigquery"


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
    model_config = ConfigDict(frozen=True, extra="allow")

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

    def column(self, name: str) -> Column | None:
        """Return the column of that name, case ignored, or None."""
        return self._by_name.get(name.lower())

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name.lower(): column for column in self.columns}


class Catalog(_Value):
    """All tables of one connection that its callers may see."""

    connection: str
    dialect: Dialect
    tables: tuple[Table, ...] = ()
    default_schema: str | None = None
    glossary: Mapping[str, str] = Field(default={}, description="business term -> its meaning in words")
    definitions: Mapping[str, str] = Field(
        default={}, description="`metric:revenue`, `dataset:orders` or the like -> the owner's definition, as JSON"
    )
    today: date | None = Field(default=None, description="the day that counts as today, of data that stands still")

    def table(self, name: str, schema_name: str | None = None) -> Table | None:
        """Return the table of that name, case ignored; without a schema the default schema wins."""
        result = self._by_name.get(name.lower(), ())
        if schema_name is not None:
            return next((table for table in result if (table.schema_name or "").lower() == schema_name.lower()), None)
        default = (self.default_schema or "").lower()
        return next(
            (table for table in result if (table.schema_name or "").lower() == default), result[0] if result else None
        )

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
    def fingerprint(self) -> str:
        """32 hex digits of the SHA-256 of the canonical JSON: equal catalogs have equal fingerprints."""
        # Table by table: one call for ten thousand of them would let no other thread work for a third of a second.
        # What has no definitions or day of its own keeps the fingerprint that it had before there were any.
        left_out = {name for name in ("definitions", "today") if not getattr(self, name)}
        hashed = hashlib.sha256(self.model_copy(update={"tables": ()}).model_dump_json(exclude=left_out).encode())
        for table in self.tables:
            hashed.update(table.model_dump_json().encode())
        return hashed.hexdigest()[:32]
