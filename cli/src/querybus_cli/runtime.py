"""What every command stands on: how errors end a command, how a coroutine runs, where output goes."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import errno
import json
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import typer
from rich.console import Console

ResultT = TypeVar("ResultT")

USAGE_EXIT_CODE: Final = 2
CRASH_EXIT_CODE: Final = 70
INTERRUPTED_EXIT_CODE: Final = 130
INTERRUPT_SECONDS: Final = 0.4
"""After Ctrl-C a command may tidy up for so long; then it ends whatever it still waits for."""


class UsageError(Exception):
    """The command cannot be carried out as it was typed; the text says what to type."""


def guarded(command: Callable[[], object]) -> int:
    """Run the command line; return the exit code of what did not end by itself, after one line on standard error."""
    try:
        _refuse_undecodable(sys.argv)
        command()
    except UsageError as error:
        return _complain(str(error), USAGE_EXIT_CODE)
    except KeyboardInterrupt:
        return _complain("ended by Ctrl-C", INTERRUPTED_EXIT_CODE)
    except SystemExit as ended:
        # Typer turns Ctrl-C into this code without a word.
        if ended.code == INTERRUPTED_EXIT_CODE and not _interruption.is_set():
            _complain("ended by Ctrl-C", INTERRUPTED_EXIT_CODE)
        raise
    except UnicodeError as error:
        return _complain(f"the input is no UTF-8 text: {error}", USAGE_EXIT_CODE)
    except OSError as error:
        return _complain(os_error_text(error), USAGE_EXIT_CODE)
    except Exception as error:  # noqa: BLE001 - a person gets one line, and the traceback in a file
        # Loaded only where something went wrong: many commands start no server.
        from querybus.bus.admin.embedded_server import EmbeddedNatsError
        from querybus.bus.connection import BusRefused

        if isinstance(error, EmbeddedNatsError | BusRefused):
            return _complain(str(error), USAGE_EXIT_CODE)
        return _complain(f"{type(error).__name__}: {error}; please report it with {_trace_file()}", CRASH_EXIT_CODE)
    return 0


def os_error_text(error: OSError) -> str:
    """Return which file or address the system refuses, and why.

    >>> os_error_text(NotADirectoryError(20, "Not a directory", "notes.txt/bus"))
    'notes.txt/bus: not a directory'
    """
    why = (error.strerror or str(error) or type(error).__name__).strip()
    why = why[:1].lower() + why[1:]
    hint = {
        errno.EACCES: "; name another with the command's option, or change its permissions",
        errno.EROFS: "; name a place that can be written",
        errno.ENOSPC: "; free some space, or name another place",
    }.get(error.errno or 0, "")
    named = " -> ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
    return f"{named}: {why}{hint}" if named else f"{why}{hint}"


_interruption: Final = threading.Event()


def run(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run a coroutine on the fast loop. Ctrl-C says one line, cancels it, and ends the process soon in any case."""
    import uvloop

    if threading.current_thread() is not threading.main_thread():
        return uvloop.run(work)
    cancel: list[Callable[[], object]] = []

    async def cancellable() -> ResultT:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs is a task's
        loop = asyncio.get_running_loop()
        cancel.append(lambda: loop.call_soon_threadsafe(task.cancel))
        if _interruption.is_set():
            task.cancel()
        return await work

    def interrupt(*_: object) -> None:
        report_interruption()
        for action in cancel:
            action()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(cancellable())
    except asyncio.CancelledError:
        if _interruption.is_set():
            raise typer.Exit(INTERRUPTED_EXIT_CODE) from None
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def report_interruption() -> None:
    """Say that Ctrl-C was seen, and end the process within INTERRUPT_SECONDS; at once if it comes a second time."""
    if _interruption.is_set():
        end_now()
    _interruption.set()
    _complain("ended by Ctrl-C", INTERRUPTED_EXIT_CODE)
    timer = threading.Timer(INTERRUPT_SECONDS, end_now)
    timer.daemon = True
    timer.start()


def end_now() -> None:
    """End the process with what must not outlive it: child processes and temporary folders."""
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - no other way runs them without waiting for threads
    os._exit(INTERRUPTED_EXIT_CODE)


def consoles(*, quiet: bool = False) -> tuple[Console, Console]:
    """Return the consoles for results and for progress; progress never mixes into what is piped."""
    return Console(), Console(stderr=True, quiet=quiet or not sys.stderr.isatty())


def read_text(file: Path) -> str:
    """Return the text of a file; UsageError names the file that cannot be read or is no UTF-8 text."""
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is no UTF-8 text (byte {error.start + 1})") from error
    except OSError as error:
        raise UsageError(os_error_text(error)) from error


def read_json(file: Path) -> Any:
    """Return what a JSON file holds; UsageError names the file and the line that is no JSON."""
    try:
        return json.loads(read_text(file))
    except ValueError as error:
        raise UsageError(f"{file} is no JSON: {error}") from error


def usage(work: Any, *arguments: Any) -> Any:
    """Call, and turn a ValueError or a missing file into a message and exit code 2."""
    try:
        return work(*arguments)
    except OSError as error:
        raise UsageError(os_error_text(error)) from error
    except ValueError as error:
        raise UsageError(str(error)) from error


def lines(work: Any, *arguments: Any) -> Iterator[Any]:
    """Give the lines of a work one by one; trouble with a line is as much a usage error as trouble at the start."""
    try:
        yield from work(*arguments)
    except UnicodeDecodeError as error:
        raise UsageError(f"the input is no UTF-8 text: {error}") from error
    except OSError as error:
        raise UsageError(os_error_text(error)) from error
    except ValueError as error:
        raise UsageError(str(error)) from error


def _complain(text: str, code: int) -> int:
    sys.stderr.write(f"querybus: {text}\n")
    sys.stderr.flush()
    return code


def _refuse_undecodable(arguments: list[str]) -> None:
    """Python stands in for bytes that are no UTF-8 with signs that no database, file or server takes."""
    for number, argument in enumerate(arguments[1:], 1):
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UsageError(f"argument {number} is no UTF-8 text: {os.fsencode(argument)!r}") from None


def _trace_file() -> str:
    """Write the traceback of the exception in hand to a file and return its name; without a place for it, print it."""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="querybus-error-", suffix=".txt", delete=False) as file:
            file.write(traceback.format_exc())
    except OSError:
        traceback.print_exc()
        return "the lines above"
    return file.name
