"""Puts a house on one machine together for `querybus up`: bus, keys, settings, replicas."""

from __future__ import annotations

import asyncio
import json
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rich.console import Console

from querybus.bus.embedded import EmbeddedNats
from querybus.core.credential import key_text
from querybus.core.subjects import StageName
from querybus_cli.app import UsageError
from querybus_cli.demo_database import demo_connection, write_demo
from querybus_cli.house import CREDENTIALS, OUTSIDERS, SERVICES, TENANT, HousePlan, admit_locals, environment_of
from querybus_cli.quick import DEMO, demo_file
from querybus_cli.supervise import Replica, Supervisor

KEY_BYTES: Final = 24


async def run_up(
    counts: Mapping[StageName, int], connections: Path | None, store: Path, port: int, out: Console
) -> int:
    """Run until SIGINT or SIGTERM; return the exit code."""
    with tempfile.TemporaryDirectory(prefix="querybus-") as directory:
        file = connections or await _demo_connections(Path(directory))
        plan = _plan(file, store)
        async with EmbeddedNats(OUTSIDERS, store=plan.store, sync=plan.sync) as bus:
            await bus.migrate()
            keys = _keys(store / "keys.json")
            await admit_locals(bus, keys)
            replicas = tuple(
                Replica(
                    service,
                    number,
                    _environment(service, number, bus, plan, port),
                    (store / "logs" / f"{service}-{number}.log").resolve(),
                )
                for service in SERVICES
                for number in range(1, counts[service] + 1)
            )
            out.print(
                f"bus at {bus.url}; {len(replicas)} processes; logs in {store / 'logs'}; keys in {store / 'keys.json'}"
            )
            out.print(f"\n  curl -s http://127.0.0.1:{port}/v1/queries -H 'Prefer: wait=20' \\", highlight=False)
            out.print(
                f"    -H 'Authorization: Bearer {keys['analyst']}' -H 'Content-Type: application/json' \\",
                highlight=False,
                soft_wrap=True,
            )
            out.print('    -d \'{"question": "How many customers are there?"}\'\n', highlight=False)
            await Supervisor(replicas, lambda text: out.print(text, highlight=False)).run()
            out.print("stopped")
    return 0


def _plan(file: Path, store: Path) -> HousePlan:
    if not file.is_file():
        raise UsageError(f"there is no file {file}")
    store.mkdir(parents=True, exist_ok=True)
    return HousePlan(connections_file=file.resolve(), store=(store / "bus").resolve())


def _environment(service: StageName, number: int, bus: EmbeddedNats, plan: HousePlan, port: int) -> dict[str, str]:
    # Each gateway has a port of its own: the first the one that was asked for, the others those after it.
    door = {"QUERYBUS_API_PORT": str(port + number - 1)} if service is StageName.GATEWAY and port else {}
    return environment_of(service, bus, plan) | door


def _keys(file: Path) -> dict[str, str]:
    """Return the HTTP keys of this machine's credentials, made once and kept readable for this user only."""
    if file.exists():
        return json.loads(file.read_text())
    keys = {name: key_text(TENANT, name, secrets.token_urlsafe(KEY_BYTES)) for name in CREDENTIALS.values()}
    file.touch(mode=0o600)
    file.write_text(json.dumps(keys, indent=1))
    return keys


async def _demo_connections(directory: Path) -> Path:
    shop = demo_file()
    if not shop.exists():
        shop.parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(write_demo, shop)
    file = directory / "connections.yaml"
    file.write_text(json.dumps({"connections": [demo_connection(shop) | {"name": DEMO}]}, ensure_ascii=False))
    return file
