"""The logical form: what a question asks for, as a frozen value that can be printed. It knows no SQL.

Tables and columns are numbers of the catalog; `describe` prints a form with their names.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Literal as OneOf
from typing import Protocol

from querybus.core.catalog import Column
from querybus_translator.language.time.words import Unit


class Aggregate(Enum):
    """How the rows of a group become one figure; the value is how it is printed."""

    COUNT = "how many"
    SUM = "sum of"
    AVERAGE = "average of"
    MAXIMUM = "greatest of"
    MINIMUM = "least of"
    SHARE = "share of"
    RATE = "how many for each"


class Operator(Enum):
    """A comparison; the value is how it is printed."""

    EQUAL = "="
    UNEQUAL = "!="
    GREATER = ">"
    AT_LEAST = ">="
    LESS = "<"
    AT_MOST = "<="
    CONTAINS = "holds"
    STARTS = "starts with"
    ENDS = "ends with"
    LACKS = "does not hold"
    IS_NULL = "is empty"
    NOT_NULL = "is filled"

    @property
    def opposite(self) -> Operator:
        return _OPPOSITES.get(self, self)


_OPPOSITES = {
    Operator.EQUAL: Operator.UNEQUAL,
    Operator.UNEQUAL: Operator.EQUAL,
    Operator.GREATER: Operator.AT_MOST,
    Operator.AT_MOST: Operator.GREATER,
    Operator.LESS: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.LESS,
    Operator.CONTAINS: Operator.LACKS,
    Operator.IS_NULL: Operator.NOT_NULL,
    Operator.NOT_NULL: Operator.IS_NULL,
}


class Combination(Enum):
    """How two forms make one result; the value is how it is printed."""

    BOTH = "and at the same time"
    EITHER = "together with"
    WITHOUT = "but not"


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column of the catalog by numbers; `part` cuts a day down to its month, year and so on."""

    table: int
    column: int
    part: Unit | None = None


Step = OneOf["days", "minutes", "hours"]
"""What a length of time is counted in."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A column, or a figure made of one. Without a column it counts rows of `table`.

    A rate is how many rows of `table` there are for each value of the column that there is any for. A share is the
    percentage of those rows, or of the column's sum, that `share_of` holds for; without it, of all that a group has. With `until` the
    figure is of the days, minutes or hours (`lasting`) from the column to that one, with `aged_on` of the years from a birth to that day.
    """

    column: ColumnRef | None = None
    aggregate: Aggregate | None = None
    table: int | None = None
    distinct: bool = False
    share_of: Condition | None = None
    until: ColumnRef | None = None
    lasting: Step = "days"
    aged_on: date | None = None

    @property
    def home(self) -> int | None:
        """The table that the measure needs; of a rate, the one whose rows are counted."""
        return self.column.table if self.column is not None and self.aggregate is not Aggregate.RATE else self.table


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as it will be compared: text, whole number, decimal number."""

    value: str | int | float


@dataclass(frozen=True, slots=True)
class Comparison:
    left: Measure
    operator: Operator
    right: Literal | ColumnRef | Form | None = None


@dataclass(frozen=True, slots=True)
class Membership:
    """The column's value is, or is not, among those that another form finds."""

    left: ColumnRef
    form: Form
    negated: bool


@dataclass(frozen=True, slots=True)
class AnyOf:
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    conditions: tuple[Condition, ...]


Condition = Comparison | Membership | AnyOf | AllOf


@dataclass(frozen=True, slots=True)
class Ordering:
    by: Measure
    descending: bool


@dataclass(frozen=True, slots=True)
class Form:
    """What is asked for. `tables` are needed even where no column of them is; `everything` asks for all columns.

    `near` gives tables with the one that each belongs to by where it stands: the department of the instructors, though
    students have one as well.
    """

    targets: tuple[Measure, ...]
    tables: tuple[int, ...] = ()
    where: tuple[Condition, ...] = ()
    group: tuple[ColumnRef, ...] = ()
    having: tuple[Comparison, ...] = ()
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    distinct: bool = False
    everything: int | None = None
    combined: tuple[Combination, Form] | None = None
    near: tuple[tuple[int, int], ...] = ()
    entered: tuple[int, tuple[str, ...]] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether columns are shown as they are: no figure, no group, no condition."""
        return not (self.where or self.group or any(target.aggregate is not None for target in self.targets))

    @property
    def is_idle(self) -> bool:
        """A figure of the very column that the rows are grouped by says nothing: the question meant another."""
        figures = (*self.targets, *(ordering.by for ordering in self.order))
        return any(figure.aggregate is not None and figure.column in self.group for figure in figures)


def tables_of(form: Form) -> tuple[int, ...]:
    """Return the tables that a form's own statement reads, in order of first use, without those of nested forms."""
    result: dict[int, None] = {}

    def add(table: int | None) -> None:
        if table is not None:
            result.setdefault(table)

    add(form.everything)
    for target in form.targets:
        add(target.home)
        add(target.column.table if target.column is not None else None)
        add(target.until.table if target.until is not None else None)
        for table in condition_tables(target.share_of) if target.share_of is not None else ():
            add(table)
    for table in form.tables:
        add(table)
    for condition in form.where:
        for table in condition_tables(condition):
            add(table)
    for column in form.group:
        add(column.table)
    for comparison in form.having:
        add(comparison.left.home)
    for ordering in form.order:
        add(ordering.by.home)
    return tuple(result)


def condition_tables(condition: Condition) -> tuple[int, ...]:
    """Return the tables whose columns a condition compares."""
    if isinstance(condition, AnyOf | AllOf):
        return tuple(table for item in condition.conditions for table in condition_tables(item))
    if isinstance(condition, Membership):
        return (condition.left.table,)
    result = [condition.left.home] if condition.left.home is not None else []
    if isinstance(condition.right, ColumnRef):
        result.append(condition.right.table)
    return tuple(result)


