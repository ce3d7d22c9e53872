"""A question that a reader fails on counts as not read: it is asked about once, and is no outage that comes again with each delivery."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_log = logging.getLogger(__name__)
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def reads_or(
    unread: Callable[[], Result],
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Return a decorator: where its function raises, the failure is logged and the result is what `unread` returns.

    The log has the places in the code, and no word of the question.
    """

    def decorate(read: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @functools.wraps(read)
        def guarded(*arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
            try:
                return read(*arguments, **named)
            except Exception:  # noqa: BLE001 - whatever a reader fails with
                _log.exception("the translator failed in %s; the question counts as not read", read.__name__)
                return unread()

        return guarded

    return decorate
