"""Sets a conversation up: a gateway that runs elsewhere or a stack of its own, a terminal or what is piped in."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from querybus_cli.commands.chat import Chat
from querybus_cli.local.answers import Quick, check, connections_of, generator_settings, report, status_of
from querybus_cli.local.local_stack import StackPlan
from querybus_cli.local.own_stack import own_stack
from querybus_cli.operations.remote import OnProgress, calling, key_of, options_of


def converse(url: str | None, key: str | None, key_file: Path | None, quick: Quick, out: Console, err: Console) -> None:
    """Converse until the end of input; UsageError for what cannot begin at all."""
    check(quick, asks_gateway=url is not None)
    is_terminal = sys.stdin.isatty()
    options: dict[str, Any] = options_of(quick.options)
    connection = quick.connection
    with ExitStack() as stack:
        if url is not None:
            secret = key_of(key, key_file, quick.audience)
        else:
            with status_of(err) as status:
                report(status, "starting")
                file, connection = stack.enter_context(connections_of(quick))
                plan = StackPlan(connections_file=file, extra=generator_settings(quick))
                url, keys = stack.enter_context(own_stack(plan))
            secret = keys[quick.audience]
        client = stack.enter_context(calling(url, secret, quick.audience))
        if is_terminal:
            # What was typed comes back with the arrow keys: `input` uses it once it is there.
            importlib.import_module("readline")
            out.print("[dim]Ask; /help lists the commands, /quit ends.[/dim]", highlight=False)

        @contextmanager
        def working() -> Generator[OnProgress]:
            with status_of(err) as status:
                yield lambda stage: report(status, stage)

        Chat(
            client,
            out,
            input if is_terminal else _piped,
            working,
            connection=connection,
            options=options,
            is_terminal=is_terminal,
        ).run()


def _piped(_: str) -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line
