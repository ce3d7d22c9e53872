"""Which connection a question is about, where its caller may use several: words of names, values and definitions.

Lexical and deterministic, as linking within one connection is. A word counts by how few of the connections have it, and
where it stands; what stands in one table and those that it is joined to counts more than the same words scattered over a
schema. Limits: words alone do not separate connections about the same things ("How many students are there?"), which
is why a ranking carries its scores: where the lead is small, a person is asked.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from querybus.core.catalog import Catalog
from querybus.core.policy import Connection
from querybus.sql.names.visible_catalog import visible
from querybus.text.knowledge import Entry, EntryKind, Knowledge, with_synonyms
from querybus.text.synonyms import link_words
from querybus.text.words import HAN, cached_words, han_words, stem, word_set, words_of
from querybus_generator.linking.documents import BEGINNING_MIN, STOP, named_of, weights
from querybus_generator.linking.values import NamedValues
from querybus_translator import is_fragment

PROFILES_KEPT_MAX: Final = 256
CHOICES_MAX: Final = 3
QUESTION_WORDS_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class Weights:
    """What words count; fitted on half of Spider's training databases, `make bench-routing` reports the other half."""

    named: float = 1.2
    """A word of a table's name, beside what its columns have of it."""
    stem: float = 0.8
    synonym: float = 0.37
    beginning: float = 0.3
    """A table's name that is the beginning of a word which nothing else of the connection knows: `TBL_PAT` of "patients"."""
    value: float = 0.6
    """A value that the question names, against a word of a name."""
    value_word: float = 0.16
    """A word that stands within a value, or in a question that was taught."""
    digits: float = 0.025
    """A number is a value of many columns."""
    neighbour: float = 0.4
    """A word of a table that is joined to the one that has the others."""
    scattered: float = 0.2
    """The share of what the whole schema has; the rest is what one table and its neighbours have."""
    usual: float = 0.3
    """A word that most schemas have."""
    compound: float = 0.25
    """Two words of the question that are one name."""
    lead_min: float = 0.035
    """The share of the best score by which it must lead; below that a person is asked."""
    choice_share: float = 0.5
    """The share of the best score that another choice must reach."""
    fits_share: float = 0.34
    """The share of the question's words that a connection must know for the question to be about it."""
    leaves_thread_share: float = 0.4
    """A thread's connection is left where it reaches less of the best score than this ..."""
    leaves_thread_words: int = 2
    """... and the other one has at least so many words of the question."""


WEIGHTS: Final = Weights()
_USUAL: Final = word_set(
    """
    name id number code type value total count title date description average mean sum maximum minimum highest lowest
    most least share percentage rate 平均 总数 数量 总额 最高 最低 最多 最少 占比
    """
)
_UNINFORMATIVE: Final = word_set(
    """
    year month week day quarter today yesterday tomorrow last this next now current recent since before after until between january
    february march april may june july august september october november december monday tuesday wednesday thursday friday saturday sunday
    今年 去年 本月 上个月 上月 今天 昨天 年 月 日 周 季度 can could will would one s contain contains include includes word exactly ever used
    information record column together
    """
)
"""Words of time and of asking, which do not inform about the subject of a question."""
_NAME: Final = re.compile(r"(?<=[^.?!\s]\s)[A-Z]\w*|([\"“”‘]).*?[\"“”’]|(?<=\s)'[^']*'")
"""A name or a quoted text: a catalog holds few of the values that people name."""
_KNOWN_MIN: Final = 0.2
"""How strongly a name must hold a word to know it; a word that only stands within a value counts half."""
_SORTING: Final = re.compile(
    r"\b(?:in )?(?:an? |the )?(?:(?:ascending|descending|alphabetical|lexicographic(?:al)?|increasing|decreasing|reverse"
    r"|chronological)(?:ly)?,? ?)+(?:order)?\b(?: (?:of|by)\b)?|\b(?:in the )?order(?:ed)? (?:of|by)\b|\bsort(?:ed)?\b|\bdifferent\b|\bdistinct\b"
    r"|\brespectively\b",
    re.IGNORECASE,
)
"""How rows are to be sorted says nothing of what they are; an order that is not one of rows does."""


