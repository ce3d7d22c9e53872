"""One branch: a SELECT of the request's dimensions (g0, g1, ...) and of the leaves (m0, m1, ...) that share its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.engines import ENGINES
from querybus.engines.record import Dual
from querybus_semantic.compiling.conditions import (
    Context,
    conditions_of,
    is_own_date,
    own_date,
    period_conditions,
)
from querybus_semantic.compiling.dates import literal, moved, shifted, start_of, starts_between, truncated
from querybus_semantic.compiling.joins import Joins, source_of
from querybus_semantic.compiling.leaves import Leaf, field_named
from querybus_semantic.compiling.notes import Note, NoteKind
from querybus_semantic.layer.definitions import GRAIN_ORDER, Cumulative, Dataset, Grain, Type
from querybus_semantic.layer.refusal import Code, RefusedError
from querybus_semantic.layer.request import OWN_DATE, Dimension, Op

BUCKETS_MAX: Final = 1_000

Numbered = tuple[int, Leaf]


TERMS_MAX: Final = 50
"""Of one UNION: engines and limits refuse long chains of them."""


@dataclass(slots=True)
class Branch:
    """A query and the leaves it computes. `shows`: its groups appear in the answer by themselves."""

    query: exp.Select
    leaves: list[int]
    total: bool = False
    shows: bool = True
    notes: list[Note] = field(default_factory=list[Note])


def branches_of(context: Context, leaves: Sequence[Leaf]) -> list[Branch]:
    """Return one branch for each group of leaves that read the same rows."""
    groups: dict[tuple[object, ...], list[Numbered]] = {}
    for number, leaf in enumerate(leaves):
        groups.setdefault(_shared(context, leaf), []).append((number, leaf))
    return [_branch(context, group) for group in groups.values()]


def _shared(context: Context, leaf: Leaf) -> tuple[object, ...]:
    request = context.request
    dated = (request.period is not None and request.period.field == OWN_DATE) or any(
        item.field == OWN_DATE for item in (*request.dimensions, *request.filters)
    )
    special = leaf.non_additive, leaf.cumulative, leaf.conversion
    time = leaf.time if dated or any(special) or leaf.offsets else ""
    return leaf.home, time, leaf.narrowed, *special, leaf.offsets, leaf.total, leaf.within, _is_same_once(leaf)


def _is_same_once(leaf: Leaf) -> bool:
    """Whether a row that belongs to several groups can only count once in each: counts and extremes, not sums."""
    return isinstance(leaf.call, exp.Count | exp.Min | exp.Max)


def _branch(context: Context, group: list[Numbered]) -> Branch:
    leaf = group[0][1]
    if leaf.conversion is not None:
        query, notes = _converted(context, leaf, group), list[Note]()
    elif leaf.cumulative is not None:
        query, notes = _running(context, leaf, leaf.cumulative, group), list[Note]()
    else:
        query, notes = _plain(context, leaf, group)
    return Branch(query, [number for number, _ in group], total=leaf.total, shows=not leaf.offsets, notes=notes)


def dimensions_of(context: Context, leaf: Leaf) -> tuple[Dimension, ...]:
    """Return the dimensions that a leaf is split by."""
    return () if leaf.total else context.request.dimensions


def dimension(context: Context, leaf: Leaf, joins: Joins, item: Dimension) -> exp.Expr:
    """Return one dimension's expression for a leaf; finer than its date is stored: RefusedError."""
    layer = context.layer
    name = own_date(leaf) if item.field == OWN_DATE else item.field
    dataset, found = field_named(layer, name)
    value = joins.column(dataset, found.name if found is not None else name.rpartition(".")[2], item.via)
    if item.grain is None:
        return value
    if found is not None and found.grain is not None and GRAIN_ORDER[found.grain] > GRAIN_ORDER[item.grain]:
        raise RefusedError(Code.FINER_GRAIN, f"{name} is stored by {found.grain}, not by {item.grain}.", name)
    value = truncated(value, item.grain, context.dialect, layer.calendar)
    if is_own_date(leaf, item.field):
        for span in leaf.offsets:
            if GRAIN_ORDER[span.unit] < GRAIN_ORDER[item.grain]:
                raise RefusedError(
                    Code.FINER_GRAIN, f"An offset of {span.count} {span.unit} has no meaning by {item.grain}."
                )
            value = shifted(value, span.count, span.unit, context.dialect)
    return value


