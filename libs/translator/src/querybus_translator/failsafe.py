"""A question that a reader fails on counts as not read: it is asked about once, and is no outage that comes again with each delivery."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from pathlib import PurePath
from typing import Final, ParamSpec, TypeVar

PLACES_MAX: Final = 6
"""Of the innermost places of a failure."""
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Report = Callable[[str, tuple[str, ...]], None]
"""Takes the kind of a failure and its places in the code, the innermost last: no word of the question."""
_reports: Final[dict[str, Report]] = {}


def report_failures_to(report: Report) -> None:
    """Give every failure of a reader from now on to `report` as well, such as a service's log."""
    _reports["service"] = report


def reads_or(
    unread: Callable[[], Result],
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Return a decorator: where its function raises, the failure is reported and the result is what `unread` returns."""

    def decorate(read: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @functools.wraps(read)
        def guarded(*arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
            try:
                return read(*arguments, **named)
            except Exception as error:  # noqa: BLE001 - whatever a reader fails with
                frames = traceback.extract_tb(error.__traceback__)[-PLACES_MAX:]
                places = tuple(f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
                for report in _reports.values():
                    report(type(error).__name__, places)
                return unread()

        return guarded

    return decorate
