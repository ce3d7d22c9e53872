"""Forms that the parser cannot read, or reads as something else: written in words that it reads, before it sees them.

Each rewrite means the same on its engine; tests run both forms there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from sqlglot import Token, TokenType

from querybus.engines.record import Engine

_NUMBER_AND_UNIT: Final = re.compile(r"\s*[-+]?\d+(\.\d+)?(\s+[A-Za-z]+)?\s*")
_OPENS: Final = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSES: Final = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_ARITHMETIC: Final = (
    TokenType.PLUS,
    TokenType.DASH,
    TokenType.STAR,
    TokenType.SLASH,
    TokenType.MOD,
    TokenType.CARET,
    TokenType.DCOLON,
    TokenType.DOT,
)
"""Operators that bind closer than the operators before an operand do."""
_OPERANDS: Final = (TokenType.NUMBER, TokenType.STRING, TokenType.VAR, TokenType.IDENTIFIER, TokenType.NULL)


def spell_tokens(tokens: list[Any], engine: Engine) -> list[Any]:
    """Return the tokens of a text with the forms that the parser does not know in forms that it knows."""
    _spell_apart(tokens, engine.function_spellings)
    kinds = {token.token_type for token in tokens}
    if engine.casts_interval_texts and TokenType.INTERVAL in kinds:
        tokens = _keep_interval_texts(tokens)
    if TokenType.INTERVAL in kinds:
        _read_interval_as_function(tokens)
    if engine.prefix_functions and any(token.text in engine.prefix_functions for token in tokens):
        tokens = _call_prefix_functions(tokens, engine.prefix_functions)
    if any(token.text.upper() == "SIMILAR" for token in tokens):
        _list_similar_arguments(tokens)
    if tokens and tokens[0].token_type in (TokenType.PIVOT, TokenType.UNPIVOT):
        tokens = _put_pivot_in_brackets(tokens)
    return tokens


def _spell_apart(tokens: list[Any], spellings: Mapping[str, str]) -> None:
    """Write a function by its other name where the parser takes it for another function: ClickHouse's `rand`."""
    for place, (token, after) in enumerate(pairwise(tokens)) if spellings else ():
        if after.token_type is TokenType.L_PAREN and (other := spellings.get(token.text.lower())) is not None:
            tokens[place] = _make_token(TokenType.VAR, other, token)


def _keep_interval_texts(tokens: list[Any]) -> list[Any]:
    """Write `INTERVAL 'text'` as `'text'::INTERVAL` where the text is more than a number and a unit.

    The parser reads number and unit of such a text and drops the rest: `5 days ago`, `1 day 02:00`.
    """
    result: list[Any] = []
    for token in tokens:
        last = result[-1] if result else None
        is_text = last is not None and last.token_type is TokenType.INTERVAL and token.token_type is TokenType.STRING
        if not is_text or _NUMBER_AND_UNIT.fullmatch(token.text):
            result.append(token)
            continue
        result[-1:] = [token, _make_token(TokenType.DCOLON, "::", token), last]
    return result


def _read_interval_as_function(tokens: list[Any]) -> None:
    """Read `INTERVAL(a, b)` as a call: MySQL's function that finds the place of a among numbers."""
    for place, (token, after) in enumerate(pairwise(tokens)):
        if token.token_type is TokenType.INTERVAL and after.token_type is TokenType.L_PAREN:
            depth = 0
            for later in tokens[place + 1 :]:
                depth += (later.token_type in _OPENS) - (later.token_type in _CLOSES)
                if depth == 0:
                    break
                if depth == 1 and later.token_type is TokenType.COMMA:
                    tokens[place] = _make_token(TokenType.VAR, token.text, token)
                    break


def _call_prefix_functions(tokens: list[Any], functions: Mapping[str, str]) -> list[Any]:
    """Write an operator before its operand as the function that it is: `@ a - b` as `ABS(a - b)`.

    The last one first: an operator may stand before another one.
    """
    for place in range(len(tokens) - 1, -1, -1):
        token = tokens[place]
        function = functions.get(token.text)
        if function is None or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            continue
        if place > 0 and _ends_operand(tokens[place - 1]):
            continue
        end = _operand_end(tokens, place + 1)
        if end == place + 1:
            continue
        opened = [_make_token(TokenType.VAR, function, token), _make_token(TokenType.L_PAREN, "(", token)]
        closed = _make_token(TokenType.R_PAREN, ")", tokens[end - 1])
        tokens = [*tokens[:place], *opened, *tokens[place + 1 : end], closed, *tokens[end:]]
    return tokens


def _ends_operand(token: Any) -> bool:
    return token.token_type in (*_OPERANDS, *_CLOSES)


def _operand_end(tokens: list[Any], start: int) -> int:
    """Return the place behind the operand that begins at `start`: values with arithmetic between them."""
    depth, place = 0, start
    while place < len(tokens):
        kind = tokens[place].token_type
        if kind in _OPENS:
            depth += 1
        elif kind in _CLOSES:
            if depth == 0:
                break
            depth -= 1
        elif depth == 0:
            is_value = place == start or not _ends_operand(tokens[place - 1])
            if kind not in _ARITHMETIC and not is_value:
                break
        place += 1
    return place


def _list_similar_arguments(tokens: list[Any]) -> None:
    """Write `SUBSTRING(text SIMILAR pattern ESCAPE sign)` as the call with three arguments that it is."""
    opened: list[bool] = []
    for place, token in enumerate(tokens):
        kind = token.token_type
        if kind in _OPENS:
            opened.append(place > 0 and tokens[place - 1].text.upper() == "SUBSTRING")
        elif kind in _CLOSES:
            if opened:
                opened.pop()
        elif opened and opened[-1] and (token.text.upper() == "SIMILAR" or kind is TokenType.ESCAPE):
            tokens[place] = _make_token(TokenType.COMMA, ",", token)


def _put_pivot_in_brackets(tokens: list[Any]) -> list[Any]:
    """Write `PIVOT ... ORDER BY a` as `FROM (PIVOT ...) ORDER BY a`: the parser reads no order behind a pivot."""
    depth = 0
    for place, token in enumerate(tokens):
        kind = token.token_type
        depth += (kind in _OPENS) - (kind in _CLOSES)
        if depth == 0 and kind in (TokenType.ORDER_BY, TokenType.LIMIT):
            first, last = tokens[0], tokens[place - 1]
            opened = [_make_token(TokenType.FROM, "FROM", first), _make_token(TokenType.L_PAREN, "(", first)]
            return [*opened, *tokens[:place], _make_token(TokenType.R_PAREN, ")", last), *tokens[place:]]
    return tokens


def _make_token(kind: TokenType, text: str, place: Any) -> Any:
    """Return a token of our own at the place of another one."""
    return Token(kind, text, line=place.line, col=place.col, start=place.start, end=place.end)
