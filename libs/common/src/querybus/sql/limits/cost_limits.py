"""What a statement may cost, as far as its text says: sizes, series, recursion, products, patterns.

No engine can be asked here. Literals are followed through arithmetic; what cannot be followed where a size is wanted
counts as too large. Limits are for one statement; the session limits of the executor stand behind them.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from typing import Final, cast

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.sql.facts import StatementFacts, cte_of, fold_of, source_names, sources_of
from querybus.sql.guard.rules import Rule, refuse
from querybus.sql.limits.recursion import (
    RECURSION_BOUND_MAX,
    bounding_numbers,
    cost,
    extent,
    length,
    recursion,
    size_argument,
)

TEXT_LENGTH_MAX: Final = 1_000_000
"""Characters that one expression may build out of literals and repetition."""
TIMES_MAX: Final = 10_000
"""Repetitions, paddings and widths in one call."""
SERIES_MAX: Final = 1_000_000
"""Rows or elements that all series of one statement may make, multiplied."""
SERIES_LENGTH_MAX: Final = 10_000_000
"""Characters that a series of built texts may hold together."""
SERIES_BESIDE_PRODUCT_MAX: Final = 1_000
EXPONENT_MAX: Final = 1_000
WILDCARDS_MAX: Final = 8
PATTERN_LENGTH_MAX: Final = 500
UNRELATED_SOURCES_MAX: Final = 2
"""How many sources of one statement may stand beside the others without a condition, less one."""


_SERIES: Final[dict[str, str]] = {
    "range": "range",
    "generate_series": "range",
    "generateseries": "range",
    "generate_array": "range",
    "array_generate_range": "range",
    "numbers": "last",
    "numbers_mt": "last",
    "zeros": "last",
    "timeslots": "free",
    "generate_subscripts": "free",
}
_FORMATS: Final = frozenset({"printf", "format", "sprintf"})


def over_size(facts: StatementFacts, dialect: Dialect) -> Failure | None:
    """Return why the statement's text asks for too much, or None."""
    series, largest, unrelated = 1.0, 0.0, 0
    for node in facts.nodes:
        if type(node) not in _LOOKED_AT:
            continue
        refusal = _node(node)
        if refusal is not None:
            return refusal
        if isinstance(node, exp.Repeat | exp.Pad) or size_argument(node) is not None:
            largest = max(largest, length(node))
        rows = _series_rows(node)
        if rows > 1:
            series *= rows
            if not series <= SERIES_MAX:
                return cost(Rule.SERIES, f"a series of more than {SERIES_MAX:,} values", _name(node))
    if series > 1 and series * largest > SERIES_LENGTH_MAX:
        return cost(Rule.SIZE, f"a series of texts of more than {SERIES_LENGTH_MAX:,} characters together")
    for cte in facts.ctes:
        refusal = recursion(cte, dialect)
        if refusal is not None:
            return refusal
    for select in facts.selects:
        connect = select.args.get("connect")
        if isinstance(connect, exp.Connect):
            refusal = _connect(connect)
            if refusal is not None:
                return refusal
        unrelated += max(_unrelated(select, dialect) - 1, 0)
        if unrelated >= UNRELATED_SOURCES_MAX:
            return refuse(
                FailureCode.JOIN_ERROR,
                Rule.CARTESIAN_PRODUCT,
                "tables without a condition between them",
                tables=tuple(sorted(source_names(select, dialect)))[:8],
            )
    if unrelated and series > SERIES_BESIDE_PRODUCT_MAX:
        return cost(Rule.CARTESIAN_PRODUCT, "a long series multiplied by rows")
    return None


