"""What reading a question gives: what was found so far, and the request, the unread words or the choice it ends in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import Enum, auto

from querybus.text.words import singular
from querybus_semantic.layer.definitions import Grain, Input, Layer, Metric, Span
from querybus_semantic.layer.request import OWN_DATE, Dimension, Filter, Op, Order, Period, Request

Values = Callable[[str], Sequence[tuple[str, str]]]
"""What a text may be a value of: pairs of dataset.field and the value as it is stored."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request and the layer it is meant for, which may hold metrics that only this question made."""

    layer: Layer
    request: Request
    used: tuple[str, ...]
    of_rows: Request | None = None
    """The same where "orders with fresh goods" cannot mean the order itself: orders some row of which is fresh."""


@dataclass(frozen=True, slots=True)
class Unread:
    """The words that no definition covers; empty where the question names no metric at all."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Several:
    """A phrase that stands for more than one definition; each option is one of them."""

    about: str
    options: tuple[str, ...]


class Lead(Enum):
    """How a value is spoken of by what stands before it."""

    NONE = auto()
    EXCLUDING = auto()
    HAVING = auto()


@dataclass(slots=True)
class State:
    """What the words read so far say; changed while a question is read."""

    metrics: list[str] = field(default_factory=list[str])
    dimensions: list[Dimension] = field(default_factory=list[Dimension])
    values: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    excluded: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    held: list[tuple[str, str, bool]] = field(default_factory=list[tuple[str, str, bool]])
    """Values that something must have: field, value, and whether it is another possibility ("or") for the one before."""
    lead: Lead = Lead.NONE
    last_values: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    named: list[str] = field(default_factory=list[str])
    roles: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    places: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    period: tuple[date, date] | None = None
    compared: Grain | None = None
    descending: bool | None = None
    limit: int | None = None
    share: bool = False
    closing: bool = False
    ungrouped: list[str] = field(default_factory=list[str])
    nouns: list[str] = field(default_factory=list[str])
    date: str = OWN_DATE
    is_split: bool = False
    is_joined: bool = False
    dimension_ends: int = -1
    ranked_at: int = -1
    unread: list[str] = field(default_factory=list[str])
    several: Several | None = None

    def note_value(self, name: str, value: str, joined: str) -> None:
        """Note a value of a field, as what stands before it says."""
        self.last_values = [*(self.last_values if joined in _LINKS else []), (name, value)]
        if self.lead is Lead.EXCLUDING:
            self.excluded.append((name, value))
            return
        if self.lead is Lead.HAVING:
            self.held.append((name, value, joined in {"or", "或", "或者"}))
        self.values.setdefault(name, []).append(value)

    def exclude_last(self) -> None:
        """Take the values just read for values that are left out: "East以外"."""
        for name, value in self.last_values:
            if (name, value) not in self.excluded:
                self.excluded.append((name, value))
                self.values[name].remove(value)
                if not self.values[name]:
                    del self.values[name]
        self.last_values = []


_LINKS = frozenset({"and", "or", ",", "、", "和", "与", "及", "或", "或者", "，"})


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
    left = [name for name in state.ungrouped if name not in state.values and name not in dict(state.excluded)]
    if left:
        return Unread(tuple(left))
    several = [name for name, codes in state.values.items() if len(codes) > 1]
    if state.is_split and several and not dimensions:
        dimensions = [Dimension(name) for name in several]
    if state.date != OWN_DATE and state.period is None:
        return Unread((state.date,))
    metrics, made = list(state.metrics), dict(layer.metrics)
    if state.closing and any((metric := layer.metric(name)) is None or metric.non_additive is None for name in metrics):
        return Unread(("end",))
    if state.share and not dimensions:
        # "The percentage of orders that were cancelled": a part by a condition, not the parts of a grouping.
        return Unread(("share",))
    if state.share:
        metrics = [_share(name, made) for name in metrics]
    if state.compared is not None and not any(_is_change(layer.metric(name), state.compared) for name in metrics):
        metrics = [item for name in metrics for item in (name, _before(name, state.compared, made))]
    order = (Order(metrics[0], state.descending),) if state.descending is not None else ()
    if order and not dimensions:
        return Unread(("top",))
    excluded = tuple(Filter(name, Op.NONE, (value,)) for name, value in dict.fromkeys(state.excluded))
    request = Request(
        metrics=tuple(metrics),
        dimensions=tuple(dimensions),
        filters=(*_equal(state.values), *excluded),
        named=tuple(dict.fromkeys(state.named)),
        period=Period(state.date, *state.period) if state.period is not None else None,
        order=order,
        limit=state.limit,
        fill=state.period is not None
        and any(item.grain is not None for item in dimensions)
        and any((metric := layer.metric(name)) is not None and metric.fill_with is not None for name in state.metrics),
    )
    changed = replace(layer, metrics=made) if len(made) != len(layer.metrics) else layer
    of_rows = replace(request, filters=(*_of_rows(state), *excluded)) if state.held else None
    return Asked(changed, request, tuple(state.metrics), of_rows)


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


def _share(name: str, made: dict[str, Metric]) -> str:
    shared = f"{name}_share"
    made[shared] = Metric(shared, "x", inputs=(Input(name, "x"),), share_of_total=True)
    return shared


def _before(name: str, unit: Grain, made: dict[str, Metric]) -> str:
    earlier = f"{name}_{unit.value}_before"
    made[earlier] = Metric(earlier, "x", inputs=(Input(name, "x", Span(1, unit)),))
    return earlier


def kept_apart(layer: Layer, field: str) -> list[Dimension]:
    """Return the hidden key beside a name: two customers of one name are two, all orders of one channel are one."""
    dataset = layer.dataset(field.rpartition(".")[0])
    if dataset is None or field != shown_by(layer, dataset.name) or field.rpartition(".")[2] in dataset.primary_key:
        return []
    named = {field.rpartition(".")[2]}
    if any(named == set(key) for key in dataset.unique_keys):
        return []
    return [Dimension(f"{dataset.name}.{column}", hidden=True) for column in dataset.primary_key]


def shown_by(layer: Layer, name: str) -> str | None:
    """Return the field by which people know a row of a dataset: its name, else its key."""
    dataset = layer.dataset(name)
    if dataset is None:
        return None
    one = singular(name.lower())
    fields = {item.lower(): item for item in dataset.fields}
    for known in ("name", f"{name.lower()}_name", f"{one}_name", "full_name", one, "title", "label"):
        if known in fields and fields[known] not in dataset.primary_key:
            return f"{dataset.name}.{fields[known]}"
    return f"{dataset.name}.{dataset.primary_key[0]}" if len(dataset.primary_key) == 1 else None
