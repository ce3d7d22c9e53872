"""SQLite through the standard library, in child processes that can be killed: read-only by force.

Whatever text arrives here runs under an authorizer that only reads the connection's tables, with limits on time,
rows, bytes and memory (see sqlite_child). SQLite keeps no NaN; infinities and bytes travel as text. The kinds of a
result's columns are read off its values, because an expression has no declared type.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import ResultColumn, Scalar
from querybus.core.policy import ConnectionPolicy
from querybus_executor.children import Child, ChildDied, Children
from querybus_executor.kinds import kind_of_values
from querybus_executor.ports import Purpose, Rows
from querybus_executor.sqlite_errors import sqlite_failure

KILL_GRACE_SECONDS: Final = 0.25
RESULT_BYTES_MAX: Final = 16 << 20
EXPLAIN_ROWS_MAX: Final = 1
_KINDS_ROWS_MAX: Final = 200
_keys = count(1)


def sqlite_children(*, size: int, reserved: int) -> Children:
    """Return the pool in which SQLite runs: isolated from the environment and from site-packages."""
    program = str(Path(__file__).with_name("sqlite_child.py"))
    return Children([sys.executable, "-I", "-S", "-E", program], size=size, reserved=reserved)


class Sqlite:
    """One SQLite file, read as far as the policy allows: its tables, without the columns that nobody may read."""

    def __init__(
        self, children: Children, path: Path, policy: ConnectionPolicy, *, bytes_max: int = RESULT_BYTES_MAX
    ) -> None:
        self._children = children
        self._opening = {
            "path": str(path),
            "tables": None if policy.tables_allowed is None else sorted(policy.tables_allowed),
            "denied": [[table, column] for table, columns in policy.columns_denied.items() for column in columns],
        }
        self._key = str(next(_keys))
        self._bytes_max = bytes_max

    async def run(self, sql: str, *, rows_max: int, seconds_max: float, purpose: Purpose) -> Rows | Failure:
        """Return at most `rows_max` rows, or why there are none, within `seconds_max` and a moment."""
        return await self._ask(sql, rows_max, seconds_max, reserved=purpose is not Purpose.EXECUTE, explain=False)

    async def explain(self, sql: str, *, seconds_max: float) -> Failure | None:
        """Return what SQLite has against the statement; it looks names up and does not run it."""
        found = await self._ask(sql, EXPLAIN_ROWS_MAX, seconds_max, reserved=True, explain=True)
        return found if isinstance(found, Failure) else None

    async def _ask(
        self, sql: str, rows_max: int, seconds_max: float, *, reserved: bool, explain: bool
    ) -> Rows | Failure:
        until = time.monotonic() + seconds_max
        got_child = False
        try:
            async with (
                asyncio.timeout(seconds_max + KILL_GRACE_SECONDS),
                self._children.child(reserved=reserved) as child,
            ):
                got_child = True
                return await self._answer(child, sql, rows_max, until, explain=explain)
        except TimeoutError:
            if got_child:
                return Failure.of(FailureCode.TIMEOUT, f"the statement was ended after {seconds_max:g} s")
            return Failure.of(FailureCode.TIMEOUT, f"no statement slot became free within {seconds_max:g} s")
        except ChildDied:
            # Its memory limit or a crash of the engine: the next statement gets another process.
            return Failure.of(FailureCode.RESOURCE_LIMIT, "the process that ran the statement ended")

    async def _answer(self, child: Child, sql: str, rows_max: int, until: float, *, explain: bool) -> Rows | Failure:
        started = time.monotonic()
        request: dict[str, Any] = {
            "run": self._key,
            "sql": sql,
            "explain": explain,
            "rows_max": rows_max,
            "bytes_max": self._bytes_max,
            "seconds": max(0.001, until - started),
        }
        if self._key not in child.opened:
            request["open"] = {"key": self._key, **self._opening}
            child.opened.add(self._key)
        child.busy = True
        child.send(request)
        names: list[str] = []
        rows: list[list[Scalar]] = []
        while True:
            frame = await child.frame()
            names = frame.get("columns", names)
            rows += frame["rows"]
            if "end" in frame:
                break
        child.busy = False
        child.tired = bool(frame.get("tired", False))
        error = frame.get("error")
        if error is not None:
            return sqlite_failure(int(error["code"]), str(error["name"]), str(error["text"]), sql)
        return Rows(
            columns=_columns(names, rows),
            rows=rows,
            truncated=bool(frame.get("truncated", False)),
            cut_bytes=bool(frame.get("cut_bytes", False)),
            duration_ms=(time.monotonic() - started) * 1000,
        )


def _columns(names: Sequence[str], rows: Sequence[Sequence[Scalar]]) -> tuple[ResultColumn, ...]:
    sampled = list(islice(rows, _KINDS_ROWS_MAX))
    return tuple(
        ResultColumn(name=name, kind=kind_of_values(row[index] for row in sampled)) for index, name in enumerate(names)
    )
