"""Rule: on ClickHouse no function is called by its bare name."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from querybus.core.failure import Failure
from querybus.engines import ENGINES
from querybus.sql.facts import StatementFacts
from querybus.sql.guard.allowed import functions
from querybus.sql.guard.context import Context
from querybus.sql.guard.rules import Rule, unsafe
from querybus.text.words import word_set


def bare_function_names(facts: StatementFacts, context: Context) -> Failure | None:
    """Refuse ClickHouse's calls of a function by its bare name: in APPLY and in the place of a lambda.

    `arrayMap(file, [...])` calls `file`. Where a lambda may stand a name has to be a WITH name or a table's column.
    """
    if not ENGINES[context.dialect].calls_by_bare_name:
        return None
    sources = context.sources
    named = {cte.alias for cte in facts.ctes if cte.args.get("scalar")}
    columns = {name for table in sources for name in table.columns}
    for node in facts.nodes:
        if isinstance(node, exp.Apply):
            name = node.expression.name
            if not isinstance(node.expression, exp.Var | exp.Identifier | exp.Column) or (
                name.lower() not in functions.LISTED[context.dialect]
            ):
                return unsafe(Rule.FUNCTION, f"function {name[:80]} is not allowed in APPLY", name)
        elif isinstance(node, exp.Func) and not isinstance(node, exp.Array | exp.Struct | exp.Cast):
            arguments = list(node.iter_expressions())
            if len(arguments) < 2 or any(isinstance(argument, exp.Lambda) for argument in arguments):
                continue
            for argument in arguments:
                name = argument.name
                if not isinstance(argument, exp.Column) or argument.args.get("table") is not None or name in named:
                    continue
                is_column, may_be_called = name in columns, _takes_a_lambda(node)
                if (functions.is_dangerous(name) and (may_be_called or not is_column)) or (
                    may_be_called and not is_column
                ):
                    return unsafe(Rule.FUNCTION, "function name in place of a column is not allowed", name)
    return None


_LAMBDA_KINDS: Final = (exp.Transform, exp.ArrayFilter, exp.ArrayAll, exp.ArrayAny, exp.ArraySort, exp.Reduce)
_LAMBDA_NAMES: Final = re.compile(r"(array|map)\w*", re.IGNORECASE)
_NO_LAMBDA: Final = word_set(
    """arrayelement arrayconcat arrayslice arrayresize arraypushback arraypushfront arraypopback arraypopfront
    arraystringconcat arrayzip arrayzipunaligned arrayintersect arrayunion arrayexcept arrayenumerate arrayenumerateuniq
    arrayenumeratedense arraydifference arrayjoin arrayuniq arraydistinct arrayreverse arrayreduce arrayreduceinranges
    arraycompact arrayauc arraydotproduct arraywithconstant arrayhas has hasall hasany indexof countequal arrayrotateleft
    arrayrotateright arrayshiftleft arrayshiftright arraylevenshteindistance mapcontains mapcontainskey mapcontainsvalue
    mapkeys mapvalues mapadd mapsubtract mapupdate mapconcat mapfromarrays mappopulateseries map array arrayflatten
    arrayempty arraymin arrayshingles arrayrange arrayjaccardindex arraysymmetricdifference"""
)


def _takes_a_lambda(node: exp.Func) -> bool:
    if isinstance(node, _LAMBDA_KINDS):
        return True
    name = str(node.this) if type(node) in functions.BY_NAME_KINDS else node.sql_names()[0].replace("_", "")
    return _LAMBDA_NAMES.fullmatch(name) is not None and name.lower() not in _NO_LAMBDA
