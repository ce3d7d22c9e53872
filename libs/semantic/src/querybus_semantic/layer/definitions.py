"""A layer: what the owner of one connection defined, whatever file format it came from.

Expressions are SQL text in `dialect` of the layer's file, one scalar or aggregate expression each; they are parsed by
`compiling.expressions` and never pasted. Words: a relation leads from its many side to its one side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Literal

State = Literal["draft", "approved"]


class Grain(StrEnum):
    """The length of a period that dates are cut to."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    FISCAL_QUARTER = "fiscal_quarter"
    FISCAL_YEAR = "fiscal_year"


# Coarser grains have greater numbers; a week fits into none of the coarser ones.
GRAIN_ORDER: Mapping[Grain, int] = {grain: place for place, grain in enumerate(Grain)}


class Type(StrEnum):
    """A field's type, as far as SQL has to differ by it."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"
    TIME = "time"
    UNKNOWN = "unknown"


TIME_TYPES = frozenset({Type.DATE, Type.DATETIME})


@dataclass(frozen=True, slots=True)
class Words:
    """What people call a definition, and who answers for it. `synonyms` are in any language."""

    description: str = ""
    label: Mapping[str, str] = field(default_factory=dict[str, str])
    synonyms: tuple[str, ...] = ()
    owner: str = ""
    version: str = ""
    state: State = "approved"
    offered: bool = True


@dataclass(frozen=True, slots=True)
class Field:
    """A row-level value of a dataset. `grain`: its dates are no finer than this. `values`: code -> what it means, in each language."""

    name: str
    expression: str
    type: Type = Type.UNKNOWN
    is_time: bool = False
    grain: Grain | None = None
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    unit: str = ""
    words: Words = Words()


@dataclass(frozen=True, slots=True)
class Validity:
    """Rows that hold for a while: from included, to excluded, no end = still valid."""

    key: str
    valid_from: str
    valid_to: str


@dataclass(frozen=True)
class Dataset:
    """One table or query. `source` is `schema.table` or a SELECT; `time` the field that dates its rows by default.

    `raw_names`: names in its expressions are columns of the table, never other fields (dbt).
    """

    name: str
    source: str
    primary_key: tuple[str, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    fields: Mapping[str, Field] = field(default_factory=dict[str, Field])
    time: str = ""
    validity: Validity | None = None
    raw_names: bool = False
    words: Words = Words()

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """Every set of columns that is declared to be unique."""
        return (*((self.primary_key,) if self.primary_key else ()), *self.unique_keys)

    @property
    def is_query(self) -> bool:
        """Whether the source is a SELECT rather than a table."""
        return self.source.lstrip("( \n").lower().startswith(("select", "with"))

    @cached_property
    def _folded(self) -> dict[str, Field]:
        return {name.lower(): item for name, item in self.fields.items()}

    def named(self, name: str) -> Field | None:
        """Return the field of that name, case ignored."""
        return self._folded.get(name.lower())


@dataclass(frozen=True, slots=True)
class Bridge:
    """How a value of the one side counts for rows of the many side: once per group, or by a weight that adds up to 1."""

    rule: Literal["once_per_group", "weighted"]
    weight: str = ""


@dataclass(frozen=True, slots=True)
class Range:
    """The row of the one side whose [valid_from, valid_to) holds the many side's `at`; other columns are equal.

    Without `at` it is the date of the rows that are counted: a table between that has none of its own takes theirs.
    """

    at: str
    valid_from: str
    valid_to: str


@dataclass(frozen=True, slots=True)
class AsOf:
    """The latest row of the one side whose `right` is not after the many side's `left`; other columns are equal."""

    left: str
    right: str


