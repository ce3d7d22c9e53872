"""A logical form becomes a sqlglot tree, and that the SQL of the catalog's dialect.

Tables are joined along the cheapest keys; a join that would count a row more than once counts its key instead.
Limits: a form whose tables no key connects, or whose sums a join would multiply, cannot be written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

from sqlglot import exp

from querybus.core.catalog import ColumnKind, Language
from querybus_semantic.compiling.dates import days_between, hour_of_day, time_between, truncated, weekday
from querybus_semantic.layer.definitions import Calendar, Grain
from querybus_translator.language.time.words import WEEKDAYS, Unit
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.joins import Edge
from querybus_translator.writing.form import (
    Aggregate,
    AllOf,
    AnyOf,
    ColumnRef,
    Combination,
    Comparison,
    Condition,
    Form,
    Literal,
    Measure,
    Membership,
    Operator,
    condition_tables,
    tables_of,
)
from querybus_translator.writing.group_order import times_in_order


@dataclass(frozen=True, slots=True)
class Written:
    """The SQL and what joining took: number of joins and their summed cost.

    `keys` were a toss-up: of each several keys between the same two tables the first. `ways` were as well: of each the
    tables in between, of the way taken and of its rivals, and the table that all of them lead to.
    """

    sql: str
    joins: int
    cost: float
    keys: tuple[tuple[Edge, ...], ...] = ()
    ways: tuple[tuple[int, tuple[frozenset[int], ...]], ...] = ()
    hubs: int = 0
    """Tables that nobody spoke of and that two others refer to: members and trainers have no more to do with each other than a club."""


def write(
    form: Form, index: CatalogIndex, hints: frozenset[str] = frozenset(), language: Language = "en"
) -> Written | None:
    """Return the SQL of a form, or None where its tables cannot be joined.

    `hints` are words of the question; `language` is that of the names that weekdays get.
    """
    try:
        writer = _Writer(index, hints, language)
        tree = writer.query(form)
    except _Unjoinable:
        return None
    return Written(
        tree.sql(dialect=index.catalog.dialect.value),
        writer.joins,
        writer.cost,
        tuple(writer.keys),
        tuple(writer.ways),
        writer.hubs,
    )


_Key = tuple[int, tuple[str, ...]]
"""A table and those of its columns that are a key of another."""


def _keys_of(path: Sequence[Edge]) -> set[_Key]:
    return {(edge.source, edge.source_columns) for edge in path}


class _Unjoinable(Exception):
    pass


_AGGREGATES: dict[Aggregate, type[exp.Expr]] = {
    Aggregate.COUNT: exp.Count,
    Aggregate.SUM: exp.Sum,
    Aggregate.AVERAGE: exp.Avg,
    Aggregate.MAXIMUM: exp.Max,
    Aggregate.MINIMUM: exp.Min,
}
_MULTIPLIED = frozenset({Aggregate.SUM, Aggregate.AVERAGE, Aggregate.COUNT})
_COMPARISONS: dict[Operator, type[exp.Expr]] = {
    Operator.EQUAL: exp.EQ,
    Operator.UNEQUAL: exp.NEQ,
    Operator.GREATER: exp.GT,
    Operator.AT_LEAST: exp.GTE,
    Operator.LESS: exp.LT,
    Operator.AT_MOST: exp.LTE,
}
_COMBINATIONS: dict[Combination, type[exp.SetOperation]] = {
    Combination.BOTH: exp.Intersect,
    Combination.EITHER: exp.Union,
    Combination.WITHOUT: exp.Except,
}


@dataclass(frozen=True, slots=True)
class _Plan:
    root: int
    steps: tuple[tuple[int, Edge], ...]
    is_grouped: bool = False

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.root, *(table for table, _ in self.steps))

    def fans_out(self, table: int) -> bool:
        """Return whether one row of `table` may meet several rows of the others."""
        seen = {table}
        grew = True
        while grew:
            grew = False
            for _, edge in self.steps:
                for near, far, single in (
                    (edge.source, edge.target, edge.to_one),
                    (edge.target, edge.source, False),
                ):
                    if near in seen and far not in seen:
                        if not single:
                            return True
                        seen.add(far)
                        grew = True
        return False


class _Writer:
    def __init__(self, index: CatalogIndex, hints: frozenset[str], language: Language) -> None:
        self._index = index
        self._language: Language = language
        self._hints = hints
        self.joins = 0
        self.hubs = 0
        self.cost = 0.0
        self.keys: list[tuple[Edge, ...]] = []
        self.ways: list[tuple[int, tuple[frozenset[int], ...]]] = []

    def query(self, form: Form) -> exp.Query:
        if form.combined is None:
            return self._select(replace(form, order=form.order or times_in_order(form, self._index)))
        select = self._select(form)
        combination, other = form.combined
        return _COMBINATIONS[combination](this=select, expression=self._select(other), distinct=True)

    def _select(self, form: Form) -> exp.Select:
        plan = replace(self._plan(tables_of(form), dict(form.near), form.entered), is_grouped=bool(form.group))
        names = _Names(self._index, plan, self._language)
        targets: list[exp.Expr] = [self._shown(target, names, plan) for target in form.targets]
        if form.everything is not None:
            targets.append(names.star(form.everything))
        select = exp.select(*targets).from_(names.table(plan.root))
        for table, edge in plan.steps:
            on = exp.and_(
                *(
                    exp.EQ(
                        this=names.column_named(edge.source, source), expression=names.column_named(edge.target, target)
                    )
                    for source, target in zip(edge.source_columns, edge.target_columns, strict=True)
                )
            )
            select = select.join(names.table(table), on=on)
        for condition in form.where:
            select = select.where(self._condition(condition, names, plan))
        for column in form.group:
            select = select.group_by(names.column(column))
        for comparison in form.having:
            select = select.having(self._condition(comparison, names, plan))
        for ordering in form.order:
            column = ordering.by.column if ordering.by.aggregate is None else None
            if ordering.by.until is not None and ordering.by.aggregate is None:
                by = self._measure(ordering.by, names, plan)
            elif column is not None and column.part is Unit.WEEKDAY:
                # Monday before Friday, which their names are not; a group has one of them.
                by = exp.Min(this=names.weekday(column)[0])
            elif column is not None:
                by = self._as_figure(column, names.column(column))
            else:
                by = self._measure(ordering.by, names, plan)
            select = select.order_by(
                exp.Ordered(this=by, desc=ordering.descending, nulls_first=not ordering.descending)
            )
        if form.limit is not None:
            select = select.limit(form.limit)
        return select.distinct() if form.distinct else select

    def _plan(self, tables: Sequence[int], near: Mapping[int, int], used: _Key | None) -> _Plan:
        if not tables:
            raise _Unjoinable
        joined = [tables[0]]
        steps: list[tuple[int, Edge]] = []
        left = list(tables[1:])
        while left:
            # What belongs to a table is joined behind it, and to no other that would do.
            ready = [item for item in left if near.get(item) not in left] or left
            paths = [(self._path(joined, item, near.get(item), used), item) for item in ready]
            reachable = [(path, item) for path, item in paths if path is not None]
            if not reachable:
                raise _Unjoinable
            path, target = min(
                reachable, key=lambda found: (sum(item.cost for item in found[0]), tables.index(found[1]))
            )
            rival_ways = self._index.graph.rival_paths(joined, path, target)
            if rival_ways:
                self.ways.append((target, rival_ways))
            self.hubs += sum(
                before.target == behind.target and before.source != behind.source and before.target not in tables
                for before, behind in pairwise(path)
            )
            for edge in path:
                table = edge.target if edge.source in joined else edge.source
                joined.append(table)
                steps.append((table, edge))
                self.joins += 1
                self.cost += edge.cost
                taken = {used, *((other.source, other.source_columns) for _, other in steps), *_keys_of(path)}
                rivals = self._index.graph.rival_keys(edge, self._hints)
                # A key by which a role is joined is no other way to join whose role it is.
                rivals = tuple(rival for rival in rivals if (rival.source, rival.source_columns) not in taken)
                if rivals:
                    self.keys.append((edge, *rivals))
            left = [item for item in left if item not in joined and item != target]
        return _Plan(tables[0], tuple(steps))

    def _path(
        self, joined: Sequence[int], table: int, beside: int | None, used: _Key | None
    ) -> tuple[Edge, ...] | None:
        if beside is not None and beside in joined:
            path = self._index.graph.path([beside], table, self._hints, used)
            passed = {step for edge in path or () for step in (edge.source, edge.target)} - {beside}
            if path is not None and passed.isdisjoint(joined):
                return path
        return self._index.graph.path(joined, table, self._hints, used)

    def _shown(self, measure: Measure, names: _Names, plan: _Plan) -> exp.Expr:
        made = self._measure(measure, names, plan)
        part = measure.column.part if measure.aggregate is None and measure.column is not None else None
        if measure.until is not None and measure.aggregate is not None:
            return exp.alias_(made, f"{_FIGURES_OF_DAYS[measure.aggregate]}_{measure.lasting}", quoted=True)
        if measure.aged_on is not None and measure.aggregate is not None:
            return exp.alias_(made, f"{_FIGURES_OF_DAYS[measure.aggregate]}_age", quoted=True)
        # The first day of a quarter alone would be taken for a month.
        return exp.alias_(made, part.name.lower(), quoted=True) if part in _CALLED else made

    def _measure(self, measure: Measure, names: _Names, plan: _Plan) -> exp.Expr:
        if measure.aggregate is None and measure.column is not None and measure.until is not None:
            return self._lasting(measure, measure.column, measure.until, names)
        if measure.aggregate is None:
            if measure.column is None:
                raise _Unjoinable
            return names.column(measure.column)
        if measure.aggregate is Aggregate.RATE:
            return self._rate(measure, names, plan)
        if measure.aggregate is Aggregate.SHARE:
            return self._share(measure, names, plan)
        if measure.column is not None and measure.until is not None:
            if all(plan.fans_out(end.table) for end in (measure.column, measure.until)):
                raise _Unjoinable
            lasting = self._lasting(measure, measure.column, measure.until, names)
            return _AGGREGATES[measure.aggregate](this=lasting)
        if measure.column is not None and measure.aged_on is not None:
            if plan.fans_out(measure.column.table):
                raise _Unjoinable
            return _AGGREGATES[measure.aggregate](this=self._age(measure.column, measure.aged_on, names))
        if measure.column is not None:
            if measure.aggregate in _MULTIPLIED and not measure.distinct and plan.fans_out(measure.column.table):
                # Each figure would be taken once for every row that it meets: better asked about than wrong.
                raise _Unjoinable
            column: exp.Expr = names.column(measure.column)
            if measure.aggregate is not Aggregate.COUNT:
                column = self._as_figure(measure.column, column)
            if measure.distinct:
                column = exp.Distinct(expressions=[column])
            return _AGGREGATES[measure.aggregate](this=column)
        if measure.table is not None and plan.fans_out(measure.table):
            key = self._index.table(measure.table).primary_key
            if len(key) != 1:
                raise _Unjoinable
            return exp.Count(this=exp.Distinct(expressions=[names.column_named(measure.table, key[0])]))
        return exp.Count(this=exp.Star())

    def _lasting(self, measure: Measure, start: ColumnRef, end: ColumnRef, names: _Names) -> exp.Expr:
        ends = names.column(start), names.column(end)
        if measure.lasting == "days":
            return days_between(*ends, self._index.catalog.dialect)
        return time_between(*ends, measure.lasting, self._index.catalog.dialect)

    def _age(self, born: ColumnRef, day: date, names: _Names) -> exp.Expr:
        """(days from a birth to that day) / 365.25, or that year - the year of birth."""
        column = names.column(born)
        if self._index.column(born.table, born.column).kind in {ColumnKind.DATE, ColumnKind.DATETIME}:
            written = exp.Literal.string(day.isoformat())
            days = days_between(column, exp.cast(written, exp.DataType.Type.DATE), self._index.catalog.dialect)
            return exp.Div(this=days, expression=exp.Literal.number("365.25"))
        return exp.Sub(this=exp.Literal.number(day.year), expression=column)

    def _rate(self, measure: Measure, names: _Names, plan: _Plan) -> exp.Expr:
        """1.0 * how many rows / how many different values of what they belong to."""
        if measure.table is None or measure.column is None or plan.fans_out(measure.table):
            raise _Unjoinable
        pieces = exp.Count(this=exp.Distinct(expressions=[names.column(measure.column)]))
        rows = exp.Mul(this=exp.Literal.number("1.0"), expression=exp.Count(this=exp.Star()))
        return exp.Div(this=rows, expression=pieces)

    def _share(self, measure: Measure, names: _Names, plan: _Plan) -> exp.Expr:
        """100.0 * of how many rows it holds / how many rows there are; of a group, / the rows of all groups; or of amounts."""
        if measure.table is None or plan.fans_out(measure.table) or self._drops_rows(measure, plan):
            raise _Unjoinable
        counted: exp.Expr = exp.Literal.number(1)
        rows: exp.Expr = exp.Count(this=exp.Star())
        if measure.column is not None:
            counted = self._as_figure(measure.column, names.column(measure.column))
            rows = exp.Sum(this=counted.copy())
        if measure.share_of is None:
            part, whole = rows, exp.Window(this=exp.Sum(this=rows.copy()))
        else:
            case = exp.case().when(self._condition(measure.share_of, names, plan), counted)
            part, whole = exp.Sum(this=case.else_(exp.Literal.number(0))), rows
        return exp.Div(this=exp.Mul(this=exp.Literal.number("100.0"), expression=part), expression=whole)

    def _drops_rows(self, measure: Measure, plan: _Plan) -> bool:
        """Whether a row without a key would be joined to nothing, and so be missing from what a share is of; it is in no group."""
        is_own = measure.share_of is not None and measure.table in condition_tables(measure.share_of)
        if plan.is_grouped and is_own:
            return False
        return any(
            self._index.column(column.table, column.column).nullable
            for _, edge in plan.steps
            for column in columns_named(self._index, edge.source, edge.source_columns)
        )

    def _as_figure(self, column: ColumnRef, written: exp.Expr) -> exp.Expr:
        """Figures kept as texts are compared as figures."""
        kind = self._index.column(column.table, column.column).kind
        if kind is ColumnKind.TEXT and self._index.holds_figures(column.table, column.column):
            return exp.cast(written, exp.DataType.Type.DOUBLE)
        return written

    def _condition(self, condition: Condition, names: _Names, plan: _Plan) -> exp.Expr:
        if isinstance(condition, AnyOf):
            return exp.paren(
                exp.or_(*(self._condition(item, names, plan) for item in condition.conditions)), copy=False
            )
        if isinstance(condition, AllOf):
            return exp.and_(*(self._condition(item, names, plan) for item in condition.conditions))
        if isinstance(condition, Membership):
            result = exp.In(this=names.column(condition.left), query=exp.Subquery(this=self.query(condition.form)))
            return exp.Not(this=result) if condition.negated else result
        return self._comparison(condition, names, plan)

    def _comparison(self, comparison: Comparison, names: _Names, plan: _Plan) -> exp.Expr:
        left = self._measure(comparison.left, names, plan)
        operator, right = comparison.operator, comparison.right
        if operator is Operator.IS_NULL:
            return exp.Is(this=left, expression=exp.Null())
        if operator is Operator.NOT_NULL:
            return exp.Not(this=exp.Is(this=left, expression=exp.Null()))
        if operator in _PATTERNS and isinstance(right, Literal):
            like = exp.Like(this=left, expression=exp.Literal.string(_PATTERNS[operator].format(_escaped(right))))
            return exp.Not(this=like) if operator is Operator.LACKS else like
        if operator in _ORDERED and comparison.left.aggregate is None and comparison.left.column is not None:
            left = self._as_figure(comparison.left.column, left)
        if isinstance(right, Literal):
            literal = self._literal(right, comparison.left)
            if isinstance(left, exp.Cast) and isinstance(right.value, int | float):
                literal = exp.Literal.number(right.value)
            return _COMPARISONS[operator](this=left, expression=literal)
        if isinstance(right, ColumnRef):
            return _COMPARISONS[operator](this=left, expression=names.column(right))
        if isinstance(right, Form):
            return _COMPARISONS[operator](this=left, expression=exp.Subquery(this=self.query(right)))
        raise _Unjoinable

    def _literal(self, literal: Literal, against: Measure) -> exp.Expr:
        value = literal.value
        if isinstance(value, str):
            return exp.Literal.string(value)
        if against.aggregate is None and against.column is not None:
            kind = self._index.column(against.column.table, against.column.column).kind
            if kind is ColumnKind.TEXT:
                return exp.Literal.string(str(value))
            if kind is ColumnKind.BOOLEAN and value in (0, 1):
                return exp.Boolean(this=value == 1)
        return exp.Literal.number(value)


_PARTS = {Unit.YEAR: "%Y", Unit.MONTH: "%Y-%m", Unit.WEEK: "%Y-%W", Unit.DAY: "%Y-%m-%d"}
_FIGURES_OF_DAYS = {Aggregate.AVERAGE: "average", Aggregate.MAXIMUM: "most", Aggregate.MINIMUM: "least"}
_CALLED = frozenset({Unit.QUARTER, Unit.WEEKDAY, Unit.HOUR})
_ORDERED = frozenset({Operator.GREATER, Operator.AT_LEAST, Operator.LESS, Operator.AT_MOST})
_PATTERNS = {
    Operator.CONTAINS: "%{}%",
    Operator.LACKS: "%{}%",
    Operator.STARTS: "{}%",
    Operator.ENDS: "%{}",
}


def _escaped(literal: Literal) -> str:
    return str(literal.value).replace("%", "").replace("{", "").replace("}", "")


class _Names:
    """How one statement calls its tables: by their names if there is one, by short aliases if there are more."""

    def __init__(self, index: CatalogIndex, plan: _Plan, language: Language) -> None:
        self._index = index
        self._language: Language = language
        tables = plan.tables
        self._aliases = {} if len(tables) == 1 else {table: f"t{place + 1}" for place, table in enumerate(tables)}

    def table(self, number: int) -> exp.Table:
        table = self._index.table(number)
        schema = None if self._index.catalog.is_default(table) else table.schema_name
        made = exp.Table(this=_identifier(table.name), db=_identifier(schema) if schema else None)
        alias = self._aliases.get(number)
        if alias is not None:
            made.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
        return made

    def column(self, column: ColumnRef) -> exp.Expr:
        named = self.column_named(column.table, self._index.column(column.table, column.column).name)
        if column.part is None:
            return named
        if column.part is Unit.QUARTER:
            # No format writes a quarter: it is shown by its first day.
            return truncated(named, Grain.QUARTER, self._index.catalog.dialect, Calendar())
        if column.part is Unit.WEEKDAY:
            number, monday = self.weekday(column)
            days = enumerate(WEEKDAYS[self._language], start=monday)
            return exp.Case(
                this=number,
                ifs=[exp.If(this=exp.Literal.number(day), true=exp.Literal.string(name)) for day, name in days],
            )
        if column.part is Unit.HOUR:
            return hour_of_day(named, self._index.catalog.dialect)
        return exp.TimeToStr(this=named, format=exp.Literal.string(_PARTS[column.part]))

    def weekday(self, column: ColumnRef) -> tuple[exp.Expr, int]:
        """Return the number of a day's weekday, and which one a Monday has."""
        named = self.column_named(column.table, self._index.column(column.table, column.column).name)
        return weekday(named, self._index.catalog.dialect)

    def column_named(self, table: int, name: str) -> exp.Column:
        alias = self._aliases.get(table)
        return exp.Column(this=_identifier(name), table=exp.to_identifier(alias) if alias else None)

    def star(self, table: int) -> exp.Expr:
        alias = self._aliases.get(table)
        if alias is None:
            return exp.Star()
        return exp.Column(this=exp.Star(), table=exp.to_identifier(alias))


def _identifier(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)


def columns_named(index: CatalogIndex, table: int, names: Iterable[str]) -> tuple[ColumnRef, ...]:
    """Return references to columns of a table by their names."""
    places = {column.name.lower(): place for place, column in enumerate(index.table(table).columns)}
    return tuple(ColumnRef(table, places[name.lower()]) for name in names)
