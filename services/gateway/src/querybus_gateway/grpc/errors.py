"""A problem as gRPC says it: one rule from HTTP's status to a code, and the problem itself in rich details.

The trailing metadata `grpc-status-details-bin` holds a google.rpc.Status with ErrorInfo (reason: the problem's code in
upper case), BadRequest for the fields at fault and RetryInfo where trying again later makes sense.
"""

from __future__ import annotations

from typing import Any, Final, cast

from google.protobuf import any_pb2
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2

from querybus_gateway.problems import STATUS, Problem

DOMAIN: Final = "querybus"
_CODES: Final[dict[int, int]] = {
    400: code_pb2.INVALID_ARGUMENT,
    401: code_pb2.UNAUTHENTICATED,
    403: code_pb2.PERMISSION_DENIED,
    404: code_pb2.NOT_FOUND,
    405: code_pb2.UNIMPLEMENTED,
    409: code_pb2.FAILED_PRECONDITION,
    410: code_pb2.NOT_FOUND,
    413: code_pb2.INVALID_ARGUMENT,
    415: code_pb2.INVALID_ARGUMENT,
    422: code_pb2.INVALID_ARGUMENT,
    429: code_pb2.RESOURCE_EXHAUSTED,
    500: code_pb2.INTERNAL,
    503: code_pb2.UNAVAILABLE,
    504: code_pb2.DEADLINE_EXCEEDED,
}


def code_of(http_status: int) -> int:
    """Return the gRPC code of an HTTP status; KeyError for a status that no problem has."""
    return _CODES[http_status]


def rich_status(problem: Problem, *, trace_id: str, request_id: str) -> status_pb2.Status:
    """Return the whole problem as google.rpc.Status."""
    title = STATUS[problem.code][1]
    metadata = {"title": title, "trace_id": trace_id} | {
        name: str(value) for name, value in problem.more.items() if value is not None
    }
    details: list[Message] = [
        error_details_pb2.ErrorInfo(reason=problem.code.value.upper(), domain=DOMAIN, metadata=metadata),
        error_details_pb2.RequestInfo(request_id=request_id),
    ]
    if problem.errors:
        violations = [
            error_details_pb2.BadRequest.FieldViolation(field=error.pointer, description=error.message)
            for error in problem.errors
        ]
        details.append(error_details_pb2.BadRequest(field_violations=violations))
    if problem.retry_after_seconds is not None:
        retry = error_details_pb2.RetryInfo()
        cast("Any", retry.retry_delay).FromSeconds(problem.retry_after_seconds)
        details.append(retry)
    status = status_pb2.Status(code=code_of(problem.status), message=problem.detail or title)
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    return status