class Cardinality(StrEnum):
    """What a relation is: declared by keys, or measured. Only N_TO_ONE and ONE_TO_ONE may be joined."""

    N_TO_ONE = "n:1"
    ONE_TO_ONE = "1:1"
    N_TO_M = "n:m"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows of `many` that belong to one row of `one`. `measured` outweighs what keys declare."""

    name: str
    many: str
    one: str
    many_columns: tuple[str, ...]
    one_columns: tuple[str, ...]
    role: str = ""
    range: Range | None = None
    asof: AsOf | None = None
    bridge: Bridge | None = None
    measured: Cardinality | None = None


@dataclass(frozen=True, slots=True)
class NonAdditive:
    """A level that is not added up over `time` (dataset.field): its last, first or average value, by member `per`.

    `by_group` takes the last (first) moment of each group of the answer, as Snowflake does, not of the whole.
    """

    time: str
    choice: Literal["last", "first", "average"]
    per: tuple[str, ...] = ()
    by_group: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """A length of time: `count` units, such as 28 days or 1 month."""

    count: int
    unit: Grain


@dataclass(frozen=True, slots=True)
class Cumulative:
    """A running value: over a trailing window, from the start of a grain, or from the first row on."""

    window: Span | None = None
    to_date: Grain | None = None


@dataclass(frozen=True, slots=True)
class Conversion:
    """How many rows of metric `base` were followed by one of metric `conversion` of the same entity within a window.

    Each conversion counts once, for the latest base row not after it. `through`: the window's last day belongs to it.
    `constant`: pairs of fields that must be equal, of the base row and of the conversion.
    """

    base: str
    conversion: str
    entity: str
    window: Span | None
    rate: bool
    through: bool = True
    constant: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Input:
    """A metric within a formula: under another name, of an earlier period, or narrowed by a condition."""

    metric: str
    alias: str
    offset: Span | None = None
    condition: str = ""


@dataclass(frozen=True, slots=True)
class Metric:
    """One number. `expression` is an aggregate or a formula; `condition` a row filter of its own (SQL text).

    `dataset` is where unqualified names belong (empty: names are qualified). `time` is its own date, dataset.field.
    `within` pins relations by name where several paths lead on. `of_total` ignores the dimensions of the request.
    `measure_word` is what it is counted in in Chinese, where it has no unit: 笔, 位.
    """

    name: str
    expression: str
    dataset: str = ""
    dialect: str = ""
    time: str = ""
    condition: str = ""
    non_additive: NonAdditive | None = None
    cumulative: Cumulative | None = None
    conversion: Conversion | None = None
    inputs: tuple[Input, ...] = ()
    share_of_total: bool = False
    of_total: bool = False
    fill_with: int | None = None
    within: tuple[str, ...] = ()
    type: Type = Type.UNKNOWN
    unit: str = ""
    measure_word: str = ""
    words: Words = Words()


@dataclass(frozen=True, slots=True)
class NamedFilter:
    """A condition that has a name: "valid orders". Never applied unless it is asked for."""

    name: str
    dataset: str
    expression: str
    words: Words = Words()


@dataclass(frozen=True, slots=True)
class Calendar:
    """The owner's periods. `week_starts`: 0 Monday .. 6 Sunday; a fiscal year is named after its first or last day's year."""

    fiscal_starts_month: int = 1
    fiscal_starts_day: int = 1
    fiscal_named_after_end: bool = True
    week_starts: int = 0


@dataclass(frozen=True, slots=True)
class VerifiedQuery:
    """A question and the SQL that its owner says is right."""

    name: str
    question: str
    sql: str


@dataclass(frozen=True, eq=False)
class Layer:
    """Everything that an owner defined for one connection. Equal definitions have equal versions.

    `zero_counts`: where another metric has a group that a count has no rows of, the count is 0 there, else it has no value.
    """

    name: str
    datasets: Mapping[str, Dataset]
    relations: tuple[Relation, ...] = ()
    metrics: Mapping[str, Metric] = field(default_factory=dict[str, Metric])
    filters: Mapping[str, NamedFilter] = field(default_factory=dict[str, NamedFilter])
    calendar: Calendar = Calendar()
    zero_counts: bool = True
    verified: tuple[VerifiedQuery, ...] = ()
    instructions: str = ""
    description: str = ""

    @cached_property
    def version(self) -> str:
        """Twelve hexadecimal digits that change with any definition."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]

    @cached_property
    def _datasets_folded(self) -> dict[str, Dataset]:
        return {name.lower(): item for name, item in self.datasets.items()}

    @cached_property
    def _metrics_folded(self) -> dict[str, Metric]:
        return {name.lower(): item for name, item in self.metrics.items()}

    def dataset(self, name: str) -> Dataset | None:
        """Return the dataset of that name, case ignored."""
        return self._datasets_folded.get(name.lower())

    def metric(self, name: str) -> Metric | None:
        """Return the metric of that name, case ignored; dataset.metric finds it where the name alone does as well."""
        found = self._metrics_folded.get(name.lower())
        if found is None and "." in name:
            dataset, _, plain = name.lower().rpartition(".")
            found = self._metrics_folded.get(plain)
            if found is not None and found.dataset.lower() != dataset:
                return None
        return found
