"""Which names have to be quoted: reserved words, and letters that an engine would fold."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

import sqlglot

from querybus.core.catalog import Dialect, fold
from querybus.engines import ENGINES
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

NAME_LENGTH_MAX: Final = 128
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quoted_name(name: str, dialect: Dialect) -> str:
    """Return an identifier as the dialect writes it, quoted where it must be; line breaks never survive.

    >>> quoted_name("order", Dialect.MYSQL), quoted_name("unit price", Dialect.SQLITE), quoted_name("city", Dialect.SQLITE)
    ('`order`', '"unit price"', 'city')
    """
    if _PLAIN_NAME.fullmatch(name) and not needs_quotes(name, dialect):
        return name
    quote = ENGINES[dialect].quote
    plain = " ".join("".join(" " if unicodedata.category(part)[0] == "C" else part for part in name).split())
    return quote + plain[:NAME_LENGTH_MAX].replace(quote, quote * 2) + quote


def needs_quotes(name: str, dialect: Dialect) -> bool:
    """Return whether a name of plain letters means something else, or another name, without quotes.

    >>> needs_quotes("group", Dialect.SQLITE), needs_quotes("Orders", Dialect.POSTGRESQL), needs_quotes("city", Dialect.MYSQL)
    (True, True, False)
    """
    if name.upper() in RESERVED or name.lower() in _own(dialect):
        return True
    return fold(name, dialect, quoted=True) != fold(name, dialect, quoted=False)


@lru_cache(maxsize=16)
def _own(dialect: Dialect) -> frozenset[str]:
    """Return the dialect's own reserved words, in lower case, as sqlglot has them."""
    words: set[str] = sqlglot.Dialect.get_or_raise(dialect.value).generator_class.RESERVED_KEYWORDS
    return frozenset(words)
