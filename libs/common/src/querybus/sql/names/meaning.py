"""Which table of a catalog a node of a statement means."""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Catalog, Table, fold


def table_meant(node: exp.Table, catalog: Catalog) -> Table | None:
    """Return the catalog's table that a node names, or None: of another database, of another schema, or of no table at all."""
    if node.args.get("catalog") is not None or not isinstance(node.this, exp.Identifier):
        return None
    schema = node.args.get("db")
    return catalog.table(_folded(node.this, catalog), _folded(schema, catalog) if schema is not None else None)


def _folded(name: exp.Identifier, catalog: Catalog) -> str:
    return fold(name.name, catalog.dialect, quoted=bool(name.args.get("quoted")))
