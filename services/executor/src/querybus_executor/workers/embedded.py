"""An embedded database, run in child processes that can be killed: the executor's side of the pipe.

One class for every engine that runs so; what differs is said when it is made: how a child opens the database and what
an error of the engine means. Kinds of columns come from the engine's types where it has them, else from the values.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

from querybus.bus.stores.pages import batch_of_columns, cells_of
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import ResultColumn, Scalar
from querybus.text.rows import cells
from querybus.text.rows.arrow_columns import ArrowColumn
from querybus_executor.catalog.column_kinds import kind_of_type, kind_of_values
from querybus_executor.ports import Estimate, Load, PageSink, Purpose, Rows
from querybus_executor.results.receive import Receiver
from querybus_executor.workers.columns import columns_of_frame
from querybus_executor.workers.confinement import STALE
from querybus_executor.workers.pool import Child, ChildDied, Children

KILL_GRACE_SECONDS: Final = 0.25
RESULT_BYTES_MAX: Final = 16 << 20
EXPLAIN_ROWS_MAX: Final = 1
FIRST_ROWS: Final = 128
"""Up to so many rows come as JSON where no pages are wanted; more of them come as columns."""
OWN_BYTES_MAX: Final = 256 << 20
PROCESSES_TRIED_MAX: Final = 3
"""Of one statement: a process may be shut in with the file that was there before, or without the folder of its views."""
_KINDS_ROWS_MAX: Final = 200
_keys = count(1)

FailureOf = Callable[[int, str, str, str], Failure]
"""An engine's error as a failure: its code, its name, its text, the statement."""


def child_command(module: str, *libraries: Path) -> list[str]:
    """Return how to run that module of this package alone: no site-packages but the folders of `libraries`."""
    folders = [
        str(Path(__file__).parents[2]),
        str(Path(cells.__file__).parents[3]),
        *(str(library) for library in libraries),
    ]
    program = f"import sys; sys.path[:0] = {folders!r}; from querybus_executor.{module} import main; main()"
    return [sys.executable, "-I", "-S", "-E", "-c", program]


