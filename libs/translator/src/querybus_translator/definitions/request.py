"""What was read of a question becomes a request for figures; shares, changes and earlier periods are made for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, get_args

from sqlglot import exp

from querybus.core.catalog import Language
from querybus_semantic.compiling.leaves import field_named
from querybus_semantic.layer.definitions import Grain, Input, Layer, Metric, Span, Words
from querybus_semantic.layer.labels import label_of
from querybus_semantic.layer.request import OWN_DATE, Dimension, Filter, Op, Order, Period, Request
from querybus_translator.definitions.naming.words import question_words
from querybus_translator.definitions.outcome import Asked, State, Unread

_LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)


def asked_of(layer: Layer, state: State) -> Asked | Unread:
    """Return the request that was read, or the words that make no sense in it."""
    dimensions = list(state.dimensions)
    for place, role in state.roles:
        timed = [(abs(place - where), number) for where, number in state.places]
        if not timed:
            return Unread((role,))
        number = min(timed)[1]
        dimensions[number] = replace(dimensions[number], via=(*dimensions[number].via, role))
    # "Where the area was A": a field that is named beside its value says nothing more than the value.
    said = {*state.values, *dict(state.excluded), *[item.field for item in dimensions]}
    # "Stores in Nevada", where orders have a store's number and stores a state.
    of = {name.rpartition(".")[0] for name in said}
    said |= {f"{one.many}.{column}" for one in layer.relations if one.one in of for column in one.many_columns}
    left = [name for name in state.ungrouped if name not in said]
    if left:
        return Unread(tuple(left))
    dimensions = [
        replace(item, hidden=item.hidden or _is_said_otherwise(item, dimensions, state)) for item in dimensions
    ]
    several = [name for name, codes in state.values.items() if len(codes) > 1]
    if state.is_split and several and not dimensions:
        dimensions = [Dimension(name) for name in several]
    if state.date != OWN_DATE and state.period is None:
        return Unread((state.date,))
    made = dict(layer.metrics)
    metrics = _figures(layer, state, made, is_grouped=bool(dimensions))
    if isinstance(metrics, Unread):
        return metrics
    steps = [part.offset.unit for name in metrics for part in made[name].inputs if name in made and part.offset]
    if steps and state.period is None and not any(item.grain for item in dimensions):
        # "Growth month over month" is one of each month; over all days there is nothing before.
        dimensions.append(Dimension(OWN_DATE, steps[0]))
    order = (Order(metrics[0], state.descending),) if state.descending is not None else ()
    if order and not dimensions:
        return Unread(("top",))
    excluded = tuple(Filter(name, Op.NONE, (value,)) for name, value in dict.fromkeys(state.excluded))
    request = Request(
        metrics=tuple(metrics),
        dimensions=tuple(dimensions),
        filters=(*_by_side(layer, state), *excluded, *state.filters),
        named=tuple(dict.fromkeys(state.named)),
        period=Period(state.date, *state.period, gap=state.gap) if state.period is not None else None,
        order=order,
        limit=state.limit,
        fill=state.period is not None
        and None not in state.period
        and state.gap is None
        and any(item.grain is not None for item in dimensions)
        and any((metric := layer.metric(name)) is not None and metric.fill_with is not None for name in state.metrics),
    )
    # A figure made here may have the name of another: only an equal one is the owner's own.
    changed = replace(layer, metrics=made) if made != dict(layer.metrics) else layer
    of_rows = replace(request, filters=(*_of_rows(state), *excluded, *state.filters)) if state.held else None
    return Asked(changed, request, tuple(state.metrics), of_rows)


def _is_said_otherwise(item: Dimension, dimensions: Sequence[Dimension], state: State) -> bool:
    """Whether a key that was not asked for stands beside a field of its own rows: "each claim, by claim number"."""
    dataset = item.field.rpartition(".")[0]
    beside = (other for other in dimensions if other.field != item.field and not other.hidden)
    return item.field in state.keys_shown and any(other.field.rpartition(".")[0] == dataset for other in beside)


def _figures(layer: Layer, state: State, made: dict[str, Metric], *, is_grouped: bool) -> list[str] | Unread:
    """Return the figures that are asked for, those that only this question makes among them: they are put into `made`."""
    metrics = list(state.metrics)
    if state.closing and not all(_is_level(layer, name) for name in metrics):
        return Unread(("end",))
    if state.is_share_behind and not is_grouped and not state.parts:
        state.parts = [(name, code) for name, codes in state.values.items() for code in codes]
        state.values.clear()
    if state.share and state.parts:
        metrics = [_part(name, state, layer, made) for name in metrics]
    elif state.share and (not is_grouped or state.is_share_of_part):
        # "The percentage of orders that were cancelled": a part by a condition, not the parts of a grouping.
        return Unread(("share",))
    elif state.share:
        metrics = [_share(name, made) for name in metrics]
    elif state.parts:
        return Unread(tuple(str(value) for _, value in state.parts))
    if state.compared is not None and not any(_is_change(layer.metric(name), state.compared) for name in metrics):
        metrics = [item for name in metrics for item in (name, _before(name, state.compared, made))]
    if state.changed is not None:
        change = _change(metrics[0], state.changed, made)
        metrics += [] if change in metrics else [change]
    return metrics


def _is_level(layer: Layer, name: str) -> bool:
    """Whether a figure is a level that has a value at the end of a period: by itself, or made of one (twelve times the fee)."""
    metric = layer.metric(name)
    if metric is None:
        return False
    made_of = {part.metric for part in metric.inputs}
    return metric.non_additive is not None or any(
        other.non_additive is not None and (key in made_of or other.expression in metric.expression)
        for key, other in layer.metrics.items()
    )


def _by_side(layer: Layer, state: State) -> list[Filter]:
    """Return the filters by way of the relation that the word before a value means: "to NL", where two lead to countries."""
    sides = question_words().sides
    found: dict[tuple[str, str], list[str]] = {}
    for name, codes in state.values.items():
        for code in codes:
            said = state.sides.get((name, code), "")
            roles = sides["roles_to"] if said in sides["to"] else sides["roles_from"] if said in sides["from"] else ()
            named = [
                one.role
                for one in layer.relations
                if one.one == name.rpartition(".")[0] and not {one.role, one.role.partition("_")[0]}.isdisjoint(roles)
            ]
            found.setdefault((name, named[0] if len(named) == 1 else ""), []).append(code)
    return [
        replace(item, via=(role,) if role else ())
        for (name, role), codes in found.items()
        for item in _equal({name: codes})
    ]


def _equal(values: Mapping[str, Sequence[str]]) -> tuple[Filter, ...]:
    return tuple(
        Filter(name, Op.IN if len(codes) > 1 else Op.EQUAL, tuple(dict.fromkeys(codes)))
        for name, codes in values.items()
    )


def _of_rows(state: State) -> tuple[Filter, ...]:
    """Return the filters where each value that something has may stand in another of its rows."""
    groups: list[tuple[str, list[str]]] = []
    for name, value, is_other in state.held:
        if is_other and groups and groups[-1][0] == name:
            groups[-1][1].append(value)
        else:
            groups.append((name, [value]))
    plain = {name: codes for name, codes in state.values.items() if name not in dict(groups)}
    return (*_equal(plain), *(Filter(name, Op.SOME, tuple(codes)) for name, codes in groups))


def _is_change(metric: Metric | None, unit: Grain) -> bool:
    """Whether a figure compares with the period before by itself: "amount and change to the month before"."""
    return metric is not None and any(part.offset is not None and part.offset.unit is unit for part in metric.inputs)


def _change(name: str, unit: Grain, made: dict[str, Metric]) -> str:
    """Return the figure that says how much another grew, the owner's own where there is one."""
    for key, metric in made.items():
        of = {part.metric for part in metric.inputs if part.offset is None}
        if of == {name} and _is_change(metric, unit) and metric.words.state == "approved":
            return key
    grown = f"{name}_change"
    inputs = Input(name, "later"), Input(name, "earlier", Span(1, unit))
    words = _called(name, made, {"en": "change of {label}", "zh": "{label}变化"})
    made[grown] = Metric(grown, "later - earlier", inputs=inputs, words=words)
    return grown


