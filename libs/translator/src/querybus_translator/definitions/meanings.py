"""Which of a phrase's meanings fits its place in a question, and what taking it notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from querybus_semantic.layer.definitions import Layer
from querybus_semantic.layer.request import OWN_DATE, Dimension, Filter, Op
from querybus_translator.definitions.naming.places import Mention, meanings_at, norm_at
from querybus_translator.definitions.naming.vocabulary import (
    BARE_NOUN,
    Meaning,
    Sort,
    Vocabulary,
    one_side,
)
from querybus_translator.definitions.outcome import LINKS, Lead, Several, State, kept_apart, shown_by
from querybus_translator.language.tokens import Token, TokenKind

COUNT_WORDS: Final = frozenset({"数", "数量", "个数", "总数", "笔数", "件数"})


_OWNED: Final = frozenset({"of", "all", "the", "for", "in", "from", "our", "在", "的", "'s", "所属", "属于", "所在"})


def is_counted(tokens: Sequence[Token], place: int, length: int) -> bool:
    """Whether a noun is said to be counted: 多少订单, 订单数."""
    before = tokens[place - 1].norm if place else ""
    return before in {"多少", "几", "几个"} or norm_at(tokens, place + length) in COUNT_WORDS


def is_asked_for(tokens: Sequence[Token], place: int, length: int) -> bool:
    """Whether a bare noun at this place is a figure that is asked for ("revenue and customers"), not whose figure it is."""
    if is_counted(tokens, place, length):
        return True
    last = tokens[place + length - 1]
    if last.kind is TokenKind.WORD and last.norm == last.base:
        return False
    before = next((token.norm for token in reversed(tokens[:place]) if token.norm not in {"the", "all", "our"}), "")
    return before in {"", "and", ",", "、", "和", "与", "及", "，", "多少", "几", "几个", "most", "fewest", "least"}


def chosen_of(meanings: Sequence[Meaning], layer: Layer, *, grouping: bool, owner: bool) -> Meaning | Several | None:
    """Return the meaning that fits the place: after "by" a field, elsewhere a metric, value or filter before a field.

    `owner`: after "region of" only whose region it is can follow.
    """
    order = (
        (Sort.ROLE, Sort.DATASET)
        if owner
        else (Sort.FIELD, Sort.ROLE, Sort.DATASET, Sort.METRIC, Sort.VALUE, Sort.FILTER)
        if grouping
        else (Sort.METRIC, Sort.FILTER, Sort.VALUE, Sort.ROLE, Sort.DATE, Sort.FIELD, Sort.DATASET)
    )
    if not grouping and any(one.sort is Sort.DATASET for one in meanings):
        # "Of clients" speaks of the clients, not of the name by which one of them is shown.
        shown = {shown_by(layer, one.name) for one in meanings if one.sort is Sort.DATASET}
        meanings = [one for one in meanings if one.sort is not Sort.FIELD or (one.rank == 0 and one.name not in shown)]
    for sort in order:
        found = [one for one in meanings if one.sort is sort]
        if not found:
            continue
        nearest = [one for one in found if one.rank == min(other.rank for other in found)]
        if sort is Sort.FIELD:
            nearest = one_side(nearest, layer) or nearest
        if len({(one.name, one.value) for one in nearest}) > 1:
            return Several("", tuple(sorted(one.name for one in nearest)))
        return nearest[0]
    return None


def take(
    chosen: Meaning,
    place: int,
    layer: Layer,
    state: State,
    *,
    grouping: bool,
    joined: str,
    following: str,
    owns: bool = False,
    is_valued: bool = False,
) -> bool:
    """Note a meaning; False where it has none at this place. `owns`: a field or another noun of it is named behind it."""
    if chosen.sort is Sort.DATASET:
        if owns:
            return True
        if not grouping:
            # "Revenue of customers": whose figure it is changes nothing; a noun by itself may mean anything.
            return joined in _OWNED or following == "的" or state.condition_ends == place
        key = shown_by(layer, chosen.name) if joined not in {"per", "每", "每个"} else None
        if key is None:
            return False
        if layer.datasets[chosen.name].primary_key == (key.rpartition(".")[2],):
            state.keys_shown.add(key)
        chosen = Meaning(Sort.FIELD, key)
        state.dimensions += kept_apart(layer, key) if all(item.field != key for item in state.dimensions) else []
    if chosen.sort is Sort.FIELD and not grouping:
        return _take_field(chosen, layer, state, joined=joined, is_valued=is_valued)
    if chosen.sort is Sort.FIELD and state.dimension_ends == place:
        # Two nouns in a row are one thing that has no definition, not two groupings.
        return False
    if chosen.sort is Sort.DATE:
        state.date = chosen.name
    elif chosen.sort is Sort.METRIC:
        if (state.metrics or state.nouns) and not state.is_joined:
            # "Order amount", 订单金额: two nouns that nothing joins are one thing, and it has no definition.
            return False
        state.is_joined = False
        kept = state.nouns if chosen.rank == BARE_NOUN else state.metrics
        state.is_new_figure = chosen.name not in kept
        if state.is_new_figure:
            kept.append(chosen.name)
    elif chosen.sort is Sort.FIELD:
        if all(item.field != chosen.name for item in state.dimensions):
            state.dimensions.append(Dimension(chosen.name))
            state.places.append((place, len(state.dimensions) - 1))
    elif chosen.sort is Sort.VALUE:
        state.note_value(chosen.name, chosen.value, joined)
    elif chosen.sort is Sort.FILTER:
        state.named.append(chosen.name)
    elif chosen.sort is Sort.ROLE:
        state.roles.append((place, chosen.name))
    return True


def _take_field(chosen: Meaning, layer: Layer, state: State, *, joined: str, is_valued: bool) -> bool:
    """Note a field that nothing is grouped by: what says yes or no is a condition, a date the date of the period."""
    if chosen.name in state.flags and not is_valued:
        if joined in LINKS and any(item.field in state.flags for item in state.filters):
            # "Cancelled or returned": whether one or both is meant is not known.
            return False
        if state.lead is Lead.PART:
            state.parts.append((chosen.name, state.flags[chosen.name]))
            return True
        # "Cost on holidays": what says yes or no is a condition by itself.
        state.filters.append(Filter(chosen.name, Op.EQUAL, (state.flags[chosen.name],)))
    elif state.date == OWN_DATE and _is_date(layer, chosen.name) and not is_valued:
        # "Delivered_on in April": the date that the period is of.
        state.date = chosen.name
    else:
        state.ungrouped.append(chosen.name)
    return True


def _is_date(layer: Layer, name: str) -> bool:
    dataset, _, field = name.rpartition(".")
    known = layer.dataset(dataset)
    item = known.named(field) if known is not None else None
    return item is not None and item.is_time


def of_owner(
    several: Several,
    meanings: Sequence[Meaning],
    tokens: Sequence[Token],
    place: int,
    length: int,
    mentions: Sequence[Mention],
) -> Meaning | Several:
    """Return the field of the noun that is named right before or behind it: "the customer's region", "region of the customer"."""
    behind = place + length
    if norm_at(tokens, behind) == "of":
        behind += 1
        while norm_at(tokens, behind) in {"the", "our", "its", "their", "a", "an"}:
            behind += 1
    for mention in mentions:
        is_before = mention.end == place - 1 and tokens[place - 1].norm in {"的", "'s"}
        if is_before or (mention.start == behind and behind > place + length):
            own = [
                one for one in meanings if one.name in several.options and one.name.startswith(f"{mention.dataset}.")
            ]
            if len(own) == 1:
                return own[0]
    return several


def of_language(several: Several, meanings: Sequence[Meaning], token: Token) -> Meaning | Several:
    """Return the one of equally called fields that is written in the question's script: city_zh for 城市, where both are."""
    is_chinese = token.kind is TokenKind.HAN
    own = [
        one
        for one in meanings
        if one.name in several.options and (one.name.rpartition("_")[2].lower() in _CHINESE_SUFFIXES) is is_chinese
    ]
    return own[0] if len(own) == 1 and len(several.options) == 2 else several


_CHINESE_SUFFIXES: Final = frozenset({"zh", "cn", "chinese"})


def owns(tokens: Sequence[Token], place: int, vocabulary: Vocabulary) -> bool:
    """Whether a field or another noun of it is named behind a noun that ends here: customers的region, "the agent's team"."""
    if norm_at(tokens, place) not in {"的", "'s", "所属", "属于", "所在"}:
        return False
    sorts = {one.sort for _, one in meanings_at(tokens, place + 1, vocabulary)}
    return Sort.METRIC not in sorts and not sorts.isdisjoint({Sort.FIELD, Sort.DATASET})
