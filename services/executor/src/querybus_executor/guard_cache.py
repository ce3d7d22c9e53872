"""The second guard's verdicts, kept for a moment: an EXPLAIN and the run of the same text are read once.

A verdict follows from text, catalog, policy, reader and switch alone, so one that is kept is the one that would be
given. It is found only for the very same catalog and policy, which both change as a whole.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.sql.conditions.personal_columns import NO_PERSONAL_COLUMNS, PersonalColumns, personal_columns
from querybus.sql.guard.decide import admitted
from querybus_executor.results.engine_quirks import Silent, silent
from querybus_executor.results.ties import LastTwo, last_two_of

KEPT_MAX: Final = 512
TEXT_LENGTH_MAX: Final = 16_384
"""Longer texts are judged each time: what is kept stays below 8 MB."""

_Key = tuple[int, int, str, Reader, bool]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a text must not run, or what its engine does silently with it, what personal data it shows, how its cut is looked at."""

    # They are held, so that no other object can get the ids in the key.
    catalog: Catalog
    policy: ConnectionPolicy
    refusal: Failure | None
    silent: Silent
    personal: PersonalColumns = NO_PERSONAL_COLUMNS
    last_two: LastTwo | None = None
    has_hidden_rows: bool = False


class Verdicts:
    """The newest KEPT_MAX verdicts of one process."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, Verdict] = OrderedDict()
        self._catalogs: dict[str, Catalog] = {}

    def refusal(
        self,
        sql: str,
        dialect: Dialect,
        catalog: Catalog,
        policy: ConnectionPolicy,
        reader: Reader,
        *,
        checks_size: bool,
    ) -> Failure | None:
        """Return why the text must not run for this reader, or None."""
        return self.of(sql, dialect, catalog, policy, reader, checks_size=checks_size).refusal

    def of(
        self,
        sql: str,
        dialect: Dialect,
        catalog: Catalog,
        policy: ConnectionPolicy,
        reader: Reader,
        *,
        checks_size: bool,
    ) -> Verdict:
        """Return the verdict on a text for this reader, and what its engine does silently."""
        if self._catalogs.get(catalog.connection) is not catalog:
            self._forget(catalog.connection)
            self._catalogs[catalog.connection] = catalog
        key = (id(catalog), id(policy), sql, reader, checks_size)
        known = self._kept.get(key)
        if known is None:
            read = admitted(sql, dialect, catalog, policy, reader, checks_size=checks_size)
            known = (
                Verdict(catalog, policy, read, Silent())
                if isinstance(read, Failure)
                else Verdict(
                    catalog,
                    policy,
                    None,
                    silent(read.statement, dialect, catalog),
                    personal_columns(read.statement.tree, catalog),
                    last_two_of(read.statement, dialect),
                    read.has_hidden_rows,
                )
            )
            if len(sql) <= TEXT_LENGTH_MAX:
                self._kept[key] = known
                if len(self._kept) > KEPT_MAX:
                    self._kept.popitem(last=False)
        return known

    def _forget(self, connection: str) -> None:
        """Drop what was decided with an older catalog of the connection, and so the catalog itself."""
        for key in [key for key, verdict in self._kept.items() if verdict.catalog.connection == connection]:
            del self._kept[key]
