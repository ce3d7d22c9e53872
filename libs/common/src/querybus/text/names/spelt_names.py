"""The words that the pieces of a name stand for: abbreviations spelt out, glued names cut, German and French names in English.

`CUST_ORD_HDR` is a customer order header, `kundennr` a customer number, `date_naissance` a birth date. The lists are
`abbreviations.toml` and `foreign_words.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Final, Literal

from querybus.text.vocabulary import is_word

_Foreign = Literal["german", "french"]
_FOREIGN: Final[tuple[_Foreign, ...]] = ("german", "french")
_ENDINGS: Final[Mapping[_Foreign, tuple[str, ...]]] = {
    "german": ("en", "er", "es", "ns", "e", "n", "s"),
    "french": ("es", "s", "x", "e"),
}
"""What stands behind a word in its plural and, in German, between the words of a compound."""
_SURE_LENGTH_MIN: Final = 4
"""A shorter foreign word counts only beside a longer one: `fin` may be an abbreviation."""
_COMPOUND_PIECE_LENGTH_MIN: Final = 3
_PHRASE_PIECES_MAX: Final = 3
_ARTICLES: Final = frozenset({"de", "du", "des", "la", "le", "les", "der", "die", "das", "und", "et"})
_HELD: Final = frozenset({"date", "name", "id", "number", "code", "type", "price", "time", "year", "status", "amount"})
"""What columns hold; such a word ends a name in English."""


def spell_out(pieces: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a name's pieces, which are in lower case; what is not known stays as it is.

    >>> spell_out(("cust", "ord", "hdr")), spell_out(("inv", "dt")), spell_out(("inv", "qty"))
    (('customer', 'order', 'header'), ('invoice', 'date'), ('inventory', 'quantity'))
    >>> spell_out(("ordno",)), spell_out(("rechnungsdatum",)), spell_out(("artikel", "art"))
    (('order', 'number'), ('invoice', 'date'), ('article', 'kind'))
    >>> spell_out(("date", "de", "naissance")), spell_out(("zorb", "art"))
    (('birth', 'date'), ('zorb', 'art'))
    """
    language = _language_of(pieces)
    said = [piece for piece in pieces if language is None or piece not in _ARTICLES]
    words: list[str] = []
    while said:
        length, spelt = next(_spellings(said, language))
        words += spelt
        said = said[length:]
    if language == "french" and len(words) > 1 and words[0] in _HELD and words[-1] not in _HELD:
        # A French name begins with what it holds, an English one ends with it.
        words = [*words[1:], words[0]]
    return tuple(words)


@lru_cache(maxsize=1)
def abbreviations() -> Mapping[str, tuple[str, ...]]:
    """Return the usual abbreviations, each with its words."""
    return {short: tuple(text.split()) for short, text in _read_list("abbreviations.toml")["words"].items()}


def halves(word: str) -> tuple[str, ...]:
    """Return the two parts that a name in lower case is made of, spelt out, or the name where there is no such pair.

    Of several pairs the one that ends with a word for what columns hold: a release date is not "released ate".

    >>> halves("releasedate"), halves("custid"), halves("ordno"), halves("zorbdate")
    (('release', 'date'), ('customer', 'id'), ('order', 'number'), ('zorbdate',))
    """
    short = abbreviations()
    pairs = [
        (*(short.get(word[:cut]) or (word[:cut],)), *_ending(word[cut:]))
        for cut in range(3, len(word) - 1)
        if (is_word(word[:cut]) or word[:cut] in short) and _ending(word[cut:])
    ]
    likely = [pair for pair in pairs if pair[-1] in _HELD] if len(pairs) > 1 else pairs
    return likely[0] if len(likely) == 1 else (word,)


def _ending(text: str) -> tuple[str, ...]:
    """Return the words of the second half of a glued name; none where it is no word."""
    if text == "id" or (len(text) >= _COMPOUND_PIECE_LENGTH_MIN and is_word(text)):
        return (text,)
    spelt = abbreviations().get(text, ())
    return spelt if spelt and spelt[-1] in _HELD else ()


def _spellings(pieces: Sequence[str], language: _Foreign | None) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Give how many of the first pieces stand for which words, the likeliest first."""
    phrases = _read_list("abbreviations.toml")["phrases"]
    for length in range(min(_PHRASE_PIECES_MAX, len(pieces)), 1, -1):
        if text := phrases.get(" ".join(pieces[:length])):
            yield length, tuple(text.split())
    word = pieces[0]
    if language is not None and (foreign := _in_english(word, language)):
        yield 1, foreign
    if spelt := abbreviations().get(word):
        yield 1, spelt
    yield 1, (word,) if is_word(word) or not word.isascii() else halves(word)


def _language_of(pieces: Sequence[str]) -> _Foreign | None:
    """Return the foreign language that one of the pieces is surely of: no English word, no abbreviation, not short."""
    for piece in pieces:
        if len(piece) >= _SURE_LENGTH_MIN and not is_word(piece) and piece not in abbreviations():
            for language in _FOREIGN:
                if _in_english(piece, language):
                    return language
    return None


@lru_cache(maxsize=16_384)
def _in_english(word: str, language: _Foreign) -> tuple[str, ...]:
    """Return a foreign word or compound in English; empty where a part of it is not known."""
    if whole := _inflected(word, language):
        return whole
    if language != "german":
        return ()
    for cut in range(len(word) - 2, _COMPOUND_PIECE_LENGTH_MIN - 1, -1):
        first = _inflected(word[:cut], language)
        rest = _in_english(word[cut:], language) if first else ()
        if first and rest:
            return (*first, *rest)
    return ()


def _inflected(word: str, language: _Foreign) -> tuple[str, ...]:
    known = _foreign_words(language)
    stems = (word, *(word.removesuffix(ending) for ending in _ENDINGS[language] if word.endswith(ending)))
    return next((known[stem] for stem in stems if stem in known), ())


@lru_cache(maxsize=4)
def _foreign_words(language: _Foreign) -> Mapping[str, tuple[str, ...]]:
    listed = {word: tuple(text.split()) for word, text in _read_list("foreign_words.toml")[language].items()}
    return {form: text for word, text in listed.items() for form in (*_without_marks(word), word)}


def _without_marks(word: str) -> Iterator[str]:
    """Give a word as it is typed without its umlauts and accents, in both usual ways."""
    yield word.translate(_DIGRAPHS)
    yield word.translate(_PLAIN)


_DIGRAPHS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_PLAIN: Final = str.maketrans("äöüßéèêëàâîïôûùç", "aouseeeeaaiiouuc")


@lru_cache(maxsize=4)
def _read_list(file: str) -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(resources.files("querybus.text.names").joinpath(file).read_text(encoding="utf-8"))
