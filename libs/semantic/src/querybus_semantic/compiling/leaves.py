"""A metric becomes a formula over leaves: a leaf is one aggregate over the rows of one dataset, its home."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from sqlglot import exp

from querybus_semantic.compiling.expressions import (
    aggregates,
    datasets_of,
    is_windowed,
    parse,
    replaced,
    resolved,
)
from querybus_semantic.compiling.paths import safe_paths, why_no_path
from querybus_semantic.layer.definitions import (
    Conversion,
    Cumulative,
    Field,
    Input,
    Layer,
    Metric,
    NonAdditive,
    Span,
)
from querybus_semantic.layer.refusal import Code, RefusedError

DEPTH_MAX: Final = 12
LEAVES_MAX: Final = 60


@dataclass(frozen=True, slots=True)
class Leaf:
    """One aggregate call with resolved columns, over rows of `home`; `time` is dataset.field or empty.

    `text` is the call as text: equal leaves have equal texts.
    `total` ignores the request's dimensions; `offsets` move its periods forward; `narrowed` are metrics' own conditions.
    """

    call: exp.Expr
    home: str
    time: str
    text: str = ""
    narrowed: tuple[str, ...] = ()
    non_additive: NonAdditive | None = None
    cumulative: Cumulative | None = None
    conversion: Conversion | None = None
    offsets: tuple[Span, ...] = ()
    total: bool = False
    within: tuple[str, ...] = ()

    @property
    def is_count(self) -> bool:
        """Whether no rows make 0 rather than nothing."""
        return isinstance(self.call, exp.Count | exp.CountIf)


@dataclass(slots=True)
class Leaves:
    """The leaves of one request; equal ones are computed once. A formula names leaf 3 as column m3."""

    layer: Layer
    found: list[Leaf] = field(default_factory=list[Leaf])

    def place(self, leaf: Leaf) -> exp.Expr:
        """Return the column that stands for a leaf in formulas."""
        for number, other in enumerate(self.found):
            if other.text == leaf.text and replace(other, call=leaf.call) == leaf:
                return exp.column(f"m{number}")
        if len(self.found) == LEAVES_MAX:
            raise RefusedError(Code.TOO_MUCH, f"The metrics need more than {LEAVES_MAX} aggregates.")
        self.found.append(leaf)
        return exp.column(f"m{len(self.found) - 1}")


@dataclass(frozen=True, slots=True)
class _Within:
    """What the metrics around one add to its leaves."""

    narrowed: tuple[str, ...] = ()
    offsets: tuple[Span, ...] = ()
    total: bool = False
    cumulative: Cumulative | None = None
    seen: tuple[str, ...] = ()


def formula_of(layer: Layer, metric: Metric, leaves: Leaves) -> exp.Expr:
    """Return a metric's formula over leaves, which are added to `leaves`. What cannot be computed: RefusedError."""
    return _formula(layer, metric, leaves, _Within())


def _formula(layer: Layer, metric: Metric, leaves: Leaves, around: _Within) -> exp.Expr:
    if metric.name in around.seen or len(around.seen) > DEPTH_MAX:
        raise RefusedError(Code.CYCLE, f"Metric {metric.name} is defined by itself.", metric.name)
    here = replace(around, seen=(*around.seen, metric.name))
    if metric.cumulative is not None:
        # A running value of another metric runs over that metric's own rows.
        here = replace(here, cumulative=metric.cumulative)
    if metric.of_total:
        here = replace(here, total=True)
    if metric.condition:
        here = replace(here, narrowed=(*here.narrowed, metric.condition))
    if metric.conversion is not None:
        formula = _conversion(layer, metric, metric.conversion, leaves, here)
    elif metric.inputs:
        formula = _derived(layer, metric, leaves, here)
    else:
        formula = _expression(layer, metric, leaves, here)
    if metric.share_of_total:
        whole = _formula(layer, replace(metric, share_of_total=False), leaves, replace(around, total=True))
        formula = exp.Div(
            this=exp.paren(formula), expression=exp.func("NULLIF", exp.paren(whole), exp.Literal.number(0))
        )
    if metric.fill_with is not None:
        formula = exp.Coalesce(this=formula, expressions=[exp.Literal.number(metric.fill_with)])
    return formula


def _known(layer: Layer, name: str, asked_by: str) -> Metric:
    metric = layer.metric(name)
    if metric is None:
        raise RefusedError(Code.UNKNOWN_METRIC, f"Metric {asked_by} is built on `{name}`, which is not defined.", name)
    return metric


def _derived(layer: Layer, metric: Metric, leaves: Leaves, here: _Within) -> exp.Expr:
    inputs: dict[str, Input] = {item.alias.lower(): item for item in metric.inputs}
    tree = parse(metric.expression, metric.dialect)
    if aggregates(tree):
        raise RefusedError(Code.BAD_EXPRESSION, f"The formula of {metric.name} holds an aggregate.", metric.name)
    for column in list(tree.find_all(exp.Column)):
        used = inputs.get(column.name.lower())
        if used is None:
            raise RefusedError(Code.UNKNOWN_METRIC, f"`{column.name}` is no input of {metric.name}.", metric.name)
        inner = replace(
            here,
            narrowed=(*here.narrowed, *((used.condition,) if used.condition else ())),
            offsets=(*here.offsets, *((used.offset,) if used.offset else ())),
        )
        tree = replaced(
            tree, column, exp.paren(_formula(layer, _known(layer, used.metric, metric.name), leaves, inner))
        )
    return tree


