"""Which verified questions a model is shown: those whose statement has the shape that the new one will need.

Three likenesses are added up: words, as search has them; the question with its names and values masked; and the statement's
skeleton against that of the built-in translator's best reading, sure or not, which is never run. Measured by
`make bench-prompt`. Pure; skeletons and masks are made once for an entry.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

import sqlglot
from rapidfuzz.distance import Indel
from sqlglot import exp
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Dialect
from querybus.text.knowledge import Entry, EntryKind, KnowledgeIndex
from querybus_generator.linking.index import LinkIndex

WORDS_SHARE: Final = 0.5
MASK_SHARE: Final = 1.0
SHAPE_SHARE: Final = 1.0
LOOKED_AT_MAX: Final = 100
"""Entries compared in full, by words and by shape each: bounds the time of one question."""
WORDS_SCORE_MIN: Final = 0.3
SHAPE_SCORE_MIN: Final = 0.75
SKELETONS_KEPT_MAX: Final = 8_192
_MASK: Final = "_"
_TOKEN: Final = re.compile(r"[A-Za-z]+|\d+|[\u3400-\u9fff]|[^\sA-Za-z\d]")


@lru_cache(maxsize=SKELETONS_KEPT_MAX)
def skeleton(sql: str, dialect: Dialect) -> tuple[str, ...]:
    """Return a statement's words with every name, alias and value masked; empty where it cannot be read.

    >>> " ".join(skeleton("SELECT a, COUNT(*) AS n FROM t WHERE b = 'x' GROUP BY a", Dialect.SQLITE))
    'SELECT _, COUNT(*) FROM _ WHERE _ = _ GROUP BY _'
    """
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect.value)
        return tuple(tree.transform(_masked).sql(dialect=dialect.value).split())
    except (SqlglotError, RecursionError):
        return ()


def _masked(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Column):
        return exp.column(_MASK)
    if isinstance(node, exp.Table):
        return exp.to_table(_MASK)
    if isinstance(node, exp.Literal):
        return exp.Var(this=_MASK)
    if isinstance(node, exp.TableAlias):
        return exp.TableAlias(this=exp.to_identifier(_MASK))
    # What is put in a node's place is not visited again.
    return _masked(node.this) if isinstance(node, exp.Alias) else node


class Examples:
    """The verified pairs of one connection, ready to be chosen from."""

    def __init__(self, entries: Sequence[Entry], search: KnowledgeIndex, index: LinkIndex, dialect: Dialect) -> None:
        self._entries = {entry.id: entry for entry in entries}
        self._search = search
        self._index = index
        self._dialect = dialect
        self._grams: dict[str, Counter[tuple[str, ...]]] = {}

    def __bool__(self) -> bool:
        return bool(self._entries)

    def choose(
        self,
        question: str,
        likely_sql: str | None,
        count: int,
        *,
        is_usable: Callable[[Entry], bool],
        nearness: Mapping[str, float] | None = None,
    ) -> tuple[Entry, ...]:
        """Return at most `count` entries, the most alike first; `likely_sql` may be wrong in every name."""
        hits = self._search.search(EntryKind.PAIR, question, LOOKED_AT_MAX, nearness=nearness)
        words = {hit.entry.id: hit.score for hit in hits if hit.entry.id in self._entries}
        wanted = skeleton(likely_sql, self._dialect) if likely_sql else ()
        shapes = self._shapes(wanted) if wanted else {}
        asked = self._gram_counts(question)
        scored: list[tuple[float, str]] = []
        for name in {*words, *shapes}:
            entry = self._entries[name]
            mask = _likeness(asked, self._grams_of(entry))
            shape = shapes.get(name)
            if shape is None:
                shape = _shape_likeness(wanted, skeleton(entry.text, self._dialect)) if wanted else 0.0
            is_alike = words.get(name, 0.0) >= WORDS_SCORE_MIN or shape >= SHAPE_SCORE_MIN
            if is_alike:
                score = WORDS_SHARE * words.get(name, 0.0) + MASK_SHARE * mask + SHAPE_SHARE * shape
                scored.append((score, name))
        chosen: list[Entry] = []
        for _, name in sorted(scored, key=lambda item: (-item[0], item[1])):
            if len(chosen) == count:
                break
            if is_usable(self._entries[name]):
                chosen.append(self._entries[name])
        return tuple(chosen)

    def _shapes(self, wanted: tuple[str, ...]) -> dict[str, float]:
        """Return the entries whose statements are most alike in shape."""
        scored = sorted(
            (-_shape_likeness(wanted, skeleton(entry.text, self._dialect)), name)
            for name, entry in self._entries.items()
        )
        return {name: -score for score, name in scored[:LOOKED_AT_MAX]}

    def _grams_of(self, entry: Entry) -> Counter[tuple[str, ...]]:
        known = self._grams.get(entry.id)
        if known is None:
            known = self._grams[entry.id] = self._gram_counts(entry.key)
        return known

    def _gram_counts(self, question: str) -> Counter[tuple[str, ...]]:
        """Return runs of up to three words of the masked question, longer ones counting more."""
        words = self._mask(question)
        runs = (
            Counter({tuple(words[at : at + length]): length for at in range(len(words) - length + 1)})
            for length in (1, 2, 3)
        )
        return Counter(dict(chain.from_iterable(run.items() for run in runs)))

    def _mask(self, question: str) -> list[str]:
        masked: list[str] = []
        for token in _TOKEN.findall(question):
            word = _MASK if token.isdigit() or self._index.names(token) else token.lower()
            if word != _MASK or masked[-1:] != [_MASK]:
                masked.append(word)
        return masked


def _shape_likeness(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    return Indel.normalized_similarity(one, other) if one and other else 0.0


def _likeness(one: Counter[tuple[str, ...]], other: Counter[tuple[str, ...]]) -> float:
    whole = sum((one | other).values())
    return sum((one & other).values()) / whole if whole else 0.0
