"""A catalog with what its owner says beyond names: measure words, descriptions, and references that are not declared.

Pure. What the database itself says comes first; what does not fit the catalog is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from querybus.core.catalog import Catalog, Column, ForeignKey, Table
from querybus_executor.connections.config import ConnectionConfig


def as_described(catalog: Catalog, config: ConnectionConfig) -> Catalog:
    """Return the catalog with the owner's measure words, descriptions and relations."""
    if not (config.measure_words or config.descriptions or config.relations):
        return catalog
    words = {name.casefold(): word for name, word in config.measure_words.items()}
    said = {name.casefold(): text for name, text in config.descriptions.items()}
    tables = tuple(
        table.model_copy(
            update={
                "measure_word": words.get(table.name.casefold(), table.measure_word),
                "comment": table.comment or said.get(table.name.casefold(), ""),
                "columns": tuple(_commented(table, column, said) for column in table.columns),
                "foreign_keys": (*table.foreign_keys, *_references(table, catalog, config.relations)),
            }
        )
        for table in catalog.tables
    )
    return Catalog.model_validate({name: getattr(catalog, name) for name in Catalog.model_fields} | {"tables": tables})


def _commented(table: Table, column: Column, said: Mapping[str, str]) -> Column:
    text = said.get(f"{table.name}.{column.name}".casefold(), "")
    return column if column.comment or not text else column.model_copy(update={"comment": text})


def _references(table: Table, catalog: Catalog, relations: tuple[str, ...]) -> list[ForeignKey]:
    found: list[ForeignKey] = []
    for relation in relations:
        own, _, other = relation.partition(" = ")
        (name, _, column), (target, _, key) = own.rpartition("."), other.rpartition(".")
        if name.casefold() != table.name.casefold() or (source := table.column(column)) is None:
            continue
        referred = catalog.table(target)
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
