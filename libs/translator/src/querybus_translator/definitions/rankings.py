"""Rankings in questions about figures: "top 5 customers by revenue", "which carrier has the most tonnes"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from querybus_semantic.layer.request import Dimension
from querybus_translator.definitions.naming.places import is_count_asked, longest_at, meanings_at
from querybus_translator.definitions.naming.vocabulary import BARE_NOUN, Sort
from querybus_translator.definitions.naming.words import question_words
from querybus_translator.definitions.outcome import Question, State, kept_apart, shown_by
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.time.words import chinese_number
from querybus_translator.language.tokens import Token, TokenKind

LIMIT_MAX: Final = 1_000


def ranked_noun(question: Question, place: int, state: State) -> int:
    """ "Top 5 customers": the noun after the number is what is ranked, not how many of them there are."""
    if state.ranked_at != place:
        return 0
    role, before = _role_at(question, place)
    key, length = _noun_at(question, place + before)
    if not key:
        return 0
    state.dimensions += [Dimension(key, via=role), *kept_apart(question.layer, key)]
    state.dimension_ends = place + before + length
    return before + length


def _role_at(question: Question, place: int) -> tuple[tuple[str, ...], int]:
    """Return the role that is named before a noun, and how many words it has: "top 2 *origin* countries"."""
    found = meanings_at(question.tokens, place, question.vocabulary)
    return next((((one.name,), length) for length, one in found if one.sort is Sort.ROLE), ((), 0))


def _noun_at(question: Question, place: int) -> tuple[str, int]:
    """Return the field that a noun is shown by, and how many words the noun has; empty where there is none."""
    for length, one in meanings_at(question.tokens, place, question.vocabulary):
        shown = shown_by(question.layer, one.name) if one.sort is Sort.DATASET else None
        key = one.name if one.sort is Sort.FIELD else shown
        if key is not None:
            return key, length
    return "", 0


def _is_figure_at(question: Question, place: int) -> bool:
    found = meanings_at(question.tokens, place, question.vocabulary)
    return any(one.sort is Sort.METRIC and one.rank < BARE_NOUN for _, one in found)


def ranking(question: Question, place: int, state: State) -> int:
    """Take words that rank: "top 5", "highest first", "the most", 前5, 最多."""
    tokens, words = question.tokens, question_words()
    for phrases, descending in ((words.sorted_down, True), (words.sorted_up, False), (words.sorted_by, True)):
        length = longest_at(tokens, place, phrases)
        if length and phrases is words.sorted_by:
            return length if listed_by(question, place + length, state) else 0
        if length:
            state.descending = descending
            return length
    for phrases, descending in ((words.doing_best, True), (words.doing_worst, False)):
        length = longest_at(tokens, place, phrases)
        if length:
            state.descending, state.superlative = descending, place
            return length
    word = tokens[place].norm
    if word not in words.descending and word not in words.ascending:
        return _how_many(question, place, state)
    descending = word in words.descending
    number = _number_at(tokens, place + 1)
    if number is not None:
        state.descending, state.limit = descending, number
        counted = place + 2 < len(tokens) and tokens[place + 2].norm in MEASURES
        if _follows_figure(state, place):
            state.superlative = place
        else:
            state.ranked_at = place + 2 + counted
        return 2 + counted
    deed = _deed_behind(tokens, place)
    before = deed + _role_at(question, place + 1 + deed)[1]
    key, length = _noun_at(question, place + 1 + before)
    # "Amount by top account" groups by what is called so.
    is_grouped = place > 0 and tokens[place - 1].norm in {"by", "per", "each", "every"}
    if word in words.ranked_nouns and key and not is_grouped and not _is_figure_at(question, place + 1 + deed):
        last = tokens[place + before + length]
        state.descending, state.ranked_at = descending, place + 1 + deed
        state.limit = 1 if last.norm == last.base else None
        return 1 + deed
    counted = _counted_at(question, place + 1)
    if counted is not None:
        name, length = counted
        state.metrics += [name] if name not in state.metrics else []
        state.descending, state.superlative = descending, place
        return 1 + length
    if _follows_figure(state, place) or _is_figure_at(question, place + 1):
        state.descending, state.superlative = descending, place
        return 1
    if state.is_change and word not in words.ranked_nouns:
        # "Which one has the most?"
        state.descending, state.limit = descending, state.limit or 1
        return 1
    step = longest_at(tokens, place + 1, words.grains) if place + 1 < len(tokens) else 0
    if word in words.ranked_nouns and step:
        # "Best month by revenue".
        state.descending, state.limit = descending, 1
        return 1
    return 0


def _deed_behind(tokens: Sequence[Token], place: int) -> int:
    """Return how many words of "best *selling* products" say what is done best."""
    end = place + 1 + (place + 1 < len(tokens) and tokens[place + 1].norm == "-")
    is_deed = end < len(tokens) and tokens[end].norm in question_words().ranked_deeds
    return end - place if is_deed else 0


MEASURES: Final = frozenset({"名", "个", "位", "大", "条", "家"})


def _number_at(tokens: Sequence[Token], place: int) -> int | None:
    if place >= len(tokens):
        return None
    token = tokens[place]
    if token.kind is TokenKind.NUMBER and token.norm.isdecimal():
        number: int | None = int(token.norm)
    else:
        number = lexicon().numbers.get(token.norm) or chinese_number(token.text)
    return number if number is not None and 0 < number <= LIMIT_MAX else None


def _how_many(question: Question, place: int, state: State) -> int:
    """ "The *two* carriers with the most tonnes", tonnes最多的2个carriers: how many are ranked."""
    tokens, words = question.tokens, question_words()
    number = _number_at(tokens, place)
    if number is None or state.limit is not None:
        return 0
    length = 2 if place + 1 < len(tokens) and tokens[place + 1].norm in MEASURES else 1
    ranks = state.superlative >= 0 or any(
        token.norm in words.descending or token.norm in words.ascending for token in tokens[place:]
    )
    is_noun = any(one.start == place + length for one in question.mentions) or _noun_at(question, place + length)[0]
    if not ranks or not is_noun:
        return 0
    state.limit = number
    return length


def _follows_figure(state: State, place: int) -> bool:
    last = state.last_named
    return last is not None and not last.is_field and last.end == place


def _counted_at(question: Question, place: int) -> tuple[str, int] | None:
    """Return the count of the rows that are named at a place, and how many words they have: "the most *shipments*"."""
    mention = next((one for one in question.mentions if one.start == place), None)
    counts = question.vocabulary.counts.get(mention.dataset, ()) if mention is not None else ()
    return (counts[0], mention.end - place) if mention is not None and len(counts) == 1 else None


def ranked(question: Question, state: State) -> bool:
    """Find what it is that has the most; False where that is not said, or groups are named otherwise."""
    if state.superlative < 0:
        return True
    if not state.descending and any(
        name in state.metrics for names in question.vocabulary.counts.values() for name in names
    ):
        # Who has none at all has the fewest, and is in no group.
        return False
    if state.asked_step:
        state.limit = state.limit or 1
        return len(state.dimensions) == 1
    if state.dimensions:
        return False
    own = {dataset for dataset, names in question.vocabulary.counts.items() if not {*names}.isdisjoint(state.metrics)}
    before = [one for one in question.mentions if one.end <= state.superlative and one.dataset not in own]
    behind = [one for one in question.mentions if one.start > state.superlative and one.dataset not in own]
    is_chinese = question.tokens[state.superlative].kind is TokenKind.HAN
    nouns = (behind or before) if is_chinese else before
    if nouns:
        noun = nouns[0] if is_chinese and behind else nouns[-1]
        key = shown_by(question.layer, noun.dataset)
        if key is None or is_count_asked(question.tokens, noun):
            return False
        state.owners = [place for place in state.owners if not noun.start <= place < noun.end]
        state.nouns = [name for name in state.nouns if name not in question.vocabulary.counts.get(noun.dataset, ())]
        state.dimensions += [Dimension(key), *kept_apart(question.layer, key)]
        last = question.tokens[noun.end - 1]
        is_many = not is_chinese and last.norm != last.base
    elif len(state.ungrouped) == 1:
        state.dimensions.append(Dimension(state.ungrouped.pop()))
        is_many = False
    else:
        # Of several that are called so it is asked which is meant.
        return state.several is not None
    if state.limit is None and not is_many and "哪些" not in {token.norm for token in question.tokens}:
        state.limit = 1
    return True


def listed_by(question: Question, place: int, state: State) -> bool:
    """ "Carriers by tonnes": a noun that is listed by a figure, the largest first."""
    if state.metrics or state.dimensions or not _is_figure_at(question, place):
        return False
    before = [one for one in question.mentions if one.end <= place]
    glue = question_words().glue
    is_bare = len(before) == 1 and all(
        token.norm in glue or before[0].start <= number < before[0].end
        for number, token in enumerate(question.tokens[:place])
    )
    key = shown_by(question.layer, before[0].dataset) if is_bare else None
    if key is None or is_count_asked(question.tokens, before[0]):
        return False
    state.owners.clear()
    state.nouns.clear()
    state.dimensions += [Dimension(key), *kept_apart(question.layer, key)]
    state.descending = True
    return True