_LOOKED_AT: Final[frozenset[type[exp.Expr]]] = frozenset(
    {
        exp.DataType,
        exp.Anonymous,
        exp.AnonymousAggFunc,
        exp.Repeat,
        exp.Pad,
        exp.Space,
        exp.Replace,
        exp.DPipe,
        exp.Concat,
        exp.Pow,
        exp.Like,
        exp.ILike,
        exp.Glob,
        exp.SimilarTo,
        exp.Format,
        exp.GenerateSeries,
        exp.ExplodingGenerateSeries,
        exp.GenerateDateArray,
        exp.GenerateTimestampArray,
        exp.Generator,
        exp.RegexpLike,
        exp.RegexpILike,
        exp.RegexpExtract,
        exp.RegexpReplace,
        exp.RegexpSplit,
        exp.RegexpCount,
        exp.RegexpInstr,
        exp.RegexpExtractAll,
        exp.RegexpFullMatch,
        exp.RegexpSubstr,
    }
)


def _name(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        return str(node.this).lower()
    return node.sql_names()[0].lower() if isinstance(node, exp.Func) else type(node).__name__.lower()


_PADDED: Final = frozenset(
    {
        exp.DataType.Type.CHAR,
        exp.DataType.Type.NCHAR,
        exp.DataType.Type.BPCHAR,
        exp.DataType.Type.BINARY,
        exp.DataType.Type.FIXEDSTRING,
    }
)
"""Types whose values are filled up to their length."""


def _padded_type(node: exp.DataType) -> Failure | None:
    if node.this not in _PADDED:
        return None
    for expression in node.expressions:
        width = expression.this if isinstance(expression, exp.DataTypeParam) else expression
        if isinstance(width, exp.Expr) and not extent(width) <= TIMES_MAX:
            return cost(Rule.SIZE, f"a size above {TIMES_MAX:,} is not allowed", "cast")
    return None


def _node(node: exp.Expr) -> Failure | None:
    if isinstance(node, exp.DataType):
        return _padded_type(node)
    size = size_argument(node)
    if size is not None and not extent(size) <= TIMES_MAX:
        return cost(Rule.SIZE, f"a size above {TIMES_MAX:,} is not allowed", _name(node))
    if isinstance(node, exp.Repeat | exp.Pad | exp.Replace | exp.DPipe | exp.Concat) or size is not None:
        parent = node.parent
        if not isinstance(parent, exp.Repeat | exp.Pad | exp.Replace | exp.DPipe | exp.Concat) and not (
            length(node) <= TEXT_LENGTH_MAX
        ):
            return cost(Rule.SIZE, f"a text of more than {TEXT_LENGTH_MAX:,} characters", _name(node))
    if isinstance(node, exp.Pow) and not extent(node.expression) <= EXPONENT_MAX:
        return cost(Rule.SIZE, f"a power above {EXPONENT_MAX}", "power")
    if isinstance(node, exp.Like | exp.ILike | exp.Glob):
        return _wildcards(node)
    if isinstance(node, exp.SimilarTo):
        return _wildcards(node) or _regular_expression(node.args.get("expression"))
    if isinstance(
        node,
        exp.RegexpLike
        | exp.RegexpILike
        | exp.RegexpExtract
        | exp.RegexpReplace
        | exp.RegexpSplit
        | exp.RegexpCount
        | exp.RegexpInstr
        | exp.RegexpExtractAll
        | exp.RegexpFullMatch
        | exp.RegexpSubstr,
    ):
        return _regular_expression(node.args.get("expression"))
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
        if name.startswith("regexp") and len(node.expressions) > 1:
            return _regular_expression(node.expressions[1])
        if name in _FORMATS and node.expressions:
            return _format(node.expressions)
    if isinstance(node, exp.Format):
        return _format([node.this, *node.expressions])
    return None


_WIDTH = re.compile(r"%[-+ #0!,]*(\*|\d+)?(?:\.(\*|\d+))?")


def _format(arguments: Sequence[exp.Expr]) -> Failure | None:
    pattern = arguments[0]
    if not isinstance(pattern, exp.Literal):
        return None if isinstance(pattern, exp.Column) else cost(Rule.SIZE, "a format that is no plain text", "format")
    for width, precision in _WIDTH.findall(pattern.name):
        for text in (width, precision):
            if text == "*" and not all(extent(other) <= TIMES_MAX for other in arguments[1:] if _is_number(other)):
                return cost(Rule.SIZE, f"a width above {TIMES_MAX:,}", "format")
            if text.isdigit() and int(text[:9]) > TIMES_MAX:
                return cost(Rule.SIZE, f"a width above {TIMES_MAX:,}", "format")
    return None


def _is_number(node: exp.Expr) -> bool:
    return not (isinstance(node, exp.Literal) and node.is_string) and not isinstance(node, exp.Column)


def _wildcards(node: exp.Expr) -> Failure | None:
    pattern = node.args.get("expression")
    if isinstance(pattern, exp.Escape):
        pattern = pattern.this
    if not isinstance(pattern, exp.Literal):
        return None if length(pattern) <= 10_000 else cost(Rule.PATTERN, "a long pattern", "like")
    sign = "*" if isinstance(node, exp.Glob) else "%"
    runs = len(re.findall(re.escape(sign) + "+", pattern.name))
    if runs > WILDCARDS_MAX:
        return cost(Rule.PATTERN, f"a pattern with more than {WILDCARDS_MAX} wildcards", "like")
    return None


_NESTED_QUANTIFIER = re.compile(r"\([^()]*[+*}][^()]*\)\s*[+*{]|\((?:[^()]*\|)+[^()]*\)\s*[+*]")
_REPETITION = re.compile(r"\{(\d+)(?:,(\d*))?\}")


def _regular_expression(pattern: object) -> Failure | None:
    if not isinstance(pattern, exp.Literal | exp.RawString):
        return None
    text = pattern.name
    if len(text) > PATTERN_LENGTH_MAX:
        return cost(Rule.PATTERN, f"a pattern of more than {PATTERN_LENGTH_MAX} characters", "regexp")
    if _NESTED_QUANTIFIER.search(text) or re.search(r"\\\d", text):
        return cost(Rule.PATTERN, "a repetition of a repetition", "regexp")
    if re.search(r"(?:(?:\.|\\w|\[[^\]]*\])[*+].*?){5,}", text):
        return cost(Rule.PATTERN, "many open repetitions", "regexp")
    if any(int((most or least)[:9]) > 1_000 for least, most in _REPETITION.findall(text)):
        return cost(Rule.PATTERN, "a large repetition", "regexp")
    return None


def _series_rows(node: exp.Expr) -> float:
    if isinstance(node, exp.GenerateSeries | exp.ExplodingGenerateSeries):
        return _between(node.args.get("start"), node.args.get("end"), node.args.get("step"))
    if isinstance(node, exp.GenerateDateArray | exp.GenerateTimestampArray):
        return _between(node.args.get("start"), node.args.get("end"), node.args.get("step"))
    if isinstance(node, exp.Generator):
        if node.args.get("rowcount") is None:
            return math.inf
        return extent(node.args.get("rowcount"))
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        shape = _SERIES.get(str(node.this).lower())
        arguments = cast("list[exp.Expr]", node.expressions)
        if shape is None or shape == "free":
            return 1
        if not arguments:
            return math.inf
        if shape == "last":
            return extent(arguments[-1])
        if len(arguments) == 1:
            return extent(arguments[0])
        return _between(arguments[0], arguments[1], arguments[2] if len(arguments) > 2 else None)
    return 1


def _between(start: object, end: object, step: object) -> float:
    seconds = _seconds(step)
    if seconds is not None:
        first, last = _moment(start), _moment(end)
        span = abs((last - first).total_seconds()) if first and last else 366 * 86_400 * 100.0
        return span / max(seconds, 1e-6)
    if _moment(start) and _moment(end):
        span = abs((cast("dt.datetime", _moment(end)) - cast("dt.datetime", _moment(start))).total_seconds())
        return span / 86_400
    stride = 1.0
    if isinstance(step, exp.Expr):
        literal = step.this if isinstance(step, exp.Neg | exp.Paren) else step
        stride = extent(literal) if isinstance(literal, exp.Literal) and not literal.is_string else 1.0
        if stride == 0:
            return math.inf
    return (extent(start if start is not None else exp.Literal.number(0)) + extent(end)) / stride + 1


_UNIT_SECONDS: Final = {
    "microsecond": 1e-6,
    "millisecond": 1e-3,
    "second": 1.0,
    "sec": 1.0,
    "minute": 60.0,
    "min": 60.0,
    "hour": 3_600.0,
    "day": 86_400.0,
    "week": 604_800.0,
    "month": 2_592_000.0,
    "mon": 2_592_000.0,
    "quarter": 7_776_000.0,
    "year": 31_536_000.0,
}


def _seconds(step: object) -> float | None:
    while isinstance(step, exp.Cast | exp.Paren | exp.Neg):
        step = step.this
    if isinstance(step, exp.Interval):
        unit, count = step.args.get("unit"), step.this
        text = f"{count.name if isinstance(count, exp.Expr) else 1} {unit.name if isinstance(unit, exp.Expr) else ''}"
    elif isinstance(step, exp.Literal) and step.is_string:
        text = step.name
    else:
        return None
    total, result = 0.0, False
    for count, unit in re.findall(r"(-?\d+(?:\.\d+)?)\s*([A-Za-z]+)", text):
        size = _UNIT_SECONDS.get(unit.lower().rstrip("s") or unit.lower(), _UNIT_SECONDS.get(unit.lower()))
        if size is None:
            return 1e-6
        total, result = total + abs(float(count)) * size, True
    return total if result else 1e-6


def _moment(node: object) -> dt.datetime | None:
    while isinstance(node, exp.Cast | exp.Paren | exp.Date | exp.Timestamp | exp.TsOrDsToTimestamp):
        node = node.this
    if isinstance(node, exp.Literal) and node.is_string:
        try:
            return dt.datetime.fromisoformat(node.name).replace(tzinfo=None)
        except ValueError:
            return None
    return None


def _connect(connect: exp.Connect) -> Failure | None:
    condition = connect.args.get("connect")
    if not isinstance(condition, exp.Expr):
        return cost(Rule.RECURSION, "CONNECT BY without a condition", "connect by")
    numbers = bounding_numbers(condition)
    bounded = [node for node in condition.find_all(exp.LT, exp.LTE) if node.find(exp.Column, exp.Pseudocolumn)]
    if condition.find(exp.Prior) is None and not (bounded and numbers):
        return cost(Rule.RECURSION, "CONNECT BY without an end", "connect by")
    if any(extent(number) > RECURSION_BOUND_MAX for number in numbers):
        return cost(Rule.RECURSION, f"CONNECT BY of more than {RECURSION_BOUND_MAX:,} levels", "connect by")
    return None


def _unrelated(select: exp.Select, dialect: Dialect) -> int:
    """Return into how many unrelated groups the sources of a query fall; sources of one or few rows do not count."""
    sources = sources_of(select)
    if len(sources) < 2:
        return 1
    names = {_source_name(source, dialect): at for at, source in enumerate(sources)}
    group = list(range(len(sources)))

    def unite(members: set[int]) -> None:
        roots = {group[member] for member in members}
        if len(roots) > 1:
            lowest = min(roots)
            for at, root in enumerate(group):
                if root in roots:
                    group[at] = lowest

    conditions = [select.args["where"].this] if isinstance(select.args.get("where"), exp.Expr) else []
    for at, source in enumerate(sources):
        join = source.parent
        if not isinstance(join, exp.Join):
            continue
        if join.args.get("using") or join.args.get("method") or join.args.get("kind") == "ARRAY":
            unite({max(at - 1, 0), at})
        if isinstance(join.args.get("on"), exp.Expr):
            conditions.append(join.args["on"])
    for condition in conditions:
        for part in _conjuncts(condition):
            qualified: set[int] = set()
            bare: set[str] = set()
            for column in part.find_all(exp.Column):
                if column.args.get("table"):
                    qualified |= {at for at in (names.get(fold_of(column.args["table"], dialect)),) if at is not None}
                else:
                    bare.add(column.name)
            # A column without a qualifier may belong to any source: two of them are taken to relate all.
            unite(set(range(len(sources))) if bare and len(qualified) + len(bare) > 1 else qualified)
    for at, source in enumerate(sources):
        unite({at, *(names[name] for name in _lists_of(source, dialect) if name in names)})
    return len({group[at] for at, source in enumerate(sources) if not _is_small(source, dialect)})


def _lists_of(source: exp.Expr, dialect: Dialect) -> set[str]:
    """Return the sources whose columns a list in FROM unfolds: `UNNEST(v.props)`, `json_each(v.props)`."""
    unfolds = isinstance(source, exp.Unnest | exp.Lateral) or not isinstance(source.this, exp.Identifier | exp.Query)
    inner = source if isinstance(source, exp.Unnest) else source.this
    if not unfolds or not isinstance(inner, exp.Expr):
        return set()
    return {fold_of(table, dialect) for column in inner.find_all(exp.Column) if (table := column.args.get("table"))}


def _source_name(node: exp.Expr, dialect: Dialect) -> str:
    alias = node.args.get("alias")
    if isinstance(alias, exp.TableAlias) and (alias.this is not None or alias.args.get("columns")):
        # BigQuery names the elements of a list where others name the list.
        return fold_of(alias.this or alias.args["columns"][0], dialect)
    return fold_of(node.this, dialect) if isinstance(node, exp.Table) else f"\x00{id(node)}"


_SMALL_ARMS_MAX: Final = 10
"""Queries of a union that still makes a short list."""


def _reads(query: exp.Expr, name: str) -> bool:
    return any(table.name.lower() == name.lower() for table in query.find_all(exp.Table))


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    nodes: list[exp.Expr] = []
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, exp.And):
            stack.extend((part.this, part.expression))
        elif isinstance(part, exp.Paren):
            stack.append(part.this)
        else:
            nodes.append(part)
    return nodes


