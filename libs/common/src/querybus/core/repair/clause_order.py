"""Clauses in the wrong order are put in the right one: WHERE before GROUP BY before HAVING before ORDER BY and LIMIT.

Within one block; nothing is added or left out. A clause that occurs twice is not touched.
"""

from __future__ import annotations

from typing import Any, Final

from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft
from querybus.core.repair.candidate import Candidate, RuleName
from querybus.core.repair.tree import read
from querybus.core.sql.parse import GRAMMARS, parse

_ORDER: Final = (
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.ORDER_BY,
    TokenType.LIMIT,
    TokenType.OFFSET,
)
_ENDS: Final = (TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT)


def clause_order(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with every block's clauses in their order."""
    del catalog
    if failure.code is not FailureCode.SYNTAX_ERROR:
        return ()
    text = draft.sql.strip().rstrip(";").rstrip()
    refused = parse(text, draft.dialect)
    if not isinstance(refused, Failure) or refused.code is not FailureCode.SYNTAX_ERROR:
        return ()
    try:
        tokens = list(GRAMMARS[draft.dialect].tokenize(text))
    except SqlglotError:
        return ()
    changed = text
    for start, clauses, end in reversed(_blocks(tokens, len(text))):
        kinds = [each[0] for each in clauses]
        ordered = sorted(clauses, key=lambda each: _ORDER.index(each[0]))
        if len(set(kinds)) != len(kinds) or ordered == clauses:
            continue
        ends = [*(each[1] for each in clauses[1:]), end]
        pieces = {kind: changed[begin:stop].strip() for (kind, begin), stop in zip(clauses, ends, strict=True)}
        rest = changed[end:]
        whole = " ".join(pieces[kind] for kind, _ in ordered)
        changed = f"{changed[:start]}{whole}{' ' if rest[:1] not in ('', ')') else ''}{rest}"
    if changed == text or read(changed, draft.dialect) is None:
        return ()
    return (Candidate(RuleName.CLAUSE_ORDER, changed, keeps_meaning=True, before="", after="", doubt=0.15),)


def _blocks(tokens: list[Any], length: int) -> list[tuple[int, list[tuple[TokenType, int]], int]]:
    """Return, per block that is not inside another, where its clauses start, what they are, and where it ends."""
    found: list[tuple[int, list[tuple[TokenType, int]], int]] = []
    depth = 0
    clauses: list[tuple[TokenType, int]] = []
    for token in tokens:
        if token.token_type is TokenType.L_PAREN:
            depth += 1
        elif token.token_type is TokenType.R_PAREN:
            depth -= 1
        elif depth == 0 and token.token_type in _ORDER:
            clauses.append((token.token_type, token.start))
        elif depth == 0 and token.token_type in _ENDS:
            if clauses:
                found.append((clauses[0][1], clauses, token.start))
            clauses = []
    if clauses:
        found.append((clauses[0][1], clauses, length))
    return found
