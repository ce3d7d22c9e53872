"""What people have taught about a connection: verified question-SQL pairs, instructions, terms, synonyms and definitions.

One frozen value per tenant and connection, bounded in entries and bytes. Search is lexical and deterministic; nearness
by embeddings, where somebody computed it, is added to it. A pair that no longer passes the guard is stale: it is shown as
such (`core/staleness.py`) and never used.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.catalog import Catalog, Column, Table
from querybus.text.words import han_words, stem, word_set, words_of

ENTRIES_MAX: Final = 2_000
BYTES_MAX: Final = 900 * 1_024
KEY_LENGTH_MAX: Final = 1_000
TEXT_LENGTH_MAX: Final = 60_000
SCORE_MIN: Final = 0.12
NEARNESS_SHARE: Final = 0.75


class EntryKind(StrEnum):
    """What an entry says."""

    PAIR = "pair"
    INSTRUCTION = "instruction"
    TERM = "term"
    SYNONYM = "synonym"
    DEFINITION = "definition"


SUGGESTION: Final = "suggestion"
"""The source of what a reader who may not teach said was right."""
APPROVED: Final = "approved"
REJECTED: Final = "rejected"
"""The sources of what was suggested once an analyst has looked at it."""


# One entry for each key; of the others there may be several.
_BY_KEY: Final = (EntryKind.PAIR, EntryKind.TERM, EntryKind.DEFINITION)


class Entry(BaseModel):
    """One piece of knowledge.

    `key` and `text` are: question and SQL; title and instruction; word and meaning; `table` or `table.column` and
    another word for it; `metric:revenue`, `dataset:orders` or the like and the definition as Ossie has it, in JSON.
    """

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    kind: EntryKind
    key: str = Field(max_length=KEY_LENGTH_MAX)
    text: str = Field(min_length=1, max_length=TEXT_LENGTH_MAX)
    source: str = Field(
        default="api", max_length=40, description="api, import, feedback, suggestion, approved or rejected"
    )
    by: str = Field(default="", max_length=200, description="the user who said so")
    at: int = Field(default=0, ge=0, description="milliseconds since the epoch")
    reviewed_by: str = Field(default="", max_length=200, description="who approved or rejected the suggestion")
    reviewed_at: int = Field(default=0, ge=0, description="when, in milliseconds since the epoch")

    @property
    def is_pending(self) -> bool:
        """Whether an analyst has yet to take it up: until then it answers nobody."""
        return self.source == SUGGESTION

    @property
    def counts(self) -> bool:
        """Whether it may answer: neither only suggested nor rejected."""
        return self.source not in (SUGGESTION, REJECTED)

    @property
    def id(self) -> str:
        """16 hex digits of what the entry is about: a second entry about the same takes its place."""
        about = self.key if self.kind in _BY_KEY else f"{self.key}\x00{self.text}"
        return hashlib.sha256(f"{self.kind}\x00{normalised(about)}".encode()).hexdigest()[:16]


class Knowledge(BaseModel):
    """All entries of one tenant's connection, by time of their coming."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    connection: str
    entries: tuple[Entry, ...] = ()

    def of(self, kind: EntryKind) -> tuple[Entry, ...]:
        """Return the entries of one kind that count."""
        return tuple(entry for entry in self.entries if entry.kind is kind and entry.counts)

    def with_entries(self, entries: Iterable[Entry]) -> Knowledge | None:
        """Return the knowledge with these entries, each in place of the one about the same; None if it is too much.

        What is only suggested takes the place neither of what counts nor of the same that was rejected.
        """
        kept = {entry.id: entry for entry in self.entries}
        for entry in entries:
            if entry.is_pending and (known := kept.get(entry.id)) is not None and _outweighs(known, entry):
                continue
            kept.pop(entry.id, None)
            kept[entry.id] = entry
        grown = Knowledge(connection=self.connection, entries=tuple(kept.values()))
        if len(grown.entries) > ENTRIES_MAX or len(grown.model_dump_json().encode()) > BYTES_MAX:
            return None
        return grown

    def reviewed(self, ids: Iterable[str], source: str, by: str, at: int) -> Knowledge:
        """Return the knowledge with these suggestions approved or rejected, and who did it when."""
        chosen = set(ids)
        review = {"source": source, "reviewed_by": by, "reviewed_at": at}
        return Knowledge(
            connection=self.connection,
            entries=tuple(
                entry.model_copy(update=review) if entry.is_pending and entry.id in chosen else entry
                for entry in self.entries
            ),
        )

    def without(self, ids: Iterable[str]) -> Knowledge:
        """Return the knowledge without the entries of these ids."""
        gone = set(ids)
        return Knowledge(
            connection=self.connection, entries=tuple(entry for entry in self.entries if entry.id not in gone)
        )

    def verified(self, question: str) -> Entry | None:
        """Return the pair whose question is this one, whatever its case, spaces and punctuation."""
        wanted = normalised(question)
        return next((entry for entry in self.of(EntryKind.PAIR) if wanted and normalised(entry.key) == wanted), None)


