"""Rule: every table is one of the catalog."""

from __future__ import annotations

import re
from typing import Final

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.engines import ENGINES
from querybus.engines.record import Dual
from querybus.sql.facts import StatementFacts, TableUse
from querybus.sql.guard.allowed.system_names import SYSTEM_SCHEMAS, is_system
from querybus.sql.guard.context import Context
from querybus.sql.guard.rules import Rule, refuse, unsafe
from querybus.sql.names.index import KnownTable, NameIndex

_NAME: Final = re.compile(r"\w[\w$]*")


def tables(facts: StatementFacts, context: Context) -> Failure | None:
    """Refuse a table that is not in the catalog, or belongs to the engine's own."""
    for use in facts.tables:
        if context.sources.of(use.node) is None:
            meant = table_meant(use, context.dialect, context.index)
            if isinstance(meant, Failure):
                return meant
    return None


def table_meant(use: TableUse, dialect: Dialect, index: NameIndex) -> KnownTable | Failure | None:
    """Return the catalog's table, None for a CTE, `dual` or an array of a row, or why it must not be read."""
    if use.is_cte:
        return None
    result = index.find(use.name, use.schema) if index.is_own_database(use.catalog) else None
    if (
        result is not None
        and (use.catalog or "").lower() not in SYSTEM_SCHEMAS
        and not (use.schema and use.schema.lower() in SYSTEM_SCHEMAS and not index.knows_schema(use.schema))
    ):
        return result
    if use.schema is None and use.name.lower() == "dual" and ENGINES[dialect].dual is not Dual.NONE:
        return None
    if use.schema is None and use.name in ("EXCLUDED", "excluded"):
        return _unknown(use, index)
    if is_system(use.name, use.schema, dialect) or (use.catalog or "").lower() in SYSTEM_SCHEMAS:
        return unsafe(Rule.SYSTEM_CATALOG, "system catalog is not allowed", use.written)
    name = use.name.removesuffix("*") if ENGINES[dialect].has_wildcard_tables else use.name
    if not _NAME.fullmatch(name.replace(" ", "_").replace("-", "_")) and not index.similar_tables(use.name):
        return unsafe(Rule.TABLE_FORM, "invalid table name", use.written)
    return _unknown(use, index)


def _unknown(use: TableUse, index: NameIndex) -> Failure:
    identifier = use.node.this
    unreadable = index.unreadable_view(use.node.name)
    known = f"view {use.written[:200]} cannot be read: {unreadable}"
    return refuse(
        FailureCode.TABLE_NOT_FOUND,
        Rule.TABLE_UNKNOWN,
        f"table {use.written[:200]} does not exist" if unreadable is None else known,
        use.node.name,
        qualifier=use.schema,
        candidates=index.similar_tables(use.node.name),
        line=identifier.meta.get("line"),
        column=identifier.meta.get("col"),
    )
