"""A catalog with what its owner says beyond names: measure words, units, descriptions, and references that are not declared.

Pure. What the database itself says comes first; what does not fit the catalog is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from querybus.core.catalog import Catalog, Column, ForeignKey, Language, Table
from querybus_executor.connections.config import ConnectionConfig


def as_described(catalog: Catalog, config: ConnectionConfig) -> Catalog:
    """Return the catalog with the owner's measure words, descriptions and relations."""
    if not (config.measure_words or config.units or config.descriptions or config.relations):
        return catalog
    words = {name.casefold(): word for name, word in config.measure_words.items()}
    units = {name.casefold(): _by_language(unit) for name, unit in config.units.items()}
    said = {name.casefold(): text for name, text in config.descriptions.items()}
    tables = tuple(
        table.model_copy(
            update={
                "measure_word": words.get(table.name.casefold(), table.measure_word),
                "comment": table.comment or said.get(table.name.casefold(), ""),
                "columns": tuple(_described(table, column, said, units) for column in table.columns),
                "foreign_keys": (*table.foreign_keys, *_references(table, catalog, config.relations)),
            }
        )
        for table in catalog.tables
    )
    return Catalog.model_validate({name: getattr(catalog, name) for name in Catalog.model_fields} | {"tables": tables})


def _described(
    table: Table, column: Column, said: Mapping[str, str], units: Mapping[str, Mapping[Language, str]]
) -> Column:
    key = f"{table.name}.{column.name}".casefold()
    if key not in said and key not in units:
        return column
    return column.model_copy(update={"comment": column.comment or said.get(key, ""), "unit": units.get(key, {})})


def _by_language(unit: str | Mapping[Language, str]) -> Mapping[Language, str]:
    return {"en": unit, "zh": unit} if isinstance(unit, str) else unit


def _references(table: Table, catalog: Catalog, relations: tuple[str, ...]) -> list[ForeignKey]:
    found: list[ForeignKey] = []
    for relation in relations:
        own, _, other = relation.partition(" = ")
        (name, _, column), (target, _, key) = own.rpartition("."), other.rpartition(".")
        if name.casefold() != table.name.casefold() or (source := table.column(column)) is None:
            continue
        referred = catalog.table_at(target)
        held = None if referred is None else referred.column(key)
        if referred is None or held is None:
            continue
        if any(known.columns == (source.name,) for known in table.foreign_keys):
            continue
        found.append(
            ForeignKey(
                columns=(source.name,),
                referred_table=referred.name,
                referred_columns=(held.name,),
                referred_schema=referred.schema_name,
            )
        )
    return found
