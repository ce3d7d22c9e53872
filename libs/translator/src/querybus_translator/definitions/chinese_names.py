"""Chinese words for definitions that are named in English: runs are cut by them, and phrases of both languages are one name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain, product
from typing import Final
from weakref import WeakKeyDictionary

from querybus.text.synonyms import link_words
from querybus_semantic.layer.definitions import Layer
from querybus_translator.definitions.meanings import take
from querybus_translator.definitions.outcome import State
from querybus_translator.definitions.vocabulary import BARE_NOUN, Phrase, Sort, Vocabulary, phrase_of
from querybus_translator.definitions.words import question_words
from querybus_translator.language.chinese_words import chinese_words
from querybus_translator.language.segment import segment
from querybus_translator.language.tokens import Token, TokenKind

TRANSLATED_WORDS_MAX: Final = 4
TRANSLATIONS_MAX: Final = 400
_BETWEEN: Final = frozenset({"的"})
_SAID_IN_CHINESE: Final = (Sort.METRIC, Sort.VALUE, Sort.FILTER)


def cut(tokens: Sequence[Token], vocabulary: Vocabulary) -> list[Token]:
    """Cut Chinese runs into the pieces that are known; an unknown piece stays one token."""
    if all(token.kind is not TokenKind.HAN for token in tokens):
        return list(tokens)
    known = question_words().han | vocabulary.han | frozenset(_english(vocabulary))
    length = max((len(word) for word in known), default=1)
    result: list[Token] = []
    for token in tokens:
        if token.kind is not TokenKind.HAN:
            result.append(token)
            continue
        result += [Token(text, text, text, TokenKind.HAN) for text, _ in segment(token.text, known, length)]
    return result


_ENGLISH: WeakKeyDictionary[Vocabulary, Mapping[str, tuple[Phrase, ...]]] = WeakKeyDictionary()


def _english(vocabulary: Vocabulary) -> Mapping[str, tuple[Phrase, ...]]:
    """Return the Chinese words for words of the vocabulary, by business synonyms and by general dictionaries: 转化率, conversion rate."""
    known = _ENGLISH.get(vocabulary)
    if known is None:
        found: dict[str, list[Phrase]] = {}
        for word, others in (*question_words().statistics.items(), *link_words().items()):
            if not word.isascii():
                bases = [(base,) for other in others for base in phrase_of(other) if base in vocabulary.words]
                found.setdefault(word, []).extend(bases)
        for word, meant in chinese_words(frozenset(vocabulary.words)).items():
            found.setdefault(word, []).extend(tuple(item.split()) for item in sorted(meant))
        known = {word: tuple(dict.fromkeys(phrases)) for word, phrases in found.items() if phrases}
        _ENGLISH[vocabulary] = known
    return known


def translated(
    tokens: Sequence[Token],
    place: int,
    layer: Layer,
    vocabulary: Vocabulary,
    state: State,
    *,
    grouping: bool,
    longer_than: int = 0,
) -> int:
    """Take Chinese words, alone or beside English ones, for the one thing that English words for them name: 活跃users."""
    if tokens[place].norm in question_words().glue:
        return 0
    for length in range(min(TRANSLATED_WORDS_MAX, len(tokens) - place), longer_than, -1):
        window = tokens[place : place + length]
        if window[-1].norm in _BETWEEN or all(token.kind is not TokenKind.HAN for token in window):
            continue
        words = [
            ((token.base,), *_english(vocabulary).get(token.norm, ())) for token in window if token.norm not in _BETWEEN
        ]
        if math.prod(map(len, words)) > TRANSLATIONS_MAX:
            continue
        found = {
            one
            for phrase in (tuple(chain.from_iterable(parts)) for parts in product(*words))
            for one in (*vocabulary.phrases.get(phrase, ()), *vocabulary.turned.get(frozenset(phrase), ()))
            if one.rank < BARE_NOUN and one.sort in ((Sort.FIELD,) if grouping else _SAID_IN_CHINESE)
        }
        found = {one for one in found if one.rank == min(other.rank for other in found)}
        if len({(one.sort, one.name, one.value) for one in found}) != 1:
            continue
        joined = tokens[place - 1].norm if place else ""
        if take(next(iter(found)), place, layer, state, grouping=grouping, joined=joined, following=""):
            if grouping:
                state.dimension_ends = place + length
            return length
    return 0