def _outweighs(known: Entry, suggested: Entry) -> bool:
    return known.counts or (known.source == REJECTED and known.text == suggested.text)


_MARKS = re.compile(r"[\W_]+")


def normalised(text: str) -> str:
    """Return a text by which equal questions are equal: width, case, spaces and punctuation do not count.

    >>> normalised("How many  customers?") == normalised("how many customers")
    True
    """
    return _MARKS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


_RELATIVE = re.compile(
    r"\b(today|yesterday|tomorrow|now|currently?|recent(ly)?|latest|ago|so far|(this|last|past|next|previous|coming)\s+\w+)\b"
    r"|今天|昨天|明天|现在|目前|当前|最近|近期|近\d|今年|去年|前年|明年|本年|本月|上月|上个?月|本周|上周|这周|本季|上季|这个?月|以来|过去",
    re.IGNORECASE,
)
_FIXED_DAY = re.compile(r"\b(19|20)\d\d\b")


def answers_alone(entry: Entry) -> bool:
    """Return whether a pair may answer its question on any day: a day written into the SQL of "this month" may not."""
    return not (_RELATIVE.search(entry.key) and _FIXED_DAY.search(entry.text))


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry found, with its score in 0..1."""

    entry: Entry
    score: float


class KnowledgeIndex:
    """The knowledge of one connection, prepared for search. `words` is the lexicon that linking uses."""

    def __init__(self, entries: Sequence[Entry], words: Mapping[str, Sequence[str]] | None = None) -> None:
        self._words: Mapping[str, Sequence[str]] = words or {}
        self._entries = tuple(entries)
        counted = [
            self._features(f"{entry.key}\n{'' if entry.kind is EntryKind.PAIR else entry.text}") for entry in entries
        ]
        frequency = Counter(feature for features in counted for feature in features)
        count = len(self._entries)
        self._rarity = {feature: math.log(1 + count / result) for feature, result in frequency.items()}
        self._unseen = math.log(1 + count)
        self._vectors = [self._weighed(features) for features in counted]

    def search(
        self, kind: EntryKind, query: str, k: int, *, nearness: Mapping[str, float] | None = None
    ) -> tuple[Hit, ...]:
        """Return the best `k` entries of a kind, best first. `nearness` gives similarities in 0..1 by entry id."""
        asked = self._weighed(self._features(query))
        hits: list[Hit] = []
        for entry, vector in zip(self._entries, self._vectors, strict=True):
            if entry.kind is not kind:
                continue
            score = sum(weight * vector[feature] for feature, weight in asked.items() if feature in vector)
            if nearness is not None and (near := nearness.get(entry.id)) is not None:
                score += NEARNESS_SHARE * max(0.0, near)
            if score >= SCORE_MIN:
                hits.append(Hit(entry, round(min(1.0, score), 4)))
        hits.sort(key=lambda hit: (-hit.score, hit.entry.id))
        return tuple(hits[:k])

    def _features(self, text: str) -> dict[str, float]:
        """Return what a text is about: stems, Chinese pairs, their English by the lexicon, and what is asked of it."""
        result: dict[str, float] = {}

        def add(feature: str, weight: float) -> None:
            result[feature] = max(result.get(feature, 0.0), weight)

        for mark, pattern in _ASKS:
            if pattern.search(text):
                add(mark, _ASKED)
        for word in words_of(_NUMBER.sub(" ", text)):
            if word in _SAID_BY_ANY:
                continue
            if word.isascii():
                add(stem(word), 1.0)
                for other in self._words.get(word, ())[:4]:
                    add(stem(other), _RELATED)
            else:
                add(word, _PAIR_OF_HAN)
        for word in han_words(text, self._words):
            for other in self._words[word][:3]:
                add(stem(other), _LEXICON)
        for number in _NUMBER.findall(text):
            add(number, _FIGURE)
        return result

    def _weighed(self, features: Mapping[str, float]) -> dict[str, float]:
        vector = {name: weight * self._rarity.get(name, self._unseen) for name, weight in features.items()}
        length = math.sqrt(sum(weight * weight for weight in vector.values())) or 1.0
        return {name: weight / length for name, weight in vector.items()}


_RELATED: Final = 0.6
_PAIR_OF_HAN: Final = 0.5
_LEXICON: Final = 0.7
_FIGURE: Final = 0.8
_ASKED: Final = 1.2
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SAID_BY_ANY: Final = word_set(
    """
    a an and are as at be been by can could did do does find for from get give had has have how i in is it its
    let list many me much of on or our please return see show tell than that the their them there they this
    those to us want was we were what when where which who whose will with would you your each every per number
    count total sum average mean most least highest lowest top 多少 有多 少个 哪些 什么 列出 显示 所有 一共 总共 共有 请问 查询 告诉 分别 各个
    每个 是多 是什
    """
)
_ASKS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (mark, re.compile(pattern, re.IGNORECASE))
    for mark, pattern in (
        (
            "@count",
            r"\bhow many\b|\bnumbers? of\b|\bcount\b|多少[个位名条家笔种次人]?|几[个位名家种次]|数量|人数|总数|个数",
        ),
        ("@average", r"\b(average|mean|avg|typical)\b|平均"),
        ("@sum", r"\b(total|sum|overall|altogether|combined)\b|总[额和计]|合计|总共"),
        (
            "@most",
            r"\b(most|highest|largest|biggest|top|best|greatest|maximum|max|longest|oldest)\b|最[高多大贵好长]|前[\d一二三四五六七八九十]",
        ),
        (
            "@least",
            r"\b(least|lowest|smallest|fewest|bottom|worst|minimum|min|cheapest|shortest|youngest)\b|最[低少小差短]",
        ),
        ("@each", r"\b(each|every|per|by|broken down|for all)\b|每|各|按|分别"),
        ("@none", r"\b(no|not|never|without|n't|none)\b|没有|从未|未|不"),
    )
)


def with_synonyms(catalog: Catalog, entries: Sequence[Entry]) -> Catalog:
    """Return the catalog with the synonyms and terms that people have taught added to its own."""
    words: dict[str, list[str]] = {}
    for entry in entries:
        if entry.kind is EntryKind.SYNONYM:
            words.setdefault(entry.key.casefold(), []).append(entry.text)
    terms = {entry.key: entry.text for entry in entries if entry.kind is EntryKind.TERM}
    if not words and not terms:
        return catalog
    tables = tuple(_named(table, words) for table in catalog.tables)
    return Catalog.model_validate(_fields(catalog) | {"tables": tables, "glossary": {**catalog.glossary, **terms}})


def _named(table: Table, words: Mapping[str, Sequence[str]]) -> Table:
    name = table.name.casefold()
    columns = tuple(_with_words(column, words.get(f"{name}.{column.name.casefold()}", ())) for column in table.columns)
    more = words.get(name, ())
    if not more and all(new is old for new, old in zip(columns, table.columns, strict=True)):
        return table
    changes = {"columns": columns, "synonyms": tuple(dict.fromkeys((*table.synonyms, *more)))}
    return Table.model_validate(_fields(table) | changes)


def _with_words(column: Column, words: Sequence[str]) -> Column:
    if not words:
        return column
    return Column.model_validate(_fields(column) | {"synonyms": tuple(dict.fromkeys((*column.synonyms, *words)))})


def _fields(value: BaseModel) -> dict[str, Any]:
    # Not model_copy: it would take along what the value has cached about its old self.
    return {name: getattr(value, name) for name in type(value).model_fields}
