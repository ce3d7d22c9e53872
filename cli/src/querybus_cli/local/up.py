"""Puts a stack on one machine together for `querybus up`: bus, keys, settings, replicas."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import tempfile
import urllib.request
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.markup import escape

from querybus.bus.admin.embedded_server import EmbeddedNats, sizes_for
from querybus.bus.admin.permissions import BACKUP_USER, OPERATOR
from querybus.bus.connection import Held
from querybus.bus.stores.buckets import ConnectionStore
from querybus.core.policy import Connection
from querybus.core.stored.models import NamedModel
from querybus.core.subjects import StageName, answer_filter, is_token
from querybus.llm.errors import Fault
from querybus.llm.model_search import read_settings
from querybus.ops.run import end
from querybus_cli.local.answers import DEMO, demo_file, names_of
from querybus_cli.local.colocated import colocated_environment, shared_services
from querybus_cli.local.demo_database import demo_connection, write_demo
from querybus_cli.local.keep_bus import keep_bus
from querybus_cli.local.local_stack import (
    OUTSIDERS,
    OWNER,
    SERVICES,
    TENANT,
    StackPlan,
    admit_locals,
    environment_of,
    keep_model,
    new_keys,
    settings_of,
)
from querybus_cli.local.model_trial import report_model
from querybus_cli.local.ports import free_ports
from querybus_cli.local.supervise import Replica, Supervisor
from querybus_cli.operations.operator import OPERATOR_FILE
from querybus_cli.runtime import UsageError, os_error_text, read_json, usage
from querybus_cli.terminal.finding import names_line
from querybus_executor.connections.set_up.file_edit import write_whole
from querybus_executor.connections.set_up.file_text import HEAD
from querybus_gateway.settings import GRPC_INSTALL, has_grpc

CONNECTIONS_FILE: Final = Path("connections.yaml")
CLIENTS_FILE: Final = "clients.json"
KEYS_FILE: Final = "keys.json"
READY_PAUSE_SECONDS: Final = 0.2
READY_SECONDS_MAX: Final = 3.0


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports that were asked for; 0 is any free one. Further gateways take the ports after those of the first."""

    http: int
    grpc: int
    bus: int

    def must_be_free(self, gateways: int) -> None:
        """Refuse a port that is taken; UsageError names its option."""
        for number in range(gateways):
            _must_be_free(self.http and self.http + number, "--port")
            _must_be_free(self.grpc and self.grpc + number, "--grpc-port")
        _must_be_free(self.bus, "--bus-port")
        if self.grpc and not has_grpc():
            raise UsageError(f"--grpc-port needs the gRPC library: {GRPC_INSTALL}")

    def grpc_apis(self, gateways: int) -> Sequence[int]:
        """Return the gRPC port of each gateway; none where the library is not installed."""
        if not has_grpc():
            return ()
        return [self.grpc + number for number in range(gateways)] if self.grpc else free_ports(gateways)


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """What `querybus connect` adds to a start: a model to keep, and what follows once every service is ready.

    `on_ready` receives the address of the API, the keys and the link that signs in once, if there is one.
    """

    model: NamedModel | None = None
    on_ready: Callable[[str, Mapping[str, str], str | None], Awaitable[None]] | None = None


async def run_up(
    counts: Mapping[StageName, int],
    connections: Path | None,
    store: Path,
    ports: Ports,
    out: Console,
    tenants: Sequence[str] = (),
    *,
    together: bool | None = None,
    first: FirstSteps = FirstSteps(),
) -> int:
    """Run until SIGINT or SIGTERM; return the exit code. `tenants` come beside `local`.

    `connections` that is no file yet is made without an entry: the page adds the first database.
    `together`: generator, recovery and presenter in one process; None: where there are few cores and one of each.
    """
    for name in tenants:
        if not is_token(name):
            raise UsageError(f"the tenant {name[:80]!r} may have a-z, 0-9 and '-' only, at most 64 of them")
    with tempfile.TemporaryDirectory(prefix="querybus-") as directory:
        shared = shared_services(counts, together)
        file = _connections_file(connections, out) or await _demo_connections(Path(directory))
        plan = _plan(file, store)
        gateways = counts[StageName.GATEWAY]
        ports.must_be_free(gateways)
        api = ports.http or free_ports(1)[0]
        known = tuple(dict.fromkeys((TENANT, *tenants)))
        sizes = sizes_for(store)
        async with EmbeddedNats(known, store=plan.store, sync=plan.sync, sizes=sizes, port=ports.bus) as bus:
            # From here on the store is ours: what another stack has left of itself was not touched before.
            (store / "processes.json").unlink(missing_ok=True)
            await bus.migrate()
            keys = _keys(store / KEYS_FILE)
            if first.model is not None:
                await keep_model(bus, first.model)
            _report_operators(store / OPERATOR_FILE, bus, f"http://127.0.0.1:{api}", plan.connections_file)
            _report_clients(store / CLIENTS_FILE, bus, keys)
            await admit_locals(bus, keys)
            names = [(service, number) for service in SERVICES for number in range(1, counts[service] + 1)]
            probes = dict(zip(names, free_ports(len(names)), strict=True))
            grpc_apis = ports.grpc_apis(gateways)
            replicas = _replicas(bus, plan, probes, api, grpc_apis, shared, (store / "logs").resolve())
            if shared:
                out.print(f"{', '.join(shared)} share a process; --apart gives each its own")
            addresses = {f"{name}-{number}": f"http://127.0.0.1:{port}" for (name, number), port in probes.items()}
            (store / "processes.json").write_text(json.dumps(addresses, indent=1))
            out.print(f"{len(replicas)} processes are starting; logs, keys and probe addresses are in {store}")
            apis = (
                f"HTTP at 127.0.0.1:{api}, {grpc_text(grpc_apis)}, the bus at {bus.url}\n"
                f"keys are in {store / KEYS_FILE}, users and subjects of the bus in {store / CLIENTS_FILE}"
            )
            when_ready = _report_when_ready(bus, addresses.values(), keys, api, apis, out, first, store / KEYS_FILE)
            await _supervise(bus, store, replicas, when_ready, out)
            out.print("stopped")
    return 0


