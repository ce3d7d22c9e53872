"""Reads the services' logs: one question's way over all of them, or what went wrong, in the order of time.

A line of a log is one JSON object with `timestamp`, `level` and `event`; others (a driver's own words) are left out. A line
belongs to a query if it names it, or the trace of a line that does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, cast

from querybus_cli.runtime import UsageError, os_error_text

Level = Literal["debug", "info", "warning", "error", "critical"]
LEVELS: Final[tuple[Level, ...]] = ("debug", "info", "warning", "error", "critical")
STANDARD_INPUT: Final = "-"
_SHOWN_FIRST: Final = ("timestamp", "level", "from", "event")
_NO_TRACE: Final = ""

Line = Mapping[str, Any]


def read(files: Sequence[str], store: Path) -> list[Line]:
    """Return every line of the files (`-`: standard input; none: the logs of a `querybus up`), oldest first.

    UsageError if there is nothing to read.
    """
    names = files or tuple(str(path) for path in sorted((store / "logs").glob("*.log")))
    if not names:
        raise UsageError(
            f"which logs? name files or `-`, or say --store FOLDER of a `querybus up` ({store}/logs is empty)"
        )
    result: list[Line] = []
    for name in names:
        if name == STANDARD_INPUT:
            result += _parsed(sys.stdin, {})
        else:
            try:
                with Path(name).open(errors="replace") as lines:
                    result += _parsed(lines, {"from": Path(name).stem})
            except OSError as error:
                raise UsageError(os_error_text(error)) from error
    return sorted(result, key=lambda line: str(line["timestamp"]))


def of_query(lines: Iterable[Line], query: str) -> list[Line]:
    """Return the lines that belong to a query.

    >>> of_query([{"query_id": "q", "trace_id": "t"}, {"trace_id": "t"}, {"trace_id": "u"}], "q")
    [{'query_id': 'q', 'trace_id': 't'}, {'trace_id': 't'}]
    """
    known = list(lines)
    traces = {line.get("trace_id", _NO_TRACE) for line in known if line.get("query_id") == query} - {_NO_TRACE}
    return [line for line in known if line.get("query_id") == query or line.get("trace_id") in traces]


def at_least(lines: Iterable[Line], level: Level) -> list[Line]:
    """Return the lines of this level and above."""
    wanted = LEVELS[LEVELS.index(level) :]
    return [line for line in lines if line.get("level") in wanted]


def shown(line: Line) -> str:
    """Return a line for people: time, level, where it was written, what happened, and whatever else it says."""
    rest = " ".join(f"{name}={_short(value)}" for name, value in line.items() if name not in _SHOWN_FIRST)
    where = line.get("from") or line.get("service") or line.get("stage") or ""
    return f"{line['timestamp']}  {line.get('level', ''):8} {where:14} {line['event']:24} {rest}".rstrip()


def _parsed(lines: Iterable[str], more: Line) -> Iterator[Line]:
    for text in lines:
        # What `kubectl logs --prefix` puts before it ends where the object begins.
        try:
            line: Any = json.loads(text[text.index("{") :])
        except ValueError:
            continue
        if isinstance(line, dict) and {"timestamp", "event"} <= line.keys():
            yield {**cast("Line", line), **more}


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
