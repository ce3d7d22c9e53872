"""A catalog as a connection's policy lets its readers see it: without tables and columns that are kept from them.

Masked columns stay: they can be named, and show nothing. A view that may not be read because parts of tables are
protected is left out, as the guard refuses it.
"""

from __future__ import annotations

from querybus.core.catalog import Catalog, Table
from querybus.core.policy import ConnectionPolicy


def visible(catalog: Catalog, policy: ConnectionPolicy) -> Catalog:
    """Return the catalog without what nobody may read; the policy is the one of the reader's tenant."""
    tables = tuple(shown for table in catalog.tables if (shown := _shown(table, catalog, policy)) is not None)
    names = {table.name.lower() for table in tables}
    return catalog.model_copy(
        update={
            "tables": tuple(
                table.model_copy(
                    update={
                        "foreign_keys": tuple(key for key in table.foreign_keys if key.referred_table.lower() in names)
                    }
                )
                for table in tables
            )
        }
    )


def _shown(table: Table, catalog: Catalog, policy: ConnectionPolicy) -> Table | None:
    names = catalog.names_of(table)
    schema = (catalog.schema_of(table) or "").lower()
    if policy.schemas_allowed is not None and schema not in {schema.lower() for schema in policy.schemas_allowed}:
        return None
    if policy.tables_allowed is not None and names.isdisjoint(table.lower() for table in policy.tables_allowed):
        return None
    filtered = not names.isdisjoint(row_filter.lower() for row_filter in policy.row_filters)
    open_views = {view.lower() for view in policy.views_open}
    if table.kind == "view" and policy.protects_parts and not filtered and open_views.isdisjoint(names | {"*"}):
        return None
    denied = {
        column.lower() for name, columns in policy.columns_denied.items() if name.lower() in names for column in columns
    }
    if filtered:
        # How many rows there are of everybody's is nobody's to see.
        table = table.model_copy(update={"row_estimate": None})
    if not denied:
        return table
    return table.model_copy(
        update={
            "columns": tuple(column for column in table.columns if column.name.lower() not in denied),
            "primary_key": tuple(column for column in table.primary_key if column.lower() not in denied),
            "foreign_keys": tuple(
                key for key in table.foreign_keys if denied.isdisjoint(column.lower() for column in key.columns)
            ),
        }
    )
