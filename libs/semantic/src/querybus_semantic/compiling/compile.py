"""A request and a layer become one SQL statement, or a refusal that says what is missing. Pure: no I/O, same text for the same request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.sql.parse import GRAMMARS
from querybus_semantic.compiling.branches import (
    BUCKETS_MAX,
    Branch,
    branches_of,
    listed,
)
from querybus_semantic.compiling.conditions import Context, compared, is_on_metric
from querybus_semantic.compiling.dates import literal, starts_between
from querybus_semantic.compiling.engines import finished
from querybus_semantic.compiling.forms import FORMS
from querybus_semantic.compiling.joins import name_of
from querybus_semantic.compiling.leaves import Leaf, Leaves, field_named, formula_of
from querybus_semantic.compiling.notes import Note, NoteKind, cut_groups
from querybus_semantic.compiling.paths import path_between
from querybus_semantic.layer.definitions import Grain, Layer, Type
from querybus_semantic.layer.refusal import Code, Refusal, RefusedError
from querybus_semantic.layer.request import (
    DIMENSIONS_MAX,
    FILTERS_MAX,
    LIMIT_MAX,
    METRICS_MAX,
    OWN_DATE,
    Asker,
    Dimension,
    Filter,
    Order,
    Request,
)


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the answer: a dimension (with its grain) or a metric (with its unit)."""

    name: str
    metric: str = ""
    field: str = ""
    grain: Grain | None = None
    unit: str = ""
    hidden: bool = False
    via: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compiled:
    """A statement, its columns in order, what has to be said of it, and the version of the layer it was made from."""

    sql: str
    outputs: tuple[Output, ...]
    notes: tuple[Note, ...]
    version: str


def compile_request(layer: Layer, request: Request, dialect: Dialect, asker: Asker | None = None) -> Compiled | Refusal:
    """Return the SQL for a request in a dialect. Draft definitions answer nothing.

    `asker` fills in what definitions leave open; without one such a definition is refused.
    """
    try:
        return _compiled(Context(layer, dialect, request, asker))
    except RefusedError as error:
        return error.refusal


def _compiled(context: Context) -> Compiled:
    layer, request, asker = context.layer, context.request, context.asker
    _within_limits(request)
    outputs = [_dimension_output(item) for item in request.dimensions]
    if not request.metrics:
        query, notes = _distinct(context, outputs)
    else:
        leaves = Leaves(layer)
        formulas = {name: _formula(layer, name, leaves) for name in request.metrics}
        wanted = {
            item.field: _formula(layer, item.field, leaves) for item in request.filters if _is_result(layer, item)
        }
        for name in request.metrics:
            metric = layer.metric(name)
            outputs.append(Output(name=name, metric=name, unit=metric.unit if metric is not None else ""))
        branches = branches_of(context, leaves.found)
        notes = list(dict.fromkeys(note for branch in branches for note in branch.notes))
        query = _combined(context, branches, leaves.found, formulas, wanted, outputs)
        if len({leaf.time for leaf in leaves.found if leaf.time}) > 1 and _by_own_date(request):
            notes.append(Note(NoteKind.OWN_DATES, tuple(sorted({leaf.time for leaf in leaves.found if leaf.time}))))
        notes += cut_groups(request, layer.calendar, asker)
    shown = [output for output in outputs if not output.hidden]
    query = _ordered(query, request, shown)
    tree = _filled_in(finished(query, context.dialect), asker, context.dialect)
    sql = GRAMMARS[context.dialect].generate(tree, comments=False, copy=False)
    return Compiled(sql, tuple(shown), tuple(notes), layer.version)


def _filled_in(tree: exp.Select, asker: Asker | None, dialect: Dialect) -> exp.Select:
    for node in list(tree.find_all(exp.Placeholder)):
        is_today = node.name == "today"
        if asker is None or not (is_today or asker.user):
            raise RefusedError(Code.UNSUPPORTED, f"The definition depends on :{node.name}, which nobody has given.")
        node.replace(literal(asker.today, Type.DATE, dialect) if is_today else exp.Literal.string(asker.user))
    return tree


def _is_result(layer: Layer, item: Filter) -> bool:
    return not item.per and is_on_metric(layer, item)


def _by_own_date(request: Request) -> bool:
    return (request.period is not None and request.period.field == OWN_DATE) or any(
        item.field == OWN_DATE for item in request.dimensions
    )


