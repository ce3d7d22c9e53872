"""`= NULL` becomes `IS NULL`, in a statement that the engine refused for the types it compares.

An assumption with a note: `= NULL` is never true, so the operator changes. A statement that runs is never touched.
"""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import read, write
from querybus_recovery.rules.candidate import Candidate


def null_comparison(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with every comparison with NULL written as the test for it."""
    del catalog
    if failure.code is not FailureCode.TYPE_MISMATCH:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    changed = False
    for comparison in list(tree.find_all(exp.EQ, exp.NEQ)):
        if not isinstance(comparison.expression, exp.Null):
            continue
        test: exp.Expr = exp.Is(this=comparison.this, expression=exp.Null())
        comparison.replace(exp.Not(this=test) if isinstance(comparison, exp.NEQ) else test)
        changed = True
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.NULL_COMPARISON,
            write(tree, draft.dialect),
            keeps_meaning=False,
            before="= NULL",
            after="IS NULL",
        ),
    )
