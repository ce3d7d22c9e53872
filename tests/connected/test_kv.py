"""The stores keep whole values: a reader sees one catalog or the one before, and learns of a change by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest
from nats.aio.client import Client

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.connection import Held
from querybus.bus.log.publish import BusTrouble, TooLarge
from querybus.bus.stores import catalogs
from querybus.bus.stores.buckets import ConnectionStore, CredentialStore, RunStore, WriteStore
from querybus.bus.stores.catalogs import CatalogStore, fitting
from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.core.credential import Credential, key_hash
from querybus.core.policy import Connection, ConnectionPolicy

pytestmark = pytest.mark.connected


@pytest.fixture
async def bus() -> AsyncGenerator[EmbeddedNats]:
    async with EmbeddedNats(sync="2m") as server:
        await server.migrate()
        yield server


class Users:
    """Connections as several users; what the server complained about is kept."""

    def __init__(self, bus: EmbeddedNats) -> None:
        self._bus = bus
        self._open: list[Client] = []
        self.violations: list[str] = []

    async def held(self, name: str) -> Held:
        connection = await self._bus.connect(name, on_error=self._receive)
        self._open.append(connection)
        return Held(connection)

    async def close(self) -> None:
        for connection in self._open:
            await connection.close()

    async def _receive(self, error: Exception) -> None:
        self.violations.append(str(error))


@pytest.fixture
async def users(bus: EmbeddedNats) -> AsyncGenerator[Users]:
    result = Users(bus)
    yield result
    await result.close()


async def becomes(read: Callable[[], Awaitable[object]], expected: object) -> None:
    """Wait until a reader that follows changes has received what was written."""
    async with asyncio.timeout(60):
        while await read() != expected:
            await asyncio.sleep(0.01)


def table(name: str, *values: str) -> Table:
    column = Column(name="c", type="TEXT", kind=ColumnKind.TEXT, values=values, values_complete=True)
    return Table(name=name, columns=(column,), display_names={"zh": "表"})


def catalog(*tables: Table, connection: str = "shop") -> Catalog:
    return Catalog(connection=connection, dialect=Dialect.SQLITE, tables=tables, glossary={"revenue": "price x count"})


async def test_what_the_executor_writes_the_others_read_whole(users: Users) -> None:
    written = catalog(table("orders", "open"), table("客户", "张三"))
    fingerprint = await CatalogStore(await users.held("executor")).write(written)
    assert fingerprint == written.fingerprint
    for service in ("generator", "validator", "recovery", "presenter"):
        result = await CatalogStore(await users.held(service)).read("shop")
        assert result == written
        assert result is not None
        assert result.fingerprint == fingerprint
        assert result.table("ORDERS") == written.tables[0]
    assert users.violations == []


async def test_a_connection_without_a_catalog_has_none(users: Users) -> None:
    assert await CatalogStore(await users.held("generator")).read("unknown.*") is None


async def test_a_catalog_without_tables_is_one(users: Users) -> None:
    await CatalogStore(await users.held("executor")).write(catalog())
    assert await CatalogStore(await users.held("validator")).read("shop") == catalog()


async def test_any_name_of_a_connection_has_its_own_catalog(users: Users) -> None:
    store = CatalogStore(await users.held("executor"))
    names = ("shop", "Shop", "shop.*", "a b", "店", ">", "shop.head")
    for name in names:
        await store.write(catalog(table(name), connection=name))
    for name in names:
        result = await store.read(name)
        assert result is not None
        assert (result.connection, result.tables[0].name) == (name, name)


@pytest.mark.parametrize("follow", [True, False])
async def test_every_replica_sees_a_change(users: Users, follow: bool) -> None:
    executor = CatalogStore(await users.held("executor"))
    replicas = [CatalogStore(await users.held("generator"), follow=follow) for _ in range(2)]
    for replica in replicas:
        await replica.start()
    for number in range(4):
        written = catalog(table("orders", str(number)), table("kept"))
        await executor.write(written)
        for replica in replicas:
            assert await replica.read("shop") == written
    for replica in replicas:
        await replica.drain()
    assert users.violations == []


@pytest.mark.requirement("002.21")
async def test_a_followed_catalog_costs_no_request_until_it_changes(
    users: Users, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("querybus.bus.stores.trust.SETTLE_SECONDS", 0.05)
    executor = CatalogStore(await users.held("executor"))
    held = await users.held("validator")
    replica = CatalogStore(held, follow=True)
    await replica.start()
    await executor.write(catalog(table("orders")))
    await replica.read("shop")
    await asyncio.sleep(0.1)
    first = await replica.read("shop")
    sent = held.connection.stats["out_msgs"]
    assert await replica.read("shop") is first
    assert held.connection.stats["out_msgs"] == sent
    await executor.write(catalog(table("orders", "changed")))
    await becomes(lambda: replica.read("shop"), catalog(table("orders", "changed")))


async def test_services_of_one_process_hold_a_catalog_once(users: Users) -> None:
    await CatalogStore(await users.held("executor")).write(catalog(table("orders", "open")))
    stores = [CatalogStore(await users.held(service)) for service in ("generator", "recovery", "presenter")]
    first, *others = [await store.read("shop") for store in stores]
    assert first is not None
    assert all(other is first for other in others)


async def test_a_reader_keeps_many_small_catalogs_and_of_large_ones_the_last_read(
    users: Users, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogs, "COLUMNS_CACHED_MAX", 100)
    executor = CatalogStore(await users.held("executor"))
    names = [f"c{number}" for number in range(40)]
    for name in names:
        await executor.write(catalog(table("orders", name), connection=name))
    wide = tuple(table(f"t{number}") for number in range(101))
    await executor.write(catalog(*wide, connection="wide"))
    reader = CatalogStore(await users.held("generator"))
    small = {name: await reader.read(name) for name in names}
    assert [name for name in names if await reader.read(name) is not small[name]] == []
    large = await reader.read("wide")
    assert await reader.read("wide") is large
    first = await reader.read("c0")
    assert first == small["c0"]
    assert await reader.read("wide") == large


async def test_after_a_restart_of_the_bus_nothing_cached_is_trusted_unseen(bus: EmbeddedNats, users: Users) -> None:
    held = await users.held("validator")
    replica = CatalogStore(held, follow=True)
    await replica.start()
    executor = await users.held("executor")
    await CatalogStore(executor).write(catalog(table("orders")))
    await replica.read("shop")
    await bus.restart(by_force=True)
    async with asyncio.timeout(60):
        while not (held.connection.is_connected and executor.connection.is_connected):
            await asyncio.sleep(0.05)
    while True:
        try:
            await CatalogStore(executor).write(catalog(table("orders", "changed")))
            break
        except BusTrouble:
            await asyncio.sleep(0.05)
    assert await replica.read("shop") == catalog(table("orders", "changed"))


async def test_a_change_reads_only_the_tables_that_changed_and_old_ones_are_removed_later(users: Users) -> None:
    held = await users.held("executor")
    store = CatalogStore(held)
    same = [table(f"t{number}") for number in range(50)]

    async def keys() -> int:
        answer = await held.connection.jetstream().stream_info("KV_querybus_catalog", subjects_filter=">")
        return sum(1 for key in answer.state.subjects or {} if ".table." in key)

    await store.write(catalog(*same, table("orders", "0")))
    assert await store.read("shop") is not None
    sent = held.connection.stats["out_msgs"]
    await store.write(catalog(*same, table("orders", "1")))
    assert held.connection.stats["out_msgs"] - sent < 12
    # The one before is still whole for those who are reading it.
    assert await keys() == 52
    for number in range(2, 6):
        await store.write(catalog(*same, table("orders", str(number))))
        assert await store.read("shop") == catalog(*same, table("orders", str(number)))


async def test_the_catalog_of_before_the_last_one_comes_back_whole(users: Users) -> None:
    executor = await users.held("executor")
    for number in (0, 1, 2, 0, 1, 0):
        await CatalogStore(executor).write(catalog(table("orders", str(number))))
        assert await CatalogStore(executor).read("shop") == catalog(table("orders", str(number)))


async def test_replicas_of_the_executor_may_write_at_the_same_time(users: Users) -> None:
    stores = [CatalogStore(await users.held("executor")) for _ in range(3)]
    one, other = catalog(table("a", "1"), table("b")), catalog(table("a", "2"), table("b"))
    for _ in range(5):
        await asyncio.gather(*(store.write(item) for store, item in zip(stores, (one, other, one), strict=True)))
        result = await CatalogStore(await users.held("generator")).read("shop")
        assert result in (one, other)


async def test_a_table_beyond_a_megabyte_loses_values_and_keeps_its_columns(users: Users) -> None:
    wide = Table(
        name="wide",
        columns=tuple(
            Column(name=f"c{number}", type="TEXT", values=tuple(f"{number}-{item}" * 8 for item in range(300)))
            for number in range(200)
        ),
    )
    assert len(wide.model_dump_json()) > 2_000_000
    store = CatalogStore(await users.held("executor"))
    fingerprint = await store.write(catalog(wide))
    result = await CatalogStore(await users.held("generator")).read("shop")
    assert result is not None
    assert result.fingerprint == fingerprint
    assert [column.name for column in result.tables[0].columns] == [column.name for column in wide.columns]
    assert 0 < len(result.tables[0].columns[0].values) < 300
    assert not result.tables[0].columns[0].values_complete
    # Writing the same again changes nothing.
    assert await store.write(catalog(wide)) == fingerprint


def test_a_table_that_cannot_fit_is_named() -> None:
    huge = Table(name="huge", columns=tuple(Column(name=f"column_{number}", type="TEXT") for number in range(100)))
    with pytest.raises(TooLarge, match="table huge"):
        fitting(huge, 1_000)


async def test_hundreds_of_tables_are_read_in_their_order(users: Users) -> None:
    written = catalog(*(table(f"t{number}", str(number)) for number in range(1_500)))
    await CatalogStore(await users.held("executor")).write(written)
    assert await CatalogStore(await users.held("recovery")).read("shop") == written


async def test_who_may_only_read_cannot_write(users: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("querybus.bus.log.stream_reads.WRITE_SECONDS_MAX", 0.2)
    held = await users.held("recovery")
    with pytest.raises(BusTrouble):
        await CatalogStore(held).write(catalog(table("forged")))
    with pytest.raises(BusTrouble):
        await ConnectionStore(held).write(Connection(name="forged", dialect=Dialect.SQLITE))
    assert await CatalogStore(await users.held("generator")).read("shop") is None


async def test_connections_carry_their_policy_and_are_followed(users: Users) -> None:
    executor = ConnectionStore(await users.held("executor"))
    gateway = ConnectionStore(await users.held("gateway"), follow=True)
    await gateway.start()
    assert await gateway.get("shop") is None
    shop = Connection(name="shop", dialect=Dialect.SQLITE, policy=ConnectionPolicy(rows_max=7))
    await executor.write(shop)
    await executor.write(Connection(name="Lager.*", dialect=Dialect.DUCKDB))
    assert await gateway.get("shop") == shop
    changed = shop.model_copy(update={"policy": ConnectionPolicy(rows_max=8)})
    await executor.write(changed)
    await becomes(lambda: gateway.get("shop"), changed)
    assert [path.name for path in await gateway.all()] == ["Lager.*", "shop"]
    await gateway.drain()
    assert users.violations == []


async def test_no_connections_are_none(users: Users) -> None:
    assert await ConnectionStore(await users.held("gateway")).all() == ()


async def test_credentials_are_kept_per_tenant_and_listed(users: Users) -> None:
    store = CredentialStore(await users.held("gateway"))
    app = Credential(name="app", tenant="acme", user="alice", key_sha256=key_hash("qb.acme.app.secret"))
    await store.put(app)
    await store.put(Credential(name="app", tenant="other", user="alice"))
    assert await store.get("acme", "app") == app
    assert await store.get("acme", "ap") is None
    await store.put(app.model_copy(update={"audience": "analyst"}))
    assert [(item.tenant, item.audience) for item in await store.all()] == [
        ("acme", "analyst"),
        ("other", "business"),
    ]


async def test_a_credential_that_is_taken_away_is_known_at_once_to_whoever_follows(users: Users) -> None:
    operator = CredentialStore(await users.held("gateway"))
    app = Credential(name="app", tenant="acme", user="alice", key_sha256=key_hash("qb.acme.app.secret"))
    await operator.put(app)
    gateway = CredentialStore(await users.held("gateway"), follow=True)
    await gateway.start()
    assert await gateway.get("acme", "app") == app
    reads = gateway._holder.connection.stats["out_msgs"]
    assert await gateway.get("acme", "app") == app
    assert gateway._holder.connection.stats["out_msgs"] == reads
    narrowed = app.model_copy(update={"connections": ("shop",)})
    await operator.put(narrowed)
    await becomes(lambda: gateway.get("acme", "app"), narrowed)
    await operator.remove("acme", "app")
    await becomes(lambda: gateway.get("acme", "app"), None)
    await gateway.drain()


async def test_all_credentials_are_listed_however_many_there_are(users: Users) -> None:
    store = CredentialStore(await users.held("gateway"))
    for start in range(0, 1_200, 100):
        await asyncio.gather(
            *(
                store.put(Credential(name=f"c{number}", tenant="acme", user="alice"))
                for number in range(start, start + 100)
            )
        )
    assert len({path.name for path in await store.all()}) == 1_200


async def test_nobody_but_the_gateway_reads_credentials(users: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("querybus.bus.log.stream_reads.READ_SECONDS_MAX", 0.2)
    await CredentialStore(await users.held("gateway")).put(Credential(name="app", tenant="acme", user="alice"))
    for service in ("generator", "validator", "executor", "recovery", "presenter"):
        with pytest.raises(BusTrouble):
            await CredentialStore(await users.held(service)).get("acme", "app")


async def test_a_statement_that_another_process_began_is_taken_once_it_has_ended(users: Users) -> None:
    ours, theirs = RunStore(await users.held("executor")), RunStore(await users.held("executor"))
    query = "018f3f6e-0000-7000-8000-000000000003"
    assert await ours.begin(query, 7)
    assert await ours.begin(query, 7), "what did not reach this process the first time"
    assert not await theirs.begin(query, 7)
    assert await theirs.begin(query, 8), "another draft of the same query"
    await ours.end(query, 7)
    assert await theirs.begin(query, 7)
    assert not await ours.begin(query, 7)
    with pytest.raises(BusTrouble):
        await RunStore(await users.held("presenter")).begin(query, 9)
    assert users.violations


async def test_of_many_that_begin_the_same_write_one_may(bus: EmbeddedNats, users: Users) -> None:
    stores = [WriteStore(await users.held("executor")) for _ in range(2)]
    query = "018f3f6e-0000-7000-8000-000000000001"
    begun = await asyncio.gather(*(stores[number % 2].create(query) for number in range(20)))
    assert sum(begun) == 1
    assert await stores[0].create("018f3f6e-0000-7000-8000-000000000002")
    assert users.violations == []
    await bus.restart(by_force=True)
    async with asyncio.timeout(60):
        while True:
            try:
                assert not await WriteStore(await users.held("executor")).create(query)
                break
            except BusTrouble:
                await asyncio.sleep(0.05)