async def _supervise(
    bus: EmbeddedNats, store: Path, replicas: tuple[Replica, ...], when_ready: Coroutine[Any, Any, None], out: Console
) -> None:
    """Keep the replicas and the bus running until the command is asked to stop."""
    say: Callable[[str], None] = partial(out.print, markup=False, highlight=False, soft_wrap=True)
    beside = [asyncio.create_task(task) for task in (when_ready, keep_bus(bus, store, say))]
    try:
        await Supervisor(replicas, say).run()
    finally:
        await end(*beside)


def _replicas(
    bus: EmbeddedNats,
    plan: StackPlan,
    probes: Mapping[tuple[StageName, int], int],
    api: int,
    grpc_apis: Sequence[int],
    shared: Sequence[StageName],
    logs: Path,
) -> tuple[Replica, ...]:
    """Return the processes: one for each service and number that has a probe, one for all that are shared."""
    replicas = [
        Replica(
            service,
            number,
            environment_of(service, bus, plan) | _ports(service, number, api, grpc_apis, probe),
            logs / f"{service}-{number}.log",
        )
        for (service, number), probe in probes.items()
        if service not in shared
    ]
    if shared:
        first, *others = shared
        settings = {name: settings_of(name, bus, plan) | {"http_port": probes[name, 1]} for name in shared}
        log = logs / f"{'+'.join(shared)}-1.log"
        replicas.append(Replica(first, 1, colocated_environment(settings), log, tuple(others)))
    return tuple(replicas)


def _plan(file: Path, store: Path) -> StackPlan:
    if not file.is_file():
        raise UsageError(f"there is no file {file}")
    names_of(file)
    try:
        store.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=store):
            pass
    except OSError as error:
        raise UsageError(f"--store {store} must be a folder that can be written: {os_error_text(error)}") from error
    return StackPlan(connections_file=file.resolve(), store=(store / "bus").resolve())


def _ports(service: StageName, number: int, api: int, grpc_apis: Sequence[int], probe: int) -> dict[str, str]:
    ports = {"QUERYBUS_HTTP_PORT": str(probe)}
    if service is StageName.GATEWAY:
        # Each gateway has APIs of its own: the first the port that was asked for, the others those after it.
        ports["QUERYBUS_API_PORT"] = str(api + number - 1)
        if grpc_apis:
            ports["QUERYBUS_GRPC_PORT"] = str(grpc_apis[number - 1])
    return ports


def grpc_text(apis: Sequence[int]) -> str:
    """Return where the first gRPC API is, or what adds one, as marked-up text for a terminal."""
    return f"gRPC at 127.0.0.1:{apis[0]}" if apis else escape(f"no gRPC (to have it: {GRPC_INSTALL})")


def _must_be_free(port: int, option: str) -> None:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError as error:
        raise UsageError(
            f"port {port} cannot be listened at ({os.strerror(error.errno or 0)}): say {option} with another"
        ) from error


async def _report_when_ready(
    bus: EmbeddedNats,
    addresses: Iterable[str],
    keys: Mapping[str, str],
    api: int,
    apis: str,
    out: Console,
    first: FirstSteps,
    keys_file: Path,
) -> None:
    for address in addresses:
        while not await asyncio.to_thread(is_ready, address):  # noqa: ASYNC110 - no event says something of another process
            await asyncio.sleep(READY_PAUSE_SECONDS)
    out.print(f"ready: {apis}", highlight=False, soft_wrap=True)
    for line in connection_notes(await _connections_of(bus)):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    page = f"http://127.0.0.1:{api}"
    # What lets somebody in is for a person at a terminal: a log is read by others, and kept.
    is_terminal = out.file.isatty()
    link = await asyncio.to_thread(_sign_in_link, page, keys[OWNER]) if is_terminal else None
    for line in entry_lines(page, link, keys_file):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    if first.on_ready is not None:
        await first.on_ready(page, keys, link)
        return
    out.print("\nask, for instance:\n", highlight=False)
    for line in example_lines(page, keys["analyst"] if is_terminal else None):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    # `connect` has tried its model itself; here a question can be asked while the model is tried.
    if line := await report_model(bus, keys_file.parent):
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def entry_lines(page: str, link: str | None, keys_file: Path) -> list[str]:
    """Return how to sign in at the page: by the link, or without one by a key of the file."""
    if link is not None:
        return [f"\nthe page, signed in once within ten minutes:\n\n  {link}"]
    return [f"\nthe page: {page}; a key to sign in with is in {keys_file}"]


