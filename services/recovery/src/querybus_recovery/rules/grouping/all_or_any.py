"""`> ALL (...)` becomes a comparison with the largest value, `> ANY` with the smallest, `= ANY` becomes IN.

For engines without ALL and ANY. An assumption, because an empty sub-query makes ALL true and the rewriting not.
"""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.engines import ENGINES
from querybus.sql.edit import bare, identifier, read, write
from querybus_recovery.rules.candidate import Candidate

_CODES = (FailureCode.SYNTAX_ERROR, FailureCode.FUNCTION_NOT_FOUND)


def all_or_any(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with every such comparison rewritten."""
    del catalog
    if ENGINES[draft.dialect].has_quantifiers or failure.code not in _CODES:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    changed: list[str] = []
    for quantified in list(tree.find_all(exp.All, exp.Any)):
        comparison = quantified.parent
        query = quantified.this.unnest() if isinstance(quantified.this, exp.Expr) else None
        if not isinstance(comparison, exp.Binary) or not isinstance(query, exp.Select) or len(query.expressions) != 1:
            continue
        before = comparison.sql(dialect=draft.dialect.value)
        is_all = isinstance(quantified, exp.All)
        if isinstance(comparison, exp.EQ) and not is_all:
            comparison.replace(exp.In(this=comparison.this.copy(), query=exp.Subquery(this=query.copy())))
        elif isinstance(comparison, exp.NEQ) and is_all:
            comparison.replace(exp.Not(this=exp.In(this=comparison.this.copy(), query=exp.Subquery(this=query.copy()))))
        elif isinstance(comparison, exp.GT | exp.GTE | exp.LT | exp.LTE):
            takes_most = isinstance(comparison, exp.GT | exp.GTE) == is_all
            quantified.replace(exp.Subquery(this=_extreme(query, exp.Max if takes_most else exp.Min)))
        else:
            continue
        changed.append(before)
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.ALL_OR_ANY,
            write(tree, draft.dialect),
            keeps_meaning=False,
            before=", ".join(changed),
            after="MIN / MAX / IN",
            doubt=0.2,
        ),
    )


def _extreme(query: exp.Select, function: type[exp.AggFunc]) -> exp.Select:
    output = query.expressions[0].unalias()
    is_plain = not any(query.args.get(name) for name in ("group", "limit", "having", "offset")) and not output.find(
        exp.AggFunc
    )
    if is_plain:
        inner = query.copy()
        inner.set("expressions", [function(this=output.copy())])
        inner.set("distinct", None)
        inner.set("order", None)
        return inner
    inner = query.copy()
    inner.set("expressions", [exp.Alias(this=output.copy(), alias=identifier("value_1"))])
    return exp.Select(expressions=[function(this=bare("value_1"))]).from_(
        exp.Subquery(this=inner, alias=exp.TableAlias(this=identifier("compared")))
    )
