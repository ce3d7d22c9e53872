"""From a question to the tables that matter: words of names, comments, display names and values, then foreign keys.

Lexical and deterministic: no model, no randomness. Every table is one document; its words are weighed by where they
stand and by how rare they are (BM25). Tables that only join the found ones come in over foreign keys. Where nothing
links, a wider part of the schema is kept rather than a wrong one. Values are looked up locally; whether they may
leave the stack is decided where a prompt is rendered. Nearness by embeddings, where somebody computed it, adds to the
scores of tables and to nothing else.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from querybus.core.catalog import Catalog, Column, ColumnKind, Table
from querybus.core.messages import Link
from querybus.text.words import HAN, cached_words, han_words, stem, words_of
from querybus_generator.linking.documents import (
    NAME_WEIGHT,
    RELATED_SHARE,
    SATURATION,
    STOP,
    beginnings,
    column_text,
    named_of,
    owners_of,
    weights,
)
from querybus_generator.linking.values import NamedValues

TABLES_KEPT_MAX: Final = 12
QUESTION_WORDS_MAX: Final = 200
LINKS_MAX: Final = 32
LINKS_KEPT_MAX: Final = 4_096
"""Links of words already made; the words of questions come again and again."""
SCORED_KEPT_MAX: Final = 256
RANKED_MAX: Final = 200
POSTINGS_READ_MAX: Final = 10_000
"""Bounds the time of one question on a catalog of any size."""
PATH_HOPS_MAX: Final = 3
COLUMNS_WHOLE_MAX: Final = 24
"""A table up to this width is shown whole, while the tokens last: columns are dropped where there are many."""
COLUMNS_KEPT_MIN: Final = 12
SCHEMA_TOKENS_MAX: Final = 6_000
"""About how many tokens of a prompt the schema may take: up to that it is shown whole, and nothing is chosen."""

_VALUE_WEIGHT: Final = 2.5
# A name that the question says counts however many tables have the word: in a small schema no word is rare.
_NAMED_WEIGHT: Final = 3.5
_NEIGHBOUR_SHARE: Final = 0.15
_FORM_SHARE: Final = 0.7
# What is asked for is mostly named first ("the stations with at least two trains"); Chinese has it last as often.
_FIRST_SHARE: Final = 0.5
_FOREIGN_SHARE: Final = 0.9
# What the catalog itself says in the question's language comes before the lexicon.
_FOREIGN_KNOWN_SHARE: Final = 0.2
# A score far below the best is noise of common words.
_SCORE_SHARE_MIN: Final = 0.12
_COVERED_SHARE: Final = 0.5
# As much as a word of its name says of a table is what the nearest possible meaning says of it.
_NEARNESS_WEIGHT: Final = 8.0


@dataclass(frozen=True, slots=True)
class Linking:
    """The tables to keep, in the catalog's order, and the words that led to them, best first."""

    tables: tuple[Table, ...]
    links: tuple[Link, ...]
    is_whole_schema: bool


def _cover(
    terms: Sequence[Mapping[int, float]], covered: list[float], chosen: Sequence[int], raised: dict[int, float]
) -> None:
    """Take from the others what the chosen tables already say: a word has found its place once it has one."""
    for number, term in enumerate(terms):
        now = max([term.get(position, 0.0) for position in chosen])
        before = covered[number]
        if now <= before:
            continue
        covered[number] = now
        for position in raised:
            score = term.get(position, 0.0)
            if score > before:
                raised[position] -= _COVERED_SHARE * (min(score, now) - before)


@dataclass(frozen=True, slots=True)
class _Posting:
    """`named`: which part of a name of the table the word is, 1 for all of it."""

    table: int
    weight: float
    named: float


@dataclass(frozen=True, slots=True)
class _Term:
    """A word of a question: the catalog's words that it may stand for with their weights, and how much it counts."""

    words: Mapping[str, float]
    share: float = 1.0


