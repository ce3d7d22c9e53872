"""The embedded server starts quickly, says why when it does not, keeps what it stored, and never outlives its parent."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import urllib.request
from pathlib import Path

import pytest

from querybus.bus.admin.embedded_server import EmbeddedNats, EmbeddedNatsError
from querybus.bus.log.sign import Signer, Verifier

pytestmark = pytest.mark.connected


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A child that nobody has waited for still has its process id.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


async def gone(pid: int, within_seconds: float) -> bool:
    until = time.monotonic() + within_seconds
    while runs(pid) and time.monotonic() < until:
        await asyncio.sleep(0.02)
    return not runs(pid)


async def test_it_starts_on_ports_of_its_own() -> None:
    async with EmbeddedNats() as one, EmbeddedNats() as other:
        assert one.url != other.url
        assert one.url.startswith("nats://127.0.0.1:")


async def test_it_syncs_always_and_shows_it_on_loopback() -> None:
    async with EmbeddedNats() as server:

        def varz() -> dict[str, object]:
            with urllib.request.urlopen(f"{server.monitoring_url}/varz", timeout=5) as answer:
                return json.loads(answer.read())

        result = await asyncio.to_thread(varz)
    jetstream = result["jetstream"]
    assert isinstance(jetstream, dict)
    assert jetstream["config"]["sync_always"] is True
    assert result["host"] == "127.0.0.1"
    assert result["auth_required"] is True


async def test_its_passwords_are_new_each_time_and_only_its_owner_may_read_them() -> None:
    async with EmbeddedNats(["acme"]) as one, EmbeddedNats(["acme"]) as other:
        assert one.password("gateway") != other.password("gateway")
        assert one.issuer_key != other.issuer_key
        assert len({one.password(name) for name in ("gateway", "executor", "migrate")}) == 3
        assert one.configuration_file.stat().st_mode & 0o077 == 0


async def test_it_brings_a_key_pair_to_sign_approvals() -> None:
    server = EmbeddedNats()
    signature = Signer(server.signing_key).sign("subject", "id", b"body")
    assert Verifier(server.verify_key).verify("subject", "id", b"body", signature)


async def test_a_server_that_does_not_start_shows_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "jetstream").write_text("a file where a folder must be")
    server = EmbeddedNats(store=tmp_path)
    with pytest.raises(EmbeddedNatsError, match="storage directory"):
        await server.start()
    assert server.pid is None


async def test_a_temporary_store_is_removed_and_a_given_one_stays(tmp_path: Path) -> None:
    async with EmbeddedNats() as passing, EmbeddedNats(store=tmp_path) as staying:
        await staying.migrate()
        folder = passing.log_file.parent
        assert folder.is_dir()
    assert not folder.exists()
    assert (tmp_path / "jetstream").is_dir()
    async with EmbeddedNats(store=tmp_path) as again:
        assert await again.migrate() == ()


@pytest.mark.skipif(os.name != "posix", reason="the lock is a POSIX one")
async def test_two_servers_never_share_a_store(tmp_path: Path) -> None:
    async with EmbeddedNats(store=tmp_path) as first:
        await first.migrate()
        second = EmbeddedNats(store=tmp_path)
        with pytest.raises(EmbeddedNatsError, match="in use"):
            await second.start()
        assert await first.migrate() == ()
        await first.restart(by_force=True)
    async with second:
        assert await second.migrate() == ()


@pytest.mark.parametrize("by_force", [False, True])
async def test_a_restart_keeps_address_passwords_and_messages(by_force: bool) -> None:
    async with EmbeddedNats() as server:
        await server.migrate()
        url = server.url
        connection = await server.connect("gateway")
        await connection.jetstream().publish("querybus.v1.event.acme.t1.q1.asked", b"kept")
        await server.restart(by_force=by_force)
        assert server.url == url
        # The same connection comes back by itself.
        async with asyncio.timeout(60):
            while True:
                try:
                    result = await connection.jetstream().get_msg("QUERYBUS", seq=1)
                    break
                except Exception:  # noqa: BLE001 - anything goes wrong until it is back
                    await asyncio.sleep(0.05)
        assert result.data == b"kept"
        await connection.close()


async def test_stop_ends_the_server_and_the_one_who_watches_over_it() -> None:
    server = EmbeddedNats()
    await server.start()
    pid = server.pid
    assert pid is not None
    await server.stop()
    assert not runs(pid)
    assert server.pid is None
    await server.stop()


@pytest.mark.skipif(os.name != "posix", reason="a dead parent is noticed by a POSIX shell")
async def test_it_dies_with_its_parent_however_that_one_dies(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import asyncio, sys, time
        from pathlib import Path
        from querybus.bus.admin.embedded_server import EmbeddedNats

        async def main():
            server = EmbeddedNats(store=Path(sys.argv[1]))
            await server.start()
            print(server.pid, flush=True)
            await asyncio.sleep(60)

        asyncio.run(main())
        """
    )
    parent = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(await asyncio.to_thread(parent.stdout.readline))
    assert runs(pid)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert await gone(pid, within_seconds=60)