class Profile:
    """What the words of a connection are and where they stand; made once for a catalog and what was taught of it."""

    def __init__(self, catalog: Catalog, taught: Sequence[Entry] = (), weighing: Weights = WEIGHTS) -> None:
        self.values = NamedValues(catalog)
        self.words: dict[str, dict[int, float]] = defaultdict(dict)
        self.stems: dict[str, list[str]] = defaultdict(list)
        self.shortened: dict[str, dict[int, float]] = defaultdict(dict)
        self.value_words: dict[str, set[int]] = defaultdict(set)
        self.compounds: dict[tuple[str, str], set[int]] = defaultdict(set)
        self.neighbours: dict[int, set[int]] = {}
        self.pairs = {" ".join(entry.key.casefold().split()) for entry in taught if entry.kind is EntryKind.PAIR}
        for position, table in enumerate(catalog.tables):
            weighed, named = weights(table), named_of(table)
            for word, in_name in named.items():
                if len(word) >= BEGINNING_MIN and word.isascii() and word not in STOP:
                    self.shortened[word][position] = weighing.named * in_name
            for word in {*weighed, *named} - STOP:
                in_name = named.get(word, 0.0)
                # What its columns and comments repeat of a name says nothing more.
                self.words[word][position] = weighing.named * in_name if in_name else weighed.get(word, 0.0) / _HEAVIEST
            for item in (table, *table.columns):
                for name in (item.name, *item.display_names.values(), *item.synonyms):
                    self._compound(name, position)
            for column in table.columns:
                for value in column.values:
                    for word in cached_words(value):
                        self.value_words[word].add(position)
        self._join(catalog)
        # What belongs to no single table stands at a place of its own.
        apart = len(catalog.tables)
        for name in _defined_names(catalog, taught):
            words = cached_words(name)
            for word in {*words} - STOP:
                self.words[word][apart] = max(self.words[word].get(apart, 0.0), weighing.named / len(words))
            self._compound(name, apart)
        for entry in taught:
            if entry.kind is EntryKind.PAIR:
                for word in cached_words(entry.key):
                    self.value_words[word].add(apart)
        self.neighbours[apart] = {apart}
        for word in self.words:
            self.stems[stem(word)].append(word)

    def _compound(self, name: str, position: int) -> None:
        for pair in pairwise([stem(word) for word in cached_words(name)]):
            self.compounds[pair].add(position)

    def _join(self, catalog: Catalog) -> None:
        places = {table.name.casefold(): position for position, table in enumerate(catalog.tables)}
        self.neighbours = {position: {position} for position in places.values()}
        for position, table in enumerate(catalog.tables):
            own = self.neighbours.setdefault(position, {position})
            for key in table.foreign_keys:
                other = places.get(key.referred_table.casefold())
                if other is not None:
                    own.add(other)
                    self.neighbours[other].add(position)

    def holding(self, word: str, related: Sequence[tuple[str, float]], weighing: Weights) -> dict[int, float]:
        """Return how strongly each table has a word of the question, by itself or by another form of it."""
        shares = {word: 1.0} if word in self.words else {}
        for other in self.stems.get(stem(word), ()) if word.isascii() else ():
            shares.setdefault(other, weighing.stem)
        for other, share in related:
            if other in self.words:
                shares.setdefault(other, share)
        places: dict[int, float] = {}
        if not shares and word.isascii():
            for length in range(BEGINNING_MIN, len(word)):
                for position, strength in self.shortened.get(word[:length], {}).items():
                    places[position] = max(places.get(position, 0.0), weighing.beginning * strength)
        for other, share in shares.items():
            for position, strength in self.words[other].items():
                places[position] = max(places.get(position, 0.0), share * strength)
        for position in self.value_words.get(word, ()):
            places[position] = max(places.get(position, 0.0), weighing.value_word)
        return places


_HEAVIEST: Final = 2.2
"""What BM25's saturation comes to at most: (k + 1) with its k of 1.2."""


def _defined_names(catalog: Catalog, taught: Sequence[Entry]) -> Iterator[str]:
    """Yield names and synonyms of what the owner has defined, and terms."""
    yield from catalog.glossary
    texts = {**catalog.definitions, **{entry.key: entry.text for entry in taught if entry.kind is EntryKind.DEFINITION}}
    for text in texts.values():
        try:
            node: Any = json.loads(text)
        except ValueError:
            continue
        if isinstance(node, dict):
            yield from _names_in(node)  # type: ignore[reportUnknownArgumentType]


def _names_in(node: Mapping[str, Any]) -> Iterator[str]:
    yield str(node.get("name", ""))
    said = node.get("ai_context")
    if isinstance(said, dict):
        for synonym in said.get("synonyms") or ():  # type: ignore[reportUnknownVariableType, reportUnknownMemberType]
            yield str(synonym)  # type: ignore[reportUnknownArgumentType]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A connection with its score, and how many words of the question it has."""

    name: str
    score: float
    words: int


