"""A question is cut into tokens: words, numbers, dates, quoted texts, runs of Chinese characters and marks.

Nothing is dropped: every character that is not a space belongs to one token, so that later everything can be
accounted for. Limits: a quoted text ends with its own kind of quote; an apostrophe inside a word is not a quote.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.stems import base_form

QUESTION_TOKENS_MAX = 200


class TokenKind(Enum):
    WORD = auto()
    NUMBER = auto()
    DATE = auto()
    QUOTED = auto()
    HAN = auto()
    MARK = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of the question; `norm` is lower case, `base` the singular. A quoted token's `text` has no quotes."""

    text: str
    norm: str
    base: str
    kind: TokenKind


_PIECE = re.compile(
    r"""
      (?P<quoted>"[^"]*"|“[^”]*[”"]|「[^」]*」|《[^》]*》|‘[^’]*’|``[^']*''|(?<![A-Za-z0-9])'[^']*'(?![A-Za-z]))
    | (?P<on_day>\d{4}-\d{1,2}-\d{1,2}(?:[ T]\d{2}:\d{2}(?::\d{2})?)?|\d{1,2}/\d{1,2}/\d{4})
    | (?P<clock>(?<![\w:])\d{1,2}:\d{2}(?::\d{2})?(?:[ap]m\b)?(?![\w:]))
    | (?P<scaled>\d+(?:\.\d+)?[kK](?![A-Za-z0-9]))
    | (?P<number>-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w])|(?<![\w)-])-?\d+(?:\.\d+)?(?![A-Za-z\d])|\d+(?:\.\d+)?(?=[^\W\d_a-zA-Z]))
    | (?P<op>>=|<=|<>|!=|[<>=≥≤])
    | (?P<negated>n't\b|n’t\b)
    | (?P<possessive>['’]s\b)
    | (?P<titled>(?:Dr|Mr|Mrs|Ms|Prof)\.(?=\ [A-Z]))
    | (?P<initial>(?<![^\s"'(])[A-Z]\.(?=\ (?!(?:Show|List|Give|Find|Return|Display|Sort|Order|Include|Count|Tell|What|Which|Who|How|Only|Also|Please|The)\b)[A-Z]))
    | (?P<word>[A-Za-z]\.(?:[A-Za-z]\.)+|(?:(?!n['’]t\b)[^\W_\u3400-\u9fff\uf900-\ufaff])+)
    | (?P<han>[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+)
    | (?P<mark>\S)
    """,
    re.VERBOSE,
)


def tokenize(question: str) -> tuple[Token, ...]:
    """Return the tokens of a question, at most QUESTION_TOKENS_MAX.

    >>> [each.text for each in tokenize("Who hasn't paid 1,200 to 'O Neil'?")]
    ['Who', 'has', "n't", 'paid', '1,200', 'to', 'O Neil', '?']
    """
    tokens: list[Token] = []
    for piece in _PIECE.finditer(unicodedata.normalize("NFKC", question)):
        kind = piece.lastgroup
        text = piece.group()
        if kind == "quoted":
            inside = text.strip("`\"“”「」《》‘’'").strip()
            # Nothing between quotes is no text, and stays a word that nobody knows.
            tokens.append(_token(inside, TokenKind.QUOTED) if inside else _token(text, TokenKind.WORD))
        elif kind == "word":
            tokens.append(_token(text, TokenKind.NUMBER if text.isdecimal() else TokenKind.WORD))
        elif kind == "initial":
            # "John F. Kennedy" is asked for as "John F Kennedy" as well.
            tokens.append(_token(text.removesuffix("."), TokenKind.WORD, shown=text))
        elif kind == "negated":
            tokens.append(Token(text, "n't", "n't", TokenKind.WORD))
        elif kind == "possessive":
            tokens.append(Token(text, "'s", "'s", TokenKind.MARK))
        elif kind == "number":
            tokens.append(_token(text.replace(",", ""), TokenKind.NUMBER, shown=text))
        else:
            tokens.append(_token(text, _KINDS[kind or ""]))
    return tuple(_money_behind(_scaled(tokens[:QUESTION_TOKENS_MAX])))


def _money_behind(tokens: Sequence[Token]) -> list[Token]:
    """Put a sign of money behind its figure, where units stand: "$160" is read as 160 dollars are."""
    result: list[Token] = []
    for token in tokens:
        if token.kind is TokenKind.NUMBER and result and result[-1].norm in MONEY_SIGNS:
            result.insert(-1, token)
        else:
            result.append(token)
    return result


MONEY_SIGNS = frozenset("$€£¥")


def _scaled(tokens: Sequence[Token]) -> list[Token]:
    """ "20 million", "2k" and 3万 are one number each."""
    scales = lexicon().scales
    longest = sorted(scales, key=len, reverse=True)
    result: list[Token] = []
    for token in tokens:
        last = result[-1] if result else None
        follows = last is not None and (last.kind is TokenKind.NUMBER or last.norm in lexicon().numbers)
        if last is not None and follows and token.kind is TokenKind.WORD and token.norm in scales:
            result[-1] = _times(last, scales[token.norm], f"{last.text} {token.text}")
        elif last is not None and follows and token.kind is TokenKind.HAN:
            scale = next((item for item in longest if token.text.startswith(item)), "")
            if scale:
                result[-1] = _times(last, scales[scale], last.text + scale)
                if token.text != scale:
                    result.append(_token(token.text[len(scale) :], TokenKind.HAN))
            else:
                result.append(token)
        elif token.kind is TokenKind.WORD and (split := _FIGURE_AND_SCALE.fullmatch(token.norm)):
            result.append(_times(_token(split[1], TokenKind.NUMBER), scales[split[2]], token.text))
        else:
            result.append(token)
    return result


def _times(token: Token, scale: int, text: str) -> Token:
    value = lexicon().numbers.get(token.norm, 0) or float(token.norm)
    value = float(value) * scale
    shown = str(int(value)) if value.is_integer() else str(value)
    return Token(text, shown, shown, TokenKind.NUMBER)


_FIGURE_AND_SCALE = re.compile(r"(\d+(?:\.\d+)?)(k)")
_KINDS = {
    "clock": TokenKind.WORD,
    "titled": TokenKind.WORD,
    "scaled": TokenKind.WORD,
    "on_day": TokenKind.DATE,
    "op": TokenKind.WORD,
    "han": TokenKind.HAN,
    "mark": TokenKind.MARK,
}


def _token(text: str, kind: TokenKind, shown: str | None = None) -> Token:
    norm = text.lower()
    return Token(shown or text, norm, base_form(norm) if kind is TokenKind.WORD else norm, kind)
