"""Proof of a rendering: every word of a statement stands in its rendering, but for rewrites that were tried on the engine.

Most losses happen in the first parse, so trees prove nothing: the words of the two texts are compared. Names of functions are
left to the guard, which knows the functions of the engine. Quoted texts are compared by `render.lost_text`.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from sqlglot import TokenType

from querybus.core.catalog import Dialect
from querybus.engines import ENGINES

_UNCOUNTED: Final = frozenset((*"()[]{},;.:", "as", "asc", "inner", "outer", "from"))
"""Words that may be written or left out: FROM stands for a comma between arguments as well."""
_STRING: Final = int(TokenType.STRING)
_NUMBER: Final = int(TokenType.NUMBER)
_DOT: Final = int(TokenType.DOT)
_L_PAREN: Final = int(TokenType.L_PAREN)
_NO_WORDS: Final = frozenset(
    int(kind)
    for kind in (
        TokenType.STRING,
        TokenType.IDENTIFIER,
        TokenType.HEREDOC_STRING,
        TokenType.NATIONAL_STRING,
        TokenType.RAW_STRING,
        TokenType.UNICODE_STRING,
        TokenType.BYTE_STRING,
        TokenType.HEX_STRING,
        TokenType.BIT_STRING,
    )
)
"""Plain numbers: the hash of a kind itself is slow."""
_WORD: Final = re.compile(r"\w+|[^\w\s]+")


def lost_word(
    written: Sequence[Any], rendered: Sequence[Any], dialect: Dialect, names: Collection[str] = ()
) -> str | None:
    """Return a word of a statement's tokens that the tokens of its rendering neither have nor write otherwise, or None.

    `names`: words that our own rewriting replaces, in lower case: names of WITH tables, schemas, and a limit that was lowered.
    """
    table = ENGINES[dialect].rewrites
    if table is None or _has_all(rendered, written):
        return None
    rewrites = _rewrites()[table]
    before, after = Counter(_written_words(written, rewrites)), Counter(_rendered_words(rendered))
    lost = [word for word, count in before.items() if count > after[word]]
    if not lost:
        return None
    if "->" in lost and rewrites.get("->") == "":
        names = {*names, *_functions_of_a_with(written)}
    gained = after - before
    for word in lost:
        if word in _UNCOUNTED or word in names:
            continue
        instead = rewrites.get(word)
        if instead is None or (instead and not gained[instead]):
            return word
    return None


def _has_all(rendered: Sequence[Any], written: Sequence[Any]) -> bool:
    """Return whether a rendering has every word as it is written: the quick way for most statements."""
    left = Counter([token.text.lower() for token in rendered])
    for token in written:
        word = token.text.lower()
        count = left.get(word)
        if count:
            left[word] = count - 1
        elif word not in _UNCOUNTED:
            return False
    return True


def _written_words(tokens: Sequence[Any], rewrites: Mapping[str, str]) -> list[str]:
    """Return the words of a text but for names of functions, from the last to the first."""
    words, last, after = list[str](), 0, None
    for token in reversed(tokens):
        kind, text = int(token.token_type), token.text
        if kind == _NUMBER:
            words.append(_number(text))
        elif kind == _DOT and last == _NUMBER and after is not None:
            words[-1] = _number(f".{after.text}")
        elif kind not in _NO_WORDS:
            word = text.lower()
            if last != _L_PAREN or not text[:1].isalpha():
                words.append(word)
            elif f"{word}(n)" in rewrites and len(words) > 1 and words[-2].isdecimal():
                del words[-2]  # the length of a type, which the engine does not heed
        last, after = kind, token
    return words


def _rendered_words(tokens: Sequence[Any]) -> list[str]:
    words, before = list[str](), 0
    for token in tokens:
        kind, text = int(token.token_type), token.text
        if kind == _NUMBER:
            words.append(_number(f".{text}" if before == _DOT else text))
        else:
            words.append(text.lower())
            if kind == _STRING:
                words.extend(_number(part) if part[0].isdigit() else part for part in _WORD.findall(text.lower()))
        before = kind
    return words


def _functions_of_a_with(tokens: Sequence[Any]) -> set[str]:
    """Return the names and parameters of ClickHouse's `WITH (x, y) -> x * y AS f`, which are put in place of their calls."""
    words = [token.text.lower() for token in tokens]
    names = {"with", *(after for word, after in pairwise(words) if word == "as")}
    for place in (place for place, word in enumerate(words) if word == "->" and place > 0):
        start = place - 1
        if words[start] == ")":
            start = max((at for at, word in enumerate(words[:place]) if word == "("), default=start)
        names.update(words[start:place])
    return names


def _number(text: str) -> str:
    """Return a number in one form, whatever its zeros: `1.50` and `1.5` are the same."""
    if text.isdecimal():
        return text
    try:
        return repr(float(text)).removesuffix(".0")
    except ValueError:
        return text.lower()


@cache
def _rewrites() -> Mapping[str, Mapping[str, str]]:
    tables = tomllib.loads(Path(__file__).with_name("rewrites.toml").read_text())
    return {engine: {word: entry[0] for word, entry in table.items()} for engine, table in tables.items()}
