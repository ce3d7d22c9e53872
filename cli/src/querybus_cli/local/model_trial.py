"""Tries the model of a stack that has started, in a process of its own: the supervisor loads no client of models."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.admin.permissions import OPERATOR
from querybus.bus.connection import Held
from querybus.bus.log.publish import BusTrouble
from querybus.bus.stores.models import ModelStore
from querybus.llm.errors import Fault
from querybus.llm.model_search import read_settings
from querybus_cli.local.local_stack import TENANT

TRIAL_SECONDS_MAX: Final = 90.0


async def report_model(bus: EmbeddedNats, store: Path) -> str | None:
    """Return a line that says whether the model that is asked first replies; None where no model is set."""
    settings = read_settings()
    if isinstance(settings, Fault):
        return f"warning: the settings of the model: {settings.detail}"
    name = await _first_model(bus) or (settings.llm_model if settings.llm_base_url else None)
    return None if name is None else await try_in_process(name, store)


async def try_in_process(name: str, store: Path) -> str:
    """Return what a test of a model in a process of its own came to, as one line."""
    command = [sys.executable, "-c", "from querybus_cli.entry import main; main()", "models", "test", name]
    process = await asyncio.create_subprocess_exec(
        *command, "--store", str(store), "--quick", "--json",
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(TRIAL_SECONDS_MAX):
            output, _ = await process.communicate()
    except TimeoutError:
        return model_line(name, None)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        return model_line(name, json.loads(output)["checks"])
    except (ValueError, KeyError):
        return model_line(name, None)


def model_line(name: str, checks: Sequence[Mapping[str, Any]] | None) -> str:
    """Return what a test of a model came to, as one line; None: it came to nothing.

    >>> model_line("m", [{"name": "key", "state": "fails", "detail": "HTTP 401"}])
    'warning: the model m does not work (key: HTTP 401); `querybus models test m` shows what to do'
    """
    if checks is None:
        return f"warning: the test of the model {name} did not end; `querybus models test {name}` shows what to do"
    failing = next((check for check in checks if check["state"] == "fails"), None)
    if failing is None:
        return f"the model {name} replies"
    cause = f"{failing['name']}: {failing['detail']}"
    return f"warning: the model {name} does not work ({cause}); `querybus models test {name}` shows what to do"


async def _first_model(bus: EmbeddedNats) -> str | None:
    connection = await bus.connect(OPERATOR)
    try:
        chain = (await ModelStore(Held(connection)).read()).chain(TENANT, None)
    except BusTrouble:
        return None
    finally:
        await connection.close()
    return chain[0].name if chain else None
