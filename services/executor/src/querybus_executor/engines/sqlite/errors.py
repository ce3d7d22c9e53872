"""What each SQLite error means to QueryBus: native code first, text only where SQLite has no code of its own.

Pure. The detail keeps SQLite's words, which name tables and columns but never a path. Source: sql.md E, tested on
SQLite 3.40.
"""

from __future__ import annotations

import re
from typing import Final

from querybus.core.failure import Facts, Failure, FailureCode

_BY_CODE: Final[dict[int, tuple[FailureCode, str]]] = {
    4: (FailureCode.TIMEOUT, "the statement was stopped"),
    5: (FailureCode.LOCK, "the database is locked by another program"),
    6: (FailureCode.LOCK, "a table is locked by another statement"),
    7: (FailureCode.RESOURCE_LIMIT, "the statement needs more memory than it may have"),
    8: (FailureCode.PERMISSION, "the database is opened for reading only"),
    9: (FailureCode.TIMEOUT, "the statement was stopped at its time limit"),
    10: (FailureCode.CONNECTION, "the database cannot be read from its disk"),
    11: (FailureCode.CONNECTION, "the database file is damaged"),
    13: (FailureCode.RESOURCE_LIMIT, "the database or its disk is full"),
    14: (FailureCode.CONNECTION, "the database file is missing or cannot be opened"),
    17: (FailureCode.LOCK, "the database's tables were changed while the statement ran"),
    18: (FailureCode.RESOURCE_LIMIT, "a value or the statement is too big"),
    23: (FailureCode.PERMISSION, "the statement does what may not be done here"),
    26: (FailureCode.CONNECTION, "the file is not a database"),
}

_NAME = r"(?P<name>.+?)"
_BY_TEXT: Final[tuple[tuple[re.Pattern[str], FailureCode], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), code)
    for pattern, code in (
        (r"one statement at a time", FailureCode.MULTI_STATEMENT),
        (rf"no such table: {_NAME}$", FailureCode.TABLE_NOT_FOUND),
        (rf"no such table-valued function: {_NAME}$", FailureCode.FUNCTION_NOT_FOUND),
        (rf"no such column: {_NAME}$", FailureCode.COLUMN_NOT_FOUND),
        (rf"table {_NAME} has no column", FailureCode.COLUMN_NOT_FOUND),
        (rf"ambiguous column name: {_NAME}$", FailureCode.AMBIGUOUS_COLUMN),
        (rf"no such function: {_NAME}$", FailureCode.FUNCTION_NOT_FOUND),
        (rf"wrong number of arguments to function {_NAME}\(", FailureCode.FUNCTION_NOT_FOUND),
        (rf"{_NAME}\(\) may not be used as a window function", FailureCode.AGGREGATE_MISUSE),
        (rf"misuse of aggregate(?: function)?:? {_NAME}(?:\(\))?$", FailureCode.AGGREGATE_MISUSE),
        (rf"misuse of (?:aliased )?(?:aggregate|window)(?: function)? {_NAME}(?:\(\))?$", FailureCode.AGGREGATE_MISUSE),
        (r"DISTINCT (?:is not supported|aggregates must have)|FILTER (?:clause )?may", FailureCode.AGGREGATE_MISUSE),
        (r"aggregate functions are not allowed in the GROUP BY", FailureCode.GROUPING_ERROR),
        (r"HAVING clause on a non-aggregate|GROUP BY clause is required before HAVING", FailureCode.GROUPING_ERROR),
        (r"term out of range - should be between", FailureCode.GROUPING_ERROR),
        (rf"cannot join using column {_NAME} -", FailureCode.JOIN_ERROR),
        (r"JOIN clause is required before|ON clause references tables to its right", FailureCode.JOIN_ERROR),
        (r"RIGHT and FULL OUTER JOINs are not|NATURAL join may not have", FailureCode.JOIN_ERROR),
        (r"sub-select returns \d+ columns|row value misused", FailureCode.TYPE_MISMATCH),
        (r"integer overflow", FailureCode.NUMBER_TOO_LARGE),
        (r"datatype mismatch|malformed JSON|JSON path error", FailureCode.TYPE_MISMATCH),
        (r"not authorized|prohibited|access to .* is", FailureCode.PERMISSION),
        (r"too (?:many|deep|large|complex)|too many|maximum depth|parser stack overflow", FailureCode.TOO_COMPLEX),
        (r"out of memory|too big", FailureCode.RESOURCE_LIMIT),
        (r"interrupted", FailureCode.TIMEOUT),
        (r"syntax error|incomplete input|unrecognized token", FailureCode.SYNTAX_ERROR),
    )
)
_PREPARE_ERROR: Final = 1


def sqlite_failure(code: int, name: str, text: str, sql: str) -> Failure:
    """Return the failure of a SQLite error: its extended or primary code, that code's name, its message."""
    primary = code & 0xFF
    native = name if name.startswith("SQLITE_") else "SQLITE_ERROR"
    known = _BY_CODE.get(primary)
    if known is not None:
        return Failure.of(known[0], f"{known[1]} ({text})", Facts(native_code=native))
    for pattern, result in _BY_TEXT:
        match = pattern.search(text)
        if match is None:
            continue
        qualifier, bare = _split(match.groupdict().get("name"))
        if result is FailureCode.COLUMN_NOT_FOUND and qualifier is not None and not named_in(sql, qualifier):
            result = FailureCode.MISSING_ALIAS  # noqa: PLW2901 - SQLite says the same of both
        return Failure.of(result, text, Facts(name=bare, qualifier=qualifier, native_code=native))
    # The rest of SQLite's prepare errors ("ORDER BY clause should come after UNION ...") are about the text.
    rest = FailureCode.SYNTAX_ERROR if primary == _PREPARE_ERROR else FailureCode.INTERNAL
    return Failure.of(rest, text, Facts(native_code=native))


def _split(name: str | None) -> tuple[str | None, str | None]:
    if name is None:
        return None, None
    qualifier, dot, bare = name.strip().rpartition(".")
    return (qualifier if dot else None), bare


def named_in(sql: str, qualifier: str) -> bool:
    """Return whether the statement names a table or alias so, other than before a dot."""
    return re.search(rf"(?<!\w){re.escape(qualifier)}(?![\w])(?![\"`\]]?\s*\.)", sql, re.IGNORECASE) is not None
