"""What reading a question gives: what was found so far, and the request, the unread words or the choice it ends in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import Enum, auto

from sqlglot import exp

from querybus.text.readable_name import spoken_name
from querybus.text.words import singular
from querybus_semantic.layer.definitions import Grain, Input, Layer, Metric, Span, Words
from querybus_semantic.layer.request import OWN_DATE, Dimension, Filter, Op, Order, Period, Request, Value
from querybus_translator.definitions.naming.places import Mention
from querybus_translator.definitions.naming.vocabulary import Vocabulary
from querybus_translator.definitions.naming.words import question_words
from querybus_translator.language.tokens import Token

Days = tuple[date, date]
"""From included, until excluded."""

Values = Callable[[str], Sequence[tuple[str, str]]]
"""What a text may be a value of: pairs of dataset.field and the value as it is stored."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it is read: its tokens, the datasets that it names, and the definitions that it may mean."""

    tokens: Sequence[Token]
    layer: Layer
    vocabulary: Vocabulary
    mentions: Sequence[Mention]
    today: date
    values: Values | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request and the layer it is meant for, which may hold metrics that only this question made."""

    layer: Layer
    request: Request
    used: tuple[str, ...]
    of_rows: Request | None = None
    """The same where "orders with fresh goods" cannot mean the order itself: orders some row of which is fresh."""
    spoken: tuple[str, ...] = ()
    """The datasets that the question names: they say which of several paths is meant."""
    steps: tuple[str, ...] = ()
    """The relation that was chosen where it was asked which one is meant."""


@dataclass(frozen=True, slots=True)
class Unread:
    """The words that no definition covers; empty where the question names no metric at all."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Several:
    """A phrase that stands for more than one definition, or a value of several fields; each option is one of them."""

    about: str
    options: tuple[str, ...]
    is_value: bool = False


class Lead(Enum):
    """How a value is spoken of by what stands before it; PART: "what share of revenue *was* online"."""

    NONE = auto()
    EXCLUDING = auto()
    HAVING = auto()
    PART = auto()


@dataclass(frozen=True, slots=True)
class Named:
    """The figure or field that was read last and where; `is_new`: it was not among the figures before."""

    name: str
    start: int
    end: int
    is_field: bool
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure or field (empty: the one that is asked for) that is compared with a number, and where that is said."""

    name: str
    op: Op
    value: int | float
    start: int
    end: int


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
    period: tuple[date | None, date | None] | None = None
    pair: tuple[Days, Days] | None = None
    """Two periods that are named with "and", in their order."""
    comparing: bool = False
    compared: Grain | None = None
    changed: Grain | None = None
    sides: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """The word before a field's value: "to NL"."""
    descending: bool | None = None
    limit: int | None = None
    share: bool = False
    closing: bool = False
    currency: str = ""
    """The code of the currency that the figures are to be in."""
    ungrouped: list[str] = field(default_factory=list[str])
    nouns: list[str] = field(default_factory=list[str])
    date: str = OWN_DATE
    is_split: bool = False
    is_joined: bool = False
    dimension_ends: int = -1
    condition_ends: int = -1
    """Behind the last value or flag: "*late* shipments" are no other shipments than those."""
    ranked_at: int = -1
    counting: bool = False
    """What follows is counted: "how many" stands before it."""
    asked_step: bool = False
    """A step of time is what is asked for: "which month"."""
    superlative: int = -1
    """Where "the most" stands: what has the most is named before it, in Chinese behind."""
    comparisons: list[Compared] = field(default_factory=list[Compared])
    filters: list[Filter] = field(default_factory=list[Filter])
    flags: Mapping[str, Value] = field(default_factory=dict[str, Value])
    """Fields that say yes or no, and the value that says yes."""
    last_named: Named | None = None
    is_new_figure: bool = False
    owners: list[int] = field(default_factory=list[int])
    """Where a dataset is named without saying what of it: it must be whose figure is compared."""
    parts: list[tuple[str, Value]] = field(default_factory=list[tuple[str, Value]])
    counts_rows: bool = False
    """"Amount and number": how many rows there are, besides the figures that are named."""
    unread: list[str] = field(default_factory=list[str])
    several: Several | None = None

    @property
    def conditions(self) -> int:
        """How many values, flags and named filters there are."""
        held = sum(map(len, self.values.values()))
        return held + len(self.excluded) + len(self.filters) + len(self.named) + len(self.parts)

    def note_value(self, name: str, value: str, joined: str) -> None:
        """Note a value of a field, as what stands before it says."""
        self.last_values = [*(self.last_values if joined in LINKS else []), (name, value)]
        if self.lead is Lead.EXCLUDING:
            self.excluded.append((name, value))
            return
        if self.lead is Lead.PART:
            self.parts.append((name, value))
            return
        if self.lead is Lead.HAVING:
            self.held.append((name, value, joined in {"or", "或", "或者"}))
        self.values.setdefault(name, []).append(value)
        self.sides[name, value] = joined if joined not in LINKS else next(reversed(self.sides.values()), "")

    def exclude_last(self) -> None:
        """Take the values just read for values that are left out: "East以外"."""
        for name, value in self.last_values:
            if (name, value) not in self.excluded:
                self.excluded.append((name, value))
                self.values[name].remove(value)
                if not self.values[name]:
                    del self.values[name]
        self.last_values = []


