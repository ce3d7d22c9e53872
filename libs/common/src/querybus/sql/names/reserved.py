"""Which names have to be quoted: reserved words, and letters that an engine would fold."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import sqlglot

from querybus.core.catalog import Dialect
from querybus.text.words import word_set

RESERVED: Final = word_set(
    """
    ADD ALL ALTER AND ANY AS ASC BETWEEN BY CASE CHECK COLUMN CREATE CROSS DEFAULT DELETE DESC DISTINCT DROP
    ELSE END EXCEPT EXISTS FETCH FOR FOREIGN FROM FULL GRANT GROUP HAVING IN INDEX INNER INSERT INTERSECT INTO
    IS JOIN KEY LEFT LIKE LIMIT NATURAL NOT NULL OFFSET ON OR ORDER OUTER PRIMARY REFERENCES RIGHT ROW ROWS
    SELECT SET TABLE THEN TO TRANSACTION UNION UNIQUE UPDATE USER USING VALUES VIEW WHEN WHERE WINDOW WITH
    """
)
"""Words that one engine or another takes for its own where a name stands."""
_FOLDS_TO_LOWER: Final = frozenset({Dialect.POSTGRESQL})
_FOLDS_TO_UPPER: Final = frozenset({Dialect.ORACLE, Dialect.SNOWFLAKE})


def needs_quotes(name: str, dialect: Dialect) -> bool:
    """Return whether a name of plain letters means something else, or another name, without quotes.

    >>> needs_quotes("group", Dialect.SQLITE), needs_quotes("Orders", Dialect.POSTGRESQL), needs_quotes("city", Dialect.MYSQL)
    (True, True, False)
    """
    if name.upper() in RESERVED or name.lower() in _own(dialect):
        return True
    return (dialect in _FOLDS_TO_LOWER and name != name.lower()) or (
        dialect in _FOLDS_TO_UPPER and name != name.upper()
    )


@lru_cache(maxsize=16)
def _own(dialect: Dialect) -> frozenset[str]:
    """Return the dialect's own reserved words, in lower case, as sqlglot has them."""
    words: set[str] = sqlglot.Dialect.get_or_raise(dialect.value).generator_class.RESERVED_KEYWORDS
    return frozenset(words)