class Embedded:
    """One database file. `opening` is what a child gets at the first statement."""

    def __init__(
        self,
        children: Children,
        opening: Mapping[str, Any],
        failure_of: FailureOf,
        *,
        bytes_max: int = RESULT_BYTES_MAX,
    ) -> None:
        self._children = children
        self._opening = dict(opening)
        self._failure_of = failure_of
        self._key = str(next(_keys))
        self._bytes_max = bytes_max
        self.on_waited: Callable[[float], None] = lambda _: None

    async def run(
        self, sql: str, *, rows_max: int, seconds_max: float, purpose: Purpose, pages: PageSink | None = None
    ) -> Rows | Failure:
        """Return at most `rows_max` rows, or why there are none, within `seconds_max` and a moment."""
        result = await self._ask(sql, rows_max, seconds_max, reserved=purpose is not Purpose.EXECUTE, pages=pages)
        return result if isinstance(result, Failure) else result[0]

    async def explain(self, sql: str, *, seconds_max: float) -> Estimate | Failure:
        """Return what the engine expects of the statement, or has against it; it is not run."""
        result = await self._ask(sql, EXPLAIN_ROWS_MAX, seconds_max, reserved=True, explain=True)
        return result if isinstance(result, Failure) else Estimate(rows=result[1], rows_read=result[1])

    async def own(self, sql: str, rows_max: int, seconds_max: float) -> Rows | Failure:
        """Run a statement of our own about the database's tables."""
        result = await self._ask(sql, rows_max, seconds_max, reserved=True, own=True)
        return result if isinstance(result, Failure) else result[0]

    def load(self) -> Load:
        """Return how busy the processes are."""
        return Load(open=self._children.open, idle=self._children.idle, waiting=self._children.waiting)

    async def close(self) -> None:
        """Do nothing: who made the pool of processes ends it."""

    async def _ask(
        self,
        sql: str,
        rows_max: int,
        seconds_max: float,
        *,
        reserved: bool,
        explain: bool = False,
        own: bool = False,
        pages: PageSink | None = None,
    ) -> tuple[Rows, int | None] | Failure:
        until = time.monotonic() + seconds_max
        request: dict[str, Any] = {
            "run": self._key,
            "sql": sql,
            "explain": explain,
            "own": own,
            "rows_max": rows_max,
            "bytes_max": OWN_BYTES_MAX if own else self._bytes_max,
            "first": FIRST_ROWS if pages is None else pages.first_rows,
        }
        got_child, asked_at = False, time.monotonic()
        try:
            async with asyncio.timeout(seconds_max + KILL_GRACE_SECONDS):
                for _ in range(PROCESSES_TRIED_MAX):
                    async with self._children.child(reserved=reserved) as child:
                        got_child = True
                        self.on_waited(time.monotonic() - asked_at)
                        answer = await self._answer(child, request, until, pages)
                    if answer is not None:
                        return answer
                return Failure.of(FailureCode.CONNECTION, "the database file is replaced again and again")
        except TimeoutError:
            if got_child:
                return Failure.of(FailureCode.TIMEOUT, f"the statement was ended after {seconds_max:g} s")
            return Failure.of(FailureCode.TIMEOUT, f"no statement slot became free within {seconds_max:g} s")
        except ChildDied:
            # Its memory limit or a crash of the engine: the next statement gets another process.
            return Failure.of(FailureCode.RESOURCE_LIMIT, "the process that ran the statement ended")

    async def _answer(
        self, child: Child, request: dict[str, Any], until: float, pages: PageSink | None
    ) -> tuple[Rows, int | None] | Failure | None:
        """Return the answer, or None where the process is shut in with other files: another one is to be asked."""
        request["seconds"] = max(0.001, until - time.monotonic())
        request.pop("open", None)
        if self._key not in child.opened:
            request["open"] = {"key": self._key, **self._opening}
            child.opened.add(self._key)
        child.busy = True
        # The child keeps to the limit of bytes; what it gives up for that it says at the end.
        bytes_max = 2 * int(request["bytes_max"]) + (1 << 20)
        into = Receiver(rows_max=int(request["rows_max"]), bytes_max=bytes_max, pages=pages)
        child.send(request)
        names: list[str] = []
        types: list[str] | None = None
        columns: tuple[ResultColumn, ...] = ()
        while True:
            frame = await child.frame()
            if isinstance(frame, bytes):
                rows_of_frame, arrays = columns_of_frame(frame)
                columns = columns or _columns(names, types, partial(_sample, arrays, rows_of_frame))
                if not await into.take_batch(columns, batch_of_columns(columns, arrays, rows_of_frame)):
                    # No space for the rest: nobody waits for it.
                    child.stop()
                continue
            names = frame.get("columns", names)
            types = frame.get("types", types)
            if "end" in frame:
                break
        child.busy = False
        child.tired = bool(frame.get("tired", False))
        error = frame.get("error")
        if error is not None and error["name"] == STALE:
            self._opening["folder"] = str(error["text"]) or self._opening.get("folder")
            self._children.retire_idle()
            return None
        if error is not None and not into.is_full:
            return self._failure_of(int(error["code"]), str(error["name"]), str(error["text"]), request["sql"])
        rows: list[list[Scalar]] = frame["rows"]
        await into.take(columns or _columns(names, types, lambda: rows), rows)
        result = await into.rows()
        truncated = result.truncated or bool(frame.get("truncated", False))
        return replace(result, truncated=truncated, cut_bytes=bool(frame.get("cut_bytes", False))), frame.get("plan")


def _columns(
    names: Sequence[str], types: Sequence[str] | None, sample: Callable[[], Sequence[Sequence[Scalar]]]
) -> tuple[ResultColumn, ...]:
    return _by_values(names, sample()) if types is None else _by_types(names, types)


def _sample(arrays: Sequence[ArrowColumn], rows: int) -> Sequence[Sequence[Scalar]]:
    nameless = [ResultColumn(name="")] * len(arrays)
    return cells_of(batch_of_columns(nameless, arrays, rows)[:_KINDS_ROWS_MAX])


def _by_types(names: Sequence[str], types: Sequence[str]) -> tuple[ResultColumn, ...]:
    return tuple(
        ResultColumn(name=name, kind=kind_of_type(type_text), type=type_text)
        for name, type_text in zip(names, types, strict=True)
    )


def _by_values(names: Sequence[str], rows: Sequence[Sequence[Scalar]]) -> tuple[ResultColumn, ...]:
    sampled = list(islice(rows, _KINDS_ROWS_MAX))
    return tuple(
        ResultColumn(name=name, kind=kind_of_values(row[index] for row in sampled)) for index, name in enumerate(names)
    )
