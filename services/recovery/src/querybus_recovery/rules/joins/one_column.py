"""A sub-query that stands for one value, or for a list of values, gives one column only.

`x IN (SELECT x, COUNT(*) ...)`: the column that it is compared with stays; the others say how it was found, and go. An
assumption. An order by a name that goes becomes one by what it stood for.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import read, write
from querybus.text.similarity import plain
from querybus_recovery.rules.candidate import Candidate

_CODES: Final = (FailureCode.TYPE_MISMATCH, FailureCode.SYNTAX_ERROR)
_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
SAME_NAME_DOUBT: Final = 0.1
FIRST_DOUBT: Final = 0.4


def one_column(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with one column in each such sub-query."""
    del catalog
    tree = read(draft.sql, draft.dialect) if failure.code in _CODES else None
    if tree is None:
        return ()
    dropped: list[str] = []
    doubt = 0.0
    for node in list(tree.find_all(exp.In, *_COMPARISONS)):
        query = node.args.get("query") if isinstance(node, exp.In) else node.expression
        inner = query.unnest() if isinstance(query, exp.Expr) else None
        if not isinstance(inner, exp.Select) or not isinstance(node.this, exp.Column) or len(inner.expressions) < 2:
            continue
        same = [item for item in inner.expressions if _is_of(item, node.this)]
        # A list is of values that stand in a column, a value to compare with is computed.
        kind = exp.Column if isinstance(node, exp.In) else exp.AggFunc
        likely = [item for item in inner.expressions if isinstance(item.unalias(), kind)]
        kept = (same or likely or inner.expressions)[0]
        doubt = max(doubt, SAME_NAME_DOUBT if len(same) == 1 else FIRST_DOUBT)
        for item in inner.expressions:
            if item is not kept:
                dropped.append(item.sql(dialect=draft.dialect.value))
                _name_in_full(inner, item)
        inner.set("expressions", [kept])
    if not dropped:
        return ()
    return (
        Candidate(
            RuleName.ONE_COLUMN, write(tree, draft.dialect), keeps_meaning=False, before=", ".join(dropped), doubt=doubt
        ),
    )


def _is_of(output: exp.Expr, column: exp.Column) -> bool:
    """Return whether an output is a column of that name, or an aggregate of it."""
    inner = output.unalias()
    if isinstance(inner, exp.AggFunc):
        inner = inner.this
    return isinstance(inner, exp.Column) and plain(inner.name) == plain(column.name)


def _name_in_full(inner: exp.Select, output: exp.Expr) -> None:
    """Write what an output stands for wherever its name is used."""
    if not isinstance(output, exp.Alias):
        return
    for clause in (inner.args.get("order"), inner.args.get("having")):
        for column in list(clause.find_all(exp.Column)) if clause is not None else ():
            if not column.table and column.name.lower() == output.alias.lower():
                column.replace(output.this.copy())