def rank(question: str, profiles: Mapping[str, Profile], weighing: Weights = WEIGHTS) -> tuple[Ranked, ...]:
    """Return the connections that have something of the question, best first; equal input gives equal output."""
    held: dict[str, dict[object, dict[int, float]]] = defaultdict(dict)
    count = len(profiles)

    def note(mark: object, share: float, places_by_name: Mapping[str, Mapping[int, float]]) -> None:
        owners = sum(min(1.0, max(places.values())) for places in places_by_name.values())
        weight = share * math.log(1 + (count - owners + 0.5) / (owners + 0.5)) if places_by_name else 0.0
        for name, places in places_by_name.items():
            held[name][mark] = {position: weight * strength for position, strength in places.items()}

    question = _SORTING.sub(" ", question)
    related = _related(question, weighing)
    for word, others in related.items():
        found = {name: profile.holding(word, others, weighing) for name, profile in profiles.items()}
        share = weighing.usual if word in _USUAL else 1.0
        note(word, share, {name: places for name, places in found.items() if places})
    for pair in pairwise([stem(word) for word in words_of(question)]):
        owners = {name: profile.compounds[pair] for name, profile in profiles.items() if pair in profile.compounds}
        note(pair, weighing.compound, {name: dict.fromkeys(places, 1.0) for name, places in owners.items()})
    for text, owners in _values_named(question, profiles).items():
        length = 1 + 0.5 * (len(text.split()) - 1)
        share = weighing.value * length * (weighing.digits if text.isdigit() else 1.0)
        note(f"={text}", share, {name: dict.fromkeys(places, 1.0) for name, places in owners.items()})
    scored = [
        Ranked(name, round(_score(marks, profiles[name], weighing), 6), sum(isinstance(mark, str) for mark in marks))
        for name, marks in held.items()
    ]
    return tuple(sorted(scored, key=lambda item: (-item.score, item.name)))


def _related(question: str, weighing: Weights) -> dict[str, list[tuple[str, float]]]:
    """Return the words of a question with those of the lexicon that mean the same."""
    known = link_words()
    spoken = list(dict.fromkeys(words_of(question)))[:QUESTION_WORDS_MAX]
    related = {
        word: [(other, weighing.synonym) for other in known.get(word, ())] for word in spoken if word not in STOP
    }
    # A Chinese word of the lexicon is searched whole: its pairs of signs mean other things.
    for word in han_words(question, known):
        related.setdefault(word, [(other, 2 * weighing.synonym) for other in known[word]])
    return related


def _is_informative(word: str, question: str) -> bool:
    """Whether a word says what a question is about; of Chinese only words of the lexicon, as pairs of signs mean other things."""
    if HAN.search(question) and HAN.search(word) and word not in link_words():
        return False
    return word not in _USUAL and word not in _UNINFORMATIVE and not word.isdigit()


def share_known(question: str, profile: Profile, weighing: Weights = WEIGHTS) -> float:
    """Return which share of the question's informative words a connection has, in a name or as a value; 1 where there is none."""
    question = _SORTING.sub(" ", question)
    unnamed = set(words_of(_NAME.sub(" ", question)))
    informative = {
        word: others for word, others in _related(question, weighing).items() if _is_informative(word, question)
    }
    informative = {word: others for word, others in informative.items() if HAN.search(word) or word in unnamed}
    if not informative:
        return 1.0
    valued = {word for text, _ in profile.values.found(question) for word in (*words_of(text), text)}
    known = 0.0
    for word, others in informative.items():
        strength = max(profile.holding(word, others, weighing).values(), default=0.0)
        known += 1.0 if word in valued or strength >= _KNOWN_MIN else 0.5 if strength else 0.0
    return known / len(informative)


def _values_named(question: str, profiles: Mapping[str, Profile]) -> Mapping[str, Mapping[str, set[int]]]:
    result: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for name, profile in profiles.items():
        for text, (position, _, _) in profile.values.found(question):
            result[text.casefold()][name].add(position)
    return result


def _score(marks: Mapping[object, Mapping[int, float]], profile: Profile, weighing: Weights) -> float:
    whole = sum(max(places.values()) for places in marks.values())
    best = 0.0
    for position in {position for places in marks.values() for position in places}:
        near = profile.neighbours.get(position, {position})
        here = 0.0
        for places in marks.values():
            joined = max((places.get(other, 0.0) for other in near), default=0.0)
            here += max(places.get(position, 0.0), weighing.neighbour * joined)
        best = max(best, here)
    return weighing.scattered * whole + (1 - weighing.scattered) * best


