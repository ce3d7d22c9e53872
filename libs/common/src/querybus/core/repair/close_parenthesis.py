"""A missing closing parenthesis is put where the statement reads again, if there is one such place.

The place is an assumption unless it is the end of the text: the pipeline takes it only where one place passes.
"""

from __future__ import annotations

from typing import Final

from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft
from querybus.core.repair.candidate import Candidate, RuleName
from querybus.core.repair.tree import read
from querybus.core.sql.parse import GRAMMARS, parse

MISSING_MAX: Final = 3
PLACES_MAX: Final = 24

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
    }
)


def close_parenthesis(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return each way of closing what was left open that can be read as one query."""
    del catalog
    if failure.code is not FailureCode.SYNTAX_ERROR:
        return ()
    text = draft.sql.strip().rstrip(";").rstrip()
    # Only a text within the parser's caps, whose words can be told, comes back as a plain syntax error.
    refused = parse(text, draft.dialect)
    if not isinstance(refused, Failure) or refused.code is not FailureCode.SYNTAX_ERROR:
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
    texts = [text + ")" * open_]
    if open_ == 1:
        texts.extend(f"{text[:place].rstrip()}) {text[place:]}" for place in places[:PLACES_MAX])
    return tuple(
        Candidate(RuleName.CLOSE_PARENTHESIS, each, keeps_meaning=False, before="", after=")", doubt=0.3)
        for each in texts
        if read(each, draft.dialect) is not None
    )
