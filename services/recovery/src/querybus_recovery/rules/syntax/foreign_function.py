"""A function of another dialect becomes what the connection's dialect calls it.

The call alone is read in the dialect that knows it and written in the own one; for SQLite, which has none of them,
a table says how. Text formats are translated part by part; a format with a part that has no counterpart is left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.engines import ENGINES
from querybus.sql.edit import read, write
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.syntax.sqlite_dates import in_sqlite

_SHOWN_MAX: Final = 60
_UNITS_AND_TYPES: Final = frozenset(
    {"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "VARCHAR", "NVARCHAR", "CHAR", "TEXT"}
)

Made = Callable[[Sequence[exp.Expr]], exp.Expr | None]

_HOMES: Final = ("mysql", "tsql", "postgres", "oracle", "snowflake", "bigquery", "sqlite", "duckdb")
_PARTS: Final = {
    "YEAR": "%Y", "MONTH": "%m", "DAY": "%d", "DAYOFMONTH": "%d", "HOUR": "%H", "MINUTE": "%M", "SECOND": "%S",
    "DAYOFWEEK": "%w", "WEEKDAY": "%w", "DAYOFYEAR": "%j", "WEEK": "%W",
}  # fmt: skip
_FORMAT_MYSQL: Final = {
    "%i": "%M",
    "%s": "%S",
    "%T": "%H:%M:%S",
    "%Y": "%Y",
    "%m": "%m",
    "%d": "%d",
    "%H": "%H",
    "%S": "%S",
}
_FORMAT_WORDS: Final = {"YYYY": "%Y", "MM": "%m", "DD": "%d", "HH24": "%H", "HH": "%H", "MI": "%M", "SS": "%S"}


def foreign_function(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with every such call translated; nothing if one that is not known here has no counterpart."""
    del catalog
    if failure.code not in (FailureCode.FUNCTION_NOT_FOUND, FailureCode.SYNTAX_ERROR) and not _is_unit(failure):
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    is_text = ENGINES[draft.dialect].dates_are_text
    changed = _dates_in_sqlite(tree) if is_text else _differences_of_julian_days(tree)
    for call in list(tree.find_all(exp.Func)):
        name = _name(call)
        known = _SQLITE if is_text else _ANYWHERE
        made = known[name](_arguments(call)) if name in known else None
        if made is None and name == (failure.facts.name or "").upper():
            made = _transpiled(call, draft.dialect)
        if made is None:
            continue
        changed[name] = made.sql(dialect=draft.dialect.value)
        if call is tree:
            return ()
        call.replace(made)
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.FOREIGN_FUNCTION,
            write(tree, draft.dialect),
            keeps_meaning=True,
            before=", ".join(changed),
            after=", ".join(changed.values()),
            doubt=0.1,
        ),
    )


def _is_unit(failure: Failure) -> bool:
    """Return whether the unknown column is the unit of a date function, or a type: DATEDIFF(day, ...), CONVERT(VARCHAR, ...)."""
    return failure.code is FailureCode.COLUMN_NOT_FOUND and (failure.facts.name or "").upper() in _UNITS_AND_TYPES


def _dates_in_sqlite(tree: exp.Expr) -> dict[str, str]:
    """Replace what other dialects compute of dates; return what became what, as text."""
    changed: dict[str, str] = {}
    for node in reversed(list(tree.walk())):
        made = in_sqlite(node)
        if made is not None and node is not tree:
            changed[node.sql(dialect="sqlite")[:_SHOWN_MAX]] = made.sql(dialect="sqlite")[:_SHOWN_MAX]
            node.replace(made)
    return changed


def _differences_of_julian_days(tree: exp.Expr) -> dict[str, str]:
    """Replace JULIANDAY(a) - JULIANDAY(b) by the days between two dates, which other dialects have a function for."""
    changed: dict[str, str] = {}
    for node in list(tree.find_all(exp.Sub)):
        sides = [_unbracketed(side) for side in (node.this, node.expression)]
        if all(isinstance(side, exp.Anonymous) and side.name.upper() == "JULIANDAY" for side in sides):
            later, earlier = (
                exp.Cast(this=side.expressions[0].copy(), to=exp.DataType.build("date")) for side in sides
            )
            changed["JULIANDAY"] = "DATEDIFF"
            node.replace(exp.DateDiff(this=later, expression=earlier, unit=exp.Var(this="DAY")))
    return changed


def _unbracketed(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.Paren) else node


def _name(call: exp.Func) -> str:
    if isinstance(call, exp.Anonymous):
        return call.name.upper()
    if isinstance(call, exp.Extract):
        return f"EXTRACT {call.name.upper()}"
    return call.sql_names()[0].upper()


