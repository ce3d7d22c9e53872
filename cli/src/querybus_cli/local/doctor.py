"""`querybus doctor`: whether bus, model and databases are there and work, and what to type where they do not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr, ValidationError
from pydantic_core import to_jsonable_python

from querybus.bus.admin.embedded_server import EmbeddedNatsError, server_binary
from querybus.bus.admin.permissions import OPERATOR
from querybus.bus.connection import BusRefused, connect
from querybus.core.options import Options
from querybus.llm.errors import Fault
from querybus.llm.model_search import MODEL, ModelTrial, configured_server, read_settings, try_model
from querybus.ops.sandbox import Walls, offered_walls
from querybus.text.words import count_of
from querybus_cli.local.answers import demo_file, names_of
from querybus_cli.local.up import is_ready
from querybus_cli.operations.operator import OPERATOR_FILE
from querybus_cli.runtime import UsageError, read_json
from querybus_executor.connections.diagnose import diagnose
from querybus_gateway.admit import RequestOptions
from querybus_generator.prompts.texts import load_texts
from querybus_presenter.summaries.model_summary import load_prompts

BUS_SECONDS_MAX: Final = 5.0
PROMPTS_DIRECTORY: Final = "QUERYBUS_PROMPTS_DIRECTORY"
OPTION_DEFAULTS: Final = "QUERYBUS_OPTION_DEFAULTS"
DATABASE_SECONDS_MAX: Final = 30.0


class State(StrEnum):
    """How a part is: it works, it was not set up (which may be intended), or what was set does not work."""

    OK = "ok"
    OFF = "off"
    FAILS = "fails"


@dataclass(frozen=True, slots=True)
class Check:
    """One part, its state in words, and the next command where there is one."""

    part: str
    name: str
    state: State
    detail: str
    next: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the check as JSON can hold it."""
        return asdict(self)


async def check_all(connections: Path | None, store: Path, environment: Mapping[str, str]) -> list[Check]:
    """Check the bus, the services, the model and each database; UsageError for a file of connections that is none."""
    groups = await asyncio.gather(
        _bus(store, environment), _services(store), _model(environment), _databases(connections, environment)
    )
    return [
        check
        for group in (*groups, [sandbox_check(offered_walls())], _option_defaults(environment), _prompts(environment))
        for check in group
    ]


def sandbox_check(walls: Walls) -> Check:
    """Return how far the processes that read database files and draw pictures are shut in on this machine."""
    if not walls.missing:
        detail = (
            f"no_new_privs, seccomp and Landlock {walls.landlock} shut in what reads database files and draws pictures"
        )
        return Check("sandbox", "children", State.OK, detail)
    command = "use a Linux kernel of 5.13 or newer with Landlock and seccomp"
    return Check("sandbox", "children", State.OFF, "; ".join(walls.missing), command)


def _prompts(environment: Mapping[str, str]) -> list[Check]:
    """Return whether the prompts of the operator's directory can be used; nothing where none is set."""
    folder = Path(environment.get(PROMPTS_DIRECTORY, ""))
    if not environment.get(PROMPTS_DIRECTORY):
        return []
    if not folder.is_dir():
        return [Check("prompts", str(folder), State.FAILS, "there is no such folder", f"set {PROMPTS_DIRECTORY}")]
    try:
        load_texts(folder)
        load_prompts(folder)
    except (OSError, ValueError) as error:
        return [
            Check("prompts", str(folder), State.FAILS, f"{error}; the prompts before stay in use", "edit that line")
        ]
    return [Check("prompts", str(folder), State.OK, f"{len(list(folder.rglob('*.md')))} files")]


def _option_defaults(environment: Mapping[str, str]) -> list[Check]:
    """Return the defaults that differ from the product's, as the gateway takes them; nothing where none is set."""
    text = environment.get(OPTION_DEFAULTS, "")
    if not text:
        return []
    try:
        wanted = RequestOptions.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(str(part) for part in fault["loc"])
        is_unknown = fault["type"] == "extra_forbidden"
        said = f"there is no option {place}" if is_unknown else f"{place}: {fault['msg']}".removeprefix(": ")
        detail = f"{said}; the gateway does not start with it"
        return [
            Check(
                "options",
                OPTION_DEFAULTS,
                State.FAILS,
                detail,
                f"correct {OPTION_DEFAULTS}; docs/options.md lists them",
            )
        ]
    product = to_jsonable_python(dict(Options()))
    differing = {
        name: value
        for name, value in wanted.model_dump(mode="json", exclude_unset=True).items()
        if value != product[name]
    }
    detail = ", ".join(
        f"{name} is {show_value(value)}, not {show_value(product[name])}" for name, value in differing.items()
    )
    return [Check("options", OPTION_DEFAULTS, State.OK, detail or "the product's own")]


def show_value(value: object) -> str:
    """Return a value of an option as a request has it.

    >>> show_value(False), show_value("auto")
    ('false', '"auto"')
    """
    return json.dumps(value)


