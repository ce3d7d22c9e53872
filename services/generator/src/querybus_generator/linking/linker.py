"""The part of each connection's catalog that may be used, prepared for linking and kept until the catalog changes.

Preparing takes time in proportion to the schema (seconds at 10,000 tables), so it runs in a thread, once.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from querybus.core.catalog import Catalog, Table
from querybus.core.policy import ConnectionPolicy
from querybus.sql.names.visible_catalog import visible
from querybus.sql.staleness import stale
from querybus.text.knowledge import Entry, EntryKind, Knowledge, KnowledgeIndex, with_synonyms
from querybus.text.labels import count_readable_names
from querybus.text.synonyms import link_words
from querybus_generator.linking.examples import Examples
from querybus_generator.linking.index import SCHEMA_TOKENS_MAX, LinkIndex
from querybus_generator.prompts.schema import joined, render_columns
from querybus_translator.definitions.answer import Defined, defined_of

COLUMNS_KEPT_MAX: Final = 100_000
"""Of all catalogs that are kept prepared, about 80 MB; the one asked last is kept whatever its size."""
TABLES_FROZEN_MIN: Final = 1_000
VALUES_AS_NAMES_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class Prepared:
    """A catalog as far as the tenant's policy lets it be seen, with what was taught of it, and its indexes."""

    catalog: Catalog
    index: LinkIndex
    policy: ConnectionPolicy
    knowledge: Knowledge
    search: KnowledgeIndex
    examples: Examples
    names: frozenset[str]
    defined: Defined | None = None
    """The owner's definitions over this catalog."""
    pairs_digest: str = ""
    """Of the taught questions: what was computed of them holds as long as it does."""
    readable_names: int = 0
    """How many names of tables and columns people can read, of `names_counted`."""
    names_counted: int = 0
    _rendered: dict[tuple[int, bool], str] = field(default_factory=dict[tuple[int, bool], str])
    _usable: dict[str, bool] = field(default_factory=dict[str, bool])

    def schema(self, tables: Sequence[Table], *, with_values: bool) -> str:
        """Return the tables as a model reads them; a whole table's text is made once."""
        return joined([(table, self._text(table, with_values=with_values)) for table in tables], self.catalog)

    def _text(self, table: Table, *, with_values: bool) -> str:
        if not self.index.owns(table):
            return render_columns(self.catalog, table, with_values=with_values)
        key = (id(table), with_values)
        text = self._rendered.get(key)
        if text is None:
            text = self._rendered[key] = render_columns(self.catalog, table, with_values=with_values)
        return text

    def is_usable(self, entry: Entry) -> bool:
        """Return whether an entry still fits the schema; found out once."""
        known = self._usable.get(entry.id)
        if known is None:
            known = self._usable[entry.id] = stale(entry, self.catalog, self.policy) is None
        return known


@dataclass(frozen=True, slots=True)
class _Kept:
    whole: Catalog
    policy: ConnectionPolicy
    knowledge: Knowledge
    prepared: asyncio.Future[Prepared]
    columns: int


class Linker:
    """Prepared catalogs by connection, the least recently used dropped first."""

    def __init__(self, *, schema_tokens_max: int = SCHEMA_TOKENS_MAX) -> None:
        """A schema of about `schema_tokens_max` tokens is shown to a model whole."""
        self._schema_tokens_max = schema_tokens_max
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()

    async def prepare(
        self, catalog: Catalog, policy: ConnectionPolicy, knowledge: Knowledge | None = None, *, tenant: str = ""
    ) -> Prepared:
        """Return the catalog prepared under that policy and knowledge; callers at the same time share the work."""
        knowledge = knowledge or Knowledge(connection=catalog.connection)
        # Tenants share what is the same for all of them.
        key = (catalog.connection, tenant if knowledge.entries or policy.tenants else "")
        kept = self._kept.get(key)
        if (
            kept is None
            or kept.whole is not catalog
            or (kept.policy is not policy and kept.policy != policy)
            or (kept.knowledge is not knowledge and kept.knowledge != knowledge)
            or _is_lost(kept.prepared)
        ):
            work = asyncio.ensure_future(
                asyncio.to_thread(_prepare, catalog, policy, knowledge, self._schema_tokens_max)
            )
            columns = sum(len(table.columns) for table in catalog.tables)
            kept = self._kept[key] = _Kept(catalog, policy, knowledge, work, columns)
            self._kept.move_to_end(key)
            while len(self._kept) > 1 and sum(item.columns for item in self._kept.values()) > COLUMNS_KEPT_MAX:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        # One cancelled query must not take the work from the others.
        return await asyncio.shield(kept.prepared)


def _prepare(catalog: Catalog, policy: ConnectionPolicy, knowledge: Knowledge, schema_tokens_max: int) -> Prepared:
    seen = visible(catalog, policy)
    taught = [
        entry for entry in knowledge.entries if entry.kind is not EntryKind.SYNONYM or not stale(entry, seen, policy)
    ]
    seen = with_synonyms(seen, taught)
    _ = seen.fingerprint  # computed here, in the thread, and kept by the catalog
    words = link_words()
    index = LinkIndex(seen, words=words, schema_tokens_max=schema_tokens_max)
    pairs = knowledge.of(EntryKind.PAIR)
    readable, counted = count_readable_names(seen)
    search = KnowledgeIndex(pairs, words)
    prepared = Prepared(
        catalog=seen,
        index=index,
        policy=policy,
        knowledge=knowledge,
        search=search,
        examples=Examples(pairs, search, index, seen.dialect),
        names=_names(seen),
        defined=defined_of({**catalog.definitions, **_taught_definitions(knowledge)}.items(), seen),
        pairs_digest=_digest(pairs),
        readable_names=readable,
        names_counted=counted,
    )
    if len(seen.tables) >= TABLES_FROZEN_MIN:
        # A large catalog lives long, and a collection that walks through it stops every query for a third of a second.
        gc.collect()
        gc.freeze()
    return prepared


def _taught_definitions(knowledge: Knowledge) -> dict[str, str]:
    """Return what was taught by key; it outweighs the file of the connection."""
    return {entry.key: entry.text for entry in knowledge.of(EntryKind.DEFINITION)}


def _digest(entries: Sequence[Entry]) -> str:
    whole = hashlib.sha256()
    for entry in entries:
        whole.update(f"{len(entry.key)} {entry.key}{len(entry.text)} {entry.text}".encode())
    return whole.hexdigest()


def _names(catalog: Catalog) -> frozenset[str]:
    """Return what things are called here, folded: a vague word that is part of such a name is none."""
    names: set[str] = set()
    for table in catalog.tables:
        for item in (table, *table.columns):
            names.update((item.name.replace("_", " "), *item.display_names.values(), *item.synonyms))
        for column in table.columns:
            names.update(value for value in column.values[:VALUES_AS_NAMES_MAX] if " " in value or not value.isascii())
    return frozenset(name.casefold() for name in names if len(name) > 1)


def _is_lost(work: asyncio.Future[Prepared]) -> bool:
    return work.done() and (work.cancelled() or work.exception() is not None)