def _share(name: str, made: dict[str, Metric]) -> str:
    shared = f"{name}_share"
    words = _called(name, made, {"en": "share of {label}", "zh": "{label}占比"})
    made[shared] = Metric(shared, "x", inputs=(Input(name, "x"),), share_of_total=True, words=words)
    return shared


def _words(layer: Layer, name: str) -> Words:
    _, field = field_named(layer, name)
    return field.words if field is not None else Words()


def _part_label(name: str, state: State, layer: Layer, language: Language) -> str:
    metric = layer.metric(name)
    whole = label_of(name, metric.words if metric is not None else Words(), language)
    link, join, yes = (" is ", " and ", "yes") if language == "en" else ("为", "、", "是")
    said = [
        f"{label_of(of, _words(layer, of), language)}{link}{yes if of in state.flags else value}"
        for of, value in state.parts
    ]
    return f"share of {whole} where {join.join(said)}" if language == "en" else f"{join.join(said)}的{whole}占比"


def _part(name: str, state: State, layer: Layer, made: dict[str, Metric]) -> str:
    """Return a figure made of what has the part's values, divided by the whole."""
    shared, parts = f"{name}_share", state.parts
    condition = exp.and_(
        *[
            exp.In(
                this=exp.column(place.rpartition(".")[2], table=place.rpartition(".")[0]),
                expressions=[exp.convert(value) for of, value in parts if of == place],
            )
            for place in dict.fromkeys(of for of, _ in parts)
        ]
    ).sql()
    inputs = (Input(name, "part", condition=condition), Input(name, "whole"))
    label = {language: _part_label(name, state, layer, language) for language in _LANGUAGES}
    made[shared] = Metric(shared, "1.0 * part / NULLIF(whole, 0)", inputs=inputs, words=Words(label=label))
    return shared


def _before(name: str, unit: Grain, made: dict[str, Metric]) -> str:
    earlier = f"{name}_{unit.value}_before"
    said = unit.value.replace("_", " ")
    words = _called(name, made, {"en": f"{{label}} a {said} before", "zh": f"{_EARLIER_ZH[unit]}{{label}}"})
    made[earlier] = Metric(earlier, "x", inputs=(Input(name, "x", Span(1, unit)),), words=words)
    return earlier


_EARLIER_ZH: Final[Mapping[Grain, str]] = {
    Grain.HOUR: "上一小时", Grain.DAY: "前一天", Grain.WEEK: "上周", Grain.MONTH: "上月", Grain.QUARTER: "上季度", Grain.YEAR: "上年同期",
    Grain.FISCAL_QUARTER: "上财季", Grain.FISCAL_YEAR: "上财年同期",
}  # fmt: skip


def _called(name: str, made: Mapping[str, Metric], texts: Mapping[Language, str]) -> Words:
    """Return what a figure that is made of another is called, in both languages."""
    words = made[name].words if name in made else Words()
    return Words(
        label={language: text.format(label=label_of(name, words, language)) for language, text in texts.items()}
    )
