"""What stands in a connection is shown to each caller as far as it may be seen, and what is suggested can be asked."""

from __future__ import annotations

import json

import pytest
import pytest_asyncio

from querybus.bus.connection import Held
from querybus.bus.stores.buckets import ConnectionStore
from querybus.bus.stores.catalogs import CatalogStore
from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus.core.policy import Connection, ConnectionPolicy, TenantRules
from querybus.sql.names.visible_catalog import visible
from querybus_gateway.problems import ProblemCode
from querybus_gateway.use_cases.catalogs.suggestions import suggestions

from .stack_of_tests import ApiStack

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    glossary={"churn": "customers that left, see zq_cust"},
    tables=(
        Table(
            name="zq_cust",
            display_names={"en": "Customers", "zh": "客户"},
            row_estimate=90,
            primary_key=("zq_id",),
            columns=(
                Column(name="zq_id", type="INTEGER", kind=ColumnKind.INTEGER),
                Column(
                    name="zq_city",
                    type="TEXT",
                    kind=ColumnKind.TEXT,
                    distinct_count=5,
                    display_names={"en": "City", "zh": "城市"},
                ),
                Column(name="zq_limit", type="REAL", kind=ColumnKind.NUMBER, comment="credit limit"),
                Column(name="zq_pin", type="TEXT", kind=ColumnKind.TEXT, comment="pin", distinct_count=9),
                Column(
                    name="zq_link", type="TEXT", kind=ColumnKind.TEXT, comment="kept in zq_hidden", distinct_count=3
                ),
                Column(name="zq_bare", type="TEXT", kind=ColumnKind.TEXT, comment="same as zq_pin of zq_cust"),
            ),
        ),
        Table(
            name="zq_order",
            comment="Orders",
            foreign_keys=(
                ForeignKey(columns=("zq_cust_id",), referred_table="zq_cust", referred_columns=("zq_id",)),
                ForeignKey(columns=("zq_x",), referred_table="zq_hidden", referred_columns=("zq_id",)),
            ),
            columns=(
                Column(name="zq_cust_id", type="INTEGER", kind=ColumnKind.INTEGER),
                Column(name="zq_x", type="INTEGER", kind=ColumnKind.INTEGER),
            ),
        ),
        Table(name="zq_hidden", comment="Secrets", columns=(Column(name="zq_id", type="INTEGER"),)),
        Table(name="zq_unnamed", columns=(Column(name="zq_id", type="INTEGER"),)),
    ),
)
POLICY = ConnectionPolicy(
    tables_allowed=("zq_cust", "zq_order", "zq_unnamed"),
    columns_denied={"ZQ_CUST": ("zq_pin",)},
    tenants={"other": TenantRules(tables_allowed=("zq_order",))},
)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack(shared_stack: ApiStack) -> ApiStack:
    executor = await shared_stack.bus.connect("executor")
    shop = Connection(name="shop", dialect=Dialect.SQLITE, description="the shop", policy=POLICY)
    await ConnectionStore(Held(executor)).write(shop)
    await CatalogStore(Held(executor)).write(CATALOG)
    await executor.close()
    return shared_stack


async def test_a_business_reader_sees_what_people_call_things(stack: ApiStack) -> None:
    async with stack.http() as http:
        listed = await http.get("/v1/connections")
        english = await http.get("/v1/connections/shop/catalog")
        chinese = await http.get("/v1/connections/shop/catalog", params={"language": "zh"})
        questions = await http.get("/v1/connections/shop/suggestions", params={"language": "zh"})
    assert listed.json()["connections"] == [
        {"name": "crm", "description": ""},
        {"name": "shop", "description": "the shop"},
    ]
    assert english.json()["tables"] == [
        {
            "label": "Customers",
            "columns": [{"label": "City", "kind": "text"}, {"label": "credit limit", "kind": "number"}],
        },
        {"label": "Orders", "columns": []},
    ]
    assert chinese.json()["tables"][0]["label"] == "客户"
    assert questions.json()["questions"][:2] == ["每个城市有多少个客户？", "有多少个orders？"]
    for reply in (listed, english, chinese, questions):
        assert "zq_" not in reply.text


async def test_an_analyst_sees_names_as_far_as_the_policy_goes(stack: ApiStack) -> None:
    async with stack.http("acme", "lab") as http:
        shown = (await http.get("/v1/connections/shop/catalog")).json()
        one = (await http.get("/v1/connections/shop")).json()
    assert one == {"name": "shop", "description": "the shop", "dialect": "sqlite", "access": "read_only"}
    assert [table["name"] for table in shown["tables"]] == ["zq_cust", "zq_order", "zq_unnamed"]
    assert [column["name"] for column in shown["tables"][0]["columns"]] == [
        "zq_id",
        "zq_city",
        "zq_limit",
        "zq_link",
        "zq_bare",
    ]
    assert [foreign_key["referred_table"] for foreign_key in shown["tables"][1]["foreign_keys"]] == ["zq_cust"]
    assert shown["glossary"] == CATALOG.glossary
    assert "zq_pin" not in json.dumps(shown["tables"][0]["columns"][:3])


async def test_another_tenant_sees_what_is_left_to_it(stack: ApiStack) -> None:
    async with stack.http("other") as http:
        shown = (await http.get("/v1/connections/shop/catalog")).json()
    assert [table["label"] for table in shown["tables"]] == ["Orders"]


@pytest.mark.parametrize("name", ["nowhere", "*", ">", "a.b", "shop%00", "库", "x" * 300])
async def test_a_connection_that_is_not_the_callers_is_not_there(stack: ApiStack, name: str) -> None:
    async with stack.http() as http:
        for path in ("", "/catalog", "/suggestions"):
            reply = await http.get(f"/v1/connections/{name}{path}")
            assert (reply.status_code, reply.json()["code"]) == (404, ProblemCode.NOT_FOUND)
        bad = await http.get("/v1/connections/shop/catalog", params={"language": "fr"})
    assert (bad.status_code, bad.json()["code"]) == (422, "invalid")


async def test_suggestions_for_business_name_only_what_people_call_things() -> None:
    seen = visible(CATALOG, POLICY)
    assert suggestions(seen, "en", "business") == (
        "How many customers are there for each city?",
        "How many orders are there?",
        "What is the average credit limit of customers?",
        "How many customers are there?",
    )
    assert "How many zq unnameds are there?" in suggestions(seen, "en", "analyst")
    assert suggestions(seen, "zh", "business")[0] == "每个城市有多少个客户？"