class _Columns:
    """Replaces the columns of aggregate calls by c0, c1, ... of an inner query, each selected once."""

    def __init__(self) -> None:
        self.selected: dict[str, exp.Expr] = {}

    def call(self, tree: exp.Expr) -> exp.Expr:
        result = tree.copy()
        for column in list(result.find_all(exp.Column)):
            if isinstance(column.this, exp.Star):
                continue
            name = self.name_of(column.copy())
            column.replace(exp.column(name))
        return result

    def name_of(self, value: exp.Expr) -> str:
        text = value.sql()
        for number, known in enumerate(self.selected):
            if known == text:
                return f"c{number}"
        self.selected[text] = value
        return f"c{len(self.selected) - 1}"

    def aliased(self) -> list[exp.Expr]:
        return [exp.alias_(value, f"c{number}") for number, value in enumerate(self.selected.values())]


def _groups(values: Sequence[exp.Expr]) -> list[exp.Expr]:
    return [exp.alias_(value, f"g{place}") for place, value in enumerate(values)]


def _named_groups(count: int) -> list[exp.Expr]:
    return [exp.column(f"g{place}") for place in range(count)]


def _inner(query: exp.Select, alias: str = "r") -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias)))


def _grouped(query: exp.Select, groups: Sequence[exp.Expr]) -> exp.Select:
    return query.group_by(*[group.copy() for group in groups], copy=False) if groups else query


def _plain(context: Context, leaf: Leaf, group: list[Numbered]) -> tuple[exp.Select, list[Note]]:
    joins = Joins(context.layer, context.dialect, leaf.home, leaf.within, untaught=_is_same_once(leaf))
    groups = [dimension(context, leaf, joins, item) for item in dimensions_of(context, leaf)]
    where = [*conditions_of(context, leaf, joins), *period_conditions(context, leaf, joins)]
    calls = [(number, joins.call(item.call)) for number, item in group]
    if leaf.non_additive is not None:
        return _level(context, leaf, joins, groups, where, calls), []
    if joins.multiplied:
        return _once_per_group(context, leaf, joins, groups, where, calls)
    query = joins.select().select(
        *_groups(groups), *[exp.alias_(call, f"m{number}") for number, call in calls], copy=False
    )
    return _grouped(query.where(*where, copy=False) if where else query, groups), []


def _once_per_group(
    context: Context,
    leaf: Leaf,
    joins: Joins,
    groups: list[exp.Expr],
    where: list[exp.Expr],
    calls: list[tuple[int, exp.Expr]],
) -> tuple[exp.Select, list[Note]]:
    home = context.layer.dataset(leaf.home)
    if home is None or not home.keys:
        raise RefusedError(
            Code.NO_KEY, f"{leaf.home} has no key, so a row cannot be counted once per group.", leaf.home
        )
    columns = _Columns()
    weight = joins.weight if groups else None
    outer: list[exp.Expr] = []
    for number, call in calls:
        if weight is not None and isinstance(call, exp.Sum):
            call = exp.Sum(this=exp.Mul(this=exp.paren(call.this.copy()), expression=weight.copy()))  # noqa: PLW2901 - the share
        outer.append(exp.alias_(columns.call(call), f"m{number}"))
    for column in home.keys[0]:
        columns.name_of(joins.own(column))
    inner = joins.select().select(*_groups(groups), *columns.aliased(), copy=False).distinct(copy=False)
    inner = inner.where(*where, copy=False) if where else inner
    query = exp.select(*_named_groups(len(groups)), *outer).from_(_inner(inner), copy=False)
    notes = [Note(NoteKind.ONCE_PER_GROUP, (leaf.home,))] if groups and weight is None else []
    return _grouped(query, _named_groups(len(groups))), notes


