"""An exception of an exchange as a fault, by what the exchange noted and by the kinds of exception in its chain."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from typing import Any, Final, cast

from querybus.llm.errors import Fault, FaultKind
from querybus.llm.wire.http_faults import fault_of_response
from querybus.llm.wire.transport import ANSWER_BYTES_MAX, Exchange

_TIMEOUTS: Final = frozenset({"ReadTimeout", "WriteTimeout", "ReadTimeoutError", "APITimeoutError", "TimeoutError"})
_NO_CONNECTION: Final = frozenset(
    {"ConnectTimeout", "PoolTimeout", "ConnectTimeoutError", "ConnectError", "EndpointConnectionError"}
)
_BROKEN_OFF: Final = frozenset({"ReadError", "WriteError", "CloseError", "RemoteProtocolError", "IncompleteRead"})
_CREDENTIALS: Final = frozenset(
    {"NoCredentialsError", "PartialCredentialsError", "NoRegionError", "CredentialRetrievalError"}
)
_ENDED: Final = ("disconnected", "peer closed", "closed connection", "incomplete")


def exception_fault(
    error: BaseException, exchange: Exchange, expected: str, *, settings: str = "QUERYBUS_LLM"
) -> Fault:
    """Return the fault of an exchange that raised.

    `expected` names in two words what the answer should have been, `settings` how the variables begin that set the
    address. No text of an exception is taken over, since it may hold what was sent.
    """
    chain = list(_chain(error))
    names = {type(item).__name__ for item in chain}
    address = f"the address in {settings}_BASE_URL"
    if exchange.is_too_long:
        return Fault(FaultKind.PROTOCOL, f"the answer is longer than {ANSWER_BYTES_MAX:,} bytes")
    if (found := _of_aws(chain)) is not None:
        return found
    if any(isinstance(item, ssl.SSLError) for item in chain):
        return Fault(
            FaultKind.ADDRESS, f"TLS fails with {address}: set QUERYBUS_LLM_CA_FILE to its authority, or use http"
        )
    if any(isinstance(item, socket.gaierror) for item in chain):
        return Fault(FaultKind.ADDRESS, f"no host has the name in {settings}_BASE_URL")
    if "OutputParserException" in names:
        return Fault(FaultKind.EMPTY, "the model writes no object of the schema")
    if names & _CREDENTIALS:
        return Fault(
            FaultKind.REQUEST, "no credentials of AWS or no region are set: AWS_REGION, AWS_ACCESS_KEY_ID, ..."
        )
    if names & _NO_CONNECTION:
        return Fault(FaultKind.CONNECT, f"nobody answers at {address}")
    if names & _TIMEOUTS:
        return Fault(FaultKind.TIMEOUT, "the address was silent for too long")
    if names & _BROKEN_OFF:
        if exchange.status is None and "RemoteProtocolError" in names and not _is_ended(chain):
            return Fault(FaultKind.ADDRESS, f"no HTTP comes from {address}")
        return Fault(FaultKind.CONNECT, f"the connection to {address} broke off")
    if names & {"UnsupportedProtocol", "InvalidURL", "ProxyError", "LocalProtocolError"}:
        return Fault(FaultKind.ADDRESS, f"{address} or QUERYBUS_LLM_PROXY cannot be used ({type(error).__name__})")
    if exchange.is_streamed:
        return Fault(FaultKind.PROTOCOL, f"the stream is none of a {expected} ({type(error).__name__})")
    reason = f"the answer is no {expected} ({type(error).__name__})"
    return Fault(FaultKind.PROTOCOL, f"{reason}: is {settings}_BASE_URL the address of the model's API?")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(12):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _is_ended(chain: list[BaseException]) -> bool:
    return any(word in str(item).casefold() for item in chain for word in _ENDED)


def _of_aws(chain: list[BaseException]) -> Fault | None:
    """Return the fault of an answer that botocore read, which has a client of its own."""
    for item in chain:
        response: Any = getattr(item, "response", None)
        if isinstance(response, dict) and "ResponseMetadata" in response:
            whole = cast("dict[str, Any]", response)
            status = int(whole["ResponseMetadata"].get("HTTPStatusCode") or 500)
            error = whole.get("Error") or {}
            text = f'{{"code": "{error.get("Code", "")}"}} {error.get("Message", "")}'
            return fault_of_response(
                status, whole["ResponseMetadata"].get("HTTPHeaders") or {}, text, key="AWS credentials"
            )
    return None
