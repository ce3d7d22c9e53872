"""Does what was taught still fit the schema? Apart from the knowledge itself, because it needs the whole analyser."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from difflib import get_close_matches
from typing import Final

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import check
from querybus.sql.conditions.today import with_today
from querybus.text.knowledge import Entry, EntryKind

_ANY_DAY: Final = date(2026, 1, 1)
"""A pair that fits on one day fits on each."""


def stale(entry: Entry, catalog: Catalog, policy: ConnectionPolicy) -> str | None:
    """Return why an entry does not fit the schema, with the nearest name, or None. Only pairs and synonyms can be unfit."""
    if entry.kind is EntryKind.PAIR:
        sql = with_today(entry.text, catalog.dialect, _ANY_DAY)
        result = check(sql, dialect=catalog.dialect, catalog=catalog, policy=policy, row_limit=policy.rows_max)
        if not isinstance(result, Failure):
            return None
        return (result.detail or result.code.value) + _meant(result.facts.candidates)
    if entry.kind is EntryKind.SYNONYM:
        table, _, column = entry.key.partition(".")
        found_table = catalog.table(table)
        if found_table is None:
            return f"table {table[:200]} does not exist{_near(table, (item.name for item in catalog.tables))}"
        if column and found_table.column(column) is None:
            near = _near(column, (item.name for item in found_table.columns))
            return f"column {entry.key[:200]} does not exist{near}"
    return None


def _near(name: str, known: Iterable[str]) -> str:
    return _meant(get_close_matches(name, list(known), n=1))


def _meant(candidates: Sequence[str]) -> str:
    return f"; did you mean {candidates[0]}?" if candidates else ""
