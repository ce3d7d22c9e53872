"""What people may call a layer's definitions: phrases of base forms, and what each of them stands for."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from importlib import resources
from typing import Any, Final
from weakref import WeakKeyDictionary

from sqlglot import exp

from querybus_semantic.compiling.expressions import aggregates, datasets_of, parse
from querybus_semantic.layer.definitions import Dataset, Field, Layer, Metric, Words
from querybus_semantic.layer.refusal import RefusedError
from querybus_translator.language.names import name_words
from querybus_translator.language.tokens import TokenKind, tokenize

PHRASE_WORDS_MAX: Final = 8
BARE_NOUN: Final = 2
"""The rank of a dataset's own name for the number of its rows: "customers" beside other figures."""
VALUE_LENGTH_MAX: Final = 60


class Sort(Enum):
    """What a phrase stands for."""

    METRIC = auto()
    FIELD = auto()
    VALUE = auto()
    FILTER = auto()
    ROLE = auto()
    DATASET = auto()
    DATE = auto()


@dataclass(frozen=True, slots=True)
class Meaning:
    """`name` is a metric, dataset.field, filter, relation or dataset; `value` a field's code. Lower `rank` is nearer."""

    sort: Sort
    name: str
    rank: int = 0
    value: str = ""


Phrase = tuple[str, ...]


@dataclass(eq=False)
class Vocabulary:
    """All phrases of a layer, the words that one begins with; `han` are the Chinese pieces that runs are cut into.

    `turned` are metrics by the words of their names in any order, which is how another language may put them; `counts`
    those that count the rows of a dataset, by its name.
    """

    phrases: dict[Phrase, list[Meaning]] = field(default_factory=dict[Phrase, list[Meaning]])
    firsts: set[str] = field(default_factory=set[str])
    words: set[str] = field(default_factory=set[str])
    turned: dict[frozenset[str], list[Meaning]] = field(default_factory=dict[frozenset[str], list[Meaning]])
    han: set[str] = field(default_factory=set[str])
    counts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def add(self, phrase: Phrase, meaning: Meaning) -> None:
        """Add a phrase; the nearest meaning of one thing is kept."""
        if not phrase or len(phrase) > PHRASE_WORDS_MAX:
            return
        known = self.phrases.setdefault(phrase, [])
        same = [one for one in known if (one.sort, one.name, one.value) == (meaning.sort, meaning.name, meaning.value)]
        if same and same[0].rank <= meaning.rank:
            return
        for one in same:
            known.remove(one)
        known.append(meaning)
        self.firsts.add(phrase[0])
        self.words.update(phrase)
        if len(phrase) > 1 and meaning.sort is Sort.METRIC:
            self.turned.setdefault(frozenset(phrase), []).append(meaning)
        self.han.update(word for word in phrase if not word.isascii())


