"""From a question to the tables that matter: words of names, comments, display names and values, then foreign keys.

Lexical and deterministic: no model, no randomness. Every table is one document; its words are weighed by where they
stand and by how rare they are (BM25). Tables that only join the found ones come in over foreign keys. Where nothing
links, a wider part of the schema is kept rather than a wrong one. Values are looked up locally; whether they may
leave the house is decided where a prompt is rendered.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from querybus.core.catalog import Catalog, Column, Table
from querybus.core.messages import Link

TABLES_KEPT_MAX: Final = 12
WHOLE_SCHEMA_COLUMNS_MAX: Final = 160
"""A schema up to this size is kept whole: choosing can only lose something (anchors.md 4.2)."""
QUESTION_WORDS_MAX: Final = 200
LINKS_MAX: Final = 32
RANKED_MAX: Final = 200
POSTINGS_READ_MAX: Final = 20_000
"""Bounds the time of one question on a catalog of any size."""
PATH_HOPS_MAX: Final = 3
VALUE_WORDS_MAX: Final = 5
VALUE_LENGTH_MIN: Final = 2

_NAME_WEIGHT: Final = 4.0
_TABLE_TEXT_WEIGHT: Final = 3.0
_COLUMN_WEIGHT: Final = 1.5
_COLUMN_TEXT_WEIGHT: Final = 1.0
_VALUE_WEIGHT: Final = 2.5
_NEIGHBOUR_SHARE: Final = 0.15
# A score far below the best is noise of common words.
_SCORE_SHARE_MIN: Final = 0.12
_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.4

_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z\u3400-\u9fff]+|\d+|[\u3400-\u4dbf\u4e00-\u9fff]+")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
_STOP_WORDS = (
    "a an and are as at be been by did do does each every find for from give had has have how in is it its list "
    "many me more most much of on or our please return show than that the their them then there these they this "
    "those to us was we were what when where which who whose will with you your all any per not no also only "
    "both"
)
_STOP: Final = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Linking:
    """The tables to keep, in the catalog's order, and the words that led to them, best first."""

    tables: tuple[Table, ...]
    links: tuple[Link, ...]
    is_whole_schema: bool


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a name or a text: pieces of identifiers, singular, lower case; Han text as pairs.

    >>> list(words_of("OrderItems of 订单明细"))
    ['order', 'item', 'of', '订单', '单明', '明细']
    """
    for found in _PIECE.finditer(text):
        piece = found[0]
        if _HAN.match(piece):
            if len(piece) == 1:
                yield piece
            for at in range(len(piece) - 1):
                yield piece[at : at + 2]
        else:
            yield _singular(piece.lower())


@lru_cache(maxsize=20_000)
def _cached_words(text: str) -> tuple[str, ...]:
    return tuple(words_of(text))


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@dataclass(frozen=True, slots=True)
class _Posting:
    table: int
    weight: float


class LinkIndex:
    """A catalog prepared for linking; building it takes time in proportion to the schema, asking it does not."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._positions = {id(table): position for position, table in enumerate(catalog.tables)}
        self._postings: dict[str, list[_Posting]] = defaultdict(list)
        self._values: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        self._neighbours: dict[int, tuple[int, ...]] = {}
        for position, table in enumerate(catalog.tables):
            for word, weight in _weights(table).items():
                self._postings[word].append(_Posting(position, weight))
            for column in table.columns:
                for value in column.values:
                    folded = _folded(value)
                    if len(folded) >= VALUE_LENGTH_MIN and len(self._values[folded]) < 20:
                        self._values[folded].append((position, column.name, value))
        self._join()

    def link(self, question: str, *, tables_max: int = TABLES_KEPT_MAX) -> Linking:
        """Return at most `tables_max` tables for the question; all of them if the schema is small.

        Equal catalogs and questions give equal results.
        """
        catalog = self.catalog
        columns = sum(len(table.columns) for table in catalog.tables[: WHOLE_SCHEMA_COLUMNS_MAX + 1])
        is_whole = len(catalog.tables) <= tables_max and columns <= WHOLE_SCHEMA_COLUMNS_MAX
        scores, links = self._score(question)
        if is_whole:
            kept: Sequence[int] = range(len(catalog.tables))
        elif scores:
            kept = self._closed(scores, tables_max)
        else:
            # Nothing links: the most connected tables are the likeliest subject.
            order = sorted(range(len(catalog.tables)), key=lambda each: (-len(self._neighbours.get(each, ())), each))
            kept = sorted(order[: tables_max * 2])
        names = {catalog.tables[each].name for each in kept}
        return Linking(
            tables=tuple(catalog.tables[each] for each in kept),
            links=tuple(link for link in links if link.table in names)[:LINKS_MAX],
            is_whole_schema=is_whole,
        )

    def _score(self, question: str) -> tuple[dict[int, float], list[Link]]:
        count = len(self.catalog.tables)
        scores: dict[int, float] = defaultdict(float)
        words = [word for word in dict.fromkeys(words_of(question)) if word not in _STOP][:QUESTION_WORDS_MAX]
        links: list[Link] = []
        looked_at = 0
        # The rarest words first: a word of most tables tells none from another, and its postings are the slow ones.
        for word in sorted(words, key=lambda each: len(self._postings.get(each, ()))):
            found = self._postings.get(word, ())
            looked_at += len(found)
            if not found or looked_at > POSTINGS_READ_MAX:
                continue
            rarity = math.log(1 + (count - len(found) + 0.5) / (len(found) + 0.5))
            for posting in found:
                scores[posting.table] += rarity * posting.weight
            if len(found) <= LINKS_MAX:
                links += [self._word_link(word, posting) for posting in found]
        for text, (position, column, value) in self._values_in(question):
            found_in = len(self._values[_folded(value)])
            scores[position] += _VALUE_WEIGHT * math.log(1 + count / found_in)
            table = self.catalog.tables[position].name
            links.append(Link(text=text, table=table, column=column, value=value, score=0.9, reason="value"))
        links.sort(key=lambda link: (-link.score, link.table, link.column or "", link.text))
        return scores, links

    def _word_link(self, word: str, posting: _Posting) -> Link:
        table = self.catalog.tables[posting.table]
        column = next((each.name for each in table.columns if word in words_of(_column_text(each))), None)
        in_name = word in words_of(_table_text(table))
        score = min(1.0, posting.weight / (_NAME_WEIGHT * (_SATURATION + 1)) + 0.2)
        return Link(
            text=word,
            table=table.name,
            column=None if in_name else column,
            score=round(score, 3),
            reason="name" if in_name else "column",
        )

    def _values_in(self, question: str) -> Iterator[tuple[str, tuple[int, str, str]]]:
        if not self._values:
            return
        seen: set[str] = set()
        for text in _spans(question):
            folded = _folded(text)
            if folded in seen:
                continue
            seen.add(folded)
            for found in self._values.get(folded, ()):
                yield text, found

    def _closed(self, scores: Mapping[int, float], tables_max: int) -> list[int]:
        """Return the best tables together with those that join them, in the catalog's order."""
        front = heapq.nsmallest(RANKED_MAX, scores, key=lambda each: (-scores[each], each))
        raised = {position: scores[position] for position in front}
        for position, score in tuple(raised.items()):
            for neighbour in self._neighbours.get(position, ()):
                if neighbour in raised:
                    raised[neighbour] = raised[neighbour] + _NEIGHBOUR_SHARE * score
        ranked = sorted(raised, key=lambda each: (-raised[each], each))
        best = raised[ranked[0]]
        kept: list[int] = []
        for position in ranked:
            if raised[position] < best * _SCORE_SHARE_MIN:
                break
            path = self._path(position, set(kept)) if kept else [position]
            needed = [each for each in path or [position] if each not in kept]
            if len(kept) + len(needed) <= tables_max:
                kept += needed
            if len(kept) >= tables_max:
                break
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

    def _join(self) -> None:
        neighbours: dict[int, set[int]] = defaultdict(set)
        for position, table in enumerate(self.catalog.tables):
            for key in table.foreign_keys:
                referred = self.catalog.table(key.referred_table, key.referred_schema)
                if referred is not None and (other := self._positions[id(referred)]) != position:
                    neighbours[position].add(other)
                    neighbours[other].add(position)
        self._neighbours = {position: tuple(sorted(others)) for position, others in neighbours.items()}


