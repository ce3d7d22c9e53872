"""A catalog under a policy, indexed by its names as the dialect compares them.

The index is made once per catalog and policy, so that a statement costs the same on five tables and on ten thousand.
"""

from __future__ import annotations

import difflib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlglot.schema import MappingSchema

from querybus.core.catalog import Catalog, Dialect, Table, fold, fold_known
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.engines import ENGINES

CANDIDATES_MAX: Final = 8
_COMPARED_MAX: Final = 40
_INDEXES_MAX: Final = 256
_TABLES_INDEXED_MAX: Final = 50_000
"""Tables of all kept indexes together; one index is always kept."""
_SIMILARITY_MIN: Final = 0.55

QUALIFYING: Final[dict[Dialect, str]] = {
    dialect: f"{dialect}, normalization_strategy=case_insensitive" if engine.table_case_counts else dialect.value
    for dialect, engine in ENGINES.items()
}
"""The dialect text for name resolution; columns ignore case on MySQL and BigQuery whatever the parser thinks."""


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A catalog's table. `key` names it in the resolver's schema; `columns` are folded names."""

    key: str
    table: Table
    columns: dict[str, str]
    is_allowed: bool
    denied: frozenset[str]
    masked: frozenset[str] = frozenset()
    filters: tuple[str, ...] = ()
    is_open: bool = True

    @property
    def is_guarded(self) -> bool:
        """Whether some of its rows or columns are kept from the reader by what is put around each reference to it."""
        return bool(self.filters or self.masked or self.denied)


class NameIndex:
    """A catalog under a policy, indexed by folded name."""

    def __init__(self, catalog: Catalog, policy: ConnectionPolicy) -> None:
        self.dialect = catalog.dialect
        self.default_schema = (
            fold_known(catalog.default_schema, self.dialect) if catalog.default_schema is not None else None
        )
        self._catalog = catalog
        allowed = None if policy.tables_allowed is None else {table.lower() for table in policy.tables_allowed}
        schemas = None if policy.schemas_allowed is None else {schema.lower() for schema in policy.schemas_allowed}
        denied = _folded(policy.columns_denied)
        masked = _folded(policy.columns_masked)
        filters = {table.lower(): condition for table, condition in policy.row_filters.items()}
        open_views = frozenset(view.lower() for view in policy.views_open)
        self.has_denied = bool(denied)
        self.protects = policy.protects_parts or allowed is not None or schemas is not None
        """Whether anything of the database is kept from anybody."""
        self.protects_parts = policy.protects_parts
        self._lists_tables = allowed is not None
        self.is_restricted = allowed is not None or schemas is not None
        self.wrappers: OrderedDict[tuple[str, str, Reader | None], str] = OrderedDict()
        """Texts of filtered tables, kept by `filtered`."""
        self._tables: dict[str, list[KnownTable]] = {}
        self._owners: dict[str, list[str]] = {}
        mapping: dict[str, object] = {}
        for number, table in enumerate(catalog.tables):
            names = catalog.names_of(table)
            own = tuple(filters[name] for name in sorted(names) if name in filters)
            known = KnownTable(
                key=f"t{number}",
                table=table,
                columns=self._columns(table),
                is_allowed=(allowed is None or not allowed.isdisjoint(names))
                and (schemas is None or (catalog.schema_of(table) or "").lower() in schemas),
                denied=frozenset[str]().union(*(denied.get(name, ()) for name in names)),
                masked=frozenset[str]().union(*(masked.get(name, ()) for name in names)),
                filters=own,
                is_open=table.kind != "view"
                or not policy.protects_parts
                or bool(own)
                or "*" in open_views
                or not open_views.isdisjoint(names),
            )
            self._tables.setdefault(fold_known(table.name, self.dialect), []).append(known)
            if known.is_allowed or filters:
                # A row filter may look up what its reader may not.
                mapping[known.key] = dict.fromkeys(known.columns, "TEXT")
            if known.is_allowed:
                for column in known.columns:
                    self._owners.setdefault(column.lower(), []).append(table.name)
        self.schema = MappingSchema(mapping, dialect=QUALIFYING[self.dialect], normalize=False)
        self._similar_tables = _Similar(
            [table.table.name for tables in self._tables.values() for table in tables if table.is_allowed]
        )
        self._schemas = frozenset(
            fold_known(table.schema_name, self.dialect) for table in catalog.tables if table.schema_name
        )

    def _columns(self, table: Table) -> dict[str, str]:
        """Return the columns by their folded names; one that may have been made with quotes by that name as well."""
        result = {fold_known(column.name, self.dialect): column.name for column in table.columns}
        if ENGINES[self.dialect].folds_to_upper and not self.protects:
            for name in list(result.values()):
                result.setdefault(name, name)
        return result

    def find(self, name: str, schema: str | None) -> KnownTable | None:
        """Return the table of a folded name; an unclear name is None.

        Without a schema it is the one of the default schema. Where the catalog holds every table, a name that
        occurs once is that table as well: `canonical` writes its schema into what runs.
        """
        if ENGINES[self.dialect].has_wildcard_tables and name.endswith("*"):
            return self._matching(name, schema)
        result = self._tables.get(name) or self._made_in_quotes(name)
        if schema is not None:
            return next((item for item in result if self._folded_schema(item) == schema), None)
        if len(result) == 1 and not self.is_restricted:
            return result[0]
        return next((item for item in result if self._catalog.is_default(item.table)), None)

    def _matching(self, pattern: str, schema: str | None) -> KnownTable | None:
        """Return all tables of a wildcard as one, with the columns of the newest as BigQuery reads it; None for none.

        A table that is made later matches as well. So a wildcard is allowed only where the policy lists no tables.
        """
        prefix = pattern.removesuffix("*")
        known = [
            table
            for name, tables in self._tables.items()
            if name.startswith(prefix)
            for table in tables
            if (self._catalog.is_default(table.table) if schema is None else self._folded_schema(table) == schema)
        ]
        if not known:
            return None
        newest = max(known, key=lambda item: item.table.name)
        return replace(
            newest,
            table=newest.table.model_copy(update={"name": pattern}),
            is_allowed=not self._lists_tables and not any(item.is_guarded or not item.is_allowed for item in known),
            is_open=all(item.is_open for item in known),
        )

    def _made_in_quotes(self, name: str) -> list[KnownTable]:
        """Return the tables that are listed in lower case and may have been made so with quotes.

        A driver may report them as it reports names in upper case. Where anything is kept from anybody there are none.
        """
        if self.protects or not ENGINES[self.dialect].folds_to_upper or name != name.lower():
            return []
        return [known for known in self._tables.get(name.upper(), []) if known.table.name == name]

    def is_own_database(self, name: str | None) -> bool:
        """Return whether what stands before a schema is nothing, or the connection's own database."""
        return name is None or self._catalog.is_own_database(name)

    def schema_of(self, known: KnownTable) -> str | None:
        """Return the schema in which a table stands, in the catalog's spelling; None where there are no schemas."""
        return known.table.schema_name or self._catalog.default_schema

    def has_table(self, name: str) -> bool:
        """Return whether any table of the catalog bears this name, in whatever schema and case."""
        return any(fold(name, self.dialect, quoted=quoted) in self._tables for quoted in (True, False))

    def knows_schema(self, schema: str) -> bool:
        """Return whether any table of the catalog stands in this schema."""
        return schema in self._schemas or schema == self.default_schema

    def _folded_schema(self, known: KnownTable) -> str | None:
        name = self._catalog.schema_of(known.table)
        return None if name is None else fold_known(name, self.dialect)

    def unreadable_view(self, name: str) -> str | None:
        """Return why the engine cannot read a view of this name, or None where it is none."""
        views = {} if self.protects else self._catalog.unreadable
        return next((reason for view, reason in views.items() if view.lower() == name.lower()), None)

    def similar_tables(self, name: str) -> tuple[str, ...]:
        """Return the closest table names, best first."""
        return self._similar_tables.closest(name)

    def owners(self, column: str) -> tuple[str, ...]:
        """Return the tables that have a column of this name."""
        return tuple(self._owners.get(column.lower(), ())[:CANDIDATES_MAX])

    def similar_columns(self, name: str, tables: Iterable[KnownTable]) -> tuple[str, ...]:
        """Return the closest column names of these tables, best first."""
        return _Similar([column for table in tables for column in table.columns.values()][:2_000]).closest(name)


