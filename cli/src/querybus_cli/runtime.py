"""What every command stands on: how errors end a command, how a coroutine runs, where output goes."""

from __future__ import annotations

import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

from rich.console import Console

ResultT = TypeVar("ResultT")


class UsageError(Exception):
    """The command cannot be carried out as it was typed; the text says what to type."""


def run(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run a coroutine on the fast loop."""
    import uvloop

    return uvloop.run(work)


def consoles(*, quiet: bool = False) -> tuple[Console, Console]:
    """Return the consoles for results and for progress; progress never mixes into what is piped."""
    return Console(), Console(stderr=True, quiet=quiet or not sys.stderr.isatty())
