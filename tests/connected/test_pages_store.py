"""Pages are written by the executor, read by gateway and presenter, and a second run overwrites nothing."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import AsyncGenerator

import pytest
from nats.aio.client import Client

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.connection import Held
from querybus.bus.log.publish import BusTrouble, TooLarge
from querybus.bus.stores.pages import PageStore, decode_page, encode_page, page_sha256
from querybus.core.catalog import ColumnKind
from querybus.core.messages import ResultColumn
from querybus.core.subjects import run_token

pytestmark = pytest.mark.connected

QUERY = "018f3f6e-0000-7000-8000-000000000001"
COLUMNS = (ResultColumn(name="名称", kind=ColumnKind.TEXT), ResultColumn(name="n", kind=ColumnKind.INTEGER))


@pytest.fixture
async def bus() -> AsyncGenerator[EmbeddedNats]:
    async with EmbeddedNats(sync="2m") as server:
        await server.migrate()
        yield server


@contextlib.asynccontextmanager
async def user(bus: EmbeddedNats, name: str, violations: list[str] | None = None) -> AsyncGenerator[Client]:
    async def receive(error: Exception) -> None:
        if violations is not None:
            violations.append(str(error))

    connection = await bus.connect(name, on_error=receive)
    try:
        yield connection
    finally:
        await connection.close()


async def test_a_page_is_read_where_it_was_named_and_only_there(bus: EmbeddedNats) -> None:
    violations: list[str] = []
    data = encode_page(COLUMNS, [("甲", 1), ("乙", 2)])
    run = run_token(7, 1)
    async with (
        user(bus, "executor", violations) as executor,
        user(bus, "gateway", violations) as gateway,
        user(bus, "presenter", violations) as presenter,
    ):
        sha256 = await PageStore(Held(executor)).put("acme", QUERY, run, 1, data)
        assert sha256 == page_sha256(data)
        for reader in (gateway, presenter):
            result = await PageStore(Held(reader)).get("acme", QUERY, run, 1)
            assert result == data
            assert decode_page(data) == (COLUMNS, (("甲", 1), ("乙", 2)))
        pages = PageStore(Held(gateway))
        assert await pages.get("acme", QUERY, run, 2) is None
        assert await pages.get("other", QUERY, run, 1) is None
        assert await pages.get("acme", QUERY, run_token(7, 2), 1) is None
    assert violations == []


async def test_a_second_run_leaves_the_first_runs_pages_alone(bus: EmbeddedNats) -> None:
    async with user(bus, "executor") as executor, user(bus, "gateway") as gateway:
        pages, reader = PageStore(Held(executor)), PageStore(Held(gateway))
        await pages.put("acme", QUERY, run_token(7, 1), 1, b"first")
        await pages.put("acme", QUERY, run_token(7, 2), 1, b"second")
        # The same page of the same run is the same page, however often it is put.
        await pages.put("acme", QUERY, run_token(7, 1), 1, b"first")
        assert await reader.get("acme", QUERY, run_token(7, 1), 1) == b"first"
        assert await reader.get("acme", QUERY, run_token(7, 2), 1) == b"second"


async def test_a_page_of_megabytes_goes_through_and_one_beyond_the_bus_is_refused(bus: EmbeddedNats) -> None:
    async with user(bus, "executor") as executor, user(bus, "gateway") as gateway:
        pages = PageStore(Held(executor))
        large = b"x" * (4 * 1_024 * 1_024)
        await pages.put("acme", QUERY, "7-1", 1, large)
        assert await PageStore(Held(gateway)).get("acme", QUERY, "7-1", 1) == large
        with pytest.raises(TooLarge):
            await pages.put("acme", QUERY, "7-1", 2, b"x" * (9 * 1_024 * 1_024))


async def test_who_may_not_read_pages_gets_none_of_them(bus: EmbeddedNats, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("querybus.bus.log.stream_reads.READ_SECONDS_MAX", 0.2)
    async with user(bus, "executor") as executor, user(bus, "generator") as generator:
        await PageStore(Held(executor)).put("acme", QUERY, "7-1", 1, b"page")
        with pytest.raises(BusTrouble):
            await PageStore(Held(generator)).get("acme", QUERY, "7-1", 1)


def test_arrow_is_loaded_only_when_a_page_is() -> None:
    program = "import sys, querybus.bus.stores.pages; assert 'pyarrow' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)
