"""Words at a place of a question: the phrase that begins there, the longest that is known, the word beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from querybus_translator.definitions.words import Phrases
from querybus_translator.language.tokens import Token


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