@lru_cache(maxsize=1)
def word_list() -> Mapping[str, Any]:
    """Return the words that questions about definitions are made of."""
    text = resources.files("querybus_translator").joinpath("words", "definitions.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def phrase_of(text: str) -> Phrase:
    """Return a text's words as they are compared: base forms, marks left out.

    >>> phrase_of("Orders' freight (total)")
    ('order', 'freight', 'total')
    """
    return tuple(token.base for token in tokenize(text.replace("_", " ")) if token.kind is not TokenKind.MARK)


_VOCABULARIES: WeakKeyDictionary[Layer, Vocabulary] = WeakKeyDictionary()


def vocabulary_of(layer: Layer) -> Vocabulary:
    """Return a layer's vocabulary, made once."""
    known = _VOCABULARIES.get(layer)
    if known is None:
        known = _made(layer)
        _VOCABULARIES[layer] = known
    return known


def _made(layer: Layer) -> Vocabulary:
    found = Vocabulary()
    offered = {
        key: metric
        for key, metric in layer.metrics.items()
        if metric.words.offered and metric.words.state == "approved"
    }
    for key, metric in offered.items():
        counted = _counted(layer, metric)
        if counted is not None:
            found.counts.setdefault(counted.name, []).append(key)
    for key, metric in offered.items():
        for phrase in _quotient_phrases(layer, metric, offered):
            found.add(phrase, Meaning(Sort.METRIC, key, 1))
    for key, metric in offered.items():
        for phrase, rank in _metric_phrases(layer, metric):
            found.add(phrase, Meaning(Sort.METRIC, key, rank))
            if metric.dataset and rank < BARE_NOUN:
                found.add((*name_words(metric.dataset), *phrase), Meaning(Sort.METRIC, key, rank))
    for place, key in _only_sums(layer).items():
        item = layer.datasets[place[0]].fields[place[1]]
        for phrase in _called(item.name, item.words):
            found.add(phrase, Meaning(Sort.METRIC, key, 1))
    for dataset in layer.datasets.values():
        for phrase in _dataset_phrases(layer, dataset):
            found.add(phrase, Meaning(Sort.DATASET, dataset.name))
        for item in dataset.fields.values():
            if item.words.offered:
                _add_field(found, dataset, item)
    for named in layer.filters.values():
        for phrase in _called(named.name, named.words):
            found.add(phrase, Meaning(Sort.FILTER, named.name))
    for relation in layer.relations:
        if relation.role:
            found.add(phrase_of(relation.role), Meaning(Sort.ROLE, relation.role))
    return found


def _only_sums(layer: Layer) -> dict[tuple[str, str], str]:
    """Return the fields of which there is exactly one figure, their plain sum: who names the field means the sum."""
    sums: dict[tuple[str, str], list[str]] = {}
    for key, metric in layer.metrics.items():
        plain = not (
            metric.condition or metric.inputs or metric.cumulative or metric.conversion or metric.share_of_total
        )
        for dataset in layer.datasets.values():
            for name in (
                dataset.fields if plain and metric.non_additive is None and metric.words.state == "approved" else ()
            ):
                qualified = f"sum({dataset.name}.{name})".lower()
                unqualified = f"sum({name})".lower() if metric.dataset == dataset.name else qualified
                if metric.expression.replace(" ", "").lower() in {qualified, unqualified}:
                    sums.setdefault((dataset.name, name), []).append(key)
    return {place: keys[0] for place, keys in sums.items() if len(keys) == 1}


_CURRENT: Final = frozenset({"now", "current", "today", "当前", "现在", "目前"})
_DATE_ENDINGS: Final = frozenset({"on", "at", "date", "day", "time"})


def _called(name: str, words: Words) -> Iterator[Phrase]:
    for phrase in dict.fromkeys((name_words(name), phrase_of(name))):
        yield from _spelt(phrase)
    for text in (*words.label.values(), *words.synonyms):
        yield phrase_of(text)


@lru_cache(maxsize=1)
def _initials() -> tuple[tuple[Phrase, Phrase], ...]:
    """Return the pairs of a short form and what it is short for, both ways."""
    pairs = [((short,), phrase_of(full)) for short, full in word_list()["initials"].items()]
    return (*pairs, *[(full, short) for short, full in pairs])


def _spelt(phrase: Phrase) -> Iterator[Phrase]:
    """Yield a name as it is, with short forms spelt out and with initials for what they are short for."""
    yield phrase
    for shorter, longer in _initials():
        for place in range(len(phrase) - len(shorter) + 1):
            if phrase[place : place + len(shorter)] == shorter:
                yield (*phrase[:place], *longer, *phrase[place + len(shorter) :])


def _dataset_phrases(layer: Layer, dataset: Dataset) -> Iterator[Phrase]:
    yield from _called(dataset.name, dataset.words)
    for other in layer.datasets.values():
        # Of tops over the table of accounts: the top account.
        if other is not dataset and other.source == dataset.source and other.name == other.source:
            names = (*name_words(dataset.name), *name_words(other.name))
            yield from (names, (*names, "name"))


def _metric_phrases(layer: Layer, metric: Metric) -> Iterator[tuple[Phrase, int]]:
    generic = frozenset(word_list()["generic"])
    plain = metric.name.rpartition(".")[2]
    counted = _counted(layer, metric)
    is_sum = metric.expression.strip().upper().startswith("SUM") and not metric.inputs
    for phrase in dict.fromkeys(spelt for name in (name_words(plain), phrase_of(plain)) for spelt in _spelt(name)):
        yield phrase, 0
        if is_sum and not generic.issuperset(phrase[-1:]):
            yield (*phrase, "amount"), 1
        if len(phrase) == 1 and phrase[0].endswith("ed"):
            # "Billing in 2024" is what was billed.
            yield (f"{phrase[0].removesuffix('ed')}ing",), 1
        if counted is None:
            yield from _shortened(phrase, generic)
        code = currency_of(metric)
        base = phrase[:-1] if code and phrase[-1:] == (code.lower(),) else phrase
        if base != phrase:
            # "Revenue in dollars" is revenue_usd, and so is "revenue".
            yield base, 1
        for said in word_list()["currencies"].get(code, ()):
            spoken = phrase_of(said)
            yield (*base, "in", *spoken), 0
            yield ((*base, *spoken) if said.isascii() else (*spoken, *base)), 0
        if metric.non_additive is not None:
            yield (*phrase, "level"), 1
    for text in (*metric.words.label.values(), *metric.words.synonyms):
        yield phrase_of(text), 0
    if counted is not None:
        for phrase in _called(counted.name, counted.words):
            yield phrase, BARE_NOUN
            yield ("number", "of", *phrase), 1
            yield ("how", "many", *phrase), 1
            yield (*phrase, "count"), 1
            yield ("count", "of", *phrase), 1


def currency_of(metric: Metric) -> str:
    """Return the code of the currency that a figure is in: by its unit, the end of its name or what it is made of.

    `SUM(amount * usd_per_unit)` and `SUM(value_usd)` are in dollars. Empty where none is known, or several are.
    """
    codes = word_list()["currencies"]
    ending = metric.name.rpartition("_")[2].upper()
    said = next((code for code in (metric.unit.upper(), ending) if code in codes), "")
    if said:
        return said
    try:
        columns = parse(metric.expression, metric.dialect).find_all(exp.Column)
    except RefusedError:
        return ""
    found = {word.upper() for column in columns for word in name_words(column.name)}.intersection(codes)
    return found.pop() if len(found) == 1 else ""


def _shortened(phrase: Phrase, generic: frozenset[str]) -> Iterator[tuple[Phrase, int]]:
    """Yield a name without its general words, and with them in front or behind."""
    if len(phrase) > 1 and phrase[-1] in {"share", "rate", "ratio"}:
        yield (phrase[-1], "of", *phrase[:-1]), 0
    for kept, moved in ((phrase[:-1], phrase[-1:]), (phrase[1:], phrase[:1])):
        if kept[:1] == ("share",) or not {"before", "previous"}.isdisjoint(kept):
            continue
        if kept and moved and moved[0] in generic:
            yield kept, 1
            yield (*kept, "amount"), 1
            yield (*moved, *kept), 0
            yield (*kept, *moved), 0
            yield (*moved, "of", *kept), 0


def _quotient_phrases(layer: Layer, metric: Metric, others: Mapping[str, Metric]) -> Iterator[Phrase]:
    """Yield what a quotient of two figures is called by what it divides: "lines per order" of lines / heads."""
    parts = _divided(metric, others)
    if parts is None:
        return
    names = [set(_called(part.name, part.words)) for part in parts]
    for part, known in zip(parts, names, strict=True):
        counted = _counted(layer, part)
        known.update(_called(counted.name, counted.words) if counted is not None else ())
    for phrase in names[0]:
        for other in names[1]:
            yield (*phrase, "per", *other)
            yield ("average", *phrase, "per", *other)


def _divided(metric: Metric, others: Mapping[str, Metric]) -> tuple[Metric, Metric] | None:
    """Return the two metrics of which one is divided by the other in a metric's formula; None for any other formula."""
    if metric.condition or metric.conversion or metric.cumulative or metric.share_of_total or metric.non_additive:
        return None
    try:
        tree = parse(metric.expression, metric.dialect)
    except RefusedError:
        return None
    if not isinstance(tree, exp.Div):
        return None
    lower = tree.expression.unnest()
    parts = tree.this.unnest(), lower.this.unnest() if isinstance(lower, exp.Nullif) else lower
    named = {item.alias: item.metric for item in metric.inputs if not item.condition and item.offset is None}
    found = [_metric_of(part, named, others) for part in parts]
    return (found[0], found[1]) if found[0] is not None and found[1] is not None else None


def _metric_of(part: exp.Expr, named: Mapping[str, str], others: Mapping[str, Metric]) -> Metric | None:
    """Return the metric that a part of a formula is, by its alias or by an equal expression."""
    if isinstance(part, exp.Column) and not part.table and part.name in named:
        return others.get(named[part.name])
    text = part.sql().lower()
    for other in others.values():
        plain = not (other.condition or other.inputs or other.non_additive or other.cumulative)
        if plain and other.expression.lower().replace(" ", "") == text.replace(" ", ""):
            return other
    return None


def _counted(layer: Layer, metric: Metric) -> Dataset | None:
    """Return the dataset whose rows a metric counts, by their key; None for any other metric."""
    if metric.condition or metric.inputs or metric.conversion or metric.cumulative or metric.share_of_total:
        return None
    try:
        calls = aggregates(parse(metric.expression, metric.dialect))
    except RefusedError:
        return None
    if len(calls) != 1 or not is_count(metric):
        return None
    used = home_of(metric)
    dataset = layer.dataset(used[0]) if len(used) == 1 else None
    columns = {column.name.lower() for column in calls[0].find_all(exp.Column)}
    if dataset is None or "CASE" in metric.expression.upper():
        return None
    keys = [tuple(part.lower() for part in key) for key in dataset.keys]
    return dataset if not columns or any(columns <= set(key) for key in keys) else None


def is_count(metric: Metric) -> bool:
    """Whether a figure is a number of rows or of different values."""
    return metric.expression.strip().upper().startswith("COUNT")


def home_of(metric: Metric) -> Sequence[str]:
    """Return the datasets whose rows a metric's expression is computed from; empty where that cannot be read."""
    try:
        calls = aggregates(parse(metric.expression, metric.dialect))
    except RefusedError:
        return ()
    return (datasets_of(calls[0]) if calls else ()) or ((metric.dataset,) if metric.dataset else ())


def _add_field(found: Vocabulary, dataset: Dataset, item: Field) -> None:
    place = f"{dataset.name}.{item.name}"
    owner = name_words(dataset.name)
    for phrase in _called(item.name, item.words):
        found.add(phrase, Meaning(Sort.FIELD, place))
        found.add((*owner, *phrase), Meaning(Sort.FIELD, place))
        if len(phrase) > 1 and phrase[-1] in {"name", "名称"}:
            found.add(phrase[:-1], Meaning(Sort.FIELD, place, 1))
        if len(phrase) > 1 and phrase[: len(owner)] == owner:
            found.add(phrase[len(owner) :], Meaning(Sort.FIELD, place, 1))
        if len(phrase) > 1 and len(phrase[0]) <= 2:
            found.add(phrase[1:], Meaning(Sort.FIELD, place, 1))
            found.add((*owner, *phrase[1:]), Meaning(Sort.FIELD, place, 1))
        if len(phrase) > 1 and not _CURRENT.isdisjoint({phrase[0], phrase[-1]}):
            rest = phrase[1:] if phrase[0] in _CURRENT else phrase[:-1]
            for said in word_list()["current"]:
                found.add((*said.split(), *rest), Meaning(Sort.FIELD, place))
    words = name_words(item.name)
    if item.is_time and len(words) > 1 and words[-1] in _DATE_ENDINGS:
        found.add(words[:-1], Meaning(Sort.DATE, place))
    for code, meanings in item.values.items():
        for text in {code, *meanings}:
            if text and len(text) <= VALUE_LENGTH_MAX:
                found.add(phrase_of(text), Meaning(Sort.VALUE, place, value=code))


def one_side(found: Sequence[Meaning], layer: Layer) -> list[Meaning]:
    """Return the fields among equally named ones that the others only refer to: a key's home rather than its copies."""
    places = {one.name for one in found}
    copies = {
        f"{relation.many}.{left}"
        for relation in layer.relations
        for left, right in zip(relation.many_columns, relation.one_columns, strict=True)
        if f"{relation.one}.{right}" in places
    }
    return [one for one in found if one.name not in copies]
