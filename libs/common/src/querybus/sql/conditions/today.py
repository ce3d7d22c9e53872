"""`:today` in a statement that was taught: the day of asking, written as the dialect writes a date.

The statement keeps its text; only the mark is replaced, never within a string, a name or a JSON path. Bounded by the
text itself; what cannot be cut into tokens comes back as it is.
"""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import Final

from sqlglot import TokenType
from sqlglot.dialects.dialect import Dialect as SqlglotDialect
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Dialect
from querybus.engines import ENGINES

MARK: Final = ":today"


def with_today(sql: str, dialect: Dialect, today: date) -> str:
    """Return the statement with that day in place of each `:today`.

    >>> with_today("SELECT ':today' WHERE d < :today", Dialect.SQLITE, date(2026, 5, 1))
    "SELECT ':today' WHERE d < '2026-05-01'"
    """
    if MARK not in sql.lower():
        return sql
    try:
        tokens = SqlglotDialect.get_or_raise(dialect.value).tokenize(sql)
    except SqlglotError:
        return sql
    literal = ENGINES[dialect].date_literal.format(today.isoformat())
    parts: list[str] = []
    end = 0
    for colon, word in pairwise(tokens):
        is_mark = colon.token_type is TokenType.COLON and word.text.lower() == MARK[1:] and word.start == colon.end + 1
        # What stands directly before it makes it a path into a document: `payload:today`.
        before = sql[colon.start - 1 : colon.start]
        if is_mark and not (before.isalnum() or before in ("_", ")", "]", '"', "`")):
            parts += [sql[end : colon.start], literal]
            end = word.end + 1
    return "".join([*parts, sql[end:]])