def _weights(table: Table) -> dict[str, float]:
    """Return each word of a table with its saturated weight; long tables count a little less."""
    found: dict[str, float] = defaultdict(float)
    for text, weight in _texts(table):
        for word in _cached_words(text):
            found[word] += weight
    length = 1 - _LENGTH_SHARE + _LENGTH_SHARE * (len(table.columns) + 4) / 12
    return {
        word: weight * (_SATURATION + 1) / (weight + _SATURATION * length) * _NAME_WEIGHT / 4
        for word, weight in found.items()
        if word not in _STOP
    }


def _texts(table: Table) -> Iterator[tuple[str, float]]:
    yield table.name, _NAME_WEIGHT
    for text in (*table.display_names.values(), *table.synonyms):
        yield text, _NAME_WEIGHT
    yield table.comment[:300], _TABLE_TEXT_WEIGHT / 2
    for column in table.columns:
        yield column.name, _COLUMN_WEIGHT
        for text in (*column.display_names.values(), *column.synonyms):
            yield text, _COLUMN_WEIGHT
        yield column.comment[:200], _COLUMN_TEXT_WEIGHT


def _table_text(table: Table) -> str:
    return " ".join((table.name, *table.display_names.values(), *table.synonyms))


def _column_text(column: Column) -> str:
    return " ".join((column.name, *column.display_names.values(), *column.synonyms, column.comment[:200]))


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


_SPAN_WORD = re.compile(r"[^\W\u3400-\u9fff]+(?:['’.&-][^\W\u3400-\u9fff]+)*")


def _spans(question: str) -> Iterator[str]:
    """Yield what could be a value: runs of up to VALUE_WORDS_MAX words, and pieces of Han text."""
    words = list(_SPAN_WORD.finditer(question))[:QUESTION_WORDS_MAX]
    for first in range(len(words)):
        for last in range(first, min(first + VALUE_WORDS_MAX, len(words))):
            if last == first and words[first][0].lower() in _STOP:
                continue
            yield question[words[first].start() : words[last].end()]
    for run in _HAN.findall(question):
        for start in range(len(run)):
            for end in range(start + VALUE_LENGTH_MIN, min(start + 8, len(run)) + 1):
                yield run[start:end]