@dataclass(frozen=True, slots=True)
class Candidate:
    """A connection that the caller may use, with what is known of it."""

    connection: Connection
    catalog: Catalog
    knowledge: Knowledge


@dataclass(frozen=True, slots=True)
class Route:
    """The connection of a question; where the lead is too small to choose, `choices` has the likeliest, best first.

    Without `fits` no connection knows enough of the question's words.
    """

    connection: str
    choices: tuple[str, ...] = ()
    fits: bool = True


def decide(
    question: str,
    connections: Sequence[Connection],
    profiles: Mapping[str, Profile],
    *,
    thread_connection: str | None = None,
    weighing: Weights = WEIGHTS,
) -> Route | None:
    """Return where a question goes, or None where nothing in it speaks of any connection.

    A connection that the question names goes first, then one whose verified question this is, then the thread's own unless
    the question is complete and clearly speaks of another.
    """
    named = [item.name for item in connections if _is_named(question, item, connections)]
    if len(named) == 1:
        return Route(named[0])
    asked = " ".join(question.casefold().split())
    taught = [name for name, profile in profiles.items() if asked in profile.pairs]
    if len(taught) == 1 and thread_connection is None:
        return Route(taught[0])
    if thread_connection is not None and is_fragment(question):
        return Route(thread_connection)
    ranking = rank(question, profiles, weighing)
    if not ranking:
        return None
    best = ranking[0]
    fits = share_known(question, profiles[best.name], weighing) >= weighing.fits_share
    if thread_connection is not None:
        own = next((item.score for item in ranking if item.name == thread_connection), 0.0)
        leaves = own < weighing.leaves_thread_share * best.score and best.words >= weighing.leaves_thread_words
        if not own and fits and not leaves:
            # One word speaks of another connection and none of the thread's: too little to leave, too much to ignore.
            return Route(thread_connection, (best.name, thread_connection))
        if not leaves or not fits:
            return Route(thread_connection)
    if not fits:
        others = (name for name in sorted(profiles) if name not in {item.name for item in ranking})
        return Route(best.name, (*(item.name for item in ranking), *others)[:CHOICES_MAX], fits=False)
    near = [item.name for item in ranking if item.score >= weighing.choice_share * best.score][:CHOICES_MAX]
    is_sure = len(ranking) < 2 or best.score - ranking[1].score >= weighing.lead_min * best.score
    return Route(best.name) if is_sure else Route(best.name, tuple(near))


def _is_named(question: str, connection: Connection, others: Iterable[Connection]) -> bool:
    """Return whether the question names a connection where it speaks of a database: "in the crm database", 在crm库里."""
    name = re.escape(connection.name.casefold().replace("_", " ").replace("-", " "))
    text = question.casefold().replace("_", " ").replace("-", " ")
    if re.search(rf"\b{name} (?:database|db|connection|data source)\b|\b(?:database|connection) {name}\b", text):
        return True
    return (
        HAN.search(text) is not None and re.search(rf"{name}\s*(?:数据库|库|数据源)", text) is not None and bool(others)
    )


class Router:
    """Profiles of connections by tenant, the least recently used dropped first."""

    def __init__(self, profiles_kept_max: int = PROFILES_KEPT_MAX) -> None:
        self._kept_max = profiles_kept_max
        self._kept: OrderedDict[tuple[str, str], tuple[Candidate, Profile]] = OrderedDict()

    async def route(
        self, question: str, candidates: Sequence[Candidate], *, tenant: str, thread_connection: str | None = None
    ) -> Route | None:
        """Return where a question goes, as `decide` does."""
        profiles = {item.connection.name: await self._profile(item, tenant) for item in candidates}
        connections = [item.connection for item in candidates]
        return decide(question, connections, profiles, thread_connection=thread_connection)

    async def _profile(self, candidate: Candidate, tenant: str) -> Profile:
        key = (tenant, candidate.connection.name)
        known = self._kept.get(key)
        if known is None or not _is_same(known[0], candidate):
            profile = await asyncio.to_thread(_profile_of, candidate, tenant)
            known = self._kept[key] = (candidate, profile)
            while len(self._kept) > self._kept_max:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return known[1]


def _is_same(one: Candidate, other: Candidate) -> bool:
    is_same_knowledge = one.knowledge is other.knowledge or one.knowledge == other.knowledge
    return one.catalog is other.catalog and one.connection == other.connection and is_same_knowledge


def _profile_of(candidate: Candidate, tenant: str) -> Profile:
    seen = visible(candidate.catalog, candidate.connection.policy.of(tenant))
    counting = [entry for entry in candidate.knowledge.entries if entry.counts]
    return Profile(with_synonyms(seen, counting), counting)