def _within_limits(request: Request) -> None:
    for what, count, most in (
        ("metrics", len(request.metrics), METRICS_MAX),
        ("dimensions", len(request.dimensions), DIMENSIONS_MAX),
        ("filters", len(request.filters) + len(request.named) + len(request.conditions), FILTERS_MAX),
        ("rows", request.limit or 0, LIMIT_MAX),
    ):
        if count > most:
            raise RefusedError(Code.TOO_MUCH, f"{count:,} {what} are asked for; at most {most:,} are allowed.")
    if not request.metrics and not request.dimensions:
        raise RefusedError(Code.UNKNOWN_METRIC, "The request names no metric and no dimension.")


def _formula(layer: Layer, name: str, leaves: Leaves) -> exp.Expr:
    metric = layer.metric(name)
    if metric is None:
        raise RefusedError(
            Code.UNKNOWN_METRIC, f"There is no metric `{name}`.", name, tuple(sorted(layer.metrics))[:20]
        )
    if metric.words.state == "draft":
        raise RefusedError(
            Code.NOT_APPROVED, f"Metric {name} is a draft; nothing is answered with it until it is approved.", name
        )
    return formula_of(layer, metric, leaves)


def _dimension_output(item: Dimension) -> Output:
    name = item.name or (item.grain.value if item.field == OWN_DATE and item.grain else item.field.rpartition(".")[2])
    return Output(name=name, field=item.field, grain=item.grain, hidden=item.hidden, via=item.via)


def _distinct(context: Context, outputs: Sequence[Output]) -> tuple[exp.Select, list[Note]]:
    """Return the values of dimensions alone, from the dataset that reaches them all over the fewest relations."""
    layer, request = context.layer, context.request
    wanted = [field_named(layer, item.field)[0] for item in request.dimensions if item.field != OWN_DATE]
    if len(wanted) != len(request.dimensions):
        raise RefusedError(Code.NO_DATE, "Without a metric a date has to be named, dataset.field.")
    reached: list[tuple[int, str]] = []
    for name in layer.datasets:
        try:
            paths = [
                path_between(layer, name, target, item.via)
                for target, item in zip(wanted, request.dimensions, strict=True)
            ]
        except RefusedError:
            continue
        if all(path is not None for path in paths):
            reached.append((sum(len(path) for path in paths if path is not None), name))
    if not reached:
        raise RefusedError(Code.NO_PATH, f"No dataset holds {' and '.join(dict.fromkeys(wanted))} together.")
    fewest = [name for length, name in sorted(reached) if length == min(reached)[0]]
    own = [name for name in fewest if name in wanted]
    if len(fewest) > 1 and not own:
        # Which of their values occur together is another thing in each.
        raise RefusedError(
            Code.AMBIGUOUS_PATH,
            f"{' and '.join(dict.fromkeys(wanted))} meet in {' and in '.join(fewest)}: name a metric of one of them.",
            wanted[0],
            tuple(fewest),
        )
    home = (own or fewest)[0]
    leaf = Leaf(exp.Count(this=exp.Star()), home, "")
    plain = _branch_of(context, leaf)
    query = plain.select(
        *[exp.alias_(exp.column(f"g{place}"), name_of(output.name)) for place, output in enumerate(outputs)],
        append=False,
        copy=False,
    )
    return query, [Note(NoteKind.OCCUR_TOGETHER, (home,))] if len(set(wanted)) > 1 else []


def _branch_of(context: Context, leaf: Leaf) -> exp.Select:
    inner = branches_of(context, [leaf])[0].query
    return exp.Select().from_(exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("v"))), copy=False)


