"""What each PostgreSQL error means to QueryBus: SQLSTATE first, then the server's own routine, never its language.

Pure. Where one SQLSTATE means several things the name of the routine that raised it distinguishes them, whatever
`lc_messages` is. The name that an error is about is read from the statement at the position the server gives.
Source: sql.md E, tested on PostgreSQL 18.
"""

from __future__ import annotations

import re
from typing import Final

from querybus.core.failure import Facts, Failure, FailureCode

_BY_ROUTINE: Final[dict[tuple[str, str], FailureCode]] = {
    ("42601", "exec_parse_message"): FailureCode.MULTI_STATEMENT,
    ("42883", "op_error"): FailureCode.TYPE_MISMATCH,
    ("42P01", "errorMissingRTE"): FailureCode.MISSING_ALIAS,
    ("42703", "transformFromClauseItem"): FailureCode.JOIN_ERROR,
    ("42803", "substitute_grouped_columns_mutator"): FailureCode.GROUPING_ERROR,
    ("42803", "check_ungrouped_columns_walker"): FailureCode.GROUPING_ERROR,
    ("42P10", "findTargetlistEntrySQL92"): FailureCode.GROUPING_ERROR,
}
_BY_STATE: Final[dict[str, FailureCode]] = {
    "42601": FailureCode.SYNTAX_ERROR,
    "42P01": FailureCode.TABLE_NOT_FOUND,
    "3F000": FailureCode.TABLE_NOT_FOUND,
    "42703": FailureCode.COLUMN_NOT_FOUND,
    "42702": FailureCode.AMBIGUOUS_COLUMN,
    "42712": FailureCode.AMBIGUOUS_COLUMN,
    "42725": FailureCode.TYPE_MISMATCH,
    "42804": FailureCode.TYPE_MISMATCH,
    "42846": FailureCode.TYPE_MISMATCH,
    "42P18": FailureCode.TYPE_MISMATCH,
    "42P22": FailureCode.TYPE_MISMATCH,
    "42803": FailureCode.AGGREGATE_MISUSE,
    "42P20": FailureCode.AGGREGATE_MISUSE,
    "42P10": FailureCode.JOIN_ERROR,
    "42883": FailureCode.FUNCTION_NOT_FOUND,
    "42704": FailureCode.TYPE_MISMATCH,
    "42P19": FailureCode.SYNTAX_ERROR,
    "42809": FailureCode.AGGREGATE_MISUSE,
    "22012": FailureCode.DIVISION_BY_ZERO,
    "22003": FailureCode.NUMBER_TOO_LARGE,
    "21000": FailureCode.CARDINALITY,
    "42501": FailureCode.PERMISSION,
    "25006": FailureCode.PERMISSION,
    "25001": FailureCode.PERMISSION,
    "57014": FailureCode.TIMEOUT,
    "25P03": FailureCode.TIMEOUT,
    "25P04": FailureCode.TIMEOUT,
    "54001": FailureCode.TOO_COMPLEX,
    "55P03": FailureCode.LOCK,
    "40001": FailureCode.LOCK,
    "40P01": FailureCode.LOCK,
    "57P01": FailureCode.CONNECTION,
    "57P02": FailureCode.CONNECTION,
    "57P03": FailureCode.CONNECTION,
    "57P05": FailureCode.CONNECTION,
    "53300": FailureCode.CONNECTION,
    "3D000": FailureCode.CONNECTION,
}
_BY_CLASS: Final[dict[str, FailureCode]] = {
    "08": FailureCode.CONNECTION,
    "0A": FailureCode.SYNTAX_ERROR,
    "22": FailureCode.TYPE_MISMATCH,
    "25": FailureCode.PERMISSION,
    "28": FailureCode.CONNECTION,
    "40": FailureCode.LOCK,
    "42": FailureCode.SYNTAX_ERROR,
    "53": FailureCode.RESOURCE_LIMIT,
    "54": FailureCode.RESOURCE_LIMIT,
    "58": FailureCode.CONNECTION,
}
_NAMED: Final = frozenset(
    {
        FailureCode.TABLE_NOT_FOUND,
        FailureCode.COLUMN_NOT_FOUND,
        FailureCode.MISSING_ALIAS,
        FailureCode.AMBIGUOUS_COLUMN,
        FailureCode.GROUPING_ERROR,
        FailureCode.FUNCTION_NOT_FOUND,
    }
)
_PART: Final = r'(?:"(?:[^"]|"")+"|[^\W\d][\w$]*)'
_CHAIN: Final = re.compile(rf"{_PART}(?:\s*\.\s*{_PART})*")
_PARTS: Final = re.compile(_PART)


def postgres_failure(state: str, text: str, routine: str, position: int | None, sql: str) -> Failure:
    """Return the failure of a server's error: SQLSTATE, message, routine, 1-based position in the statement."""
    code = _BY_ROUTINE.get((state, routine)) or _BY_STATE.get(state) or _BY_CLASS.get(state[:2], FailureCode.INTERNAL)
    qualifier, name = (None, None) if code not in _NAMED else _named_at(sql, position)
    line = column = None
    if position is not None and position <= len(sql) + 1:
        before = sql[: position - 1]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    return Failure.of(code, text, Facts(name=name, qualifier=qualifier, line=line, column=column, native_code=state))


def _named_at(sql: str, position: int | None) -> tuple[str | None, str | None]:
    match = None if position is None else _CHAIN.match(sql, position - 1)
    if match is None:
        return None, None
    parts = [text[1:-1].replace('""', '"') if text.startswith('"') else text for text in _PARTS.findall(match[0])]
    return (parts[-2] if len(parts) > 1 else None), parts[-1]
