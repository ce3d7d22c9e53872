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
from querybus_translator.definitions.naming.places import longest_at
from querybus_translator.definitions.naming.vocabulary import BARE_NOUN, Meaning, Phrase, Sort, Vocabulary, phrase_of
from querybus_translator.definitions.naming.words import question_words
from querybus_translator.definitions.outcome import Named, State, Values
from querybus_translator.language.chinese_words import business_words, chinese_words
from querybus_translator.language.segment import segment
from querybus_translator.language.tokens import Token, TokenKind

TRANSLATED_WORDS_MAX: Final = 4
TRANSLATIONS_MAX: Final = 400
_BETWEEN: Final = frozenset({"的"})
_SAID_IN_CHINESE: Final = (Sort.METRIC, Sort.VALUE, Sort.FILTER)
_PER_PERSON: Final = frozenset({"人均", "每人"})
_GENERAL_COUNTS: Final = frozenset({"次数", "数", "数量", "量"})
_GENERAL: Final = frozenset({"额", "数", "量", "总额", "金额", "数量", "方式", "类型", "名称"})
"""What may be left out behind a name: 毛额 is the gross, 付款方式 the payment."""


def cut(tokens: Sequence[Token], vocabulary: Vocabulary, values: Values | None = None) -> list[Token]:
    """Cut Chinese runs into the pieces that are known, stored values first; an unknown piece stays one token."""
    if all(token.kind is not TokenKind.HAN for token in tokens):
        return list(tokens)
    english = english_of(vocabulary)
    # 各国 are the countries, each of them.
    groups = {word for word in english if word[0] in _EACH_OF and word[1:] in english}
    known = question_words().han | vocabulary.han | (frozenset(english) - question_words().steps - groups)
    length = max((len(word) for word in known), default=1)
    result: list[Token] = []
    for token in tokens:
        if token.kind is not TokenKind.HAN:
            result.append(token)
            continue
        for part in _around_values(token.text, known, values):
            result += [Token(text, text, text, TokenKind.HAN) for text, _ in segment(part, known, length)]
    return result


_EACH_OF: Final = frozenset("各每")


def _around_values(run: str, known: frozenset[str], values: Values | None) -> list[str]:
    """Return a run cut around the values that are stored just so: 中国 of 除中国以外."""
    if values is None:
        return [run]
    parts: list[str] = []
    begun = place = 0
    while place < len(run):
        ends = range(min(len(run), place + _VALUE_SIGNS_MAX), place + 1, -1)
        end = next((end for end in ends if run[place:end] not in known and values(run[place:end])), None)
        if end is None:
            place += 1
            continue
        parts += [run[begun:place], run[place:end]]
        begun = place = end
    return [part for part in (*parts, run[begun:]) if part]


_VALUE_SIGNS_MAX: Final = 12


_ENGLISH: WeakKeyDictionary[Vocabulary, Mapping[str, tuple[Phrase, ...]]] = WeakKeyDictionary()


def english_of(vocabulary: Vocabulary) -> Mapping[str, tuple[Phrase, ...]]:
    """Return the Chinese words for words of the vocabulary, by business synonyms and by general dictionaries: 转化率, conversion rate."""
    known = _ENGLISH.get(vocabulary)
    if known is None:
        found: dict[str, list[Phrase]] = {}
        for word, others in (*question_words().statistics.items(), *link_words().items()):
            if not word.isascii():
                bases = [(base,) for other in others for base in phrase_of(other) if base in vocabulary.words]
                found.setdefault(word, []).extend(bases)
        for word, names in business_words().items():
            phrases = [phrase_of(name) for name in names]
            found.setdefault(word, []).extend(phrase for phrase in phrases if vocabulary.words.issuperset(phrase))
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
        is_valued = place + length < len(tokens) and longest_at(tokens, place + length, question_words().valued) > 0
        sorts = (Sort.FIELD, Sort.ROLE, Sort.DATASET) if grouping else (*_SAID_IN_CHINESE, Sort.FIELD)
        chosen = meant(window, vocabulary, sorts)
        if chosen is None and length > 1 and window[-1].norm in _GENERAL:
            chosen = meant(window[:-1], vocabulary, sorts)
        is_condition = is_valued or (chosen is not None and chosen.name in state.flags)
        if chosen is not None and chosen.sort is Sort.FIELD and not grouping and not is_condition:
            continue
        joined = tokens[place - 1].norm if place else ""
        if chosen is not None and take(
            chosen, place, layer, state, grouping=grouping, joined=joined, following="", is_valued=is_valued
        ):
            if chosen.sort is Sort.FIELD and grouping:
                state.dimension_ends = place + length
            if chosen.sort in {Sort.METRIC, Sort.FIELD}:
                state.last_named = Named(
                    chosen.name, place, place + length, chosen.sort is Sort.FIELD, state.is_new_figure
                )
            return length
    return 0


def _per_person(vocabulary: Vocabulary) -> Meaning | None:
    """Return the one figure that is "per user", "per customer" or the like: 人均次数; None where there are several."""
    found = {
        one.name: one
        for phrase, meanings in vocabulary.phrases.items()
        if phrase[-2:-1] == ("per",) and phrase[-1] in question_words().statistics["人均"]
        for one in meanings
        if one.sort is Sort.METRIC
    }
    return next(iter(found.values())) if len(found) == 1 else None


def _is_own(token: Token, vocabulary: Vocabulary) -> bool:
    return token.kind is TokenKind.HAN and (token.base,) in vocabulary.phrases


def meant(window: Sequence[Token], vocabulary: Vocabulary, sorts: Sequence[Sort]) -> Meaning | None:
    """Return the one thing that words stand for: the first of the sorts, by the longest of the names; None where there are several."""
    if window[0].norm in _PER_PERSON and all(token.norm in _GENERAL_COUNTS for token in window[1:]):
        return _per_person(vocabulary)
    # What the owner calls something in Chinese means that, and no other thing that a dictionary would have it mean.
    words = [
        ((token.base,), *(() if _is_own(token, vocabulary) else english_of(vocabulary).get(token.norm, ())))
        for token in window
        if token.norm not in _BETWEEN
    ]
    if math.prod(map(len, words)) > TRANSLATIONS_MAX:
        return None
    found = [
        ((sorts.index(one.sort), -len(phrase), one.rank), one)
        for phrase in (tuple(chain.from_iterable(parts)) for parts in product(*words))
        for one in (*vocabulary.phrases.get(phrase, ()), *vocabulary.turned.get(frozenset(phrase), ()))
        if one.rank < BARE_NOUN and one.sort in sorts
    ]
    nearest = min((nearness for nearness, _ in found), default=None)
    meant = {(one.name, one.value): one for nearness, one in found if nearness == nearest}
    return next(iter(meant.values())) if len(meant) == 1 else None
