"""Says of a text, by its tokens alone, whether it is one query: for engines whose protocol does not say it before it runs.

Pure. It is the edge's own look, apart from the guard's tree: begins with SELECT, WITH or a parenthesis, ends once.
"""

from __future__ import annotations

import sqlglot
from sqlglot.errors import SqlglotError

from querybus.core.failure import Facts, Failure, FailureCode

_BEGINNINGS = frozenset({sqlglot.TokenType.SELECT, sqlglot.TokenType.WITH, sqlglot.TokenType.L_PAREN})
_PROGRAMS = frozenset({"FUNCTION", "PROCEDURE", "DECLARE", "BEGIN"})


def not_one_query(sql: str, dialect: str, *, describes: bool = False) -> Failure | None:
    """Return what is against the text, or None; `describes`: DESCRIBE is taken as well.

    >>> not_one_query("(SELECT 1)", "oracle"), not_one_query("SELECT ';'", "oracle")
    (None, None)
    >>> not_one_query("SELECT 1; DROP TABLE t", "oracle").code.value, not_one_query("CALL p()", "oracle").code.value
    ('multi_statement', 'permission')
    """
    try:
        tokens = sqlglot.tokenize(sql, dialect=dialect)
    except SqlglotError:
        return Failure.of(FailureCode.SYNTAX_ERROR, "the statement cannot be read")
    ends = [index for index, token in enumerate(tokens) if token.token_type is sqlglot.TokenType.SEMICOLON]
    if ends and ends[0] < len(tokens) - 1:
        return Failure.of(FailureCode.MULTI_STATEMENT, "one statement at a time")
    beginnings = _BEGINNINGS | {sqlglot.TokenType.DESCRIBE} if describes else _BEGINNINGS
    if not tokens or tokens[0].token_type not in beginnings:
        return _refused("it is no query")
    if tokens[0].token_type is sqlglot.TokenType.WITH and len(tokens) > 1 and tokens[1].text.upper() in _PROGRAMS:
        return _refused("a program in WITH")
    return None


def _refused(why: str) -> Failure:
    return Failure.of(FailureCode.PERMISSION, f"not authorized: {why}", Facts(rule="not_a_query"))
