"""Tables that a reader may not read, and views that could show what is protected."""

from __future__ import annotations

from collections.abc import Container

from querybus.core.failure import Failure, FailureCode
from querybus.sql.facts import StatementFacts
from querybus.sql.guard.rules import Rule, refuse
from querybus.sql.names.index import NameIndex
from querybus.sql.names.sources import Sources


def tables_allowed(facts: StatementFacts, sources: Sources, index: NameIndex, inside: Container[int]) -> Failure | None:
    """Return why one of the tables must not be read; what a row filter itself looks up is the configuration's."""
    if not index.is_restricted and not index.protects_parts:
        return None
    for use in facts.tables:
        result = sources.of(use.node)
        if result is None or (result.is_allowed and result.is_open) or id(use.node) in inside:
            continue
        if not result.is_allowed:
            return refuse(FailureCode.PERMISSION, Rule.TABLE_DENIED, "permission denied for table", use.written)
        return refuse(
            FailureCode.PERMISSION,
            Rule.VIEW_DENIED,
            "permission denied for view: it may show protected rows or columns",
            use.written,
        )
    return None
