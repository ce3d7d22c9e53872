"""Which links a word for a count beside "of" means: "the number of orders" are the orders, and not the number that each bears."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from querybus_translator.language.lexicon import POSSESSIVES, Op, lexicon
from querybus_translator.language.tokens import Token
from querybus_translator.schema.comparison import EXACT_SCORE, Candidate, recalled
from querybus_translator.schema.index import CatalogIndex


def of_counts(
    candidates: list[Candidate], tokens: Sequence[Token], start: int, end: int, index: CatalogIndex
) -> list[Candidate]:
    """Return the links of a span without the keys that a word for a count beside "of" does not mean."""
    token = tokens[end - 1]
    if end - start > 1 and tokens[start + 1].norm == "of" and _counts(tokens[start]):
        # "Number of orders" counts the orders; their "order number" is a key, or is borne by each of them.
        named = index.called_by(token.base)
        are_rows = token.norm != token.base and bool(named)
        said = tuple(item.base for item in tokens[start:end])
        # "Of each nationality" are counted, also where some column holds a number of hosts.
        is_grouped = any(item.norm in GROUPING for item in tokens[end : end + 2]) or any(
            item.norm == "that" for item in tokens[end + 1 : end + 2]
        )
        # "Hosts with the nationality Japan": what holds the number of all hosts says nothing of those.
        narrowed = [{hit.table for hit in index.values.get((item.norm,), ())} for item in tokens[end:]]
        candidates = [
            candidate
            for candidate in candidates
            if candidate.column is None
            or (
                said in index.entry_of_column(candidate.table, candidate.column).names
                and not is_grouped
                and all(candidate.table in tables for tables in narrowed if tables.intersection(named))
            )
            or not (are_rows or index.is_key(candidate.table, candidate.column))
        ]
    if end - start == 1 and start + 1 < len(tokens) and tokens[start + 1].norm == "of" and _counts(token):
        if start + 2 < len(tokens) and tokens[start + 2].norm in _KINDS:
            # "The number of different origins" is none that a train bears.
            return [candidate for candidate in candidates if candidate.column is None]
        # "The number of bookings" is none that a cabin bears.
        head = _counted_words(tokens, start + 2, index)
        counted = recalled([item.base for item in head], index, bounded=False)
        rows = {link.table for link in counted if link.column is None and link.score >= EXACT_SCORE}
        # "The number of trains": of all of them, and not the one that each train bears.
        are_many = any(item.norm != item.base for item in head)
        candidates = [
            candidate
            for candidate in candidates
            if candidate.column is None
            or not (
                index.is_key(candidate.table, candidate.column) or (rows and (candidate.table not in rows or are_many))
            )
        ]
    return candidates


def _counted_words(tokens: Sequence[Token], start: int, index: CatalogIndex) -> list[Token]:
    """Return the words for what is counted from a place on: as many as a table is called by, else the first."""
    while start < len(tokens) and tokens[start].norm in _EACH_ONCE | POSSESSIVES:
        start += 1
    for end in range(min(len(tokens), start + _COUNTED_WORDS_MAX), start + 1, -1):
        links = recalled([item.base for item in tokens[start:end]], index, bounded=False)
        if any(link.column is None and link.score >= EXACT_SCORE for link in links):
            return list(tokens[start:end])
    return list(tokens[start : start + 1])


_KINDS: Final = frozenset({"distinct", "different", "unique"})
GROUPING: Final = frozenset({"each", "every", "per", "by"})
"""Words before what rows are grouped by."""
_COUNTED_WORDS_MAX: Final = 4
_EACH_ONCE: Final = _KINDS | {"all", "the"}


def _counts(token: Token) -> bool:
    return any(phrase.op is Op.COUNT for phrase in lexicon().english.get((token.norm, "of"), ()))
