"""A first layer from a catalog: keys, relations and codes as facts; every metric a draft that answers nothing yet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from querybus.core.catalog import Catalog, Column, ColumnKind, Table
from querybus_semantic.checks.verified_figures import figures_of
from querybus_semantic.layer.definitions import Dataset, Field, Layer, Metric, Relation, Type, Words

VALUES_MAX: Final = 12
_KINDS: Final = {
    ColumnKind.INTEGER: Type.INTEGER,
    ColumnKind.NUMBER: Type.NUMBER,
    ColumnKind.TEXT: Type.TEXT,
    ColumnKind.BOOLEAN: Type.BOOLEAN,
    ColumnKind.DATE: Type.DATE,
    ColumnKind.DATETIME: Type.DATETIME,
    ColumnKind.TIME: Type.TIME,
}
_NUMBERS: Final = frozenset({ColumnKind.INTEGER, ColumnKind.NUMBER})
_DRAFT: Final = "A draft from the schema: say which rows count before it is approved."


def draft_of(catalog: Catalog, pairs: Iterable[tuple[str, str]] = ()) -> Layer:
    """Return the layer that a catalog suggests: a sum for every number that is no key, a count for every table and view.

    `pairs` are verified questions with their SQL: what they add up, under their conditions, is drafted as well.
    """
    datasets: dict[str, Dataset] = {}
    metrics: dict[str, Metric] = {}
    relations: list[Relation] = []
    tables = {table.name: table for table in catalog.tables}
    for table in tables.values():
        datasets[table.name] = Dataset(
            name=table.name,
            source=table.qualified,
            primary_key=table.primary_key,
            unique_keys=table.unique_keys,
            fields={column.name: _field(column, table.row_estimate) for column in table.columns},
            words=Words(
                label={str(key): name for key, name in table.display_names.items()},
                synonyms=table.synonyms,
                description=table.comment,
            ),
        )
        for key in table.foreign_keys:
            if key.referred_table in tables:
                name = f"{table.name}_{'_'.join(key.columns)}"
                relations.append(
                    Relation(name, table.name, key.referred_table, key.columns, key.referred_columns, key.columns[0])
                )
        metrics |= _metrics(table)
    for question, sql in pairs:
        for metric in figures_of(catalog, question, sql):
            metrics.setdefault(metric.name, metric)
    return Layer(
        catalog.connection, datasets, tuple(relations), metrics, description="A draft; nothing in it answers yet."
    )


def _field(column: Column, rows: int | None) -> Field:
    # Every value once is a name, not a code.
    is_code = column.distinct_count is None or column.distinct_count < (rows or 0)
    few = column.values_complete and len(column.values) <= VALUES_MAX and not column.personal and is_code
    return Field(
        name=column.name,
        expression=column.name,
        type=_KINDS.get(column.kind, Type.UNKNOWN),
        is_time=column.kind in {ColumnKind.DATE, ColumnKind.DATETIME},
        values={value: (value,) for value in column.values} if few else {},
        words=Words(
            label={str(key): name for key, name in column.display_names.items()},
            synonyms=column.synonyms,
            description=column.comment,
            offered=not column.personal,
        ),
    )


def _metrics(table: Table) -> dict[str, Metric]:
    keys = {name.lower() for name in table.primary_key}
    keys |= {name.lower() for key in table.foreign_keys for name in key.columns}
    found: dict[str, Metric] = {}
    if len(table.primary_key) == 1:
        name = f"{table.name}_count"
        found[name] = Metric(name, f"COUNT({table.name}.{table.primary_key[0]})", words=Words(_DRAFT, state="draft"))
    for column in table.columns:
        if column.kind in _NUMBERS and column.name.lower() not in keys and not column.values_complete:
            name = f"{table.name}_{column.name}"
            found[name] = Metric(name, f"SUM({table.name}.{column.name})", words=Words(_DRAFT, state="draft"))
    return found
