"""What is selected beside aggregates and not grouped is added to GROUP BY.

An assumption: the groups become finer where the added column does not follow from the others.
"""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import read, write
from querybus_recovery.rules.candidate import Candidate


def group_completion(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with every plain output column grouped."""
    del catalog
    if failure.code is not FailureCode.GROUPING_ERROR:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    added: list[str] = []
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        grouped = list(group.expressions) if isinstance(group, exp.Group) else []
        outputs = [expression.unalias() for expression in select.expressions]
        having = select.args.get("having")
        if not grouped and having is None and not any(output.find(exp.AggFunc) for output in outputs):
            continue
        ordered: exp.Order | None = select.args.get("order")
        also = [expression.this for expression in ordered.expressions] if ordered is not None and grouped else []
        lacking = [
            output
            for output in [*outputs, *also]
            if isinstance(output, exp.Column) and not isinstance(output.this, exp.Star) and output not in grouped
        ]
        lacking = list(dict.fromkeys(lacking))
        if lacking:
            added += [attempt.sql(dialect=draft.dialect.value) for attempt in lacking]
            select.set("group", exp.Group(expressions=[*grouped, *(item.copy() for item in lacking)]))
    if not added:
        return ()
    return (
        Candidate(
            RuleName.GROUP_COMPLETION,
            write(tree, draft.dialect),
            keeps_meaning=False,
            before="GROUP BY",
            after=", ".join(added),
            doubt=0.3,
        ),
    )
