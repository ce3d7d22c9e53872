"""Values in a question: those that are stored, and the words that say of one that it is left out or that something has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from querybus_semantic.compiling.leaves import field_named
from querybus_semantic.layer.definitions import Layer, Type
from querybus_semantic.layer.request import Filter, Op
from querybus_translator.definitions.naming.places import Mention, longest_at, meanings_at, phrase_at
from querybus_translator.definitions.naming.vocabulary import Sort, Vocabulary, currency_of, is_count
from querybus_translator.definitions.naming.words import question_words
from querybus_translator.definitions.outcome import Lead, Several, State, Values
from querybus_translator.language.tokens import Token, TokenKind

NEAR_WORDS_MAX: Final = 2
LINKING: Final = frozenset(
    {"and", "or", "vs", "versus", ",", "、", "和", "与", "及", "或", "或者", "，", "a", "an", "the", "any", "both"}
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
    sides = words.sides
    if (tokens[place].norm in sides["to"] or tokens[place].norm in sides["from"]) and (
        place + 1 < len(tokens) and is_value(tokens, place + 1, vocabulary, values)
    ):
        # Which of two relations it means is decided once the value is read.
        return 1
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
    if any(one.sort is Sort.VALUE for _, one in meanings_at(tokens, place, vocabulary)):
        return True
    if values is None or token.kind is TokenKind.MARK or token.norm in question_words().glue:
        return False
    if token.norm in question_words().weighty:
        return is_spelt_out(token, values(token.text))
    return any(values(" ".join(one.text for one in tokens[place : place + length])) for length in (1, 2, 3))


def is_flag(tokens: Sequence[Token], place: int, vocabulary: Vocabulary, state: State) -> bool:
    """Whether a field that says yes or no is named here."""
    return any(one.sort is Sort.FIELD and one.name in state.flags for _, one in meanings_at(tokens, place, vocabulary))


def note_currency(layer: Layer, values: Values | None, state: State) -> None:
    """Settle "in dollars": the figures are in dollars, or have no currency and the rows have one; else it is unread."""
    if not state.currency:
        return
    figures = [metric for name in state.metrics if (metric := layer.metric(name)) is not None]
    # How many there are is in no currency.
    known = {currency_of(one) for one in figures if not is_count(one)} or {""}
    stored = list(values(state.currency)) if values is not None and known == {""} else []
    if known == {state.currency}:
        return
    if len({name for name, _ in stored}) == 1:
        state.lead = Lead.NONE
        state.note_value(*stored[0], "")
    else:
        state.unread.append(state.currency)


def valued(tokens: Sequence[Token], place: int, name: str, layer: Layer, values: Values | None, state: State) -> int:
    """Take "is A" behind a field: a value that is stored there, a quoted text, or a number where it holds numbers."""
    if place >= len(tokens):
        return 0
    link = longest_at(tokens, place, question_words().valued)
    first = place + link
    for length in range(min(4, len(tokens) - first), 0, -1):
        pieces = [token.text for token in tokens[first : first + length]]
        stored = (*(values(" ".join(pieces)) if values else ()), *(values("".join(pieces)) if values else ()))
        code = question_words().currencies.meanings.get(phrase_at(tokens, first, length), "")
        stored = (*stored, *(values(code) if values and code else ()))
        own = next((value for field, value in stored if field == name), None)
        if own is not None:
            state.note_value(name, own, "")
            return link + length
    if not link or first >= len(tokens):
        return 0
    token = tokens[first]
    if token.kind is TokenKind.QUOTED:
        state.note_value(name, token.text, "")
        return link + 1
    _, field = field_named(layer, name)
    if token.kind is TokenKind.NUMBER and field is not None and field.type in {Type.INTEGER, Type.NUMBER}:
        number = float(token.norm)
        state.filters.append(Filter(name, Op.EQUAL, (int(number) if number.is_integer() else number,)))
        return link + 1
    return 0


def is_spelt_out(token: Token, found: Sequence[tuple[str, str]]) -> bool:
    """Whether a value is meant that is spelt as a word of weight is: "NO" is a country, "no" is not."""
    return token.norm not in question_words().weighty or any(value == token.text for _, value in found)


def stored_value(
    tokens: Sequence[Token], place: int, values: Values | None, state: State, mentions: Sequence[Mention]
) -> int:
    """Take a value that is stored, of several fields the choice between them; return how many words it has.

    "Clients billed in yen": of several fields that of the noun right before it is meant.
    """
    if values is None or tokens[place].kind is TokenKind.MARK or tokens[place].norm in question_words().glue:
        return 0
    for length in range(min(4, len(tokens) - place), 0, -1):
        pieces = [token.text for token in tokens[place : place + length]]
        text = " ".join(pieces)
        code = question_words().currencies.meanings.get(phrase_at(tokens, place, length), "")
        found = values(text) or values("".join(pieces)) or (values(code) if code else ())
        if found and (length > 1 or is_spelt_out(tokens[place], found)):
            near = {one.dataset for one in mentions if 0 <= place - one.end <= NEAR_WORDS_MAX}
            own = [pair for pair in found if pair[0].rpartition(".")[0] in near]
            found = own if len({name for name, _ in own}) == 1 else found
            if len({name for name, _ in found}) > 1:
                options = tuple(sorted({name for name, _ in found}))
                state.several = state.several or Several(text, options, is_value=True)
            state.note_value(*found[0], tokens[place - 1].norm if place else "")
            return length
    return 0
