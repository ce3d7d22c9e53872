"""All of QueryBus on one machine: the settings of each service, and the six of them in one process.

`ask` and `demo` run the services in this process for a quick answer; `up` gives the same values to processes of their
own. Either way they talk over a real nats-server with the generated permissions.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from pydantic import ValidationError

from querybus.bus.admin.embedded_server import EmbeddedBus, EmbeddedNats, Sync
from querybus.bus.admin.permissions import DISCONNECT_USER, OPERATOR, PURGE_USER, Outsider
from querybus.bus.application import Service
from querybus.bus.client import BusClient
from querybus.bus.connection import Held
from querybus.bus.stores.buckets import CredentialStore
from querybus.bus.stores.models import ModelStore
from querybus.core.credential import Credential, key_hash, key_text
from querybus.core.envelope import Audience
from querybus.core.stored.models import NamedModel
from querybus.core.subjects import StageName
from querybus.ops.settings import load
from querybus.ops.start import without_collections
from querybus_cli.runtime import UsageError

TENANT: Final = "local"
CREDENTIALS: Final[Mapping[Audience, str]] = {"analyst": "analyst", "business": "business"}
"""The two credentials of a stack on one machine, one per audience."""

OUTSIDERS: Final[Mapping[Audience, Outsider]] = {
    audience: Outsider(TENANT, credential, audience, audience) for audience, credential in CREDENTIALS.items()
}
"""The same credentials as the bus knows them."""
OWNER: Final = "owner"
"""The credential of whoever started the stack: the same person as the analyst, with the administration."""
KEY_BYTES: Final = 24

SERVICES: Final = (
    StageName.EXECUTOR,
    StageName.VALIDATOR,
    StageName.RECOVERY,
    StageName.GENERATOR,
    StageName.PRESENTER,
    StageName.GATEWAY,
)
"""In the order in which they start: the executor first, because it writes the catalogs the others read."""


@dataclass(frozen=True, slots=True)
class StackPlan:
    """What a stack on one machine is made of."""

    connections_file: Path
    store: Path | None = None
    sync: Sync = "always"
    """Where a stack lives as long as one command, nobody needs what a loss of power would take: `2m`."""
    environment: str = "development"
    serves_http: bool = True
    keeps_traces: bool = True
    """Without: no trace is begun where none is sent, and what makes traces is not loaded."""
    extra: Mapping[StageName, Mapping[str, Any]] = field(default_factory=dict[StageName, Mapping[str, Any]])
    """Settings of single services beyond those that follow from the plan."""


def settings_of(service: StageName, bus: EmbeddedBus, plan: StackPlan) -> dict[str, Any]:
    """Return the settings of one service by field name."""
    values: dict[str, Any] = {
        "environment": plan.environment,
        "nats_url": bus.url,
        "nats_password": bus.password(service),
        # Nobody looks after the bus of one command.
        "nats_monitoring_url": bus.monitoring_url if plan.serves_http else "",
        **({} if plan.keeps_traces else {"trace_ratio": 0.0}),
    }
    if plan.store is not None and service in (StageName.GENERATOR, StageName.PRESENTER):
        values["model_keys_directory"] = str(plan.store.parent / "model-keys")
    if service is StageName.VALIDATOR:
        values["signing_key"] = bus.signing_key
    if service is StageName.EXECUTOR:
        values["verify_key"] = bus.verify_key
        values["connections_file"] = str(plan.connections_file)
    if service is StageName.GATEWAY:
        values["tenants"] = ",".join(bus.tenants)
        values["purge_password"] = bus.password(PURGE_USER)
        values["bus_issuer_key"] = bus.issuer_key
        values["disconnect_password"] = bus.password(DISCONNECT_USER)
        if not plan.serves_http:
            values["api_port"] = None
    return values | dict(plan.extra.get(service, {}))


def environment_of(service: StageName, bus: EmbeddedBus, plan: StackPlan) -> dict[str, str]:
    """Return the same settings as the environment of a process of its own."""
    return {
        f"QUERYBUS_{name.upper()}": value if isinstance(value, str) else json.dumps(value)
        for name, value in settings_of(service, bus, plan).items()
    }


def built(service: StageName, values: Mapping[str, Any]) -> Service:
    """Return a service with these settings, not yet started; what they leave open comes from the environment and its files of secrets."""
    app: Any = importlib.import_module(f"querybus_{service}.app")
    settings: Any = importlib.import_module(f"querybus_{service}.settings")
    return app.build(load(settings.Settings, **values))


def new_keys() -> dict[str, str]:
    """Return a key for each of this machine's credentials."""
    names = (*CREDENTIALS.values(), OWNER)
    return {name: key_text(TENANT, name, secrets.token_urlsafe(KEY_BYTES)) for name in names}


