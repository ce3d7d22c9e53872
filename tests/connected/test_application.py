"""A service as a process of its own: it says how it is, drains on SIGTERM, and stays small."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.admin.migrate import TopologyError
from querybus.bus.application import NotSafe, Service
from querybus.bus.connection import BusRefused
from querybus.bus.stage import stage
from querybus.bus.stage_policy import Runtime, StagePolicy
from querybus.core.subjects import StageName
from querybus.ops.metrics import Metrics
from querybus.ops.settings import ServiceSettings
from tests.connected.queries import ask, broker_of, drafting, log_of, sizes, until

pytestmark = pytest.mark.connected

ROOT = Path(__file__).resolve().parents[2]
MEMORY_BYTES_MAX = 150 * 1_000_000

ONE_SERVICE = """
import asyncio
from querybus.bus.application import Service, run_service
from querybus.bus.broker import make_broker
from querybus.bus.stage import stage
from querybus.bus.stage_policy import Runtime, StagePolicy
from querybus.core.subjects import StageName
from querybus.ops.log import configure_logging
from querybus.ops.metrics import Metrics
from querybus.ops.settings import ServiceSettings, load
from tests.connected.queries import a_draft

async def think(envelope, delivery):
    await asyncio.sleep(1.0)
    return a_draft(envelope)

configure_logging("info")
settings = load(ServiceSettings)
metrics = Metrics("generator")
broker = make_broker(settings, StageName.GENERATOR, metrics)
part = stage(broker, think, StagePolicy(name=StageName.GENERATOR), Runtime(metrics=metrics), slots=settings.slots)
service = Service(StageName.GENERATOR, broker, (part,), metrics=metrics, settings=settings)
run_service(service, on_listening=lambda address: print(address, flush=True))
print("stopped", flush=True)
"""


@pytest.fixture
async def bus() -> AsyncIterator[EmbeddedNats]:
    async with EmbeddedNats(sync="2m", sizes=sizes()) as server:
        await server.migrate()
        yield server


def start(bus: EmbeddedNats, password: str | None = None) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "QUERYBUS_NATS_URL": bus.url,
        "QUERYBUS_NATS_PASSWORD": password or bus.password("generator"),
    }
    return subprocess.Popen(
        [sys.executable, "-c", ONE_SERVICE],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return (await asyncio.wait_for(asyncio.to_thread(process.stdout.readline), 20)).strip()


async def is_ready(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/readyz")).status_code == 200
    except httpx.HTTPError:
        return False


async def test_a_service_starts_works_says_how_it_is_and_drains_on_sigterm(bus):
    process = start(bus)
    try:
        address = await line_of(process)
        async with httpx.AsyncClient(base_url=address) as client:
            await until(lambda: is_ready(client), 20)
            assert (await client.get("/livez")).status_code == 204
            assert (await client.get("/readyz")).json() == {"ready": True, "troubles": {}}
            assert b"querybus_stage_seconds" in (await client.get("/metrics")).content
            assert (await client.get("/nothing")).status_code == 404
            assert resident_bytes(process.pid) < MEMORY_BYTES_MAX

            gateway = await bus.connect(StageName.GATEWAY)
            envelope, _ = await ask(gateway)
            await asyncio.sleep(0.3)
            process.send_signal(signal.SIGTERM)
        process.wait(15)
        # What ran when the signal came was finished and published.
        assert await log_of(gateway, envelope) == ["asked", "drafted"]
        assert process.returncode in (0, -signal.SIGTERM)
        await gateway.close()
    finally:
        process.kill()
        _, errors = process.communicate()
    assert "violation" not in errors
    assert all(json.loads(line) for line in errors.splitlines())


def resident_bytes(pid: int) -> int:
    if not Path("/proc/self/statm").exists():
        pytest.skip("needs /proc to see another process's memory")
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


async def test_readiness_reports_that_the_bus_is_away_and_back(bus):
    process = start(bus)
    try:
        async with httpx.AsyncClient(base_url=await line_of(process)) as client:
            await until(lambda: is_ready(client), 20)
            bus.kill()
            await until(lambda: is_not_ready(client), 10)
            assert (await client.get("/livez")).status_code == 204
            await bus.start()
            await until(lambda: is_ready(client), 20)
    finally:
        process.kill()
        process.communicate()


async def is_not_ready(client: httpx.AsyncClient) -> bool:
    return "bus" in (await client.get("/readyz")).json()["troubles"]


async def test_a_wrong_password_ends_the_process_at_once(bus):
    process = start(bus, password="wrong")
    _, errors = await asyncio.to_thread(process.communicate, None, 20)
    assert process.returncode == 3
    assert "does not let generator in" in errors
    assert bus.password("generator") not in errors


def a_service(bus: EmbeddedNats, **settings: Any) -> Service:
    broker, metrics = broker_of(bus, StageName.GENERATOR), Metrics("generator")
    part = stage(broker, drafting(), StagePolicy(name=StageName.GENERATOR), Runtime(metrics=metrics), slots=2)
    return Service(StageName.GENERATOR, broker, (part,), metrics=metrics, settings=ServiceSettings(**settings))


async def test_a_service_refuses_a_bus_that_was_not_migrated():
    async with EmbeddedNats(sync="2m", sizes=sizes()) as bus:
        service = a_service(bus)
        with pytest.raises(TopologyError, match="querybus operate migrate"):
            await service.start()
        with pytest.raises(Exception, match="onnect"):
            _ = service.broker.connection


async def test_several_services_run_in_one_process_and_stop_twice_without_harm(bus):
    first, second = a_service(bus), a_service(bus)
    await first.start()
    await second.start()
    assert await first.troubles() == {}
    gateway = await bus.connect(StageName.GATEWAY)
    envelope, _ = await ask(gateway)
    await until(lambda: answered(gateway, envelope))
    await first.stop()
    assert "service" in await first.troubles()
    await first.stop()
    assert await second.troubles() == {}
    await second.stop()
    await gateway.close()


async def answered(gateway, envelope) -> bool:
    return "drafted" in await log_of(gateway, envelope)


async def test_a_wrong_password_is_refused_in_process(bus):
    service = a_service(bus)
    service.broker._password = "wrong"
    with pytest.raises(BusRefused):
        await service.start()


async def test_production_starts_only_on_a_bus_that_syncs_every_write(bus):
    with pytest.raises(NotSafe, match="MONITORING_URL"):
        await a_service(bus, environment="production").start()
    with pytest.raises(NotSafe, match="sync_interval: always"):
        await a_service(bus, environment="production", nats_monitoring_url=bus.monitoring_url).start()
    async with EmbeddedNats(sync="always", sizes=sizes()) as safe:
        await safe.migrate()
        service = a_service(safe, environment="production", nats_monitoring_url=safe.monitoring_url)
        await service.start()
        assert await service.troubles() == {}
        await service.stop()
        with pytest.raises(NotSafe, match="does not answer"):
            await a_service(safe, environment="production", nats_monitoring_url="http://127.0.0.1:1").start()
