"""A name that only an output can have, in ORDER BY or HAVING, becomes that output.

`ORDER BY avg_price` beside `AVG(price) AS average_price`, `ORDER BY count` beside `COUNT(*)`. An assumption; only where
one output is called so, or is the block's one aggregate of that function; `count` alone counts the groups' rows.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import glance, identifier, read, unresolved, write
from querybus.text.similarity import SCORE_MIN, score, words
from querybus_recovery.rules.candidate import Candidate

CALLED_DOUBT: Final = 0.1
FUNCTION_DOUBT: Final = 0.2
_FUNCTIONS: Final = {
    "count": exp.Count, "cnt": exp.Count, "number": exp.Count, "num": exp.Count, "sum": exp.Sum, "total": exp.Sum,
    "avg": exp.Avg, "average": exp.Avg, "mean": exp.Avg, "max": exp.Max, "maximum": exp.Max, "highest": exp.Max,
    "min": exp.Min, "minimum": exp.Min, "lowest": exp.Min,
}  # fmt: skip


def output_name(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with each such name replaced by the output's own, or by what the output is."""
    if failure.code is not FailureCode.COLUMN_NOT_FOUND:
        return ()
    if not glance(draft.sql, draft.dialect, catalog, failure.facts.name).lacks_in_order:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    changed: dict[str, str] = {}
    doubt = CALLED_DOUBT
    for site in unresolved(tree, catalog, failure.facts.name):
        column, select = site.column, site.select
        clause = column.find_ancestor(exp.Order, exp.Having, exp.Select)
        if select is None or column.table or not isinstance(clause, exp.Order | exp.Having):
            continue
        called = [item for item in select.expressions if score(column.name, item.alias) >= SCORE_MIN]
        by_function = [item for item in select.expressions if _is_of_function(column.name, item.unalias())]
        found = called or by_function
        if not found and _FUNCTIONS.get(column.name.lower()) is exp.Count and select.args.get("group") is not None:
            changed[column.name] = "COUNT(*)"
            doubt = FUNCTION_DOUBT
            column.replace(exp.Count(this=exp.Star()))
        if len(found) != 1:
            continue
        doubt = doubt if called else FUNCTION_DOUBT
        output = found[0]
        changed[column.name] = output.alias or output.sql(dialect=draft.dialect.value)
        if output.alias and isinstance(clause, exp.Order):
            column.set("this", identifier(output.alias))
        else:
            column.replace(output.unalias().copy())
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.OUTPUT_NAME,
            write(tree, draft.dialect),
            keeps_meaning=False,
            before=", ".join(changed),
            after=", ".join(changed.values()),
            doubt=doubt,
        ),
    )


def _is_of_function(name: str, output: exp.Expr) -> bool:
    said = [kind for word in words(name) if (kind := _FUNCTIONS.get(word)) is not None]
    # "total_count" counts, "number_of_x" as well: the last word that names a function says which.
    return bool(said) and type(output) in said[-1:]