def _is_small(source: exp.Expr, dialect: Dialect) -> bool:
    """Return whether a source has few rows by its text: one aggregate row, VALUES, a short series, `dual`."""
    inner: object = source.this if isinstance(source, exp.Subquery) else source
    if isinstance(inner, exp.Table) and (cte := cte_of(inner, dialect)) is not None:
        # A WITH table that reads itself grows.
        inner = None if _reads(cte.this, cte.args["alias"].this.name) else cte.this
    arms = 1
    while isinstance(inner, exp.SetOperation | exp.Subquery) and not inner.args.get("joins"):
        if isinstance(inner, exp.SetOperation):
            arms += 1
            if arms > _SMALL_ARMS_MAX or not _is_small(exp.Subquery(this=inner.expression.copy()), dialect):
                return False
        inner = inner.this
    if isinstance(inner, exp.Select):
        if inner.args.get("from_") is None:
            return True
        limit = inner.args.get("limit")
        if isinstance(limit, exp.Limit) and extent(limit.expression) <= 10:
            return True
        return (
            inner.args.get("group") is None
            and bool(inner.expressions)
            and all(
                expression.find(exp.AggFunc) is not None and expression.find(exp.Window) is None
                for expression in inner.expressions
            )
        )
    if not isinstance(inner, exp.Expr):
        return False
    if isinstance(inner, exp.Values | exp.Lateral | exp.Unnest | exp.TableFromRows | exp.Alias):
        return True
    return isinstance(inner, exp.Table) and not isinstance(inner.this, exp.Identifier)
