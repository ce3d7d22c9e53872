"""How close words of a question come to names of the schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.time.words import unit_of
from querybus_translator.language.units import unit_of_measure
from querybus_translator.schema.index import CatalogIndex, Entry

CANDIDATES_MAX: Final = 24
EXACT_SCORE: Final = 0.999
RECALLED_MAX: Final = 20_000


ENTRIES_COMPARED_MAX: Final = 300


_SCORE_MIN: Final = 0.5


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing that a span may mean: a table, a column, or a stored value of a column."""

    table: int
    column: int | None
    value: str | None
    score: float
    with_table: bool = False
    also: tuple[int, str] | None = None


def compare_names(words: Sequence[str], index: CatalogIndex, *, bounded: bool) -> tuple[Candidate, ...]:
    similar = [index.similar(word) for word in words]
    common: set[int] = set()
    for place, close in enumerate(similar):
        hits: set[int] = set()
        for word in close:
            hits |= index.own.get(word, set())
            if len(words) > 1 and not bounded:
                hits |= index.via_table.get(word, set())
        common = hits if place == 0 else common & hits
        if not common:
            return ()
    if len(common) > ENTRIES_COMPARED_MAX:
        # A word that half of the catalog bears says little: the shortest names are the closest to it.
        common = set(sorted(common, key=lambda item: (len(index.entries[item].names[0]), item))[:ENTRIES_COMPARED_MAX])
    # "Older than ten years" speaks of no duration in minutes.
    says_unit = any(unit_of_measure(word) is not None or unit_of(word) is not None for word in words)
    candidates: list[Candidate] = []
    for number in common:
        entry = index.entries[number]
        score, with_table = _closeness(entry, similar, index, bounded=bounded, says_unit=says_unit)
        if entry.column is None and index.own.get(words[0], set()) == {number} and len(words) == 1:
            # No other name has the word: "performances" are those of `performance_score`.
            score = max(score, _ALONE_SCORE if score >= _SCORE_MIN else 0.0)
        if score >= _SCORE_MIN:
            candidates.append(Candidate(entry.table, entry.column, None, score, with_table))
    # "Campus fee" is the column of that name rather than the campus of the fees.
    candidates.sort(key=lambda link: (-link.score, link.with_table, link.table, link.column or 0))
    return tuple(candidates[: 4 * CANDIDATES_MAX])


def _closeness(
    entry: Entry, similar: Sequence[dict[str, float]], index: CatalogIndex, *, bounded: bool, says_unit: bool
) -> tuple[float, bool]:
    table_words = index.table_words[entry.table] if entry.column is not None else _NO_WORDS
    best, best_with_table = 0.0, False
    for name in entry.names:
        left = list(name)
        total = 0.0
        own = 0
        with_table = False
        says_role = not entry.role
        for close in similar:
            hit, closest = "", 0.0
            for word in left:
                if close.get(word, 0.0) > closest:
                    hit, closest = word, close[word]
            if hit:
                left.remove(hit)
                total += closest
                own += 1
                says_role = says_role or hit in entry.role
                continue
            if bounded:
                break
            closest = max((close[word] for word in table_words if word in close), default=0.0)
            if not closest:
                break
            with_table = True
            total += closest
        else:
            if not own or not says_role or (left and _ORDINALS.issuperset(set(name) - set(left))):
                continue
            missing = 0.0
            if not says_unit:
                left = [word for word in left if not _is_unit(word)]
            for word in left:
                missing += _cost_of_missing(word, table_words)
            if left and name[-1] in left and name[-1] not in table_words:
                missing += 0.3
            score = total / len(similar) * (0.5 + 0.5 * own / (own + missing))
            if score > best:
                best, best_with_table = score, with_table
    return best, best_with_table


_ALONE_SCORE: Final = 0.82
_NO_WORDS: frozenset[str] = frozenset()
_ORDINALS: Final = frozenset({"first", "last", "next", "previous", "second", "third"})
"""What says a place in an order by itself: whoever joined last has no last name by that."""


def _cost_of_missing(word: str, table_words: frozenset[str]) -> float:
    if word in table_words:
        return 0.02
    if word in lexicon().key_words:
        return 1.4
    return 0.06 if word in lexicon().stopwords or word.isdigit() else 1.0


def _is_unit(word: str) -> bool:
    """Whether it says what an amount is in: "weight" is `weight_kg`."""
    return (unit_of_measure(word) is not None and word not in _ALSO_OTHERS) or word in lexicon().scales


_ALSO_OTHERS: Final = frozenset({"min", "mins", "day", "week", "hour", "second"})
"""A minimum, and steps of time that are columns of their own."""


def recalled(words: Sequence[str], index: CatalogIndex, *, bounded: bool) -> tuple[Candidate, ...]:
    key = (tuple(words), bounded)
    known: tuple[Candidate, ...] | None = index.recalled.get(key)
    if known is None:
        known = compare_names(words, index, bounded=bounded)
        if len(index.recalled) < RECALLED_MAX:
            index.recalled[key] = known
    return known
