"""A statement as a person reads and copies it: on lines of its own, without a frame."""

from __future__ import annotations

from typing import Final

from querybus.core.catalog import Dialect

LINE_LENGTH_MAX: Final = 72


def statement_lines(sql: str) -> str:
    """Return a statement laid out over lines; a short one, and one that no dialect lays out unchanged, as it is.

    Only white space may differ, so that what is copied is what ran.

    >>> statement_lines("SELECT 1")
    'SELECT 1'
    """
    if len(sql) <= LINE_LENGTH_MAX:
        return sql
    # Loaded where a statement is shown: it takes a fifth of a second.
    import sqlglot
    from sqlglot.errors import SqlglotError

    for dialect in Dialect:
        try:
            trees = sqlglot.parse(sql, dialect=dialect.value)
            text = ";\n".join(tree.sql(dialect=dialect.value, pretty=True) for tree in trees if tree is not None)
        except (SqlglotError, RecursionError):
            continue
        if "".join(text.split()) == "".join(sql.split()):
            return text
    return sql
