"""A copy of a catalog knows nothing of what the first one had found out about itself."""

from __future__ import annotations

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.policy import ConnectionPolicy
from querybus.sql.names.visible_catalog import visible


def test_what_a_policy_hides_is_found_by_no_name_and_the_fingerprint_is_another():
    columns = (Column(name="x", type="TEXT"), Column(name="y", type="TEXT"))
    tables = (Table(name="hidden", columns=columns), Table(name="shown", columns=columns))
    catalog = Catalog(connection="c", dialect=Dialect.SQLITE, tables=tables)
    assert catalog.table("hidden") is not None
    assert tables[1].column("y") is not None
    before = (catalog.fingerprint, catalog.identifiers)
    seen = visible(catalog, ConnectionPolicy(tables_allowed=("shown",), columns_denied={"shown": ("y",)}))
    assert seen.table("hidden") is None
    shown = seen.table("shown")
    assert shown is not None
    assert shown.column("y") is None
    assert seen.fingerprint != before[0]
    assert "hidden" not in seen.identifiers
