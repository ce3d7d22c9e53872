"""A missing closing parenthesis is put where the statement reads again, if there is one such place.

The place is an assumption unless it is the end of the text: the pipeline takes it only where one place passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import read
from querybus.sql.parse import GRAMMARS, parse
from querybus_recovery.rules.candidate import Candidate

MISSING_MAX: Final = 3
PLACES_MAX: Final = 24
FURTHER_DOUBT: Final = 0.05

_BEFORE: Final = frozenset(
    {
        TokenType.FROM,
        TokenType.WHERE,
        TokenType.GROUP_BY,
        TokenType.HAVING,
        TokenType.ORDER_BY,
        TokenType.LIMIT,
        TokenType.ALIAS,
        TokenType.COMMA,
        TokenType.AND,
        TokenType.OR,
        TokenType.GT,
        TokenType.LT,
        TokenType.GTE,
        TokenType.LTE,
        TokenType.EQ,
        TokenType.NEQ,
        TokenType.ASC,
        TokenType.DESC,
        TokenType.JOIN,
        TokenType.ON,
        TokenType.UNION,
        TokenType.INTERSECT,
        TokenType.EXCEPT,
    }
)


def close_parenthesis(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return each way of closing what was left open that can be read as one query."""
    del catalog
    if failure.code is not FailureCode.SYNTAX_ERROR:
        return ()
    text = draft.sql.strip().rstrip(";").rstrip()
    # Only a text within the parser's caps, whose words are known, comes back as a plain syntax error.
    refused = parse(text, draft.dialect)
    if isinstance(refused, Failure) and refused.code is not FailureCode.SYNTAX_ERROR:
        return ()
    try:
        tokens = GRAMMARS[draft.dialect].tokenize(text)
    except SqlglotError:
        return ()
    open_ = 0
    places: list[int] = []
    for token in tokens:
        if token.token_type is TokenType.L_PAREN:
            open_ += 1
        elif token.token_type is TokenType.R_PAREN:
            open_ -= 1
        elif open_ > 0 and token.token_type in _BEFORE:
            places.append(token.start)
        if open_ < 0:
            return ()
    if not 0 < open_ <= MISSING_MAX:
        return ()
    stars = [
        token.end + 1
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if before.token_type is TokenType.L_PAREN
        and token.token_type is TokenType.STAR
        and after.token_type is not TokenType.R_PAREN
    ]
    if open_ == 1 and len(stars) == 1:
        # After `(*` nothing else can follow.
        whole = f"{text[: stars[0]]}){text[stars[0] :]}"
        sure = Candidate(RuleName.CLOSE_PARENTHESIS, whole, keeps_meaning=True, before="", after=")", doubt=0.05)
        return (sure,) if read(whole, draft.dialect) is not None else ()
    texts = [text + ")" * open_]
    if open_ == 1:
        closed = [f"{text[:place].rstrip()}) {text[place:]}" for place in places[:PLACES_MAX]]
        # A call ends soon; a sub-query and a condition go on as far as they can.
        texts = [*closed, *texts] if _is_call(tokens) else [*texts, *reversed(closed)]
    readable = [text for text in texts if read(text, draft.dialect) is not None]
    return tuple(
        Candidate(
            RuleName.CLOSE_PARENTHESIS,
            item,
            keeps_meaning=False,
            before="",
            after=")",
            doubt=0.3 + FURTHER_DOUBT * number,
        )
        for number, item in enumerate(readable)
    )


def _is_call(tokens: Sequence[Any]) -> bool:
    """Return whether the parenthesis that stays open is a call's: a name before it, no SELECT behind it."""
    open_: list[int] = []
    for number, token in enumerate(tokens):
        if token.token_type is TokenType.L_PAREN:
            open_.append(number)
        elif token.token_type is TokenType.R_PAREN and open_:
            open_.pop()
    place = open_[-1]
    follows = tokens[place + 1].token_type if place + 1 < len(tokens) else None
    before = tokens[place - 1] if place else None
    is_named = before is not None and before.end + 1 == tokens[place].start and before.text[:1].isalpha()
    return is_named and before is not None and before.text.upper() != "IN" and follows is not TokenType.SELECT