def _expression(layer: Layer, metric: Metric, leaves: Leaves, here: _Within) -> exp.Expr:
    tree = parse(metric.expression, metric.dialect)
    if is_windowed(tree):
        raise RefusedError(
            Code.UNSUPPORTED,
            f"{metric.name} holds a window; define it as cumulative with a window or a grain to date.",
            metric.name,
        )
    calls = aggregates(tree)
    inside = {id(node) for call in calls for node in call.walk()}
    for column in [node for node in tree.find_all(exp.Column) if id(node) not in inside]:
        inner = layer.metric(f"{column.table}.{column.name}" if column.table else column.name) or layer.metric(
            column.name
        )
        if inner is None:
            raise RefusedError(
                Code.BAD_EXPRESSION, f"`{column.sql()}` in {metric.name} stands outside an aggregate.", metric.name
            )
        tree = replaced(tree, column, exp.paren(_formula(layer, inner, leaves, here)))
    if not calls and not tree.find(exp.Column):
        raise RefusedError(Code.BAD_EXPRESSION, f"Metric {metric.name} aggregates nothing.", metric.name)
    for call in calls:
        leaf = _leaf(layer, metric, call.copy(), here)
        if leaf.non_additive is None and leaf.cumulative is None:
            leaf = replace(leaf, non_additive=_level_of(layer, metric, leaf, is_part=len(calls) > 1))
        tree = replaced(tree, call, leaves.place(leaf))
    return tree


def _leaf(layer: Layer, metric: Metric, call: exp.Expr, here: _Within) -> Leaf:
    call = resolved(layer, call, metric.dataset)
    home = _home(layer, metric, call)
    return Leaf(
        call=call,
        home=home,
        text=call.sql(),
        time=metric.time or time_of(layer, home),
        narrowed=here.narrowed,
        non_additive=metric.non_additive,
        cumulative=here.cumulative,
        offsets=here.offsets,
        total=here.total,
        within=metric.within,
    )


def _home(layer: Layer, metric: Metric, call: exp.Expr) -> str:
    """Return the dataset whose rows are aggregated: the one from which all others that the call reads hang n:1."""
    used = datasets_of(call)
    if not used:
        if metric.dataset:
            return metric.dataset
        if len(layer.datasets) == 1:
            return next(iter(layer.datasets))
        raise RefusedError(
            Code.UNKNOWN_FIELD, f"{metric.name} names no dataset; count a key, dataset.key.", metric.name
        )
    if len(used) == 1:
        return used[0]
    homes = [one for one in used if all(other == one or safe_paths(layer, one, other) for other in used)]
    if homes:
        return homes[0]
    raise why_no_path(layer, used[0], used[1])


def time_of(layer: Layer, home: str) -> str:
    """Return a dataset's default date as dataset.field: the declared one, else its only one, else empty."""
    dataset = layer.dataset(home)
    if dataset is None:
        return ""
    if dataset.time:
        return dataset.time if "." in dataset.time else f"{home}.{dataset.time}"
    times = [name for name, item in dataset.fields.items() if item.is_time]
    return f"{home}.{times[0]}" if len(times) == 1 else ""


def _level_of(layer: Layer, metric: Metric, leaf: Leaf, *, is_part: bool) -> NonAdditive | None:
    """Return how a level is read that another metric declares not to be additive; a flow is divided by its average."""
    if not is_part:
        return None
    levels: list[NonAdditive] = []
    for other in layer.metrics.values():
        if other.non_additive is None or other.inputs or other.conversion or other.name == metric.name:
            continue
        if resolved(layer, parse(other.expression, other.dialect), other.dataset).sql() == leaf.text:
            levels.append(other.non_additive)
    distinct = list(dict.fromkeys(levels))
    if len(distinct) > 1:
        distinct = [level for level in distinct if level.choice == "average"]
    if len(distinct) == 1:
        return distinct[0]
    if levels:
        raise RefusedError(
            Code.UNSUPPORTED,
            f"{metric.name} adds up a level that is not additive over time; say whether its last or its average value is meant.",
            metric.name,
        )
    return None


def _conversion(layer: Layer, metric: Metric, rule: Conversion, leaves: Leaves, here: _Within) -> exp.Expr:
    base, target = _known(layer, rule.base, metric.name), _known(layer, rule.conversion, metric.name)
    calls = [_leaf(layer, item, _single_call(item), here) for item in (base, target)]
    if base.condition or target.condition:
        raise RefusedError(
            Code.UNSUPPORTED, f"{metric.name}: the metrics of a conversion may have no condition.", metric.name
        )
    converted = leaves.place(replace(calls[1], conversion=rule, time=calls[0].time, narrowed=here.narrowed))
    if not rule.rate:
        return converted
    whole = leaves.place(calls[0])
    return exp.Div(this=converted, expression=exp.func("NULLIF", whole, exp.Literal.number(0)))


def _single_call(metric: Metric) -> exp.Expr:
    tree = parse(metric.expression, metric.dialect)
    if not isinstance(tree, exp.AggFunc):
        raise RefusedError(
            Code.UNSUPPORTED, f"{metric.name} is a formula; a conversion needs plain aggregates.", metric.name
        )
    return tree


def field_named(layer: Layer, name: str) -> tuple[str, Field | None]:
    """Return the dataset and the field that dataset.field names; None where it is a column without a definition."""
    owner_name, _, field_name = name.rpartition(".")
    owner = layer.dataset(owner_name)
    if owner is None:
        raise RefusedError(Code.UNKNOWN_FIELD, f"There is no field `{name}`.", name)
    return owner.name, owner.named(field_name)