class LinkIndex:
    """A catalog prepared for linking; building it takes time in proportion to the schema, asking it does not.

    `words` gives for a word of a question, English in its base form or Chinese, other words that a name may use.
    """

    def __init__(
        self,
        catalog: Catalog,
        words: Mapping[str, Sequence[str]] | None = None,
        *,
        schema_tokens_max: int = SCHEMA_TOKENS_MAX,
    ) -> None:
        self.catalog = catalog
        self._tokens_max = schema_tokens_max
        self._words: Mapping[str, Sequence[str]] = words or {}
        self._positions = {id(table): position for position, table in enumerate(catalog.tables)}
        self._postings: dict[str, list[_Posting]] = defaultdict(list)
        self._stems: dict[str, list[str]] = defaultdict(list)
        self.values = NamedValues(catalog)
        self._neighbours: dict[int, tuple[int, ...]] = {}
        self._referring: dict[int, set[int]] = defaultdict(set)
        for position, table in enumerate(catalog.tables):
            named = named_of(table)
            for word, weight in weights(table).items():
                self._postings[word].append(_Posting(position, weight, named.get(word, 0.0)))
        for word in self._postings:
            self._stems[stem(word)].append(word)
        self.owners_of: dict[int, Mapping[str, str | None]] = {}
        self._links: dict[tuple[str, int, float], Link] = {}
        self._tokens: dict[int, int] = {}
        self._tokens_whole = sum(map(_token_share, catalog.tables))
        # A question is linked for its prompt, and again for the doubts about what the model wrote (docs/speed.md).
        self._scored = lru_cache(SCORED_KEPT_MAX)(self._score)
        self._join()

    def keeps_all(self, tokens_max: int | None = None) -> bool:
        """Return whether every question gets the whole schema, because it fits a prompt: nothing is chosen then."""
        return self._tokens_whole <= (self._tokens_max if tokens_max is None else tokens_max)

    def link(
        self,
        question: str,
        *,
        tables_max: int = TABLES_KEPT_MAX,
        nearness: Mapping[int, float] | None = None,
        tokens_max: int | None = None,
    ) -> Linking:
        """Return at most `tables_max` tables for the question; all of them if the schema is small.

        `tokens_max` is what the schema may take in this prompt, where it is not the usual number. Equal catalogs, questions and nearness (0..1 by the table's place in the catalog) give equal results.
        """
        catalog = self.catalog
        is_whole = self.keeps_all(tokens_max)
        terms, first_scores, first_links = self._scored(question)
        scores, links = dict(first_scores), list(first_links)
        for position, near in sorted((nearness or {}).items()):
            scores[position] = scores.get(position, 0.0) + _NEARNESS_WEIGHT * near
            table = catalog.tables[position].name
            links.append(Link(text="", table=table, score=round(near, 3), reason="meaning, by embeddings"))
        links.sort(key=lambda link: (-link.score, link.table, link.column or "", link.text))
        if is_whole:
            kept: Sequence[int] = range(len(catalog.tables))
        elif scores:
            kept = self._closed(terms, scores, tables_max)
        else:
            # Nothing links: the most connected tables are the likeliest subject.
            order = sorted(range(len(catalog.tables)), key=lambda item: (-len(self._neighbours.get(item, ())), item))
            kept = sorted(order[: tables_max * 2])
        names = {catalog.tables[item].name for item in kept}
        return Linking(
            tables=tuple(catalog.tables[item] for item in kept),
            links=tuple(link for link in links if link.table in names)[:LINKS_MAX],
            is_whole_schema=is_whole,
        )

    def names(self, word: str) -> bool:
        """Return whether a word stands for a name of the catalog, by itself, in another form or by another word."""
        for base in words_of(word):
            if base in STOP or base in _ASKING:
                return False
            if base in self._postings or stem(base) in self._stems:
                return True
            return any(other in self._postings for other in self._words.get(base, ()))
        return False

    def columns(self, table: Table, question: str, columns_max: int) -> tuple[Column, ...]:
        """Return at most that many columns of a table in its order: keys, and those that the question speaks of."""
        if len(table.columns) <= columns_max:
            return table.columns
        owned = [set(cached_words(column_text(column))) for column in table.columns]
        scores = [0.0] * len(owned)
        for term in (*(term.words for term in self._terms(question)), *beginnings(question, owned)):
            result = {
                place: max([term[word] for word in words & term.keys()])
                for place, words in enumerate(owned)
                if words & term.keys()
            }
            # A word of every column distinguishes none from another.
            rarity = math.log(1 + len(owned) / len(result)) / math.log(1 + len(owned)) if result else 0.0
            for place, weight in result.items():
                scores[place] += weight * rarity / math.sqrt(len(owned[place]))
        has_period = _PERIOD.search(question) is not None
        named = {(position, column) for _, (position, column, _) in self.values.found(question)}
        position = self._positions.get(id(table), -1)
        referring = {column for key in table.foreign_keys for column in key.columns}
        for place, column in enumerate(table.columns):
            scores[place] += 1.5 * ((position, column.name) in named) + 0.35 * bool(owned[place] & _LABELS)
            scores[place] += 0.5 * (column.name in table.primary_key) + 0.45 * (column.name in referring)
            scores[place] += 0.5 * (has_period and (column.kind in _TIMES or bool(owned[place] & _TIME_WORDS)))
        kept = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:columns_max]
        return tuple(table.columns[place] for place in sorted(kept))

    def first_table(self, question: str) -> str | None:
        """Return the name of the table that the question's words lead to first, without its schema; None if they lead to none."""
        links = self.link(question, tables_max=1, tokens_max=0).links
        return links[0].table.rpartition(".")[2] if links else None

    def shown(self, linking: Linking, question: str, tokens_max: int | None = None) -> tuple[Table, ...]:
        """Return the linked tables as a prompt shows them: whole while the budget lasts, wide ones with fewer columns.

        A budget drops columns that the question does not speak of, never a table.
        """
        kept, budget = linking.tables, self._tokens_max if tokens_max is None else tokens_max
        for columns_max in (COLUMNS_WHOLE_MAX * 2, COLUMNS_WHOLE_MAX, COLUMNS_KEPT_MIN):
            if sum(map(self._token_share, kept)) <= budget:
                return kept
            kept = tuple(_narrowed(table, self.columns(table, question, columns_max)) for table in linking.tables)
        return kept

    def _token_share(self, table: Table) -> int:
        position = self._positions.get(id(table))
        if position is None:
            return _token_share(table)
        known = self._tokens.get(position)
        if known is None:
            known = self._tokens[position] = _token_share(table)
        return known

    def owns(self, table: Table) -> bool:
        """Return whether this very table is one of the catalog's, and not one with fewer columns."""
        return id(table) in self._positions

    def _terms(self, question: str) -> list[_Term]:
        """Return the words of the question that the catalog knows, of its names or by the lexicon."""
        terms: list[_Term] = []
        spoken = list(dict.fromkeys(words_of(question)))
        words = [word for word in spoken if word not in STOP][:QUESTION_WORDS_MAX]
        for number, word in enumerate(words):
            result: dict[str, float] = {}
            if not HAN.match(word):
                for other in self._words.get(word, ()):
                    if other in self._postings:
                        result[other] = RELATED_SHARE
                for other in self._stems.get(stem(word), ()):
                    result[other] = _FORM_SHARE
            if word in self._postings:
                result[word] = 1.0
            if result:
                is_han = HAN.match(word) is not None
                terms.append(_Term(result, 1.0 if is_han else 1 + _FIRST_SHARE * (1 - number / len(words))))
        for first, second in pairwise(spoken[: QUESTION_WORDS_MAX * 2]):
            # Two words of a question are one word of a name: the last name of `lastname`.
            if first.isascii() and second.isascii() and first + second in self._postings:
                terms.append(_Term({first + second: 1.0}))
        for word in han_words(question, self._words):
            is_known = all(piece in self._postings for piece in words_of(word))
            share = _FOREIGN_KNOWN_SHARE if is_known else _FOREIGN_SHARE
            result = {other: share for other in self._words[word] if other in self._postings}
            if result:
                terms.append(_Term(result))
        return terms

    def _score(self, question: str) -> tuple[Sequence[Mapping[int, float]], Mapping[int, float], Sequence[Link]]:
        count = len(self.catalog.tables)
        scores: dict[int, float] = defaultdict(float)
        by_term: list[dict[int, float]] = []
        links: list[Link] = []
        looked_at = 0
        # The rarest words first: a word of most tables distinguishes none from another, and its postings are the slow ones.
        terms = self._terms(question)
        for term in sorted(terms, key=lambda item: sum(len(self._postings[word]) for word in item.words)):
            best: dict[int, tuple[float, str, _Posting]] = {}
            for word, likeness in term.words.items():
                share = likeness * term.share
                result = self._postings[word]
                looked_at += len(result)
                if looked_at > POSTINGS_READ_MAX:
                    continue
                rarity = share * math.log(1 + (count - len(result) + 0.5) / (len(result) + 0.5))
                for posting in result:
                    score = rarity * posting.weight + _NAMED_WEIGHT * share * posting.named
                    if posting.table not in best or best[posting.table][0] < score:
                        best[posting.table] = (score, word, posting)
            by_term.append({position: score for position, (score, _, _) in best.items()})
            for position, (score, _, _) in best.items():
                scores[position] += score
            if len(best) <= LINKS_MAX:
                links += [self._word_link(word, posting, term.words[word]) for _, word, posting in best.values()]
        for text, (position, column, value) in self.values.found(question):
            found_in = self.values.count(value)
            scores[position] += _VALUE_WEIGHT * math.log(1 + count / found_in)
            table = self.catalog.tables[position].name
            links.append(Link(text=text, table=table, column=column, value=value, score=0.9, reason="value"))
        return by_term, scores, links

    def _word_link(self, word: str, posting: _Posting, share: float) -> Link:
        key = (word, posting.table, share)
        known = self._links.get(key)
        if known is not None:
            return known
        table = self.catalog.tables[posting.table]
        owners = self.owners_of.get(posting.table)
        if owners is None:
            owners = self.owners_of[posting.table] = owners_of(table)
        column = owners.get(word)
        in_name = word in owners and column is None
        score = share * min(1.0, posting.weight / (NAME_WEIGHT * (SATURATION + 1)) + 0.2)
        reason = "name" if in_name else "column"
        if len(self._links) >= LINKS_KEPT_MAX:
            self._links.clear()
        made = self._links[key] = Link(
            text=word,
            table=table.name,
            column=column,
            value=None,
            score=round(score, 3),
            reason=reason if share == 1.0 else f"{reason}, by another word",
        )
        return made

    def _closed(self, terms: Sequence[Mapping[int, float]], scores: Mapping[int, float], tables_max: int) -> list[int]:
        """Return the best tables together with those that join them, in the catalog's order."""
        front = [
            place for _, place in heapq.nsmallest(RANKED_MAX, ((-score, place) for place, score in scores.items()))
        ]
        raised = {position: scores[position] for position in front}
        for position in front:
            for neighbour in self._neighbours.get(position, ()):
                if neighbour in raised:
                    raised[neighbour] += _NEIGHBOUR_SHARE * scores[position]
        least = max(raised.values()) * _SCORE_SHARE_MIN
        covered = [0.0] * len(terms)
        kept: list[int] = []
        while raised and len(kept) < tables_max:
            position = min(raised, key=lambda item: (-raised[item], item))
            if raised.pop(position) < least:
                break
            path = self._path(position, set(kept)) if kept else None
            needed = [step for step in path or [position] if step not in kept]
            if len(kept) + len(needed) > tables_max:
                if path is None or not self._are_siblings(path):
                    continue
                needed = [position]
            kept += needed
            for joined in needed:
                raised.pop(joined, None)
            _cover(terms, covered, needed, raised)
        for position in list(kept):
            for neighbour in self._neighbours.get(position, ()):
                if len(kept) < tables_max and neighbour not in kept:
                    kept.append(neighbour)
        return sorted(kept)

    def _path(self, start: int, goals: set[int]) -> list[int] | None:
        """Return the shortest way over foreign keys from a table to any of the goals, both ends included."""
        came_from: dict[int, int] = {start: start}
        queue = deque([(start, 0)])
        while queue:
            position, hops = queue.popleft()
            if position in goals:
                path = [position]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return path
            if hops < PATH_HOPS_MAX:
                for neighbour in self._neighbours.get(position, ()):
                    if neighbour not in came_from:
                        came_from[neighbour] = position
                        queue.append((neighbour, hops + 1))
        return None

    def _are_siblings(self, path: Sequence[int]) -> bool:
        """Return whether both ends of a path refer to its middle: they join on that key without it."""
        return len(path) == 3 and {path[0], path[2]} <= self._referring.get(path[1], set())

    def _join(self) -> None:
        neighbours: dict[int, set[int]] = defaultdict(set)
        for position, table in enumerate(self.catalog.tables):
            for key in table.foreign_keys:
                referred = self.catalog.referred(key, table)
                if referred is not None and (other := self._positions[id(referred)]) != position:
                    self._referring[other].add(position)
                    neighbours[position].add(other)
                    neighbours[other].add(position)
        for position, other in _keys_by_name(self.catalog.tables):
            neighbours[position].add(other)
            neighbours[other].add(position)
        self._neighbours = {position: tuple(sorted(others)) for position, others in neighbours.items()}


