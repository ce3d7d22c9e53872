"""Which of a phrase's meanings fits its place in a question, and what taking it notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from querybus_semantic.layer.definitions import Layer
from querybus_semantic.layer.request import Dimension
from querybus_translator.definitions.outcome import Several, State, kept_apart, shown_by
from querybus_translator.definitions.places import norm_at
from querybus_translator.definitions.vocabulary import BARE_NOUN, Meaning, Sort, one_side
from querybus_translator.language.tokens import Token, TokenKind

COUNT_WORDS: Final = frozenset({"数", "数量", "个数", "总数", "笔数", "件数"})


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
    return before in {"", "and", ",", "、", "和", "与", "及", "，", "多少", "几", "几个"}


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
    chosen: Meaning, place: int, layer: Layer, state: State, *, grouping: bool, joined: str, following: str
) -> bool:
    """Note a meaning; False where it has none at this place."""
    if chosen.sort is Sort.DATASET:
        if not grouping:
            # "Revenue of customers": whose figure it is changes nothing; a noun by itself may mean anything.
            return joined in {"of", "all", "the", "for", "in", "from", "our", "在"} or following == "的"
        key = shown_by(layer, chosen.name) if joined not in {"per", "每", "每个"} else None
        if key is None:
            return False
        chosen = Meaning(Sort.FIELD, key)
        state.dimensions += kept_apart(layer, key) if all(item.field != key for item in state.dimensions) else []
    if chosen.sort is Sort.FIELD and not grouping:
        state.ungrouped.append(chosen.name)
        return True
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
        if chosen.name not in kept:
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