def _combined(
    context: Context,
    branches: list[Branch],
    leaves: Sequence[Leaf],
    formulas: Mapping[str, exp.Expr],
    wanted: Mapping[str, exp.Expr],
    outputs: Sequence[Output],
) -> exp.Select:
    """Join branches on their dimensions by UNION ALL and GROUP BY: it keeps the group without a value whole on every engine."""
    request = context.request
    count = len(request.dimensions)
    parts = [branch for branch in branches if not branch.total]
    totals = [branch for branch in branches if branch.total]
    filled = _filled(context)
    if len(parts) == 1 and not totals and not wanted and filled is None:
        return _direct(parts[0], formulas, outputs, count)
    query = exp.Select()
    for place, branch in enumerate(branches):
        query = query.with_(exp.to_identifier(f"b{place}"), as_=branch.query, copy=False)
    union = _union(parts, branches, leaves, count, context.dialect)
    if filled is not None:
        place, steps = filled
        query = query.with_(exp.to_identifier("steps"), as_=steps, copy=False)
        union = exp.union(union, _steps(branches, leaves, place, count, context.dialect), distinct=False, copy=False)
    query = query.with_(exp.to_identifier("u"), as_=union, copy=False)
    query = query.with_(exp.to_identifier("c"), as_=_collected(context, parts, leaves, count), copy=False)
    for place, output in enumerate(outputs[:count]):
        if output.hidden:
            continue
        query = query.select(exp.alias_(exp.column(f"g{place}", table="c"), name_of(output.name)), copy=False)
    scalars = {
        number: exp.Subquery(this=exp.select(exp.column(f"m{number}")).from_(_table(f"b{place}"), copy=False))
        for place, branch in enumerate(branches)
        if branch.total
        for number in branch.leaves
    }
    for output in outputs[count:]:
        query = query.select(
            exp.alias_(_with_scalars(formulas[output.metric], scalars), name_of(output.name)), copy=False
        )
    query = query.from_(_table("c"), copy=False)
    for item in request.filters:
        if not item.per and item.field in wanted:
            query = query.where(
                compared(_with_scalars(wanted[item.field], scalars), item.op, item.values, None, context.dialect),
                copy=False,
            )
    return query


def _collected(context: Context, parts: list[Branch], leaves: Sequence[Leaf], count: int) -> exp.Select:
    """Return one row for each group of the union; a group that only an earlier period has is not shown."""
    zero_counts = context.layer.zero_counts or context.request.fill
    collected = exp.select(*[exp.column(f"g{place}") for place in range(count)])
    for branch in parts:
        for number in branch.leaves:
            merged: exp.Expr = exp.Max(this=exp.column(f"m{number}"))
            if zero_counts and leaves[number].is_count and leaves[number].cumulative is None:
                merged = exp.Coalesce(this=merged, expressions=[exp.Literal.number(0)])
            collected = collected.select(exp.alias_(merged, f"m{number}"), copy=False)
    collected = collected.from_(_table("u"), copy=False)
    if count:
        collected = collected.group_by(*[exp.column(f"g{place}") for place in range(count)], copy=False)
        if any(not branch.shows for branch in parts) and any(branch.shows for branch in parts):
            collected = collected.having(
                exp.EQ(this=exp.Max(this=exp.column("shown")), expression=exp.Literal.number(1)), copy=False
            )
    return collected


def _with_scalars(formula: exp.Expr, scalars: Mapping[int, exp.Expr]) -> exp.Expr:
    tree = formula.copy()
    for column in list(tree.find_all(exp.Column)):
        number = int(column.name[1:])
        new = scalars[number].copy() if number in scalars else exp.column(column.name, table="c")
        if column is tree:
            return new
        column.replace(new)
    return tree


def _direct(branch: Branch, formulas: Mapping[str, exp.Expr], outputs: Sequence[Output], count: int) -> exp.Select:
    """Return the one branch itself, with formulas written over its aggregates: nothing has to be combined."""
    calls = {
        item.alias_or_name: item.this if isinstance(item, exp.Alias) else item for item in branch.query.expressions
    }
    query = branch.query.copy()
    query.set("expressions", [])
    for place, output in enumerate(outputs[:count]):
        if output.hidden:
            continue
        query = query.select(exp.alias_(calls[f"g{place}"].copy(), name_of(output.name)), copy=False)
    for output in outputs[count:]:
        tree = formulas[output.metric].copy()
        for column in list(tree.find_all(exp.Column)):
            new = calls[column.name].copy()
            if column is tree:
                tree = new
            else:
                column.replace(new)
        query = query.select(exp.alias_(tree, name_of(output.name)), copy=False)
    return query


def _nothing(leaf: Leaf, dialect: Dialect) -> exp.Expr:
    """Return NULL, typed where a union needs it."""
    if not FORMS[dialect].types_nulls:
        return exp.Null()
    if leaf.is_count:
        return exp.Cast(this=exp.Null(), to=exp.DType.BIGINT.into_expr())
    if isinstance(leaf.call, exp.Max | exp.Min):
        return exp.Null()
    return exp.Cast(this=exp.Null(), to=exp.DType.DOUBLE.into_expr())