def example_lines(page: str, key: str | None) -> list[str]:
    """Return two ways to ask a first question; without a key its place is named."""
    return [
        f'  querybus ask "How many customers are there?" --url {page}',
        f"  curl -s {page}/v1/queries -H 'Prefer: wait=20' -H 'Content-Type: application/json' \\",
        f"    -H 'Authorization: Bearer {key or '<key>'}' \\",
        '    -d \'{"question": "How many customers are there?"}\'\n',
    ]


async def _connections_of(bus: EmbeddedNats) -> tuple[Connection, ...]:
    connection = await bus.connect(StageName.GATEWAY)
    try:
        return await ConnectionStore(Held(connection)).all()
    finally:
        await connection.close()


def connection_notes(connections: Iterable[Connection]) -> list[str]:
    """Return a line for each connection that cannot be read, whose role may write, or whose names say nothing to people."""
    lines: list[str] = []
    for item in connections:
        if item.trouble is not None:
            lines.append(f"failed: {item.name} cannot be read: {item.trouble.detail}")
        elif item.warning:
            lines.append(
                f"warning: {item.name}: {item.warning}; `querybus connections test {item.name}` says what to do"
            )
        if line := names_line(item.name, item.names_readable, item.names):
            lines.append(f"note: {line}")
    return lines


def is_ready(address: str) -> bool:
    """Return whether the service at this probe address says that it is ready for work."""
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=READY_SECONDS_MAX) as response:  # noqa: S310 - our own
            return response.status == HTTPStatus.OK
    except (OSError, HTTPException):
        # Not there yet, or somebody else who speaks no HTTP.
        return False


def _sign_in_link(address: str, key: str) -> str | None:
    """Return a link that signs in at the page once, None where the gateway gives no code."""
    wanted = urllib.request.Request(  # noqa: S310 - our own
        f"{address}/v1/sign-in-codes", method="POST", headers={"Authorization": f"Bearer {key}"}
    )
    try:
        with urllib.request.urlopen(wanted, timeout=READY_SECONDS_MAX) as response:  # noqa: S310 - our own
            return f"{address}/#code={json.load(response)['code']}"
    except (OSError, HTTPException, ValueError, KeyError):
        return None


def _keys(file: Path) -> dict[str, str]:
    """Return the HTTP keys of this machine's credentials, made once and kept readable for this user only."""
    known: dict[str, str] = read_json(file) if file.exists() else {}
    keys = new_keys() | known
    if keys != known:
        file.touch(mode=0o600)
        file.write_text(json.dumps(keys, indent=1))
    return keys


def _report_operators(file: Path, bus: EmbeddedNats, api: str, connections: Path) -> None:
    """Write for this user only where `operate dead`, `history`, `keys`, `backup` and `connect` find the running stack."""
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    known = {
        "nats_password": bus.password(OPERATOR),
        "gateway_password": bus.password(StageName.GATEWAY),
        "backup_password": bus.password(BACKUP_USER),
    }
    settings = read_settings()
    # Another process, with another environment, may set models of this stack.
    hosts = None if isinstance(settings, Fault) else settings.network.hosts_allowed
    place = {"nats_url": bus.url, "api_url": api, "connections_file": str(connections), "model_hosts_allowed": hosts}
    file.write_text(json.dumps({**place, **known}))


def _report_clients(file: Path, bus: EmbeddedNats, keys: Mapping[str, str]) -> None:
    """Write for this user only how a program comes in over the bus, by credential."""
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    clients = {
        outsider.credential: {
            "user": outsider.name,
            "password": keys[outsider.credential],
            "inbox_prefix": outsider.inbox,
            "answers": answer_filter(TENANT, outsider.user, outsider.audience),
        }
        for outsider in OUTSIDERS.values()
    }
    file.write_text(json.dumps({"nats_url": bus.url, "tenant": TENANT, "clients": clients}, indent=1))


def _connections_file(wanted: Path | None, out: Console) -> Path | None:
    """Return the file that is asked for, made where it is missing, else that of this folder, else None."""
    if wanted is None:
        return CONNECTIONS_FILE if CONNECTIONS_FILE.is_file() else None
    if not wanted.exists():
        usage(write_whole, wanted, f"{HEAD}connections: []\n")
        out.print(f"{wanted} is new and names no database: the page adds the first one", highlight=False)
    return wanted


async def _demo_connections(directory: Path) -> Path:
    shop = demo_file()
    if not shop.exists():
        shop.parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(write_demo, shop)
    file = directory / "connections.yaml"
    file.write_text(json.dumps({"connections": [demo_connection(shop) | {"name": DEMO}]}, ensure_ascii=False))
    return file