def _level(
    context: Context,
    leaf: Leaf,
    joins: Joins,
    groups: list[exp.Expr],
    where: list[exp.Expr],
    calls: list[tuple[int, exp.Expr]],
) -> exp.Select:
    """A level is not added up over time: only rows of the last (first) moment count, or the moments are averaged."""
    rule = leaf.non_additive
    if rule is None or joins.multiplied:
        raise RefusedError(Code.UNSUPPORTED, f"A level of {leaf.home} cannot be counted across a bridge.", leaf.home)
    dataset, found = field_named(context.layer, rule.time)
    moment = joins.column(dataset, found.name if found is not None else rule.time.rpartition(".")[2])
    columns = _Columns()
    outer = [(number, columns.call(call)) for number, call in calls]
    names = _named_groups(len(groups))
    if rule.choice == "average":
        inner = joins.select().select(*_groups(groups), exp.alias_(moment, "t"), *columns.aliased(), copy=False)
        inner = inner.where(*where, copy=False) if where else inner
        by_moment = exp.select(*names, *[exp.alias_(call, f"m{number}") for number, call in outer]).from_(
            _inner(inner), copy=False
        )
        by_moment = by_moment.group_by(*[name.copy() for name in names], exp.column("t"), copy=False)
        averages = [exp.alias_(exp.Avg(this=exp.column(f"m{number}")), f"m{number}") for number, _ in outer]
        return _grouped(exp.select(*names, *averages).from_(_inner(by_moment, "s"), copy=False), names)
    members: list[exp.Expr] = []
    for name in rule.per:
        owner, per = field_named(context.layer, name)
        members.append(joins.column(owner, per.name if per is not None else name.rpartition(".")[2]))
    periods = [
        value for value, item in zip(groups, dimensions_of(context, leaf), strict=True) if is_own_date(leaf, item.field)
    ]
    if rule.by_group:
        periods = groups
    chosen = exp.Max(this=moment.copy()) if rule.choice == "last" else exp.Min(this=moment.copy())
    window = exp.Window(this=chosen, partition_by=[value.copy() for value in (*members, *periods)])
    inner = joins.select().select(
        *_groups(groups), *columns.aliased(), exp.alias_(moment, "t"), exp.alias_(window, "chosen"), copy=False
    )
    inner = inner.where(*where, copy=False) if where else inner
    query = exp.select(*names, *[exp.alias_(call, f"m{number}") for number, call in outer]).from_(
        _inner(inner), copy=False
    )
    return _grouped(query.where(exp.EQ(this=exp.column("t"), expression=exp.column("chosen")), copy=False), names)


def _converted(context: Context, leaf: Leaf, group: list[Numbered]) -> exp.Select:
    """Rows of the conversion, each credited to the latest base row of its entity within the window, if there is one."""
    rule, layer, dialect = leaf.conversion, context.layer, context.dialect
    base_name = leaf.time.rpartition(".")[0]
    target = layer.dataset(leaf.home)
    base = layer.dataset(base_name)
    if rule is None or target is None or base is None or not target.keys or not base.keys:
        raise RefusedError(Code.NO_KEY, f"A conversion needs keys of {base_name} and {leaf.home}.", leaf.home)
    seen = replace(leaf, home=base.name, conversion=None)
    joins = Joins(layer, dialect, base.name)
    groups = [dimension(context, seen, joins, item) for item in dimensions_of(context, seen)]
    where = [*conditions_of(context, seen, joins), *period_conditions(context, seen, joins)]
    later = Joins(layer, dialect, target.name, prefix="later_")
    at = joins.own(leaf.time.rpartition(".")[2])
    target_time = _time_in(target)
    then = later.own(target_time)
    on: list[exp.Expr] = [
        exp.EQ(this=joins.own(rule.entity), expression=later.own(rule.entity)),
        exp.GTE(this=then.copy(), expression=at.copy()),
        *[exp.EQ(this=joins.own(left), expression=later.own(right)) for left, right in rule.constant],
    ]
    if rule.window is not None:
        end = shifted(at, rule.window.count, rule.window.unit, dialect)
        on.append((exp.LTE if rule.through else exp.LT)(this=then.copy(), expression=end))
    latest = exp.Order(
        expressions=[
            exp.Ordered(this=value, desc=True, nulls_first=False)
            for value in (at.copy(), *[joins.own(column) for column in base.keys[0]])
        ]
    )
    rank = exp.Window(this=exp.RowNumber(), partition_by=[later.own(column) for column in target.keys[0]], order=latest)
    columns = _Columns()
    outer = [exp.alias_(columns.call(later.call(item.call)), f"m{number}") for number, item in group]
    fits = (
        exp.Case().when(exp.and_(*where), exp.Literal.number(1)).else_(exp.Literal.number(0))
        if where
        else exp.Literal.number(1)
    )
    inner = (
        joins.select()
        .join(source_of(target, later.home_alias, dialect), on=exp.and_(*on), join_type="INNER", copy=False)
        .select(*_groups(groups), *columns.aliased(), exp.alias_(rank, "place"), exp.alias_(fits, "fits"), copy=False)
    )
    query = exp.select(*_named_groups(len(groups)), *outer).from_(_inner(inner), copy=False)
    one = exp.Literal.number(1)
    query = query.where(
        exp.EQ(this=exp.column("place"), expression=one),
        exp.EQ(this=exp.column("fits"), expression=one.copy()),
        copy=False,
    )
    return _grouped(query, _named_groups(len(groups)))


