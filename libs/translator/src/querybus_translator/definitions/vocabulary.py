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

    `turned` are metrics by the words of their names in any order, which is how another language may put them.
    """

    phrases: dict[Phrase, list[Meaning]] = field(default_factory=dict[Phrase, list[Meaning]])
    firsts: set[str] = field(default_factory=set[str])
    words: set[str] = field(default_factory=set[str])
    turned: dict[frozenset[str], list[Meaning]] = field(default_factory=dict[frozenset[str], list[Meaning]])
    han: set[str] = field(default_factory=set[str])

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
    for key, metric in layer.metrics.items():
        if metric.words.offered and metric.words.state == "approved":
            for phrase, rank in _metric_phrases(layer, metric):
                found.add(phrase, Meaning(Sort.METRIC, key, rank))
                if metric.dataset and rank < BARE_NOUN:
                    found.add((*name_words(metric.dataset), *phrase), Meaning(Sort.METRIC, key, rank))
    for place, key in _only_sums(layer).items():
        item = layer.datasets[place[0]].fields[place[1]]
        for phrase in _called(item.name, item.words):
            found.add(phrase, Meaning(Sort.METRIC, key, 1))
    for dataset in layer.datasets.values():
        for phrase in _called(dataset.name, dataset.words):
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


_DATE_ENDINGS: Final = frozenset({"on", "at", "date", "day", "time"})


def _called(name: str, words: Words) -> Iterator[Phrase]:
    yield name_words(name)
    yield phrase_of(name)
    for text in (*words.label.values(), *words.synonyms):
        yield phrase_of(text)


def _metric_phrases(layer: Layer, metric: Metric) -> Iterator[tuple[Phrase, int]]:
    generic = frozenset(word_list()["generic"])
    plain = metric.name.rpartition(".")[2]
    counted = _counted(layer, metric)
    for phrase in (name_words(plain), phrase_of(plain)):
        yield phrase, 0
        if counted is None:
            yield from _shortened(phrase, generic)
    for text in (*metric.words.label.values(), *metric.words.synonyms):
        yield phrase_of(text), 0
    if counted is not None:
        for phrase in _called(counted.name, counted.words):
            yield phrase, BARE_NOUN
            yield ("number", "of", *phrase), 1
            yield ("how", "many", *phrase), 1
            yield (*phrase, "count"), 1
            yield ("count", "of", *phrase), 1


def _shortened(phrase: Phrase, generic: frozenset[str]) -> Iterator[tuple[Phrase, int]]:
    """Yield a name without its general words, and with them in front or behind."""
    if len(phrase) > 1 and phrase[-1] in {"share", "rate", "ratio"}:
        yield (phrase[-1], "of", *phrase[:-1]), 0
    for kept, moved in ((phrase[:-1], phrase[-1:]), (phrase[1:], phrase[:1])):
        if kept[:1] == ("share",) or not {"before", "previous"}.isdisjoint(kept):
            continue
        if kept and moved and moved[0] in generic:
            yield kept, 1
            yield (*moved, *kept), 0
            yield (*kept, *moved), 0
            yield (*moved, "of", *kept), 0


def _counted(layer: Layer, metric: Metric) -> Dataset | None:
    """Return the dataset whose rows a metric counts, by their key; None for any other metric."""
    if metric.condition or metric.inputs or metric.conversion or metric.cumulative or metric.share_of_total:
        return None
    try:
        calls = aggregates(parse(metric.expression, metric.dialect))
    except RefusedError:
        return None
    if len(calls) != 1 or not metric.expression.strip().upper().startswith("COUNT"):
        return None
    used = datasets_of(calls[0]) or ((metric.dataset,) if metric.dataset else ())
    dataset = layer.dataset(used[0]) if len(used) == 1 else None
    columns = {column.name.lower() for column in calls[0].find_all(_column_type())}
    if dataset is None or "CASE" in metric.expression.upper():
        return None
    keys = [tuple(part.lower() for part in key) for key in dataset.keys]
    return dataset if not columns or any(columns <= set(key) for key in keys) else None


def _column_type() -> type[Any]:
    from sqlglot import exp

    return exp.Column


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
    words = name_words(item.name)
    if item.is_time and len(words) > 1 and words[-1] in _DATE_ENDINGS:
        found.add(words[:-1], Meaning(Sort.DATE, place))
    for code, meaning in item.values.items():
        for text in {code, meaning}:
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
