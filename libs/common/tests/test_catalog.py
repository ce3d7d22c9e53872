"""A copy of a catalog knows nothing of what the first one had found out about itself."""

from __future__ import annotations

from querybus.core.catalog import Catalog, Column, Dialect, ForeignKey, Table
from querybus.core.policy import ConnectionPolicy
from querybus.sql.names.index import NameIndex
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


def of_schemas() -> Catalog:
    columns = (Column(name="id", type="INT"), Column(name="email", type="TEXT"))
    key = ForeignKey(columns=("id",), referred_table="clients", referred_columns=("id",))
    return Catalog(
        connection="c",
        dialect=Dialect.POSTGRESQL,
        default_schema="public",
        tables=(
            Table(name="clients", columns=columns),
            Table(name="Clients", columns=columns),
            Table(name="clients", schema_name="crm", columns=columns),
            Table(name="deals", schema_name="crm", columns=columns, foreign_keys=(key,)),
            Table(name="leads", schema_name="crm", columns=columns),
        ),
    )


def test_a_qualified_name_means_one_table_and_none_of_a_foreign_schema():
    catalog = of_schemas()
    plain, spelt, other, deals, leads = catalog.tables
    for name, schema, table in (
        ("clients", None, plain),
        ("clients", "public", plain),
        ("CLIENTS", "PUBLIC", plain),
        ("Clients", "public", spelt),
        ("clients", "crm", other),
        ("clients", "archive", None),
        ("leads", None, leads),
        ("leads", "public", None),
    ):
        assert catalog.table(name, schema) is table, (name, schema)
    assert [catalog.table_at(table.qualified) is table for table in catalog.tables] == [True] * 5
    assert catalog.referred(deals.foreign_keys[0], deals) is plain


def test_a_policy_may_list_a_table_of_the_default_schema_with_its_schema():
    catalog = of_schemas()
    policy = ConnectionPolicy(columns_denied={"public.clients": ("email",)}, tables_allowed=("public.clients",))
    seen = visible(catalog, policy)
    assert [(table.qualified, [column.name for column in table.columns]) for table in seen.tables] == [
        ("clients", ["id"]),
        ("Clients", ["id"]),
    ]
    found = NameIndex(catalog, policy).find("clients", "public")
    assert found is not None
    assert (found.is_allowed, found.denied) == (True, {"email"})
    other = NameIndex(catalog, policy).find("clients", "crm")
    assert other is not None
    assert not other.is_allowed
