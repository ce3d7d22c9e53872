"""A word that a clause lacks, or has once too often, is put right where the text then reads.

`ORDER price` and `GROUP city` get their BY, a second WHERE and the TO of a BETWEEN become AND, a comma is put between two
outputs, an AND, OR or comma with nothing after it goes, and a misspelt first keyword of a query is spelled right. What was
meant is not in doubt, so no meaning is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import read
from querybus.sql.parse import GRAMMARS, parse
from querybus.sql.reply.first_keyword import correct_first_keyword
from querybus_recovery.rules.candidate import Candidate

CHANGES_MAX: Final = 4
_OPENING: Final = frozenset({"SELECT", "WHERE", "HAVING", "UNION", "INTERSECT", "EXCEPT"})
_DANGLING: Final = frozenset({"AND", "OR", ","})
_ENDING: Final = frozenset({"FROM", "GROUP BY", "ORDER BY", "LIMIT", "HAVING", "WHERE", ")", ";"})
_QUERY_KEYWORD: Final = re.compile(r"[\s(]*(SELECT|WITH)\b")
_Change = tuple[int, int, str]
"""Where the old piece begins and ends in the text, and what stands there then."""


def clause_word(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with all such words put right, if it then reads as one query."""
    del catalog
    if failure.code is not FailureCode.SYNTAX_ERROR:
        return ()
    text = draft.sql.strip()
    refused = parse(text, draft.dialect)
    if isinstance(refused, Failure) and refused.code is not FailureCode.SYNTAX_ERROR:
        return ()
    try:
        tokens = list(GRAMMARS[draft.dialect].tokenize(text))
    except SqlglotError:
        return ()
    changes = [*_first_keyword(text), *_changes(tokens)]
    if not 0 < len(changes) <= CHANGES_MAX:
        return ()
    after = text
    for start, end, new in sorted(changes, reverse=True):
        after = after[:start] + new + after[end:]
    after = after.strip()
    if read(after, draft.dialect) is None:
        return ()
    before = ", ".join(text[start:end] or new.strip() for start, end, new in changes)
    return (Candidate(RuleName.CLAUSE_WORD, after, keeps_meaning=True, before=before, doubt=0.05),)


def _first_keyword(text: str) -> Iterator[_Change]:
    correct = correct_first_keyword(text)
    # A query only: nobody is guessed to have meant a change.
    if correct is not None and (query := _QUERY_KEYWORD.match(correct)) is not None:
        end = query.end(1) - (len(correct) - len(text))
        yield query.start(1), end, query[1]


def _changes(tokens: list[Any]) -> Iterator[_Change]:
    open_clauses: list[str] = [""]
    for number, token in enumerate(tokens):
        word = token.text.upper()
        before = tokens[number - 1] if number else None
        following = tokens[number + 1].text.upper() if number + 1 < len(tokens) else ";"
        if token.token_type is TokenType.L_PAREN:
            open_clauses.append("")
        elif token.token_type is TokenType.R_PAREN:
            open_clauses[:] = open_clauses[:-1] or [""]
        elif word in ("ORDER", "GROUP") and following not in ("BY", ".", ",") and before is not None:
            yield token.end + 1, token.end + 1, " BY"
        elif (word == "WHERE" and open_clauses[-1] == "WHERE") or (
            word == "TO" and number > 2 and tokens[number - 2].text.upper() == "BETWEEN"
        ):
            yield token.start, token.end + 1, "AND"
        elif word in _DANGLING and following in _ENDING:
            yield token.start, token.end + 1, ""
        elif word == "OR" and open_clauses[-1] == "WHERE":
            open_clauses[-1] = ""  # an AND behind it would bind closer than the second WHERE does
        elif open_clauses[-1] == "SELECT" and _is_second_name(tokens, number):
            yield tokens[number - 1].end + 1, tokens[number - 1].end + 1, ","
        if word in _OPENING or word in ("FROM", "GROUP BY", "ORDER BY", "LIMIT"):
            open_clauses[-1] = word


def _is_second_name(tokens: list[Any], number: int) -> bool:
    """Return whether a qualified name begins right behind another: `a.x b.y`."""
    if not 2 < number < len(tokens) - 1:
        return False
    here, dot = tokens[number], tokens[number + 1]
    end, its_dot = tokens[number - 1], tokens[number - 2]
    return (
        dot.token_type is TokenType.DOT
        and its_dot.token_type is TokenType.DOT
        and all(token.token_type in (TokenType.VAR, TokenType.IDENTIFIER) for token in (here, end))
    )