def _time_in(dataset: Dataset) -> str:
    if dataset.time:
        return dataset.time.rpartition(".")[2]
    times = [name for name, item in dataset.fields.items() if item.is_time]
    if len(times) != 1:
        raise RefusedError(Code.NO_DATE, f"{dataset.name} has no date of its own; name one.", dataset.name)
    return times[0]


def _running(context: Context, leaf: Leaf, rule: Cumulative, group: list[Numbered]) -> exp.Select:
    """For each period: the aggregate over the rows from its window's start to its own end; the period cuts what is shown."""
    dimensions = dimensions_of(context, leaf)
    joins = Joins(context.layer, context.dialect, leaf.home, leaf.within)
    timed = [place for place, item in enumerate(dimensions) if item.grain is not None and is_own_date(leaf, item.field)]
    if len(timed) > 1:
        raise RefusedError(Code.UNSUPPORTED, "A running value can be split by one period only.")
    others = [dimension(context, leaf, joins, item) for place, item in enumerate(dimensions) if place not in timed]
    where = conditions_of(context, leaf, joins)
    dataset, found = field_named(context.layer, own_date(leaf))
    moment = joins.column(dataset, found.name if found is not None else own_date(leaf).rpartition(".")[2])
    calls = [(number, joins.call(item.call)) for number, item in group]
    if joins.multiplied:
        raise RefusedError(Code.UNSUPPORTED, "A running value cannot be counted across a bridge.")
    if not timed:
        first, last = _whole_period(context, leaf, rule)
        kind = found.type if found is not None else None
        for day, comparison in ((first, exp.GTE), (last, exp.LT)):
            if day is not None and kind is not None:
                where.append(comparison(this=moment.copy(), expression=literal(day, kind, context.dialect)))
        query = joins.select().select(
            *_groups(others), *[exp.alias_(call, f"m{number}") for number, call in calls], copy=False
        )
        return _grouped(query.where(*where, copy=False) if where else query, others)
    grain = dimensions[timed[0]].grain or Grain.DAY
    columns = _Columns()
    outer = [exp.alias_(columns.call(call), f"m{number}") for number, call in calls]
    rows = joins.select().select(*[exp.alias_(value, f"o{place}") for place, value in enumerate(others)], copy=False)
    rows = rows.select(
        exp.alias_(moment, "t"), exp.alias_(exp.Literal.number(1), "one"), *columns.aliased(), copy=False
    )
    rows = rows.where(*where, copy=False) if where else rows
    buckets = _buckets(context, leaf, rule, grain)
    on: list[exp.Expr] = [
        exp.EQ(this=exp.column("one", table="r"), expression=exp.column("one", table="b")),
        exp.LT(this=exp.column("t", table="r"), expression=exp.column("ends", table="b")),
    ]
    if rule.window is not None or rule.to_date is not None:
        on.append(exp.GTE(this=exp.column("t", table="r"), expression=exp.column("since", table="b")))
    named: list[exp.Expr] = [exp.column(f"o{place}", table="r") for place in range(len(others))]
    named.insert(timed[0], exp.column("g", table="b"))
    query = exp.select(*[exp.alias_(value, f"g{place}") for place, value in enumerate(named)], *outer)
    query = query.from_(_inner(buckets, "b"), copy=False).join(
        _inner(rows), on=exp.and_(*on), join_type="INNER" if others else "LEFT", copy=False
    )
    return query.group_by(*[value.copy() for value in named], copy=False)


def _whole_period(context: Context, leaf: Leaf, rule: Cumulative) -> tuple[date | None, date | None]:
    period = context.request.period
    until = period.until if period is not None and is_own_date(leaf, period.field) else None
    if until is None:
        return (period.start, None) if period is not None and rule == Cumulative() else (None, None)
    return _since(rule, until, context), until


