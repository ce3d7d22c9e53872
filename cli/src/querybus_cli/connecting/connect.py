"""The way from a database's address to a stack that answers: test, personal columns, names, model, file, first question.

Nothing is written before the database works, and each file is written whole: Ctrl-C at any point leaves none half-written.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
import webbrowser
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from querybus.core.stored.models import NamedModel
from querybus.core.subjects import StageName
from querybus.text.labels import has_few_readable_names
from querybus_cli.commands.ask import ask as ask_over_bus
from querybus_cli.connecting.dialogue import Dialogue, State
from querybus_cli.connecting.first_question import Answer, ask_first, ask_over_http
from querybus_cli.connecting.model import choose_model
from querybus_cli.connecting.target import Target, read_target
from querybus_cli.local.local_stack import Stack, StackPlan
from querybus_cli.local.up import FirstSteps, Ports, is_ready, run_up
from querybus_cli.operations.operator import OPERATOR_FILE
from querybus_cli.runtime import run, usage
from querybus_cli.terminal.finding import finding_as_json, finding_lines
from querybus_executor.connections.set_up.examine import Examination, examine
from querybus_executor.connections.set_up.file_edit import add_connection, set_password
from querybus_executor.connections.trouble import Trouble

FAILED_EXIT_CODE: Final = 5
PASSWORD_TRIES_MAX: Final = 3
COLUMNS_SHOWN_MAX: Final = 40
_KINDS: Final = {"name": "names of persons", "contact": "contact or identity data"}


@dataclass(frozen=True, slots=True)
class Wish:
    """What was typed. `starts`: `querybus up` follows."""

    address: str | None
    name: str | None
    file: Path
    store: Path
    port: int
    starts: bool


def connect(wish: Wish, dialogue: Dialogue, environment: Mapping[str, str] = os.environ) -> int:
    """Connect a database and return the exit code; the steps are in the dialogue. UsageError for what cannot be meant."""
    target = read_target(wish.address, wish.name, wish.file, dialogue, environment)
    examined, target = examine_target(target, dialogue, environment)
    if examined.finding.trouble is not None:
        return FAILED_EXIT_CODE
    decided = _personal(examined, dialogue) if target.is_new else {}
    _names(examined, target, wish.file, dialogue)
    model = run(choose_model(dialogue, environment))
    if target.is_new:
        usage(add_connection, wish.file, target.entry | decided, target.password)
    elif target.password is not None:
        usage(set_password, wish.file, target.name, target.password)
    change = "added to" if target.is_new else "is in"
    dialogue.say("file", "ok", f"{target.name} {change} {wish.file}", name=target.name, file=str(wish.file))
    running = _running_stack(wish)
    if running is not None:
        ask_first(dialogue, examined.counted, ask_over_http(dialogue, *running, target.name), target.name)
        dialogue.say("stack", "ok", f"the running stack at {running[0]} has taken it over", url=running[0])
        return 0
    if wish.starts:
        return asyncio.run(_start(wish, dialogue, examined, target, model))
    run(_ask_here(wish, dialogue, examined, target, model))
    dialogue.say("stack", "note", "nothing was started", f"querybus up --connections {wish.file} --store {wish.store}")
    return 0


def examine_target(target: Target, dialogue: Dialogue, environment: Mapping[str, str]) -> tuple[Examination, Target]:
    """Examine the database and report what was found; a refused password is asked for."""
    tries = 0
    while True:
        dialogue.work(f"testing {target.name}")
        examined = usage(run, examine(target.entry, target.password, environment))
        tries += 1
        if examined.finding.trouble is not Trouble.CREDENTIALS or tries == PASSWORD_TRIES_MAX:
            break
        password = dialogue.text("The server refuses the password. Which one is right?", hidden=True)
        if not password:
            break
        target = Target(target.name, target.url, password, target.is_new)
    finding = examined.finding
    facts = finding_as_json(finding)
    first, *lines = finding_lines(finding)
    state: State = "failed" if finding.trouble is not None else "note" if finding.warnings else "ok"
    dialogue.say("database", state, first, *lines, **facts)
    return examined, target


def _personal(examined: Examination, dialogue: Dialogue) -> dict[str, Any]:
    """Report the columns that look personal and return what is decided about them, as the entry has it."""
    columns = examined.personal
    if not columns:
        dialogue.say("personal", "ok", "no column looks personal", hidden=[], shown=[])
        return {}
    lines = [f"{item.key} ({_KINDS[item.kind]}, {item.reason})" for item in columns[:COLUMNS_SHOWN_MAX]]
    lines += [f"and {len(columns) - COLUMNS_SHOWN_MAX} more"] if len(columns) > COLUMNS_SHOWN_MAX else []
    keys = [item.key for item in columns]
    count = "1 column looks personal; its" if len(columns) == 1 else f"{len(columns)} columns look personal; their"
    dialogue.say("personal", "note", f"{count} values are hidden", *lines, columns=keys)
    if not dialogue.asks:
        # What nobody decided stays hidden, and open for `querybus connections review`.
        return {}
    if dialogue.confirm("Hide all of them from models and from business readers?", default=True):
        return {"personal": keys}
    hidden = [key for key in keys if dialogue.confirm(f"Hide {key}?", default=True)]
    shown = [key for key in keys if key not in hidden]
    return ({"personal": hidden} if hidden else {}) | ({"not_personal": shown} if shown else {})


def _names(examined: Examination, target: Target, file: Path, dialogue: Dialogue) -> None:
    share = examined.readable_share
    if share is None:
        return
    readable, names = examined.finding.names_readable, examined.finding.names
    text = f"{readable} of {names} names of tables and columns can be read as words"
    if not has_few_readable_names(readable, names):
        dialogue.say("names", "ok", text, readable_share=round(share, 3))
        return
    dialogue.say(
        "names", "note", text,
        f"querybus connections describe --connection {target.name} --file {shlex.quote(str(file))}"
        f" --out {target.name}.described.yaml drafts names for people;",
        f"name that file as `described` in the entry of {target.name}. A model reads such names better, too.",
        readable_share=round(share, 3),
    )  # fmt: skip


def _running_stack(wish: Wish) -> tuple[str, str] | None:
    """Return the address and an analyst's key of a stack that runs with this store and this file, or None."""
    try:
        known = json.loads((wish.store / OPERATOR_FILE).read_text())
        keys = json.loads((wish.store / "keys.json").read_text())
        probes = json.loads((wish.store / "processes.json").read_text())
    except (OSError, ValueError):
        return None
    is_same = known.get("connections_file") == str(wish.file.resolve())
    if not is_same or not is_ready(str(probes.get("gateway-1"))):
        return None
    return str(known["api_url"]), str(keys["analyst"])