def columns_of(form: Form) -> frozenset[ColumnRef]:
    """Return every column that a form names, nested forms included."""
    column_refs: set[ColumnRef] = set(form.group)
    column_refs.update(target.column for target in form.targets if target.column is not None)
    column_refs.update(target.until for target in form.targets if target.until is not None)
    column_refs.update(ordering.by.column for ordering in form.order if ordering.by.column is not None)
    shares = (target.share_of for target in form.targets if target.share_of is not None)
    for condition in (*form.where, *form.having, *shares):
        column_refs |= condition_columns(condition)
    if form.combined is not None:
        column_refs |= columns_of(form.combined[1])
    return frozenset(column_refs)


def condition_columns(condition: Condition) -> set[ColumnRef]:
    """Return every column that a condition compares, nested forms included."""
    if isinstance(condition, AnyOf | AllOf):
        return {column for item in condition.conditions for column in condition_columns(item)}
    if isinstance(condition, Membership):
        return {condition.left, *columns_of(condition.form)}
    result = {condition.left.column} if condition.left.column is not None else set[ColumnRef]()
    if isinstance(condition.right, ColumnRef):
        result.add(condition.right)
    elif isinstance(condition.right, Form):
        result |= columns_of(condition.right)
    return result


def gist(form: Form) -> tuple[object, ...]:
    """Return what distinguishes two forms in what they mean: groups, their labels and counts say by their tables only."""
    grouped = {column.table for column in form.group}
    plain = {
        (
            target.aggregate,
            target.home if target.aggregate is Aggregate.COUNT else target.column,
            target.until,
            target.lasting,
            target.share_of,
        )
        for target in form.targets
        if target.aggregate is not None or target.home not in grouped
    }
    return (
        frozenset(tables_of(form)),
        frozenset(plain),
        frozenset(map(_gist_of, form.where)),
        frozenset(grouped),
        tuple((condition.left.home, condition.operator, condition.right) for condition in form.having),
        tuple((ordering.by.aggregate, ordering.by.home, ordering.descending) for ordering in form.order),
        form.limit,
        form.everything,
        None if form.combined is None else (form.combined[0], gist(form.combined[1])),
    )


def _gist_of(condition: Condition) -> object:
    return (condition.left, condition.negated, gist(condition.form)) if isinstance(condition, Membership) else condition


class Named(Protocol):
    """What gives numbers their names: the index of a catalog."""

    def title(self, number: int) -> str: ...

    def column(self, table: int, column: int) -> Column: ...


def describe(form: Form, names: Named) -> str:
    """Return the form as one line, names as the catalog spells them."""
    return _Printer(names).form(form)


class _Printer:
    def __init__(self, names: Named) -> None:
        self._names = names

    def form(self, form: Form) -> str:
        asked = [self.measure(target) for target in form.targets]
        if form.everything is not None:
            asked.append(f"everything about {self._names.title(form.everything)}")
        parts = [("distinct " if form.distinct else "") + ", ".join(asked)]
        joined = [table for table in form.tables if table not in {target.home for target in form.targets}]
        if joined:
            parts.append("of " + ", ".join(self._names.title(item) for item in joined))
        if form.where:
            parts.append("where " + " and ".join(self.condition(condition) for condition in form.where))
        if form.group:
            parts.append("for each " + ", ".join(self.column(part) for part in form.group))
        if form.having:
            parts.append("having " + " and ".join(self.condition(condition) for condition in form.having))
        if form.order:
            keys = (f"{self.measure(ordering.by)} {'down' if ordering.descending else 'up'}" for ordering in form.order)
            parts.append("ordered by " + ", ".join(keys))
        if form.limit is not None:
            parts.append(f"first {form.limit}")
        if form.combined is not None:
            parts.append(f"{form.combined[0].value} [{self.form(form.combined[1])}]")
        return " | ".join(parts)

    def column(self, column: ColumnRef) -> str:
        shown = f"{self._names.title(column.table)}.{self._names.column(column.table, column.column).name}"
        return shown if column.part is None else f"{column.part.name.lower()} of {shown}"

    def measure(self, measure: Measure) -> str:
        if measure.column is not None:
            shown = self.column(measure.column)
        else:
            shown = self._names.title(measure.table) if measure.table is not None else "rows"
        if measure.until is not None:
            shown = f"{measure.lasting} from {shown} to {self.column(measure.until)}"
        if measure.distinct:
            shown = f"different {shown}"
        if measure.aggregate is Aggregate.RATE and measure.table is not None:
            return f"how many {self._names.title(measure.table)} for each {shown}"
        share = "" if measure.share_of is None else f" with {self.condition(measure.share_of)}"
        return f"{measure.aggregate.value} {shown}{share}" if measure.aggregate is not None else shown

    def condition(self, condition: Condition) -> str:
        if isinstance(condition, AnyOf):
            return "(" + " or ".join(self.condition(item) for item in condition.conditions) + ")"
        if isinstance(condition, AllOf):
            return "(" + " and ".join(self.condition(item) for item in condition.conditions) + ")"
        if isinstance(condition, Membership):
            verb = "not among" if condition.negated else "among"
            return f"{self.column(condition.left)} {verb} [{self.form(condition.form)}]"
        shown = f"{self.measure(condition.left)} {condition.operator.value}"
        if isinstance(condition.right, Literal):
            return f"{shown} {condition.right.value!r}"
        if isinstance(condition.right, ColumnRef):
            return f"{shown} {self.column(condition.right)}"
        if isinstance(condition.right, Form):
            return f"{shown} [{self.form(condition.right)}]"
        return shown