def _since(rule: Cumulative, until: date, context: Context) -> date | None:
    if rule.window is not None:
        return moved(until, -rule.window.count, rule.window.unit)
    if rule.to_date is not None:
        return start_of(moved(until, -1, Grain.DAY), rule.to_date, context.layer.calendar)
    return None


def _buckets(context: Context, leaf: Leaf, rule: Cumulative, grain: Grain) -> exp.Select:
    """Return the periods to show: as columns g (start), ends, since and one."""
    period, calendar = context.request.period, context.layer.calendar
    named = [item for item in context.request.filters if is_own_date(leaf, item.field) and item.op in {Op.IN, Op.EQUAL}]
    starts: list[date] | None = None
    if named:
        starts = sorted({start_of(date.fromisoformat(str(value)), grain, calendar) for value in named[0].values})
    elif period is not None and period.start is not None and period.until is not None:
        within = starts_between(period.start, period.until, grain, calendar, BUCKETS_MAX)
        starts = [day for day in within if period.gap is None or not period.gap[0] <= day < period.gap[1]]
    if starts is not None:
        return _known_buckets(context, rule, grain, starts)
    joins = Joins(context.layer, context.dialect, leaf.home)
    dataset, found = field_named(context.layer, own_date(leaf))
    moment = joins.column(dataset, found.name if found is not None else own_date(leaf).rpartition(".")[2])
    present = exp.Not(this=exp.Is(this=moment.copy(), expression=exp.Null()))
    start = truncated(moment, grain, context.dialect, calendar)
    starts_query = (
        joins.select().select(exp.alias_(start, "g"), copy=False).distinct(copy=False).where(present, copy=False)
    )
    if period is not None:
        starts_query = starts_query.where(*period_conditions(context, leaf, joins), copy=False)
    until = shifted(exp.column("g"), 1, grain, context.dialect)
    since: exp.Expr = exp.Null()
    if rule.window is not None:
        since = shifted(until, -rule.window.count, rule.window.unit, context.dialect)
    elif rule.to_date is not None:
        last = shifted(until, -1, Grain.DAY, context.dialect)
        since = truncated(last, rule.to_date, context.dialect, calendar)
    return exp.select(
        exp.column("g"),
        exp.alias_(until, "ends"),
        exp.alias_(since, "since"),
        exp.alias_(exp.Literal.number(1), "one"),
    ).from_(_inner(starts_query, "d"), copy=False)


def _known_buckets(context: Context, rule: Cumulative, grain: Grain, starts: list[date]) -> exp.Select:
    rows: list[list[exp.Expr]] = []
    for start in starts:
        until = moved(start, 1, grain)
        since = _since(rule, until, context) or start
        rows.append([literal(day, Type.DATE, context.dialect) for day in (start, until, since)])
    return listed(rows, ("g", "ends", "since"), context.dialect)


def listed(rows: Sequence[Sequence[exp.Expr]], names: Sequence[str], dialect: Dialect) -> exp.Select:
    """Return known rows as a query, with a column `one` that is 1; every dialect reads SELECT ... UNION ALL SELECT ..."""
    if not rows:
        raise RefusedError(Code.UNSUPPORTED, "The period holds no step to show.")
    chunks = [_listed(rows[start : start + TERMS_MAX], names, dialect) for start in range(0, len(rows), TERMS_MAX)]
    return chunks[0] if len(chunks) == 1 else _wrapped(_united(chunks), names)


def _listed(rows: Sequence[Sequence[exp.Expr]], names: Sequence[str], dialect: Dialect) -> exp.Select:
    terms: list[exp.Select] = []
    for row in rows:
        one = exp.select(
            *[exp.alias_(value, name) for value, name in zip(row, names, strict=True)],
            exp.alias_(exp.Literal.number(1), "one"),
        )
        terms.append(one.from_("DUAL", copy=False) if ENGINES[dialect].dual is Dual.NEEDED else one)
    return _wrapped(_united(terms), names)


def _united(terms: Sequence[exp.Query]) -> exp.Query:
    query = terms[0]
    for term in terms[1:]:
        query = exp.union(query, term, distinct=False, copy=False)
    return query


def _wrapped(query: exp.Query, names: Sequence[str]) -> exp.Select:
    columns = exp.select(*[exp.column(name) for name in (*names, "one")])
    return columns.from_(exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier("v"))), copy=False)