async def admit_locals(bus: EmbeddedBus, keys: Mapping[str, str]) -> None:
    """Write the records of this machine's credentials; `keys` maps a credential to its key."""
    connection = await bus.connect(StageName.GATEWAY)
    try:
        store = CredentialStore(Held(connection))
        for audience, credential in CREDENTIALS.items():
            record = Credential(
                name=credential,
                tenant=TENANT,
                user=audience,
                audience=audience,
                key_sha256=key_hash(keys[credential]),
            )
            await store.put(record)
        if OWNER in keys:
            person = CREDENTIALS["analyst"]
            await store.put(
                Credential(
                    name=OWNER,
                    tenant=TENANT,
                    user=person,
                    audience="analyst",
                    role="owner",
                    key_sha256=key_hash(keys[OWNER]),
                )
            )
    finally:
        await connection.close()


async def keep_model(bus: EmbeddedBus, model: NamedModel) -> None:
    """Set a model as the one that is asked first; the others that are set stay."""
    connection = await bus.connect(OPERATOR)
    try:
        store = ModelStore(Held(connection))
        known = await store.read()
        others = tuple(item for item in known.models if item.name != model.name)
        await store.write(known.model_copy(update={"models": (model, *others), "default": model.name}))
    finally:
        await connection.close()


class Stack:
    """The bus and all six services in this process, as an async context manager."""

    def __init__(
        self, plan: StackPlan, bus: EmbeddedBus | None = None, *, keys: Mapping[str, str] | None = None
    ) -> None:
        """A `bus` that is given runs already and goes on running; it replaces the one that the plan describes.

        `keys` maps a credential to its key; where one is missing it is made.
        """
        self._plan = plan
        self._keys = {**new_keys(), **(keys or {})}
        self._owns_bus = bus is None
        self._bus = bus or EmbeddedNats([TENANT], store=plan.store, sync=plan.sync)
        self._services: list[Service] = []

    async def __aenter__(self) -> Self:
        with without_collections():
            return await self._open()

    async def _open(self) -> Self:
        # The services are loaded while the bus starts, and built while the first of them reads its databases.
        loading = asyncio.create_task(asyncio.to_thread(_load_services))
        try:
            if self._owns_bus:
                await self._bus.start()
            await self._bus.migrate()
            await admit_locals(self._bus, self._keys)
            await loading
            first, *others = SERVICES
            reading = asyncio.create_task(self._start(self._built(first)))
            others = await asyncio.to_thread(lambda: [self._built(name) for name in others])
            await reading
            # All of them to the end: one that cannot start must leave none behind that nobody would stop.
            _raise_first(await asyncio.gather(*(self._start(item) for item in others), return_exceptions=True))
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self._close()

    @property
    def http_address(self) -> str:
        """Where the gateway's HTTP API listens, while the stack runs."""
        apis: list[Any] = [part for service in self._services for part in service.parts if part.name == "http"]
        return apis[0].address

    def client(self, audience: Audience) -> AbstractAsyncContextManager[BusClient]:
        """Return a bus client of this machine's credential for the audience; `async with` connects it."""
        outsider = OUTSIDERS[audience]
        return BusClient.connected(self._bus.url, outsider, self._keys[outsider.credential])

    async def keep_model(self, model: NamedModel) -> None:
        """Set a model as the one that is asked first."""
        await keep_model(self._bus, model)

    def _built(self, name: StageName) -> Service:
        try:
            return built(name, settings_of(name, self._bus, self._plan))
        except ValidationError as error:
            # Of what was set in the environment; the values are not shown, because one may be a secret.
            faults = (f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
            raise UsageError(f"the {name} cannot start: {'; '.join(faults)}") from None

    async def _start(self, service: Service) -> None:
        await service.start()
        self._services.append(service)

    async def _close(self) -> None:
        services, self._services = self._services, []
        await asyncio.gather(*(service.stop() for service in reversed(services)), return_exceptions=True)
        if self._owns_bus:
            await self._bus.stop()


def _load_services() -> None:
    for name in SERVICES:
        importlib.import_module(f"querybus_{name}.app")


def _raise_first(ended: Sequence[BaseException | None]) -> None:
    for item in ended:
        if item is not None:
            raise item
