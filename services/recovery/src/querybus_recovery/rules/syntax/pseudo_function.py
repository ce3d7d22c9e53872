"""`DIVIDE(a, b)`, `SUBTRACT`, `MULTIPLY` and `ADD` become the operators that they spell.

A division is made one of real numbers, which is an assumption; the others keep the meaning.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import read, write
from querybus_recovery.rules.candidate import Candidate

_OPERATORS: Final[dict[str, type[exp.Binary]]] = {
    "DIVIDE": exp.Div,
    "SUBTRACT": exp.Sub,
    "MINUS": exp.Sub,
    "MULTIPLY": exp.Mul,
    "ADD": exp.Add,
    "PLUS": exp.Add,
}


def pseudo_function(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with every such call as an operator."""
    del catalog
    if failure.code is not FailureCode.FUNCTION_NOT_FOUND:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    changed: list[str] = []
    while (call := _call(tree)) is not None:
        operator = _OPERATORS[call.name.upper()]
        left, right = (
            exp.Paren(this=expression.copy()) if isinstance(expression, exp.Binary) else expression.copy()
            for expression in call.expressions
        )
        if operator is exp.Div:
            left = exp.Cast(this=left, to=exp.DataType.build("double"))
        changed.append(call.name.upper())
        whole = exp.Paren(this=operator(this=left, expression=right))
        if call is tree:
            return ()
        call.replace(whole)
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.PSEUDO_FUNCTION,
            write(tree, draft.dialect),
            keeps_meaning="DIVIDE" not in changed,
            before=", ".join(dict.fromkeys(changed)),
            after=", ".join(dict.fromkeys(_SIGNS[_OPERATORS[item]] for item in changed)),
            doubt=0.1,
        ),
    )


_SIGNS: Final[dict[type[exp.Binary], str]] = {exp.Div: "/", exp.Sub: "-", exp.Mul: "*", exp.Add: "+"}


def _call(tree: exp.Expr) -> exp.Anonymous | None:
    return next(
        (
            node
            for node in tree.find_all(exp.Anonymous)
            if node.name.upper() in _OPERATORS and len(node.expressions) == 2
        ),
        None,
    )
