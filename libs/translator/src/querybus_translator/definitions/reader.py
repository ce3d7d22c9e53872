"""A question in the words of a layer becomes a request for figures. Every word must be accounted for, or nothing is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from querybus_semantic.layer.definitions import Grain, Layer
from querybus_semantic.layer.request import OWN_DATE, Dimension
from querybus_translator.definitions.chinese_names import cut, translated
from querybus_translator.definitions.dates import fiscal_year_at, month_after, period_at
from querybus_translator.definitions.held_values import LINKING, is_value, led, stored_value
from querybus_translator.definitions.meanings import COUNT_WORDS, chosen_of, is_asked_for, is_counted, take
from querybus_translator.definitions.outcome import (
    Asked,
    Lead,
    Several,
    State,
    Unread,
    Values,
    asked_of,
    kept_apart,
    shown_by,
)
from querybus_translator.definitions.places import longest_at, norm_at, phrase_at
from querybus_translator.definitions.vocabulary import (
    BARE_NOUN,
    PHRASE_WORDS_MAX,
    Sort,
    Vocabulary,
    vocabulary_of,
)
from querybus_translator.definitions.words import question_words
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.time.words import chinese_number
from querybus_translator.language.tokens import Token, TokenKind, tokenize

LIMIT_MAX: Final = 1_000


def read_request(
    question: str, layer: Layer, today: date, values: Values | None = None, *, dates_as_fields: bool = False
) -> Asked | Unread | Several:
    """Return what a question asks of a layer; `dates_as_fields` takes "by year" for a field of that name.

    `values` finds stored values that the layer does not list. A word that no definition, value or period takes leaves
    the whole question unread: nothing is guessed and nothing is passed over.
    """
    vocabulary = vocabulary_of(layer)
    tokens = cut(tokenize(question.replace("_", " ")), vocabulary)
    state = State()
    _read(tokens, layer, today, vocabulary, values, state, dates_as_fields=dates_as_fields)
    if state.metrics:
        state.metrics += [name for name in state.nouns if name not in state.metrics]
    if not state.metrics and len(state.nouns) == 1 and state.dimensions and tokens[0].norm not in _LISTED:
        # "Tickets by team", and not "list tickets by team": how many there are of each.
        state.metrics = list(state.nouns)
    if not state.metrics:
        return Unread(())
    if state.unread:
        return Unread(tuple(state.unread))
    # Only of a question that is about figures, and read to the end, is it asked which of several is meant.
    return state.several or asked_of(layer, state)


_LISTED: Final = frozenset(
    {"show", "list", "give", "display", "find", "get", "which", "please", "列出", "显示", "请", "给我"}
)


def read_change(question: str, before: Asked, today: date, values: Values | None = None) -> Asked | Unread | Several:
    """Return what a question without a figure makes of the one before: other groupings, a condition more, another period.

    What it names takes the place of what was; the rest stays. A word that nothing takes leaves it unread.
    """
    layer = before.layer
    vocabulary = vocabulary_of(layer)
    state = State()
    _read(
        cut(tokenize(question.replace("_", " ")), vocabulary),
        layer,
        today,
        vocabulary,
        values,
        state,
        dates_as_fields=False,
    )
    # "And what about East?" groups by nothing: these words say nothing of themselves.
    unread = [word for word in state.unread if word.lower() not in {"then", "instead", "only", "just", "呢", "那"}]
    if unread:
        return Unread(tuple(unread))
    if state.several is not None:
        return state.several
    state.unread.clear()
    state.metrics = list(before.used)
    changed = asked_of(layer, state)
    if isinstance(changed, Unread):
        return changed
    old, new = before.request, changed.request
    named = {item.field for item in new.filters}
    is_empty = not (new.dimensions or new.filters or new.named or new.period or new.order)
    if is_empty and new.metrics == old.metrics:
        return Unread(())
    return replace(
        changed,
        request=replace(
            new,
            metrics=new.metrics if len(new.metrics) > len(before.used) else old.metrics,
            dimensions=new.dimensions or old.dimensions,
            filters=(*[item for item in old.filters if item.field not in named], *new.filters),
            named=tuple(dict.fromkeys((*old.named, *new.named))),
            period=new.period or old.period,
            order=new.order or old.order,
            limit=new.limit or old.limit,
        ),
    )


def _read(
    tokens: Sequence[Token],
    layer: Layer,
    today: date,
    vocabulary: Vocabulary,
    values: Values | None,
    state: State,
    *,
    dates_as_fields: bool,
) -> None:
    place, grouping, just_opened = 0, False, False
    while place < len(tokens):
        token = tokens[place]
        if (
            state.lead is not Lead.NONE
            and token.norm not in LINKING
            and not is_value(tokens, place, vocabulary, values)
        ):
            state.lead = Lead.NONE
        taken = (
            _fixed(tokens, place)
            or led(tokens, place, vocabulary, values, state)
            or _compared(tokens, place, state)
            or (0 if just_opened else _period(tokens, place, today, layer, vocabulary, state))
            or _ranked_noun(tokens, place, layer, vocabulary, state)
            or _ranking(tokens, place, state)
            or (0 if dates_as_fields else _grain(tokens, place, vocabulary, state, grouping=grouping))
            or _meaning(tokens, place, layer, vocabulary, state, grouping=grouping)
            or _small(tokens, place, state)
            or stored_value(tokens, place, values, state)
        )
        if taken:
            place += taken
            just_opened = False
            continue
        opened = longest_at(tokens, place, question_words().grouping)
        if opened:
            grouping = just_opened = True
            place += opened
            continue
        state.is_split = state.is_split or token.norm in {"各", "各有", "each", "分别", "respectively"}
        is_second_figure = token.norm in COUNT_WORDS and place > 0 and tokens[place - 1].norm in _LISTING
        if token.kind is not TokenKind.MARK and (
            token.norm not in question_words().glue or token.norm in question_words().weighty or is_second_figure
        ):
            state.unread.append(token.text)
        elif token.norm not in _JOINING:
            grouping = just_opened = False
        state.is_joined = state.is_joined or token.norm in _LISTING
        place += 1


_LISTING: Final = frozenset({"and", ",", "、", "和", "与", "及", "以及", "，", "with", "&", "+"})
_JOINING: Final = frozenset({"and", ",", "、", "和", "与", "及", "the", "a", "以及", "，"})


def _fixed(tokens: Sequence[Token], place: int) -> int:
    """Return the length of a set phrase that says nothing: "in total", "calendar year"."""
    norms = [token.norm for token in tokens[place : place + 2]]
    if norms == ["in", "total"]:
        return 2
    following = tokens[place + 2].norm if place + 2 < len(tokens) else ""
    return 2 if norms == ["calendar", "year"] and following.isdecimal() else 0


def _compared(tokens: Sequence[Token], place: int, state: State) -> int:
    length = longest_at(tokens, place, question_words().compared)
    if length:
        state.compared = question_words().compared.meanings[phrase_at(tokens, place, length)]
    return length


def _small(tokens: Sequence[Token], place: int, state: State) -> int:
    words = question_words()
    length = longest_at(tokens, place, words.share)
    if length:
        state.share = True
        return length
    length = longest_at(tokens, place, words.closing)
    if length:
        state.closing = True
        return length
    length = longest_at(tokens, place, words.trend)
    if length:
        if not any(item.grain for item in state.dimensions):
            state.dimensions.append(Dimension(OWN_DATE, Grain.MONTH))
        return length
    return 0


def _grain(tokens: Sequence[Token], place: int, vocabulary: Vocabulary, state: State, *, grouping: bool) -> int:
    length = longest_at(tokens, place, question_words().grains)
    if not length:
        return 0
    named = tuple(question_words().grains.meanings[phrase_at(tokens, place, length)].value.split("_"))
    if len(named) > 1 and _names_field(vocabulary, named):
        if not grouping:
            return 0
        name = next(one.name for one in vocabulary.phrases[named] if one.sort is Sort.FIELD)
        state.dimensions.append(Dimension(name))
        state.dimension_ends = place + length
        return length
    word = tokens[place].norm
    alone = word.endswith("ly") or word == "annual"
    if not grouping and not alone:
        return 0
    state.dimension_ends = place + length
    grain = question_words().grains.meanings[phrase_at(tokens, place, length)]
    if not any(item.grain is grain for item in state.dimensions):
        state.dimensions.append(Dimension(OWN_DATE, grain))
        state.places.append((place, len(state.dimensions) - 1))
    return length


def _ranked_noun(tokens: Sequence[Token], place: int, layer: Layer, vocabulary: Vocabulary, state: State) -> int:
    """ "Top 5 customers": the noun after the number is what is ranked, not how many of them there are."""
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


def _ranking(tokens: Sequence[Token], place: int, state: State) -> int:
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


def _names_field(vocabulary: Vocabulary, phrase: tuple[str, ...]) -> bool:
    return any(one.sort is Sort.FIELD for one in vocabulary.phrases.get(phrase, ()))


def _period(
    tokens: Sequence[Token], place: int, today: date, layer: Layer, vocabulary: Vocabulary, state: State
) -> int:
    named = vocabulary.phrases.get(("fiscal", "year"), [])
    texts = phrase_at(tokens, place, 3)
    english = texts[:2] == ("fiscal", "year") and texts[2:] and texts[2].isdecimal()
    chinese = texts[:1] and texts[0].isdecimal() and texts[1:2] == ("财年",)
    if (english or chinese) and any(one.sort is Sort.FIELD for one in named):
        year = texts[2] if english else texts[0]
        state.values.setdefault(next(one.name for one in named if one.sort is Sort.FIELD), []).append(year)
        return 3 if english else 2
    fiscal = fiscal_year_at(tokens, place, today, layer.calendar)
    read = fiscal or period_at(tokens, place, today)
    if read is None:
        return 0
    end, (start, until) = read
    joint = tokens[end].norm if end < len(tokens) else ""
    if joint in {"to", "-", "until", "through", "till", "至", "到", "–", "and", "和"} and end + 1 < len(tokens):
        later = period_at(tokens, end + 1, today) or month_after(tokens, end + 1, start)
        if later is not None:
            if start > later[1][0]:
                # "December 2024 to April 2025" is dated; "January to June 2025" takes its year from the end.
                start = start.replace(year=later[1][0].year)
            adjoining = until == later[1][0] or joint not in {"and", "和"}
            if start < later[1][1] and adjoining:
                end, until = later[0], later[1][1]
    after = tokens[end : end + 2]
    if [token.norm for token in after] == ["to", "date"] or (after and after[0].norm in {"至今", "以来"}):
        until = min(until, today + timedelta(days=1))
        end += 2 if after[0].norm == "to" else 1
    if state.period is not None:
        state.unread.append(" ".join(token.text for token in tokens[place:end]))
    state.period = (start, until)
    return end - place


def _meaning(
    tokens: Sequence[Token], place: int, layer: Layer, vocabulary: Vocabulary, state: State, *, grouping: bool
) -> int:
    words_max = PHRASE_WORDS_MAX if tokens[place].base in vocabulary.firsts else 0
    plain = next(
        (
            n
            for n in range(min(words_max, len(tokens) - place), 0, -1)
            if phrase_at(tokens, place, n) in vocabulary.phrases
        ),
        0,
    )
    # "refund率" is one figure, of which "refund" is another.
    longer = translated(tokens, place, layer, vocabulary, state, grouping=grouping, longer_than=plain) if plain else 0
    if longer:
        return longer
    for length in range(min(words_max, len(tokens) - place), 0, -1):
        meanings = vocabulary.phrases.get(phrase_at(tokens, place, length))
        if not meanings:
            continue
        owner = place > 0 and tokens[place - 1].norm in {"of", "the"} and 0 <= place - state.dimension_ends <= 2
        ranks = state.limit is not None and not state.metrics
        chosen = chosen_of(meanings, layer, grouping=grouping and not ranks, owner=owner)
        if isinstance(chosen, Several):
            state.several = state.several or replace(
                chosen, about=" ".join(token.text for token in tokens[place : place + length])
            )
            return length
        if chosen is None:
            continue
        if chosen.sort is Sort.METRIC and chosen.rank == BARE_NOUN and not is_asked_for(tokens, place, length):
            chosen = next((one for one in meanings if one.sort is Sort.DATASET), chosen)
        elif chosen.sort is Sort.METRIC and is_counted(tokens, place, length):
            chosen = replace(chosen, rank=1)
        if not take(
            chosen,
            place,
            layer,
            state,
            grouping=grouping,
            joined=tokens[place - 1].norm if place else "",
            following=norm_at(tokens, place + length),
        ):
            continue
        if grouping and chosen.sort in {Sort.FIELD, Sort.DATASET}:
            state.dimension_ends = place + length
        return length
    return translated(tokens, place, layer, vocabulary, state, grouping=grouping)
