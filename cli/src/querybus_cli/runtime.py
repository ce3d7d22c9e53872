"""What every command stands on: how errors end a command, how a coroutine runs, where output goes."""

from __future__ import annotations

import sys
from collections.abc import Coroutine, Iterator
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


def usage(work: Any, *arguments: Any) -> Any:
    """Call, and turn a ValueError or a missing file into a message and exit code 2."""
    try:
        return work(*arguments)
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error


def lines(work: Any, *arguments: Any) -> Iterator[Any]:
    """Give the lines of a work one by one; trouble with a line is as much a usage error as trouble at the start."""
    try:
        yield from work(*arguments)
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