async def _start(
    wish: Wish, dialogue: Dialogue, examined: Examination, target: Target, model: NamedModel | None
) -> int:
    """Run the stack until Ctrl-C; once it is ready ask the first question and open the page."""

    async def on_ready(url: str, keys: Mapping[str, str], link: str | None) -> None:
        ask = ask_over_http(dialogue, url, keys["analyst"], target.name)
        await asyncio.to_thread(ask_first, dialogue, examined.counted, ask, target.name)
        if link is not None and has_display():
            await asyncio.to_thread(webbrowser.open, link)

    counts = dict.fromkeys(StageName, 1)
    first = FirstSteps(model, on_ready)
    return await run_up(counts, wish.file, wish.store, Ports(wish.port, 0, 0), Console(), first=first)


def has_display(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a browser can be opened: somebody sits at a terminal of a machine with a display."""
    is_seen = sys.stdout.isatty() and not environment.get("SSH_CONNECTION")
    return is_seen and (
        sys.platform in ("darwin", "win32") or bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))
    )


async def _ask_here(
    wish: Wish, dialogue: Dialogue, examined: Examination, target: Target, model: NamedModel | None
) -> None:
    """Ask the first question of a stack in this process, on the streams that `querybus up` goes on with."""
    wish.store.mkdir(parents=True, exist_ok=True)
    dialogue.work("starting the services for a first question")
    plan = StackPlan(wish.file.resolve(), store=(wish.store / "bus").resolve(), serves_http=False)
    loop = asyncio.get_running_loop()
    async with Stack(plan) as stack, stack.client("analyst") as client:
        if model is not None:
            await stack.keep_model(model)

        def ask(question: str) -> Answer:
            request = {"question": question, "connection": target.name}
            return asyncio.run_coroutine_threadsafe(ask_over_bus(client, request, lambda _: None), loop).result()

        await asyncio.to_thread(ask_first, dialogue, examined.counted, ask, target.name)
