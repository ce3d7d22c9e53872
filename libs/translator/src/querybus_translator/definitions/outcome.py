"""What reading a question gives: what was found so far, and the request, the unread words or the choice it ends in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum, auto

from querybus.text.words import singular
from querybus_semantic.layer.definitions import Grain, Layer
from querybus_semantic.layer.request import OWN_DATE, Dimension, Filter, Op, Request, Value
from querybus_translator.definitions.naming.places import Mention
from querybus_translator.definitions.naming.vocabulary import Vocabulary
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
    followed: Request | None = None
    """The request of the question before, which this one changes."""


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
    is_change: bool = False
    """What is read changes a question before: "the most" ranks the groups that there are."""
    comparing: bool = False
    gap: Days | None = None
    """The days between two periods that are compared."""
    compared: Grain | None = None
    changed: Grain | None = None
    sides: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """The word before a field's value: "to NL"."""
    descending: bool | None = None
    limit: int | None = None
    share: bool = False
    conditions_before_share: int = 0
    is_share_of_part: bool = False
    """ "Share of late tonnes by carrier": which part of the carrier's tonnes, or which carrier's part of what is late."""
    is_share_behind: bool = False
    """手机的销售额占比: the share stands behind the figure, and what is named before it is the part."""
    closing: bool = False
    is_of_last_rows: bool = False
    """Of the last day that has rows, not of the last row that each member has."""
    keys_shown: set[str] = field(default_factory=set[str])
    """Keys of what is grouped by its noun and has no name: "each claim"."""
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


LINKS = frozenset({"and", "or", "vs", "versus", ",", "、", "和", "与", "及", "或", "或者", "，"})


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
