"""A statement inside a fence, after prose or before trailing text is taken out of it, unchanged.

Never joins fragments: where more than one complete query is left, nothing is taken, because the first of several
was right in one of fifteen measured cases.
"""

from __future__ import annotations

import re
from typing import Final

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft
from querybus.core.repair.candidate import Candidate, RuleName
from querybus.core.repair.tree import read

STARTS_MAX: Final = 6

_FENCE = re.compile(r"```[ \t]*([A-Za-z]*)[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_START = re.compile(r"\b(?:SELECT|WITH|VALUES)\b", re.IGNORECASE)
_STATEMENT = re.compile(r"\s*(?:SELECT|WITH|VALUES|INSERT|UPDATE|DELETE|DROP|CREATE|ALTER|EXPLAIN)\b", re.IGNORECASE)
_END = re.compile(r";|\n[ \t]*\n|\n(?=(?:Explanation|Note|This query|解释|说明)\b)|\n```")


def extract(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the one query that the text holds besides what is no SQL."""
    del catalog
    if failure.code not in (FailureCode.SYNTAX_ERROR, FailureCode.MULTI_STATEMENT):
        return ()
    text = _fenced(draft.sql)
    starts = list(_START.finditer(text))[:STARTS_MAX]
    for n, start in enumerate(starts):
        if n and not start[0].isupper():
            # "With this I select ..." is prose; a keyword as prose never writes it is a part of a broken statement.
            continue
        found = _statement(text[start.start() :], draft)
        if found:
            return () if found == draft.sql.strip() else (Candidate(RuleName.EXTRACT, found, keeps_meaning=True),)
        if found == "" or start[0].isupper():
            # More than one query; or a broken one, of which a sub-query must never be taken for the whole.
            return ()
    return ()


def _fenced(text: str) -> str:
    blocks = _FENCE.findall(text)
    tagged = [body for tag, body in blocks if tag.lower() == "sql"]
    if tagged:
        return tagged[-1]
    return blocks[0][1] if len(blocks) == 1 else text


def _statement(text: str, draft: Draft) -> str | None:
    """Return the query at the start of a text, None if none starts here, "" if more than one does."""
    ends = [match.start() for match in _END.finditer(text)]
    for end in [*ends[:STARTS_MAX], len(text)]:
        head, rest = text[:end].strip(), text[end:].lstrip("; \t\r\n`")
        if read(head, draft.dialect) is None:
            continue
        return "" if _STATEMENT.match(rest) else head
    return None
