"""Words at a place of a question: the phrase that begins there, the longest that is known, the tables that are spoken of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from querybus_translator.definitions.naming.vocabulary import PHRASE_WORDS_MAX, Meaning, Sort, Vocabulary
from querybus_translator.definitions.naming.words import Phrases
from querybus_translator.language.tokens import Token


@dataclass(frozen=True, slots=True)
class Mention:
    """A dataset's own name in a question: its first token, and the one behind its last."""

    dataset: str
    start: int
    end: int


def mentions_of(tokens: Sequence[Token], vocabulary: Vocabulary) -> tuple[Mention, ...]:
    """Return the datasets that a question speaks of by their own names, in its order."""
    found: list[Mention] = []
    place = 0
    while place < len(tokens):
        mention = _mention_at(tokens, place, vocabulary)
        if mention is not None:
            found.append(mention)
        place = mention.end if mention is not None else place + 1
    return tuple(found)


def _mention_at(tokens: Sequence[Token], place: int, vocabulary: Vocabulary) -> Mention | None:
    if tokens[place].base not in vocabulary.firsts:
        return None
    for length in range(min(PHRASE_WORDS_MAX, len(tokens) - place), 0, -1):
        names = {
            one.name for one in vocabulary.phrases.get(phrase_at(tokens, place, length), ()) if one.sort is Sort.DATASET
        }
        if len(names) == 1:
            return Mention(names.pop(), place, place + length)
    return None


def is_count_asked(tokens: Sequence[Token], mention: Mention) -> bool:
    """Whether it is asked how many of a dataset's rows there are: "how many customers", 多少customers, 的customers有多少."""
    before = [token.norm for token in tokens[max(mention.start - 3, 0) : mention.start]]
    behind = {token.norm for token in tokens[mention.end : mention.end + 2]}
    asked = {"多少", "几", "几个", "有多少"}
    return "many" in before or before[-2:] in (["number", "of"], ["count", "of"]) or bool(asked & (behind | {*before}))


def meanings_at(tokens: Sequence[Token], place: int, vocabulary: Vocabulary) -> Iterator[tuple[int, Meaning]]:
    """Yield what the phrases that begin at a place may mean, each with the number of its words, the longest phrases first."""
    if place >= len(tokens) or tokens[place].base not in vocabulary.firsts:
        return
    for length in range(min(PHRASE_WORDS_MAX, len(tokens) - place), 0, -1):
        for one in vocabulary.phrases.get(phrase_at(tokens, place, length), ()):
            yield length, one


def phrase_at(tokens: Sequence[Token], start: int, length: int) -> tuple[str, ...]:
    return tuple(token.base for token in tokens[start : start + length])


def longest_at(tokens: Sequence[Token], place: int, known: Phrases[Any]) -> int:
    if tokens[place].base not in known.firsts:
        return 0
    for length in range(min(known.words_max, len(tokens) - place), 0, -1):
        if phrase_at(tokens, place, length) in known.meanings:
            return length
    return 0


def norm_at(tokens: Sequence[Token], place: int) -> str:
    return tokens[place].norm if place < len(tokens) else ""