LINKS = frozenset({"and", "or", ",", "、", "和", "与", "及", "或", "或者", "，"})


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
    if state.closing and not all(_is_level(layer, name) for name in metrics):
        return Unread(("end",))
    if state.share and state.parts:
        metrics = [_part(name, state, made) for name in metrics]
    elif state.share and not dimensions:
        # "The percentage of orders that were cancelled": a part by a condition, not the parts of a grouping.
        return Unread(("share",))
    elif state.share:
        metrics = [_share(name, made) for name in metrics]
    elif state.parts:
        return Unread(tuple(str(value) for _, value in state.parts))
    if state.compared is not None and not any(_is_change(layer.metric(name), state.compared) for name in metrics):
        metrics = [item for name in metrics for item in (name, _before(name, state.compared, made))]
    steps = [part.offset.unit for name in metrics for part in made[name].inputs if name in made and part.offset]
    if steps and state.period is None and not any(item.grain for item in dimensions):
        # "Growth month over month" is one of each month; over all days there is nothing before.
        dimensions.append(Dimension(OWN_DATE, steps[0]))
    if state.changed is not None:
        metrics += [name for name in [_change(metrics[0], state.changed, made)] if name not in metrics]
    order = (Order(metrics[0], state.descending),) if state.descending is not None else ()
    if order and not dimensions:
        return Unread(("top",))
    excluded = tuple(Filter(name, Op.NONE, (value,)) for name, value in dict.fromkeys(state.excluded))
    request = Request(
        metrics=tuple(metrics),
        dimensions=tuple(dimensions),
        filters=(*_by_side(layer, state), *excluded, *state.filters),
        named=tuple(dict.fromkeys(state.named)),
        period=Period(state.date, *state.period) if state.period is not None else None,
        order=order,
        limit=state.limit,
        fill=state.period is not None
        and None not in state.period
        and any(item.grain is not None for item in dimensions)
        and any((metric := layer.metric(name)) is not None and metric.fill_with is not None for name in state.metrics),
    )
    # A figure made here may have the name of another: only an equal one is the owner's own.
    changed = replace(layer, metrics=made) if made != dict(layer.metrics) else layer
    of_rows = replace(request, filters=(*_of_rows(state), *excluded, *state.filters)) if state.held else None
    return Asked(changed, request, tuple(state.metrics), of_rows)


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
    made[grown] = Metric(grown, "later - earlier", inputs=(Input(name, "later"), Input(name, "earlier", Span(1, unit))))
    return grown


def _share(name: str, made: dict[str, Metric]) -> str:
    shared = f"{name}_share"
    made[shared] = Metric(shared, "x", inputs=(Input(name, "x"),), share_of_total=True)
    return shared


def _part(name: str, state: State, made: dict[str, Metric]) -> str:
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
    whole = spoken_name(name.rpartition(".")[2])
    label: dict[str, str] = {}
    for language, yes, link, join in (("en", "yes", " is ", " and "), ("zh", "是", "为", "、")):
        said = [
            f"{spoken_name(of.rpartition('.')[2])}{link}{yes if of in state.flags else value}" for of, value in parts
        ]
        label[language] = (
            f"share of {whole} where {join.join(said)}" if language == "en" else f"{join.join(said)}的{whole}占比"
        )
    made[shared] = Metric(shared, "1.0 * part / NULLIF(whole, 0)", inputs=inputs, words=Words(label=label))
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
