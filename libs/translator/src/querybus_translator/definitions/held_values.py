"""Values in a question: those that are stored, and the words that say of one that it is left out or that something has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from querybus_translator.definitions.outcome import Lead, Several, State, Values
from querybus_translator.definitions.places import longest_at, phrase_at
from querybus_translator.definitions.vocabulary import PHRASE_WORDS_MAX, Sort, Vocabulary
from querybus_translator.definitions.words import question_words
from querybus_translator.language.tokens import Token, TokenKind

LINKING: Final = frozenset(
    {"and", "or", ",", "、", "和", "与", "及", "或", "或者", "，", "a", "an", "the", "any", "both"}
)


def led(tokens: Sequence[Token], place: int, vocabulary: Vocabulary, values: Values | None, state: State) -> int:
    """Take words that say how the value behind them is meant: "without any", 含; or that the one before is left out: 以外."""
    words = question_words()
    if tokens[place].norm in words.excluded_behind:
        if _ends_value(tokens, place, vocabulary, values):
            state.exclude_last()
            return 1
        # 除了 has said so before.
        return 1 if state.excluded else 0
    for lead, phrases in ((Lead.EXCLUDING, words.excluding), (Lead.HAVING, words.having)):
        length = longest_at(tokens, place, phrases)
        behind = place + length
        while length and behind < len(tokens) and tokens[behind].norm in {"a", "an", "the", "any", "both", "任何"}:
            behind += 1
        if length and behind < len(tokens) and is_value(tokens, behind, vocabulary, values):
            state.lead = lead
            return behind - place
    return 0


def _ends_value(tokens: Sequence[Token], place: int, vocabulary: Vocabulary, values: Values | None) -> bool:
    """Whether the words right before a place are a value that is known."""
    for length in range(1, min(4, place) + 1):
        meanings = vocabulary.phrases.get(phrase_at(tokens, place - length, length), ())
        if any(one.sort is Sort.VALUE for one in meanings):
            return True
        if values is not None and values(" ".join(one.text for one in tokens[place - length : place])):
            return True
    return False


def is_value(tokens: Sequence[Token], place: int, vocabulary: Vocabulary, values: Values | None) -> bool:
    """Whether a value that is known begins here."""
    token = tokens[place]
    if token.base in vocabulary.firsts and any(
        one.sort is Sort.VALUE
        for length in range(min(PHRASE_WORDS_MAX, len(tokens) - place), 0, -1)
        for one in vocabulary.phrases.get(phrase_at(tokens, place, length), ())
    ):
        return True
    if values is None or token.kind is TokenKind.MARK or token.norm in question_words().glue:
        return False
    return any(values(" ".join(one.text for one in tokens[place : place + length])) for length in (1, 2, 3))


def stored_value(tokens: Sequence[Token], place: int, values: Values | None, state: State) -> int:
    """Take a value that is stored, of several fields the choice between them; return how many words it has."""
    if values is None or tokens[place].kind is TokenKind.MARK or tokens[place].norm in question_words().glue:
        return 0
    for length in range(min(4, len(tokens) - place), 0, -1):
        pieces = [token.text for token in tokens[place : place + length]]
        text = " ".join(pieces)
        found = values(text) or values("".join(pieces))
        if found:
            if len({name for name, _ in found}) > 1:
                state.several = state.several or Several(text, tuple(sorted({name for name, _ in found})))
            state.note_value(*found[0], tokens[place - 1].norm if place else "")
            return length
    return 0
