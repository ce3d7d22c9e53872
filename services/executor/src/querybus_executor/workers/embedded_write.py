"""Changes of a database in a file: one process for each, which says when it commits.

A process that is killed before it says so has changed nothing, because its transaction died with it. DuckDB lets
nobody read while one writes, so the readers of all DuckDB files are sent away for as long as a change takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any, Final

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.sql.parse import kind_of, parse_change
from querybus_executor.write import Written, too_many

START_SECONDS: Final = 5.0
"""What starting the process and taking the file's lock may take beside the change itself."""

FailureOf = Callable[[int, str, str, str], Failure]
Alone = Callable[[], AbstractAsyncContextManager[Any]]


class EmbeddedWriter:
    """One file. `alone` keeps readers away where the engine needs that."""

    def __init__(
        self,
        dialect: Dialect,
        path: Path,
        command: Sequence[str],
        failure_of: FailureOf,
        *,
        alone: Alone = nullcontext,
    ) -> None:
        self._dialect = dialect
        self._path = path
        self._command = tuple(command)
        self._failure_of = failure_of
        self._alone = alone

    async def write(self, sql: str, *, rows_affected_max: int, seconds_max: float) -> Written | Failure:
        """Run one change in one transaction; rolled back if it touches more rows."""
        started = time.monotonic()
        request = {
            "engine": self._dialect.value,
            "path": str(self._path),
            "sql": sql,
            "kind": kind_of(sql, self._dialect).lower(),
            "table": _table(sql, self._dialect),
            "rows_affected_max": rows_affected_max,
            "seconds": seconds_max,
        }
        said: list[dict[str, Any]] = []
        try:
            async with asyncio.timeout(seconds_max + START_SECONDS), self._alone():
                await self._listen(request, said)
        except TimeoutError:
            pass
        return self._outcome(said, sql, rows_affected_max, (time.monotonic() - started) * 1_000)

    async def _listen(self, request: dict[str, Any], said: list[dict[str, Any]]) -> None:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
        )
        try:
            if process.stdin is None or process.stdout is None:
                return
            process.stdin.write(json.dumps(request).encode() + b"\n")
            async for line in process.stdout:
                said.append(json.loads(line))  # noqa: PERF401 - what was received counts, also if no more comes
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            # What it wrote before it was killed may lie unread where this process stood still: it is the truth.
            if process.stdout is not None:
                rest = await process.stdout.read()
                said.extend(json.loads(line) for line in rest.splitlines(keepends=True) if line.endswith(b"\n"))
            await process.wait()

    def _outcome(
        self, said: Sequence[dict[str, Any]], sql: str, rows_affected_max: int, duration_ms: float
    ) -> Written | Failure:
        last = said[-1] if said else {}
        if "committed" in last:
            rows = last["committed"]
            return Written(None if rows is None else int(rows), duration_ms)
        if "too_many" in last:
            return too_many(int(last["too_many"]), rows_affected_max)
        if "committing" in last:
            return Failure.of(FailureCode.WRITE_OUTCOME_UNKNOWN, "the process ended while it committed")
        if "error" in last:
            error = last["error"]
            failure = self._failure_of(int(error["code"]), str(error["name"]), str(error["text"]), sql)
            if any("committing" in item for item in said):
                return Failure.of(FailureCode.WRITE_OUTCOME_UNKNOWN, failure.detail, failure.facts)
            return failure
        return Failure.of(FailureCode.TIMEOUT, "the change was ended before it was committed; nothing was changed")


def _table(sql: str, dialect: Dialect) -> str:
    """Return the bare name of the table that a guarded change is about."""
    tree = parse_change(sql, dialect)
    if isinstance(tree, Failure):
        return ""
    target = tree.this
    while target is not None and not isinstance(target, str) and not target.name:
        target = target.this
    return "" if target is None else (target if isinstance(target, str) else target.name)