async def _bus(store: Path, environment: Mapping[str, str]) -> list[Check]:
    file = store / OPERATOR_FILE
    url, password, user = environment.get("QUERYBUS_NATS_URL"), environment.get("QUERYBUS_NATS_PASSWORD"), OPERATOR
    if not url and file.is_file():
        known = read_json(file)
        url, password = known["nats_url"], known["nats_password"]
    if not url:
        try:
            version = server_binary().name
        except EmbeddedNatsError as error:
            return [Check("bus", "nats-server", State.FAILS, str(error), "make setup")]
        detail = f"{version} is installed; no stack runs in {store}, `querybus ask` starts one of its own"
        return [Check("bus", "bus", State.OFF, detail, "querybus up")]
    try:
        async with asyncio.timeout(BUS_SECONDS_MAX):
            connection = await connect(url, user, password or "")
            version = str(connection.connected_server_version)
            await connection.close()
    except BusRefused as error:
        detail = f"the bus at {url} refuses the user {user}: {error}"
        return [Check("bus", url, State.FAILS, detail, "set QUERYBUS_NATS_PASSWORD")]
    except (TimeoutError, OSError) as error:
        detail = f"no bus answers at {url} within {BUS_SECONDS_MAX:.0f} s ({type(error).__name__})"
        return [Check("bus", url, State.FAILS, detail, "querybus up")]
    return [Check("bus", url, State.OK, f"nats-server {version} answers")]


async def _services(store: Path) -> list[Check]:
    file = store / "processes.json"
    if not file.is_file():
        return []
    addresses: Mapping[str, str] = read_json(file)
    ready = await asyncio.gather(*(asyncio.to_thread(is_ready, address) for address in addresses.values()))
    log = store / "logs"
    return [
        Check("service", name, State.OK, "ready")
        if good
        else Check("service", name, State.FAILS, f"does not say that it is ready; its log is in {log}", "querybus logs --level warning")
        for name, good in zip(addresses, ready, strict=True)
    ]  # fmt: skip


async def _model(environment: Mapping[str, str]) -> list[Check]:
    settings = read_settings()
    if isinstance(settings, Fault):
        return [Check("model", "settings", State.FAILS, settings.detail, "correct the setting")]
    server = configured_server(environment)
    if server is None:
        detail = "no model is set; the built-in translator answers what it can read"
        return [
            Check(
                "model",
                "builtin",
                State.OFF,
                detail,
                f"querybus connect, which finds a key of OpenAI or an Ollama, or set {MODEL}=anthropic:NAME with its key",
            )
        ]
    if not server.model:
        detail = f"{server.title} is set, and no model is named"
        return [Check("model", server.base_url, State.FAILS, detail, f"set {MODEL}")]
    name = f"{server.model} at {server.base_url}"
    key = SecretStr(environment[server.key_variable]) if server.key_variable else None
    trial = await try_model(server, server.model, key, settings)
    if isinstance(trial, ModelTrial):
        return [Check("model", name, State.OK, f"replied in {trial.seconds:.1f} s")]
    return [Check("model", name, State.FAILS, trial.detail, f"querybus models test {server.model}")]


async def _databases(connections: Path | None, environment: Mapping[str, str]) -> list[Check]:
    file = connections or Path(environment.get("QUERYBUS_CONNECTIONS_FILE", "connections.yaml"))
    if not file.is_file():
        if connections is not None:
            raise UsageError(f"there is no file {connections}")
        shop = demo_file()
        made = f"the demo shop is in {shop}" if shop.exists() else "the demo shop is made at first use"
        detail = f"there is no {file} in this folder; {made}"
        return [Check("database", "shop", State.OFF, detail, "querybus connect URL")]
    try:
        names = names_of(file)
    except UsageError as error:
        return [Check("database", str(file), State.FAILS, str(error), f"edit {file}")]
    return list(await asyncio.gather(*(_database(file, name, environment) for name in names)))


async def _database(file: Path, name: str, environment: Mapping[str, str]) -> Check:
    try:
        async with asyncio.timeout(DATABASE_SECONDS_MAX):
            found = await diagnose(file, name, environment)
    except TimeoutError:
        detail = f"says nothing within {DATABASE_SECONDS_MAX:.0f} s"
        return Check("database", name, State.FAILS, detail, f"querybus connections test {name} --file {file}")
    if found.trouble is not None:
        again = f"querybus connections test {name} --file {file}"
        return Check("database", name, State.FAILS, f"{found.trouble.value}: {found.detail}", again)
    if not found.tables:
        detail = f"{found.dialect} answers, and its user can read no table"
        return Check("database", name, State.FAILS, detail, f"querybus connections test {name} --file {file}")
    return Check("database", name, State.OK, f"{found.dialect}, {count_of(found.tables, 'table')}")


def lines_of(checks: Sequence[Check]) -> Iterator[str]:
    """Give the checks as lines for a person: state, part, what was found, and the next command below it."""
    for check in checks:
        title = check.part if check.part == check.name else f"{check.part} {check.name}"
        yield f"{check.state.value:6} {title}: {check.detail}"
        if check.next and check.state is not State.OK:
            yield f"{'':6} next: {check.next}"