def _folded(columns: Mapping[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
    return {table.lower(): frozenset(name.lower() for name in names) for table, names in columns.items()}


class _Similar:
    """Finds the closest of many names: shared pairs of letters choose a few, difflib ranks those."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(dict.fromkeys(names))
        self._by_pair: dict[str, list[int]] | None = None

    def closest(self, name: str) -> tuple[str, ...]:
        if self._by_pair is None:
            self._by_pair = {}
            for number, item in enumerate(self._names):
                for pair in _pairs(item):
                    self._by_pair.setdefault(pair, []).append(number)
        shared: Counter[int] = Counter()
        for pair in _pairs(name[:100]):
            shared.update(self._by_pair.get(pair, ()))
        # Few letters more or less count against a name, or long names would crowd out the close ones.
        near = sorted(shared, key=lambda number: (-2 * shared[number] / (len(name) + len(self._names[number])), number))
        wanted = name.lower()[:100]
        ranked = [
            (difflib.SequenceMatcher(None, wanted, self._names[number].lower()).ratio(), self._names[number])
            for number in near[:_COMPARED_MAX]
        ]
        ranked.sort(key=lambda item: (-item[0], item[1]))
        return tuple(item for score, item in ranked if score >= _SIMILARITY_MIN)[:CANDIDATES_MAX]


def _pairs(name: str) -> set[str]:
    text = f"^{name.lower()}$"
    return {text[at : at + 2] for at in range(len(text) - 1)}


_indexes: OrderedDict[tuple[str, Dialect, str], tuple[str, int, NameIndex]] = OrderedDict()


def index_of(catalog: Catalog, policy: ConnectionPolicy) -> NameIndex:
    """Return the catalog's index, made once and kept for its connection and policy until another catalog comes."""
    key = (catalog.connection, catalog.dialect, policy.fingerprint)
    kept = _indexes.get(key)
    if kept is not None and kept[0] == catalog.fingerprint:
        _indexes.move_to_end(key)
        return kept[2]
    index = NameIndex(catalog, policy)
    _indexes[key] = (catalog.fingerprint, len(catalog.tables), index)
    _indexes.move_to_end(key)
    while len(_indexes) > 1 and (
        len(_indexes) > _INDEXES_MAX or sum(tables for _, tables, _ in _indexes.values()) > _TABLES_INDEXED_MAX
    ):
        _indexes.popitem(last=False)
    return index
