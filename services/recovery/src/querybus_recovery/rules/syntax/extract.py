"""A statement inside a fence, after prose or before trailing text is taken out of it, unchanged.

The same reading as of a model's reply: fragments are never joined, and of several statements none is taken, because
the first of several was right in one of fifteen measured cases.
"""

from __future__ import annotations

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import read
from querybus.sql.reply.extract import extract as read_reply
from querybus_recovery.rules.candidate import Candidate


def extract(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the one query that the text holds besides what is no SQL."""
    del catalog
    if failure.code not in (FailureCode.SYNTAX_ERROR, FailureCode.MULTI_STATEMENT):
        return ()
    result = read_reply(draft.sql, draft.dialect)
    if isinstance(result, Failure) or result == draft.sql.strip() or read(result, draft.dialect) is None:
        return ()
    return (Candidate(RuleName.EXTRACT, result, keeps_meaning=True, doubt=0.0),)
