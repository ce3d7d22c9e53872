"""A text that breaks off or goes on with what is no SQL is cut where it still reads as one query.

A weak assumption, because what was cut may have mattered: measured on three answers it was right in none. The cut
never reaches into the FROM, and never drops more than half of the words. A cut that takes a condition or another word of SQL
away is as good as never right: it is proposed so that the person is asked.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import read
from querybus.sql.parse import GRAMMARS, parse
from querybus_recovery.rules.candidate import Candidate

CUTS_MAX: Final = 24
PROSE_DOUBT: Final = 1.2
SQL_DOUBT: Final = 3.0
_WORDS_OF_SQL: Final = re.compile(
    r"[=<>]|\b(?:AND|OR|NOT|IN|LIKE|BETWEEN|WHERE|HAVING|GROUP|ORDER|LIMIT|UNION|EXCEPT|INTERSECT|JOIN|INTO|SELECT)\b",
    re.IGNORECASE,
)
_BREAKS: Final = frozenset(
    {TokenType.R_PAREN, TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER, TokenType.STAR}
)


def cut_tail(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the longest start that reads as one query, open parentheses closed."""
    del catalog
    if failure.code is not FailureCode.SYNTAX_ERROR:
        return ()
    text = draft.sql.strip()
    for ending in ("", "'", '"'):
        refused = parse(text + ending, draft.dialect)
        try:
            tokens = list(GRAMMARS[draft.dialect].tokenize(text + ending))
        except SqlglotError:
            continue
        if not isinstance(refused, Failure) or refused.code is not FailureCode.SYNTAX_ERROR:
            return ()
        if not tokens or tokens[0].text.upper() not in ("SELECT", "WITH", "("):
            return ()
        return _cut(draft, text, [token for token in tokens if token.end < len(text)])
    return ()


def _cut(draft: Draft, text: str, tokens: list[object]) -> tuple[Candidate, ...]:
    tried = 0
    for count in range(len(tokens) - 1, len(tokens) // 2, -1):
        last: object = tokens[count - 1]
        if getattr(last, "token_type", None) not in _BREAKS:
            continue
        kinds = [getattr(token, "token_type", None) for token in tokens[:count]]
        if TokenType.FROM not in kinds:
            break
        depth = kinds.count(TokenType.L_PAREN) - kinds.count(TokenType.R_PAREN)
        if depth < 0:
            continue
        tried += 1
        if tried > CUTS_MAX:
            break
        end = int(getattr(last, "end", 0)) + 1
        kept = text[:end] + ")" * depth
        if read(kept, draft.dialect) is not None:
            return (
                Candidate(
                    RuleName.CUT_TAIL,
                    kept,
                    keeps_meaning=False,
                    before=text[end : end + 80].strip(),
                    after="",
                    doubt=SQL_DOUBT if _WORDS_OF_SQL.search(text[end:]) else PROSE_DOUBT,
                ),
            )
    return ()
