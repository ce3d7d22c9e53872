"""Does what was taught still fit the schema? Apart from the knowledge itself, because it needs the whole analyser."""

from __future__ import annotations

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import check
from querybus.text.knowledge import Entry, EntryKind


def stale(entry: Entry, catalog: Catalog, policy: ConnectionPolicy) -> str | None:
    """Return why an entry no longer fits the schema, or None. Only pairs and synonyms can become stale."""
    if entry.kind is EntryKind.PAIR:
        result = check(entry.text, dialect=catalog.dialect, catalog=catalog, policy=policy, row_limit=policy.rows_max)
        return result.detail or result.code.value if isinstance(result, Failure) else None
    if entry.kind is EntryKind.SYNONYM:
        table, _, column = entry.key.partition(".")
        found_table = catalog.table(table)
        if found_table is None or (column and found_table.column(column) is None):
            return f"there is no {entry.key[:200]}"
    return None
