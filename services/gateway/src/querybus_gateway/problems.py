"""Every refusal of an API is a problem with a code of this closed set, said the same way at each API (RFC 9457).

A problem's texts never quote SQL, a name from a catalog or a driver: they speak of the request alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

PROBLEM_MEDIA_TYPE: Final = "application/problem+json"
FIELD_ERRORS_MAX: Final = 20


class ProblemCode(StrEnum):
    """Why a request was not taken."""

    MALFORMED = "malformed"
    UNAUTHENTICATED = "unauthenticated"
    SCOPE = "scope"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    ALREADY_EXISTS = "already_exists"
    ALREADY_FINISHED = "already_finished"
    NOT_FINISHED = "not_finished"
    NOT_CONFIRMABLE = "not_confirmable"
    RESULT_EXPIRED = "result_expired"
    BAD_PAGE_TOKEN = "bad_page_token"  # noqa: S105 - a code, no secret
    NO_CLARIFICATION = "no_clarification"
    UNKNOWN_OPTION = "unknown_option"
    NOT_REFINABLE = "not_refinable"
    UNKNOWN_PART = "unknown_part"
    TOO_LARGE = "too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    INVALID = "invalid"
    UNKNOWN_FIELD = "unknown_field"
    BAD_OPTIONS = "bad_options"
    QUESTION_EMPTY = "question_empty"
    QUESTION_TOO_LONG = "question_too_long"
    SQL_MISSING = "sql_missing"
    SQL_UNEXPECTED = "sql_unexpected"
    UNKNOWN_CONNECTION = "unknown_connection"
    CONNECTION_MISSING = "connection_missing"
    IDEMPOTENCY_MISMATCH = "idempotency_mismatch"
    RATE_LIMITED = "rate_limited"
    TOO_MANY_GUESSES = "too_many_guesses"
    TOKENS_SPENT = "tokens_spent"
    QUEUE_FULL = "queue_full"
    INTERNAL = "internal"
    BUS_UNAVAILABLE = "bus_unavailable"
    STALLED = "stalled"
    PICTURE_UNAVAILABLE = "picture_unavailable"
    ISSUER_UNAVAILABLE = "issuer_unavailable"


STATUS: Final[dict[ProblemCode, tuple[int, str]]] = {
    ProblemCode.MALFORMED: (400, "The request cannot be read"),
    ProblemCode.UNAUTHENTICATED: (401, "A valid key is needed"),
    ProblemCode.SCOPE: (403, "This credential may not do that"),
    ProblemCode.NOT_FOUND: (404, "Not found"),
    ProblemCode.METHOD_NOT_ALLOWED: (405, "This method is not offered here"),
    ProblemCode.ALREADY_EXISTS: (409, "It exists already"),
    ProblemCode.ALREADY_FINISHED: (409, "The query has already ended"),
    ProblemCode.NOT_FINISHED: (409, "The query has not finished yet"),
    ProblemCode.NOT_CONFIRMABLE: (409, "There is nothing here to confirm"),
    ProblemCode.RESULT_EXPIRED: (410, "The result is no longer kept"),
    ProblemCode.BAD_PAGE_TOKEN: (400, "The page token is not valid"),
    ProblemCode.NO_CLARIFICATION: (409, "This query asked nothing back"),
    ProblemCode.UNKNOWN_OPTION: (422, "There is no such option"),
    ProblemCode.NOT_REFINABLE: (409, "There is no answer here that could be read otherwise"),
    ProblemCode.UNKNOWN_PART: (422, "The reading has no such part"),
    ProblemCode.TOO_LARGE: (413, "The request is too large"),
    ProblemCode.UNSUPPORTED_MEDIA_TYPE: (415, "The body must be JSON"),
    ProblemCode.INVALID: (422, "The request is not valid"),
    ProblemCode.UNKNOWN_FIELD: (422, "The request has an unknown field"),
    ProblemCode.BAD_OPTIONS: (422, "An option is not valid"),
    ProblemCode.QUESTION_EMPTY: (422, "The question is empty"),
    ProblemCode.QUESTION_TOO_LONG: (422, "The question is too long"),
    ProblemCode.SQL_MISSING: (422, "This operation needs a statement"),
    ProblemCode.SQL_UNEXPECTED: (422, "This operation takes no statement"),
    ProblemCode.UNKNOWN_CONNECTION: (422, "There is no such connection"),
    ProblemCode.CONNECTION_MISSING: (422, "A connection must be chosen"),
    ProblemCode.IDEMPOTENCY_MISMATCH: (422, "The idempotency key was used for another request"),
    ProblemCode.RATE_LIMITED: (429, "Too many requests"),
    ProblemCode.TOO_MANY_GUESSES: (429, "Too many wrong keys"),
    ProblemCode.TOKENS_SPENT: (429, "What models may take today is spent"),
    ProblemCode.QUEUE_FULL: (429, "Too many queries are waiting"),
    ProblemCode.INTERNAL: (500, "Something went wrong here"),
    ProblemCode.ISSUER_UNAVAILABLE: (503, "The issuer of the token cannot be reached at the moment"),
    ProblemCode.BUS_UNAVAILABLE: (503, "The bus cannot be reached at the moment"),
    ProblemCode.STALLED: (503, "No question is answered at the moment"),
    ProblemCode.PICTURE_UNAVAILABLE: (503, "The picture cannot be drawn at the moment"),
}


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault of the request: a JSON pointer and what is wrong there."""

    pointer: str
    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A refusal as a value; `more` holds further members, such as the real outcome of a finished query."""

    code: ProblemCode
    detail: str = ""
    errors: tuple[FieldError, ...] = ()
    retry_after_seconds: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def status(self) -> int:
        return STATUS[self.code][0]

    def body(self, *, instance: str, trace_id: str) -> dict[str, Any]:
        """Return the problem's JSON object."""
        status, title = STATUS[self.code]
        return {
            "type": f"urn:querybus:problem:{self.code}",
            "title": title,
            "status": status,
            "detail": self.detail or title,
            "instance": instance,
            "code": self.code.value,
            "trace_id": trace_id,
            "errors": [
                {"pointer": error.pointer, "message": error.message} for error in self.errors[:FIELD_ERRORS_MAX]
            ],
            **self.more,
        }


class Refused(Exception):
    """Carries a problem through code that cannot return one: FastAPI's dependencies."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code.value)
        self.problem = problem
