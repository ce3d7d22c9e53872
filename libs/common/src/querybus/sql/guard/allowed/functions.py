"""Which functions a query may call: read-only, without side effect, without reach outside the tables.

The names stand in `functions.toml`. A function that is not listed is refused, so a new release of the parser or of an engine
opens nothing by itself. A database's own functions come from the connection's policy, never from here.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.text.words import word_set

_LISTS: Final = tomllib.loads(
    resources.files("querybus.sql.guard.allowed").joinpath("functions.toml").read_text(encoding="utf-8")
)


def _by_dialect(key: str) -> dict[Dialect, frozenset[str]]:
    return {dialect: word_set(_LISTS[key].get(dialect, "")) for dialect in Dialect}


def _types(key: str) -> tuple[type[exp.Expr], ...]:
    return tuple(kind for name in _LISTS[key].split() if isinstance(kind := getattr(exp, name, None), type))


KNOWN: Final = frozenset(_types("parser"))
"""Functions that the parser knows by type; the same for every dialect."""

BY_NAME_KINDS: Final = (
    exp.Anonymous,
    exp.AnonymousAggFunc,
    exp.CombinedAggFunc,
    exp.ParameterizedAgg,
    exp.CombinedParameterizedAgg,
)
"""Calls that the parser knows by name only."""

LISTED: Final = {
    dialect: frozenset(name.lower() for name in names | word_set(_LISTS["every_dialect"]))
    for dialect, names in _by_dialect("dialect").items()
}
"""Functions by lower-case name."""

TABLE_KINDS: Final = _types("parser_tables")
"""Functions in FROM that the parser knows by type."""

TABLE_FUNCTIONS: Final = _by_dialect("tables")
"""Functions in FROM by lower-case name."""

TABLE_FUNCTION_COLUMNS: Final[dict[tuple[Dialect, str], tuple[str, ...]]] = {
    (Dialect.SQLITE, name): ("key", "value", "type", "atom", "id", "parent", "fullkey", "path", "json", "root")
    for name in ("json_each", "json_tree")
} | {
    (Dialect.CLICKHOUSE, "numbers"): ("number",),
    (Dialect.CLICKHOUSE, "numbers_mt"): ("number",),
    (Dialect.POSTGRESQL, "json_each"): ("key", "value"),
    (Dialect.POSTGRESQL, "jsonb_each"): ("key", "value"),
    (Dialect.POSTGRESQL, "json_each_text"): ("key", "value"),
    (Dialect.POSTGRESQL, "jsonb_each_text"): ("key", "value"),
}
"""Columns of table functions whose columns the parser does not know."""

QUALIFIERS: Final = _by_dialect("qualifiers")
"""Schemas whose functions may be called by their qualified name."""

QUALIFIED: Final = _by_dialect("qualified")
"""Functions that are only known by their qualified name."""

BARE_SESSION: Final = _by_dialect("bare_session")
"""Words that the engine reads as a call without brackets although the parser reads them as a column."""

DANGEROUS: Final = word_set(_LISTS["dangerous"])
DANGEROUS_PREFIXES: Final = tuple(_LISTS["dangerous_prefixes"].split())
"""Names that are refused for safety's sake; another unlisted name is an unknown function, and a draft may follow."""


def is_dangerous(name: str) -> bool:
    """Return whether a call of this name is refused for safety's sake, in whatever dialect.

    >>> is_dangerous("pg_read_file"), is_dangerous("divide")
    (True, False)
    """
    lowered = name.lower()
    return lowered in DANGEROUS or lowered.startswith(DANGEROUS_PREFIXES)