def _union(
    parts: list[Branch], branches: list[Branch], leaves: Sequence[Leaf], count: int, dialect: Dialect
) -> exp.Query:
    numbers = [number for branch in parts for number in branch.leaves]
    query: exp.Query | None = None
    for branch in parts:
        one = exp.select(*[exp.column(f"g{place}") for place in range(count)])
        for number in numbers:
            value = exp.column(f"m{number}") if number in branch.leaves else _nothing(leaves[number], dialect)
            one = one.select(exp.alias_(value, f"m{number}") if number not in branch.leaves else value, copy=False)
        one = one.select(exp.alias_(exp.Literal.number(int(branch.shows)), "shown"), copy=False).from_(
            f"b{branches.index(branch)}", copy=False
        )
        query = one if query is None else exp.union(query, one, distinct=False, copy=False)
    if query is None:
        raise RefusedError(Code.UNSUPPORTED, "Only shares of the whole are asked for; name what they are shares of.")
    return query


def _table(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name))


def _filled(context: Context) -> tuple[int, exp.Select] | None:
    """Return which dimension's periods are all shown, and those periods; None where none are to be filled."""
    request = context.request
    if not request.fill:
        return None
    timed = [(place, item) for place, item in enumerate(request.dimensions) if item.grain is not None]
    if not timed:
        return None
    place, item = timed[0]
    period = request.period
    if period is None or period.start is None or period.until is None or item.grain is None:
        raise RefusedError(Code.NO_DATE, "Empty periods can be shown only within a period that begins and ends.")
    starts = starts_between(period.start, period.until, item.grain, context.layer.calendar, BUCKETS_MAX)
    if context.asker is not None:
        # Of a month that has not begun nothing is known: that is not nought.
        starts = [day for day in starts if day <= context.asker.today]
    if not starts:
        return None
    rows = [[literal(day, Type.DATE, context.dialect)] for day in starts]
    return place, listed(rows, ("g",), context.dialect)


def _steps(branches: list[Branch], leaves: Sequence[Leaf], place: int, count: int, dialect: Dialect) -> exp.Select:
    """Return a row without figures for every step, and for every combination of the other dimensions that occurs."""
    parts = [(number, branch) for number, branch in enumerate(branches) if not branch.total]
    others = [other for other in range(count) if other != place]
    query = exp.select(
        *[
            exp.column("g", table="steps") if other == place else exp.column(f"g{other}", table="o")
            for other in range(count)
        ]
    )
    for _, branch in parts:
        for number in branch.leaves:
            query = query.select(exp.alias_(_nothing(leaves[number], dialect), f"m{number}"), copy=False)
    query = query.select(exp.alias_(exp.Literal.number(1), "shown"), copy=False).from_(_table("steps"), copy=False)
    if others:
        known: exp.Query | None = None
        for number, _ in parts:
            one = exp.select(*[exp.column(f"g{other}") for other in others]).from_(_table(f"b{number}"), copy=False)
            known = one if known is None else exp.union(known, one, distinct=True, copy=False)
        if known is not None:
            query = query.join(
                exp.Subquery(this=known, alias=exp.TableAlias(this=exp.to_identifier("o"))),
                join_type="CROSS",
                copy=False,
            )
    return query


def _ordered(query: exp.Select, request: Request, outputs: Sequence[Output]) -> exp.Select:
    """Order as asked; else by period, else by the first figure; then by the other columns, so that ties are settled."""
    names = {output.name.lower(): output for output in outputs}
    order: list[Order] = []
    for item in request.order:
        if item.name.lower() not in names:
            raise RefusedError(
                Code.UNKNOWN_FIELD, f"`{item.name}` is no column of the answer.", item.name, tuple(names)
            )
        order.append(item)
    dimensions = [output for output in outputs if not output.metric]
    if not order and dimensions:
        timed = [output for output in dimensions if output.grain is not None]
        first = [output for output in outputs if output.metric][:1]
        order = [Order(timed[0].name)] if timed else [Order(first[0].name, descending=True)] if first else []
    used = {item.name.lower() for item in order}
    order += [Order(output.name) for output in dimensions if output.name.lower() not in used]
    if order and dimensions:
        query = query.order_by(
            *[
                exp.Ordered(
                    this=exp.column(name_of(names[item.name.lower()].name)), desc=item.descending, nulls_first=False
                )
                for item in order
            ],
            copy=False,
        )
    return query.limit(request.limit, copy=False) if request.limit is not None else query