def _keys_by_name(tables: Sequence[Table]) -> Iterator[tuple[int, int]]:
    """Yield pairs of tables of which one has a column called as only the other's key is: no foreign key has to say so.

    A key of one word (`id`, `name`) says nothing.
    """
    owners: dict[str, list[int]] = defaultdict(list)
    for position, table in enumerate(tables):
        if len(table.primary_key) == 1 and len(cached_words(table.primary_key[0])) > 1:
            owners[table.primary_key[0].lower()].append(position)
    for position, table in enumerate(tables):
        for column in table.columns:
            result = owners.get(column.name.lower(), ())
            if len(result) == 1 and result[0] != position:
                yield position, result[0]


_ASKING: Final = frozenset(
    {"number", "average", "total", "count", "maximum", "minimum", "most", "least", "sum", "order", "list"}
)
"""What a question asks for, also where a column is called so."""
_LABELS: Final = frozenset({"name", "title"})


_TIMES: Final = frozenset({ColumnKind.DATE, ColumnKind.DATETIME, ColumnKind.TIME})
_TIME_WORDS: Final = frozenset({"year", "date", "time", "day", "month"})
_PERIOD: Final = re.compile(
    r"\b(?:19|20)\d\d\b|\b(?:before|after|since|during|when|recent\w*|latest|earliest|oldest|newest|first|last|year\w*|month\w*"
    r"|day\w*|date\w*|week\w*|today|yesterday|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b"
    r"|年|月|日期|时间|最近|最早|最新|之前|之后|以来|今天|昨天|周|季度|何时|什么时候",
    re.IGNORECASE,
)


def _narrowed(table: Table, columns: tuple[Column, ...]) -> Table:
    if len(columns) == len(table.columns):
        return table
    return table.model_copy(update={"columns": columns})


def _token_share(table: Table) -> int:
    """Return about how many tokens a table takes in a prompt, from its lengths alone."""
    chars = 40 + sum(map(_length, table.columns)) + 60 * len(table.foreign_keys)
    return chars // 3


def _length(column: Column) -> int:
    names = sum(len(name) + 4 for name in (*column.display_names.values(), *column.synonyms[:4]))
    shown = column.values[:12] if column.values_complete and len(column.values) <= 12 else column.values[:3]
    return len(column.name) + 16 + names + min(120, len(column.comment)) + sum(min(60, len(text)) + 4 for text in shown)
