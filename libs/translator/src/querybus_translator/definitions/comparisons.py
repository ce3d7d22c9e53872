"""Figures and fields that are compared with numbers: "orders with more than two lines", 收入超过1000的客户."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from querybus_semantic.compiling.leaves import field_named
from querybus_semantic.layer.definitions import Layer, Type
from querybus_semantic.layer.request import Dimension, Filter, Op
from querybus_translator.definitions.chinese_names import english_of
from querybus_translator.definitions.naming.places import Mention, is_count_asked, norm_at, phrase_at
from querybus_translator.definitions.naming.vocabulary import PHRASE_WORDS_MAX, Sort, Vocabulary, home_of, is_count
from querybus_translator.definitions.outcome import Compared, State, kept_apart, shown_by
from querybus_translator.language import lexicon as words
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.time.words import chinese_number, is_time_unit
from querybus_translator.language.tokens import Token, TokenKind

_OPS: Final = {
    words.Op.GREATER: Op.GREATER,
    words.Op.AT_LEAST: Op.GREATER_OR_EQUAL,
    words.Op.LESS: Op.LESS,
    words.Op.AT_MOST: Op.LESS_OR_EQUAL,
    words.Op.OR_MORE: Op.GREATER_OR_EQUAL,
    words.Op.OR_LESS: Op.LESS_OR_EQUAL,
}
_BEHIND: Final = frozenset({words.Op.OR_MORE, words.Op.OR_LESS})
_BETWEEN: Final = frozenset(
    {"is", "was", "are", "were", "be", "of", "的", "为", "是", "在", "a", "an", "the", "数", "数量"}
)
_NUMERIC: Final = frozenset({Type.INTEGER, Type.NUMBER})
_YEARS: Final = range(1900, 2151)


@dataclass(frozen=True, slots=True)
class Bound:
    """What a figure is compared with, and how many tokens say so."""

    op: Op
    value: int | float
    length: int


def bound_at(tokens: Sequence[Token], place: int) -> Bound | None:
    """Return the comparison with a number that begins here: "at least 3", "3 or more", 超过两; None where none does."""
    length, op = _operator(tokens, place)
    if op is not None and op not in _BEHIND:
        value, taken = _number(tokens, place + length)
        is_year = isinstance(value, int) and value in _YEARS and length == 1
        if value is None or is_year:
            return None
        end = place + length + taken
        return Bound(_OPS[op], value, end + _measure_word(tokens, end) - place)
    value, taken = _number(tokens, place)
    if value is None:
        return None
    taken += _measure_word(tokens, place + taken)
    length, op = _operator(tokens, place + taken)
    return Bound(_OPS[op], value, taken + length) if op in _BEHIND else None


def _operator(tokens: Sequence[Token], place: int) -> tuple[int, words.Op | None]:
    known = lexicon()
    for length in range(min(known.english_length_max, len(tokens) - place), 0, -1):
        norms = tuple(token.norm for token in tokens[place : place + length])
        phrases = known.english.get(norms) or (known.chinese.get(norms[0], ()) if length == 1 else ())
        for phrase in phrases:
            if phrase.op in _OPS:
                return length, phrase.op
    return 0, None


def _number(tokens: Sequence[Token], place: int) -> tuple[int | float | None, int]:
    if place >= len(tokens):
        return None, 0
    token = tokens[place]
    if token.kind is TokenKind.NUMBER:
        value = float(token.norm)
        return (int(value) if value.is_integer() else value), 1
    known = lexicon().numbers.get(token.norm)
    return (known if known is not None else chinese_number(token.text) if token.kind is TokenKind.HAN else None), 1


def _measure_word(tokens: Sequence[Token], place: int) -> int:
    return int(place < len(tokens) and tokens[place].norm in lexicon().measure_words)


def comparison(tokens: Sequence[Token], place: int, layer: Layer, vocabulary: Vocabulary, state: State) -> int:
    """Take a comparison with a number for the figure or field before it, or for what is counted behind it."""
    bound = bound_at(tokens, place)
    if bound is None:
        return 0
    end = place + bound.length
    if norm_at(tokens, end) in {"%", "percent", "percentage", "％"} or is_time_unit(norm_at(tokens, end)):
        return 0
    behind = _named(tokens, end, layer, vocabulary)
    if behind is not None:
        name, length = behind
        state.comparisons.append(Compared(name, bound.op, bound.value, place, end + length))
        return bound.length + length
    last = state.last_named
    if last is None or any(token.norm not in _BETWEEN for token in tokens[last.end : place]):
        # "Revenue by region above 10": of the one figure, once all is read.
        state.comparisons.append(Compared("", bound.op, bound.value, place, end))
        return bound.length
    if last.is_field:
        if not _is_numeric(layer, last.name):
            state.comparisons.append(Compared("", bound.op, bound.value, place, end))
            return bound.length
        if last.name in state.ungrouped:
            state.ungrouped.remove(last.name)
    elif last.is_new:
        (state.nouns if last.name in state.nouns else state.metrics).remove(last.name)
    state.comparisons.append(Compared(last.name, bound.op, bound.value, last.start, end))
    return bound.length


def _is_numeric(layer: Layer, name: str) -> bool:
    _, field = field_named(layer, name)
    return field is not None and field.type in _NUMERIC


def _named(tokens: Sequence[Token], place: int, layer: Layer, vocabulary: Vocabulary) -> tuple[str, int] | None:
    """Return the count that stands at a place, and the number of its words: "more than two *lines*"."""
    for length in range(min(PHRASE_WORDS_MAX, len(tokens) - place), 0, -1):
        phrases = [phrase_at(tokens, place, length)]
        if length == 1 and tokens[place].kind is TokenKind.HAN:
            phrases += english_of(vocabulary).get(tokens[place].norm, ())
        found = [one for phrase in phrases for one in vocabulary.phrases.get(phrase, ())]
        names = {one.name for one in found if one.sort is Sort.METRIC}
        for one in found if not names else ():
            names.update(vocabulary.counts.get(one.name, ()) if one.sort is Sort.DATASET else ())
        if len(names) == 1:
            name = names.pop()
            metric = layer.metric(name)
            return (name, length) if metric is not None and is_count(metric) else None
    return None


def settled(
    tokens: Sequence[Token], layer: Layer, vocabulary: Vocabulary, state: State, mentions: Sequence[Mention]
) -> bool:
    """Turn comparisons into conditions of the request; False where it is not said whose figure is compared."""
    for one in state.comparisons:
        if "." in one.name and layer.metric(one.name) is None:
            state.filters.append(Filter(one.name, one.op, (one.value,)))
            continue
        owner = _owner(tokens, one, mentions, vocabulary)
        if owner is not None:
            state.owners = [place for place in state.owners if not owner.start <= place < owner.end]
            counted = vocabulary.counts.get(owner.dataset, ())
            state.nouns = [name for name in state.nouns if name not in counted]
        if not one.name:
            if len(state.metrics) != 1 or not state.dimensions or _leaves_out_none(one, state.metrics[0], vocabulary):
                return False
            state.filters.append(Filter(state.metrics[0], one.op, (one.value,)))
            continue
        if state.metrics:
            if (owner is None and not state.dimensions) or (
                owner is not None and _is_dated_apart(layer, one, owner, state)
            ):
                return False
            state.filters.append(Filter(one.name, one.op, (one.value,), per=owner.dataset if owner else ""))
            continue
        if owner is not None and is_count_asked(tokens, owner):
            # How many there are has no definition; a list of them is another answer.
            return False
        key = shown_by(layer, owner.dataset) if owner is not None else None
        if not state.dimensions and key is not None:
            state.dimensions += [Dimension(key), *kept_apart(layer, key)]
        elif not state.dimensions and len(state.ungrouped) == 1:
            # "Cities with revenue above 10".
            state.dimensions.append(Dimension(state.ungrouped.pop()))
        elif owner is None and not any(place < one.start for place, _ in state.places):
            # "Revenue above 10 by city" may be that of the cities or of single rows.
            return False
        if not state.dimensions or _leaves_out_none(one, one.name, vocabulary):
            return False
        state.metrics.append(one.name)
        state.filters.append(Filter(one.name, one.op, (one.value,)))
    return True


def _leaves_out_none(one: Compared, name: str, vocabulary: Vocabulary) -> bool:
    """Whether groups without any row fit and would be left out: who has none at all has "fewer than 2"."""
    return one.op in {Op.LESS, Op.LESS_OR_EQUAL} and any(name in names for names in vocabulary.counts.values())


def _is_dated_apart(layer: Layer, one: Compared, owner: Mention, state: State) -> bool:
    """Whether a period may be meant for the compared figure, which has days of its own: "customers with 3 orders in 2025"."""
    metric = layer.metric(one.name)
    homes = [layer.dataset(name) for name in (home_of(metric) if metric is not None else ()) if name != owner.dataset]
    return state.period is not None and any(
        home is not None and any(item.is_time for item in home.fields.values()) for home in homes
    )


def _owner(
    tokens: Sequence[Token], one: Compared, mentions: Sequence[Mention], vocabulary: Vocabulary
) -> Mention | None:
    """Return whose figure is compared: before it in English ("orders with more than two lines"), behind it in Chinese."""
    if not one.name:
        return None
    own = {dataset for dataset, names in vocabulary.counts.items() if one.name in names}
    others = [
        mention for mention in mentions if not one.start <= mention.start < one.end and mention.dataset not in own
    ]
    behind = [mention for mention in others if norm_at(tokens, one.end) == "的" and mention.start == one.end + 1]
    before = [mention for mention in others if mention.end <= one.start]
    return behind[0] if behind else before[-1] if before else None
