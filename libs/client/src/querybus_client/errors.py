"""What can go wrong, as types: a refusal carries the gateway's problem document, trouble on the way carries its cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast


class QueryBusError(Exception):
    """Anything that this client raises by itself."""


class Unreachable(QueryBusError):
    """No answer came: what became of the request is not known. Requests with an idempotency key were tried again."""


class StreamBroken(QueryBusError):
    """A stream ended before `finished` and could not be taken up again; `after` is the last sequence that was seen."""

    def __init__(self, message: str, after: int) -> None:
        super().__init__(message)
        self.after = after


class NotFinished(QueryBusError):
    """The query has not finished in the time that it was waited for; it runs on under `query_id`."""

    def __init__(self, query_id: str) -> None:
        super().__init__(f"query {query_id} has not finished yet")
        self.query_id = query_id


class Refused(QueryBusError):
    """The gateway refused the request; `problem` is its RFC 9457 document."""

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after_seconds: float | None = None) -> None:
        super().__init__(f"{problem.get('code', status)}: {problem.get('detail') or problem.get('title') or 'refused'}")
        self.status = status
        self.problem = problem
        self.retry_after_seconds = retry_after_seconds

    @property
    def code(self) -> str:
        """The problem's code, such as `unknown_connection`; empty where something else than a gateway answered."""
        return str(self.problem.get("code", ""))

    @property
    def detail(self) -> str:
        """What is wrong, in words."""
        return str(self.problem.get("detail", ""))

    @property
    def trace_id(self) -> str:
        """What to report to whoever runs the gateway."""
        return str(self.problem.get("trace_id", ""))

    @property
    def errors(self) -> Sequence[Mapping[str, str]]:
        """The faults of the request: `pointer` and `message` of each."""
        return cast("Sequence[Mapping[str, str]]", self.problem.get("errors") or ())


class Unauthenticated(Refused):
    """401: no valid key."""


class NotAllowed(Refused):
    """403: this key may not do that."""


class NotFound(Refused):
    """404: there is no such thing for this caller."""


class Conflict(Refused):
    """409: the query has already ended, or not yet."""


class Gone(Refused):
    """410: the result is no longer kept."""


class Invalid(Refused):
    """400, 413, 415, 422: the request is at fault."""


class TooMany(Refused):
    """429: too many requests; `retry_after_seconds` says when to come again."""


class Unavailable(Refused):
    """5xx: the gateway or something behind it is in trouble."""


_BY_STATUS: Final[Mapping[int, type[Refused]]] = {
    401: Unauthenticated,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    410: Gone,
    429: TooMany,
}


def refused(status: int, problem: Mapping[str, Any], retry_after_seconds: float | None = None) -> Refused:
    """Return the error of a refusal.

    >>> type(refused(404, {"code": "not_found"})).__name__
    'NotFound'
    """
    kind = _BY_STATUS.get(status, Unavailable if status >= 500 else Invalid)
    return kind(status, problem, retry_after_seconds)
