"""Questions that say a figure's name in another order: "how many clients did we lose" asks for the lost clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from querybus_translator.definitions.chinese_names import english_of
from querybus_translator.definitions.naming.places import norm_at, phrase_at
from querybus_translator.definitions.naming.vocabulary import PHRASE_WORDS_MAX, Phrase, Sort, Vocabulary
from querybus_translator.language.tokens import Token, TokenKind

_ASKS: Final = (("how", "many"), ("how", "much"), ("what", "number", "of"), ("number", "of"))
_ASKS_FIRST: Final = frozenset(words[0] for words in _ASKS)
_AUXILIARIES: Final = frozenset(
    {"did", "do", "does", "have", "has", "had", "was", "were", "is", "are", "got", "been", "being", "be"}
)
_SUBJECTS: Final = frozenset({"we", "i", "you", "they", "it", "us", "that", "which", "who"})
_EACH: Final = frozenset({"每", "每个", "每位", "每名", "每单"})
PER_WORDS_MAX: Final = 3
_PIECE_MIN: Final = 3
_SHARES: Final = frozenset({"share", "percentage", "percent", "proportion", "fraction"})


def rephrased(tokens: Sequence[Token], vocabulary: Vocabulary) -> list[Token]:
    """Return the tokens with a figure's name put together, where a question has its words apart."""
    cut = [part for token in tokens for part in _apart(token, vocabulary)]
    return _per_named(_parts_named(_deeds_named(cut, vocabulary), vocabulary), vocabulary)


def _apart(token: Token, vocabulary: Vocabulary) -> tuple[Token, ...]:
    """Return the two words of the vocabulary that are written as one: origincountry, between Chinese characters."""
    word = token.norm
    if token.kind is not TokenKind.WORD or token.base in vocabulary.words:
        return (token,)
    for end in range(_PIECE_MIN, len(word) - _PIECE_MIN + 1):
        if word[:end] in vocabulary.words and word[end:] in vocabulary.words:
            return tuple(Token(text, text, text, TokenKind.WORD) for text in (word[:end], word[end:]))
    return (token,)


def _per_named(tokens: list[Token], vocabulary: Vocabulary) -> list[Token]:
    """每orders的行数 -> lines per order, if there is such a figure."""
    for place, token in enumerate(tokens):
        if token.norm not in _EACH:
            continue
        for per in range(1, PER_WORDS_MAX + 1):
            behind = place + 1 + per
            figure = behind + (norm_at(tokens, behind) in {"的", "平均"})
            for length in range(PER_WORDS_MAX, 0, -1):
                window = tokens[figure : figure + length]
                if len(window) < length:
                    continue
                for phrase in _english_names(window, vocabulary):
                    whole = (*phrase, "per", *phrase_at(tokens, place + 1, per))
                    if _is_metric(whole, vocabulary):
                        named = [Token(word, word, word, TokenKind.WORD) for word in whole]
                        return [*tokens[:place], *named, *tokens[figure + length :]]
    return tokens


def _english_names(window: Sequence[Token], vocabulary: Vocabulary) -> list[Phrase]:
    """Return what a word or two may be called in a vocabulary: 行数 is a line."""
    if len(window) > 1:
        return [tuple(token.base for token in window)]
    word = window[0].norm
    shorter = word[:-1] if word[-1:] in {"数", "量", "额"} else word
    return [(window[0].base,), *english_of(vocabulary).get(word, ()), *english_of(vocabulary).get(shorter, ())]


def _is_metric(phrase: Phrase, vocabulary: Vocabulary) -> bool:
    return any(one.sort is Sort.METRIC for one in vocabulary.phrases.get(phrase, ()))


def _deeds_named(tokens: list[Token], vocabulary: Vocabulary) -> list[Token]:
    """ "How many clients did we lose" -> "lost clients", "how much did we bill" -> "billed", if there is such a figure."""
    for start, token in enumerate(tokens):
        if token.norm not in _ASKS_FIRST:
            continue
        asks = next((len(asks) for asks in _ASKS if _norms(tokens, start, len(asks)) == asks), 0)
        if not asks:
            continue
        for length in range(min(PHRASE_WORDS_MAX, len(tokens) - start - asks), -1, -1):
            noun = phrase_at(tokens, start + asks, length)
            end = start + asks + length
            verb = end
            while norm_at(tokens, verb) in _AUXILIARIES or (verb > end and norm_at(tokens, verb) in _SUBJECTS):
                verb += 1
            if verb == end or verb == len(tokens) or tokens[verb].kind is not TokenKind.WORD:
                continue
            for form in _forms(tokens[verb]):
                if _is_metric((form, *noun), vocabulary):
                    deed = Token(form, form, form, TokenKind.WORD)
                    return [*tokens[:start], deed, *tokens[start + asks : end], *tokens[verb + 1 :]]
    return tokens


def _forms(verb: Token) -> tuple[str, ...]:
    """Return the forms under which a definition may name a deed: lose, bill, billed, cancelled, paid."""
    word = verb.norm
    doubled = f"{word}{word[-1]}ed"
    ending = f"{word[:-1]}ied" if word.endswith("y") else f"{word}d" if word.endswith("e") else f"{word}ed"
    return tuple(dict.fromkeys((verb.base, word, ending, doubled, f"{word}ing")))


def _parts_named(tokens: list[Token], vocabulary: Vocabulary) -> list[Token]:
    """ "What share of billing was works" -> "works share", where that is a figure of its own."""
    start = next((place for place, token in enumerate(tokens) if token.norm in _SHARES), None)
    if start is None or norm_at(tokens, start + 1) != "of":
        return tokens
    for verb in range(start + 2, len(tokens) - 1):
        if tokens[verb].norm not in {"was", "were", "is", "are"}:
            continue
        for length in range(min(PHRASE_WORDS_MAX, len(tokens) - verb - 1), 0, -1):
            part = phrase_at(tokens, verb + 1, length)
            named = next((word for word in _SHARES if _is_metric((*part, word), vocabulary)), None)
            if named is None:
                continue
            whole = _figure_at(tokens, start + 2, vocabulary)
            if not whole:
                continue
            name = [*tokens[verb + 1 : verb + 1 + length], Token(named, named, named, TokenKind.WORD)]
            rest = [*tokens[start + 2 + whole : verb], *tokens[verb + 1 + length :]]
            return [*tokens[:start], *name, *rest]
    return tokens


def _figure_at(tokens: Sequence[Token], place: int, vocabulary: Vocabulary) -> int:
    """Return how many words the figure has that stands here, whose part is asked for: another form of it will do."""
    for length in range(min(PHRASE_WORDS_MAX, len(tokens) - place), 0, -1):
        if _is_metric(phrase_at(tokens, place, length), vocabulary):
            return length
    word = tokens[place].norm if place < len(tokens) else ""
    related = {word.removesuffix("ing") + "ed", word.removesuffix("ing"), word}
    return int(any(_is_metric((form,), vocabulary) for form in related))


def _norms(tokens: Sequence[Token], place: int, length: int) -> tuple[str, ...]:
    return tuple(token.norm for token in tokens[place : place + length])
