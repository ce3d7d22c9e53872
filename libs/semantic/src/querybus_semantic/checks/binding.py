"""A layer meets a catalog: tables are found, types are learnt, and what a reader may not see goes with all that needs it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from querybus.core.catalog import Catalog, ColumnKind, Table
from querybus.text.names.places import names_of_codes
from querybus_semantic.layer.definitions import Dataset, Field, Layer, Type

_KINDS: Final = {
    ColumnKind.INTEGER: Type.INTEGER,
    ColumnKind.NUMBER: Type.NUMBER,
    ColumnKind.TEXT: Type.TEXT,
    ColumnKind.BOOLEAN: Type.BOOLEAN,
    ColumnKind.DATE: Type.DATE,
    ColumnKind.DATETIME: Type.DATETIME,
    ColumnKind.TIME: Type.TIME,
}


def table_of(catalog: Catalog, source: str) -> Table | None:
    """Return the table that `database.schema.table` means here: with its schema, else by its name alone."""
    parts = [part.strip('"`[]') for part in source.split(".")]
    found = catalog.table(parts[-1], parts[-2]) if len(parts) > 1 else None
    return found or catalog.table(parts[-1])


def bound(layer: Layer, catalog: Catalog) -> tuple[Layer, tuple[str, ...]]:
    """Return the layer over this catalog, and the datasets that have no table in it, which are left out."""
    missing: list[str] = []
    datasets: dict[str, Dataset] = {}
    for name, dataset in layer.datasets.items():
        if dataset.is_query:
            datasets[name] = dataset
            continue
        table = table_of(catalog, dataset.source)
        if table is None:
            missing.append(name)
            continue
        source = table.qualified
        fields = {key: _typed(item, table) for key, item in dataset.fields.items()}
        datasets[name] = replace(dataset, source=source, fields=fields)
    relations = tuple(one for one in layer.relations if one.many in datasets and one.one in datasets)
    return replace(layer, datasets=datasets, relations=relations), tuple(missing)


def _typed(item: Field, table: Table) -> Field:
    column = table.column(item.expression)
    if column is None or item.type is not Type.UNKNOWN:
        return item
    return replace(item, type=_KINDS.get(column.kind, Type.UNKNOWN))


def stored_values(layer: Layer, catalog: Catalog) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return which field holds a value, by the value's folded text: pairs of dataset.field and the value as stored.

    A country or a state whose code is stored is found by its names as well, unless something is stored by that name.
    """
    found: dict[str, dict[tuple[str, str], None]] = {}
    named: dict[str, dict[tuple[str, str], None]] = {}
    for dataset in layer.datasets.values():
        table = None if dataset.is_query else table_of(catalog, dataset.source)
        for item in dataset.fields.values() if table is not None else ():
            column = table.column(item.expression) if table is not None else None
            if column is None or column.personal:
                continue
            for value in column.values:
                found.setdefault(value.casefold(), {})[f"{dataset.name}.{item.name}", value] = None
            for code, names in names_of_codes(f"{dataset.name} {item.name}", column.values).items():
                for name in names:
                    named.setdefault(name.casefold(), {})[f"{dataset.name}.{item.name}", code] = None
    return {text: tuple(places) for text, places in (named | found).items()}


def few_valued(layer: Layer, catalog: Catalog, values_max: int) -> Iterator[Field]:
    """Yield what figures may be split by: fields that are offered and whose column has two to `values_max` values."""
    for dataset in layer.datasets.values():
        table = None if dataset.is_query else table_of(catalog, dataset.source)
        for field in dataset.fields.values() if table is not None else ():
            column = table.column(field.expression) if table is not None else None
            if column is not None and field.words.offered and 1 < (column.distinct_count or 0) <= values_max:
                yield field


def flags_of(layer: Layer, catalog: Catalog) -> dict[str, bool | int]:
    """Return the fields that say yes or no, by dataset.field, each with the value that says yes: true, or 1 beside 0."""
    found: dict[str, bool | int] = {}
    for dataset in layer.datasets.values():
        table = None if dataset.is_query else table_of(catalog, dataset.source)
        for item in dataset.fields.values() if table is not None else ():
            column = table.column(item.expression) if table is not None else None
            if column is None:
                continue
            ends = (column.profile.value_min, column.profile.value_max) if column.profile is not None else None
            if column.kind is ColumnKind.BOOLEAN:
                found[f"{dataset.name}.{item.name}"] = True
            elif column.kind is ColumnKind.INTEGER and ends == ("0", "1"):
                found[f"{dataset.name}.{item.name}"] = 1
    return found