def _arguments(call: exp.Func) -> list[exp.Expr]:
    if isinstance(call, exp.Extract):
        return [call.expression.copy()]
    if isinstance(call, exp.Anonymous | exp.Concat | exp.ConcatWs):
        return [expression.copy() for expression in call.expressions]
    values: list[exp.Expr] = []
    for value in call.args.values():
        values += [
            element.copy()
            for element in (value if isinstance(value, list) else [value])
            if isinstance(element, exp.Expr)
        ]
    return [value.this if isinstance(value, exp.TsOrDsToDate) else value for value in values]


def _transpiled(call: exp.Func, dialect: Dialect) -> exp.Expr | None:
    """Return the call as another dialect reads it, in a form that this dialect knows by name."""
    if not isinstance(call, exp.Anonymous):
        return None
    text = call.sql(dialect=dialect.value)
    for home in _HOMES:
        if home == dialect.value:
            continue
        try:
            there = sqlglot.parse_one(text, dialect=home)
            own = sqlglot.parse_one(there.sql(dialect=dialect.value), dialect=dialect.value)
        except (SqlglotError, ValueError):
            continue
        if not isinstance(there, exp.Anonymous) and not (
            isinstance(own, exp.Anonymous) and own.name.upper() == call.name.upper()
        ):
            return own if not isinstance(own, exp.Binary) else exp.Paren(this=own)
    return None


def _strftime(pattern: str, value: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="STRFTIME", expressions=[exp.Literal.string(pattern), value])


def _part(pattern: str) -> Made:
    def made(arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        if len(arguments) != 1:
            return None
        return exp.Cast(this=_strftime(pattern, arguments[0]), to=exp.DataType.build("int"))

    return made


def _call(name: str, count: int, *fixed: str) -> Made:
    def made(arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        if len(arguments) != count:
            return None
        return exp.Anonymous(this=name, expressions=[*(exp.Literal.string(item) for item in fixed), *arguments])

    return made


def _joined(arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    if not arguments:
        return None
    whole = arguments[0]
    for argument in arguments[1:]:
        whole = exp.DPipe(this=whole, expression=argument)
    return exp.Paren(this=whole)


def _joined_with(arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    if len(arguments) < 2:
        return None
    between, *rest = arguments
    parts: list[exp.Expr] = [rest[0]] if rest else []
    for item in rest[1:]:
        parts += [between.copy(), item]
    return _joined(parts)


def _formatted(words: dict[str, str]) -> Made:
    def made(arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        if len(arguments) != 2 or not isinstance(arguments[1], exp.Literal):
            return None
        pattern = _pattern(arguments[1].name, words)
        return None if pattern is None else _strftime(pattern, arguments[0])

    return made


def _pattern(written: str, known: dict[str, str]) -> str | None:
    piece = re.compile(
        "|".join([*sorted(map(re.escape, known), key=len, reverse=True), r"[^%A-Za-z]", r"(?P<other>.)"])
    )
    names: list[str] = []
    for match in piece.finditer(written):
        if match["other"]:
            return None
        names.append(known.get(match[0], match[0]))
    return "".join(names)


def _left(arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    if len(arguments) != 2:
        return None
    return exp.Anonymous(this="SUBSTR", expressions=[arguments[0], exp.Literal.number(1), arguments[1]])


def _right(arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    if len(arguments) != 2:
        return None
    return exp.Anonymous(this="SUBSTR", expressions=[arguments[0], exp.Neg(this=exp.Paren(this=arguments[1]))])


_ANYWHERE: Final[dict[str, Made]] = {
    "NVL": _call("COALESCE", 2), "ISNULL": _call("COALESCE", 2), "MEAN": _call("AVG", 1), "AVERAGE": _call("AVG", 1),
    "LEN": _call("LENGTH", 1), "UCASE": _call("UPPER", 1), "LCASE": _call("LOWER", 1),
}  # fmt: skip
_SQLITE: Final[dict[str, Made]] = {
    **_ANYWHERE,
    **{name: _part(pattern) for name, pattern in _PARTS.items()},
    **{f"EXTRACT {name}": _part(pattern) for name, pattern in _PARTS.items()},
    "DAY_OF_MONTH": _part("%d"), "DAY_OF_WEEK": _part("%w"), "DAY_OF_YEAR": _part("%j"),
    "CONCAT": _joined, "CONCAT_WS": _joined_with,
    "LEFT": _left, "RIGHT": _right,
    "NOW": _call("DATETIME", 0, "now"), "GETDATE": _call("DATETIME", 0, "now"), "SYSDATE": _call("DATETIME", 0, "now"),
    "CURDATE": _call("DATE", 0, "now"), "TODAY": _call("DATE", 0, "now"), "CURTIME": _call("TIME", 0, "now"),
    "DATE_FORMAT": _formatted(_FORMAT_MYSQL), "TO_CHAR": _formatted(_FORMAT_WORDS), "FORMAT": _formatted(_FORMAT_WORDS),
    "CHAR_LENGTH": _call("LENGTH", 1),
}  # fmt: skip
