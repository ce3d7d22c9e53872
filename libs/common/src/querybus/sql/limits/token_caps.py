"""Caps on the token stream: what could stall the parser is refused before it sees the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlglot import Parser, TokenType

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.engines import ENGINES
from querybus.sql.guard.rules import Rule, refuse, unsafe

TOKENS_MAX: Final = 6_000


DEPTH_MAX: Final = 40


CONNECTIVES_MAX: Final = 300


REPEATS_MAX: Final = 400
"""How often one operator or keyword may occur; commas, names and literals do not count."""


UNARY_RUN_MAX: Final = 12
"""How many operators or keywords may follow each other without a name, a literal or a bracket between them."""


NESTING_REPEATS_MAX: Final = 60
"""How often a token may occur that can nest without brackets: casts, JSON arrows, lambdas, joins, intervals."""


WORK_MAX: Final = 30_000
"""Words to read, each counted once more for every time that the parser will go back to it."""


CONNECTIVE_TEXTS: Final = frozenset({"AND", "OR", "NOT", "XOR", "&&", "||"})


_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})


_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})


_PLAIN: Final = frozenset(
    {
        TokenType.COMMA,
        TokenType.DOT,
        TokenType.VAR,
        TokenType.IDENTIFIER,
        TokenType.STRING,
        TokenType.NUMBER,
        TokenType.ALIAS,
        TokenType.L_PAREN,
        TokenType.R_PAREN,
        TokenType.L_BRACKET,
        TokenType.R_BRACKET,
        TokenType.L_BRACE,
        TokenType.R_BRACE,
        TokenType.EQ,
        TokenType.NULL,
        TokenType.STAR,
    }
)


_NESTING: Final = frozenset(
    {
        TokenType.DCOLON,
        TokenType.DIV,
        TokenType.ARROW,
        TokenType.DARROW,
        TokenType.HASH_ARROW,
        TokenType.DHASH_ARROW,
        TokenType.FARROW,
        TokenType.JOIN,
        TokenType.INTERVAL,
        TokenType.EXISTS,
        TokenType.PLACEHOLDER,
        TokenType.COLON,
        TokenType.TILDE,
        TokenType.COLLATE,
        TokenType.LATERAL,
        TokenType.WITH,
        TokenType.ARRAY,
        TokenType.STRUCT,
        TokenType.MAP,
        TokenType.PIVOT,
        TokenType.UNPIVOT,
        TokenType.WINDOW,
        TokenType.OVER,
        TokenType.FILTER,
        TokenType.ESCAPE,
        TokenType.FROM,
        TokenType.PIPE_GT,
        TokenType.TABLE,
        TokenType.SIMILAR_TO,
        TokenType.IS,
        TokenType.ISNULL,
        TokenType.NOTNULL,
    }
)


# What any dialect reads as a type; a test holds it to what the dialects say.
_TYPES: Final = frozenset[Any]({*Parser.TYPE_TOKENS, TokenType.SET, TokenType.FILE})


_JOINS: Final = frozenset({TokenType.JOIN, TokenType.STRAIGHT_JOIN})


_PLAIN_JOINS: Final = frozenset({TokenType.CROSS, TokenType.NATURAL})


_ENDS_JOINS: Final = frozenset(
    {TokenType.WHERE, TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT}
)


_WEIGHED: Final = _OPENING | _CLOSING | _JOINS | _ENDS_JOINS | {TokenType.ON, TokenType.USING}
"""What changes how often the parser reads what follows."""


_MOST: Final = {TokenType.JOIN: 120, TokenType.FROM: 120}


_BREAKS_RUN: Final = _PLAIN - {TokenType.EQ, TokenType.STAR, TokenType.ALIAS}


def over_the_caps(tokens: Sequence[Any], dialect: Dialect) -> Failure | None:
    if len(tokens) > TOKENS_MAX:
        return refuse(FailureCode.TOO_COMPLEX, Rule.LENGTH, f"more than {TOKENS_MAX} words and signs")
    kinds = [token.token_type for token in tokens]
    if ENGINES[dialect].executes_comments or TokenType.HINT in kinds:
        refusal = _instruction(tokens, dialect)
        if refusal is not None:
            return refusal
    return _nested(kinds) or _repeated(tokens, kinds)


def _instruction(tokens: Sequence[Any], dialect: Dialect) -> Failure | None:
    """Refuse what the server would read where the parser sees a comment."""
    executes_comments = ENGINES[dialect].executes_comments
    for token in tokens:
        if token.comments and executes_comments and _executable(token.comments):
            return unsafe(Rule.EXECUTABLE_COMMENT, "a comment that the server would execute")
        if token.token_type is TokenType.HINT:
            detail = "an optimizer hint is not supported here; write the query without it"
            return refuse(FailureCode.SYNTAX_ERROR, Rule.HINT, detail, "hint")
    return None


def _nested(kinds: Sequence[TokenType]) -> Failure | None:
    depth = work = 0
    # What the parser reads twice doubles for all that stands in it: a bracket behind a type's name (as a type, as a
    # call), a square bracket (as an array, as a subscript), and everything behind a JOIN until its ON (as a nested join first).
    rereads = base = 1
    brackets: list[tuple[int, int]] = []
    before: TokenType | None = None
    for kind in kinds:
        work += rereads
        if work > WORK_MAX:
            return refuse(FailureCode.TOO_COMPLEX, Rule.DEPTH, "types, calls or joins nested too deep")
        if kind not in _WEIGHED:
            before = kind
            continue
        if kind in _OPENING:
            depth += 1
            if depth > DEPTH_MAX:
                return refuse(
                    FailureCode.TOO_COMPLEX, Rule.DEPTH, f"the statement is nested more than {DEPTH_MAX} levels deep"
                )
            brackets.append((rereads, base))
            if kind is TokenType.L_BRACKET or before in _TYPES:
                # MySQL's BINARY is an operator as well.
                rereads *= 3 if before is TokenType.BINARY else 2
            base = rereads
        elif kind in _CLOSING:
            depth -= 1
            if brackets:
                rereads, base = brackets.pop()
        elif kind in _JOINS:
            rereads *= 1 if before in _PLAIN_JOINS else 2
        elif kind in (TokenType.ON, TokenType.USING):
            rereads = max(base, rereads // 2)
        elif kind in _ENDS_JOINS:
            rereads = base
        before = kind
    return None


def _repeated(tokens: Sequence[Any], kinds: Sequence[TokenType]) -> Failure | None:
    connectives = run = subscripts = 0
    counts: dict[TokenType, int] = {}
    before: TokenType | None = None
    for token, kind in zip(tokens, kinds, strict=True):
        if kind is TokenType.L_BRACKET and before is TokenType.R_BRACKET:
            subscripts += 1
            if subscripts > NESTING_REPEATS_MAX:
                return refuse(FailureCode.TOO_COMPLEX, Rule.REPETITION, "a subscript of a subscript of a subscript")
        before = kind
        if kind in _PLAIN:
            run = 0 if kind in _BREAKS_RUN else run
            continue
        run += 1
        if run > UNARY_RUN_MAX:
            return refuse(FailureCode.TOO_COMPLEX, Rule.REPETITION, f"more than {UNARY_RUN_MAX} operators in a row")
        counts[kind] = count = counts.get(kind, 0) + 1
        most = _MOST.get(kind, NESTING_REPEATS_MAX if kind in _NESTING else REPEATS_MAX)
        if count > most:
            return refuse(FailureCode.TOO_COMPLEX, Rule.REPETITION, f"more than {most} times {token.text[:20]}")
        if token.text.upper() in CONNECTIVE_TEXTS:
            connectives += 1
            if connectives > CONNECTIVES_MAX:
                return refuse(FailureCode.TOO_COMPLEX, Rule.CONNECTIVES, f"more than {CONNECTIVES_MAX} conditions")
    return None


def _executable(comments: Sequence[str]) -> bool:
    return any(comment.lstrip().startswith(("!", "M!", "m!")) for comment in comments)
