"""Rankings in questions about figures: "top 5 customers by revenue", "which carrier has the most tonnes"."""

from __future__ import annotations

from typing import Final

from querybus_semantic.layer.request import Dimension
from querybus_translator.definitions.naming.places import phrase_at
from querybus_translator.definitions.naming.vocabulary import PHRASE_WORDS_MAX, Sort
from querybus_translator.definitions.naming.words import question_words
from querybus_translator.definitions.outcome import Question, State, kept_apart, shown_by
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.time.words import chinese_number
from querybus_translator.language.tokens import TokenKind

LIMIT_MAX: Final = 1_000


def ranked_noun(question: Question, place: int, state: State) -> int:
    """ "Top 5 customers": the noun after the number is what is ranked, not how many of them there are."""
    tokens, layer, vocabulary = question.tokens, question.layer, question.vocabulary
    if state.ranked_at != place or tokens[place].base not in vocabulary.firsts:
        return 0
    for length in range(min(PHRASE_WORDS_MAX, len(tokens) - place), 0, -1):
        for one in vocabulary.phrases.get(phrase_at(tokens, place, length), ()):
            key = (
                one.name if one.sort is Sort.FIELD else shown_by(layer, one.name) if one.sort is Sort.DATASET else None
            )
            if key is not None:
                state.dimensions += [Dimension(key), *kept_apart(layer, key)]
                state.dimension_ends = place + length
                return length
    return 0


def ranking(question: Question, place: int, state: State) -> int:
    tokens = question.tokens
    words, token = question_words(), tokens[place]
    descending = token.norm in words.descending
    if not descending and token.norm not in words.ascending:
        return 0
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    number = None
    if following is not None:
        number = (
            int(following.norm)
            if following.kind is TokenKind.NUMBER and following.norm.isdecimal()
            else lexicon().numbers.get(following.norm) or chinese_number(following.text)
        )
    if number is None or not 0 < number <= LIMIT_MAX:
        return 0
    state.descending, state.limit = descending, number
    after = tokens[place + 2].norm if place + 2 < len(tokens) else ""
    length = 3 if after in {"名", "个", "位", "大", "条", "家"} else 2
    state.ranked_at = place + length
    return length
