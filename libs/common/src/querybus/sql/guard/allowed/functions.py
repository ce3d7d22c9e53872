"""Which functions a query may call: read-only, without side effect, without reach outside the tables.

The names stand in the engines' records; `functions.toml` has the parser's types and what is the same for every
engine. A function that is not listed is refused, so a new release of the parser or of an engine
opens nothing by itself. A database's own functions come from the connection's policy, never from here.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Final

from sqlglot import exp

from querybus.engines import ENGINES
from querybus.text.words import word_set

_LISTS: Final = tomllib.loads(
    resources.files("querybus.sql.guard.allowed").joinpath("functions.toml").read_text(encoding="utf-8")
)


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

LISTED: Final = {dialect: engine.functions | word_set(_LISTS["every_dialect"]) for dialect, engine in ENGINES.items()}
"""Functions by lower-case name."""

TABLE_KINDS: Final = _types("parser_tables")
"""Functions in FROM that the parser knows by type."""

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
