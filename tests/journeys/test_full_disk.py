"""A disk that was full: nothing is accepted that cannot be stored, and everything works again once there is space."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import time
from collections.abc import Generator
from pathlib import Path

import nats.errors
import pytest
from nats.js.errors import APIError

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.admin.gauges import BusHealth, health_trouble
from querybus.core.topology import EVENTS, RESULTS, SUBMIT, THREADS
from querybus.ops.metrics import Metrics
from querybus_cli.local import keep_bus as module
from querybus_cli.local.keep_bus import keep_bus
from tests.connected.queries import sizes
from tests.journeys.test_up import Running, until, with_shop

pytestmark = [pytest.mark.connected, pytest.mark.slow]

DISK_BYTES = 160 * 1_024 * 1_024
STREAM_BYTES = 80 * 1_024 * 1_024


@contextlib.contextmanager
def mounted(folder: Path, size_bytes: int) -> Generator[Path]:
    """Give a folder a small disk of its own in memory."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes},mode=0700", "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        text = "a disk of its own cannot be mounted here: run this test as root, outside a container that forbids it"
        if os.environ.get("CI") == "true":
            pytest.fail(text)
        pytest.skip(text)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Write a file until the disk has no byte left; return the file."""
    file = folder / "filler"
    with file.open("wb", buffering=0) as out, contextlib.suppress(OSError):
        while True:
            out.write(b"x" * 4_096)
    return file


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("stream", "user", "subject"),
    [
        (EVENTS, "gateway", "querybus.v1.event.acme.t.q.asked"),
        (SUBMIT, "gateway", "querybus.v1.submit.acme.q"),
        (RESULTS, "executor", "querybus.v1.page.acme.t.q.0"),
        (f"KV_{THREADS}", "gateway", f"$KV.{THREADS}.acme"),
    ],
)
async def test_a_bus_heals_whichever_stream_met_the_full_disk_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: str, user: str, subject: str
) -> None:
    monkeypatch.setattr(module, "FAILING_SECONDS", 1.0)
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.5)
    said: list[str] = []
    async with EmbeddedNats(["acme"], store=tmp_path / "bus", sync="2m", sizes=sizes()) as bus:
        await bus.migrate()
        await bus.restart()
        (place,) = (tmp_path / "bus" / "jetstream").glob(f"**/streams/{stream}")
        await asyncio.to_thread(bus.kill)
        kept = place.rename(place.with_name("kept"))
        with mounted(place, STREAM_BYTES):
            subprocess.run(["cp", "-a", f"{kept}/.", str(place)], check=True)
            subprocess.run(["rm", "-r", str(kept)], check=True)
            await bus.start()
            health = BusHealth(bus.monitoring_url, metrics=Metrics("gateway"))
            await health.look()
            assert health.trouble is None
            await overfill(bus, user, subject, place)
            await health.look()
            assert "cannot store" in (health.trouble or "")
            keeping = asyncio.create_task(keep_bus(bus, place, said.append))
            try:
                async with asyncio.timeout(20):
                    while not said:
                        await asyncio.sleep(0.1)
                assert "free space" in said[0]
                (place / "filler").unlink()
                async with asyncio.timeout(30):
                    # While it starts, the server says that it reads its streams, or nothing at all.
                    while len(said) < 2 or bus.pid is None or health.trouble is not None:
                        await asyncio.sleep(0.1)
                        await health.look()
            finally:
                keeping.cancel()
            assert len(said) == 2
            assert "starting it again" in said[1]
            await bus.stop()


async def overfill(bus: EmbeddedNats, user: str, subject: str, place: Path) -> None:
    """Fill the disk of a stream and publish to it until the server says that it cannot store."""
    connection = await bus.connect(user)
    fill(place)
    ends = time.monotonic() + 20
    while await asyncio.to_thread(health_trouble, bus.monitoring_url) is None:
        assert time.monotonic() < ends, "the server met no full disk"
        with contextlib.suppress(nats.errors.Error, APIError, TimeoutError):
            await connection.jetstream().publish(subject, b"m" * 65_536, timeout=1)
    await connection.close()


@pytest.mark.timeout(180)
def test_a_stack_whose_disk_was_full_refuses_meanwhile_and_answers_again(tmp_path: Path) -> None:
    with mounted(tmp_path / "store", DISK_BYTES) as store:
        stack = Running(with_shop(tmp_path))
        try:
            stack.wait_ready()
            assert stack.ask("How many customers are there?")["rows"] == [[3]]
            filler = fill(store)
            question = {"question": "How many customers are there?", "connection": "shop"}
            refused = until(lambda: _refusal(stack, question), 60, "questions are refused")
            assert refused["code"] == "bus_unavailable"
            until(lambda: "gateway-1" in stack.waiting(), 30, "the gateway says that it is not ready")
            filler.unlink()
            until(lambda: not stack.waiting(), 60, "every service is ready again")
            assert stack.ask("How many customers are there?")["rows"] == [[3]]
        finally:
            assert stack.stop() == 0
        assert "starting it again" in stack.log.read_text()


def _refusal(stack: Running, question: dict[str, str]) -> dict[str, object] | None:
    status, answer = stack.http("POST", "/v1/queries", question)
    return answer if status == 503 else None
