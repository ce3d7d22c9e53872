"""What a program outside needs to talk to QueryBus over the bus: one credential's calls, submits and answers.

It has no JetStream rights and reads nothing but the answers and progress of its own user and audience. Progress is
lossy.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from querybus.bus.admin.permissions import OUTSIDE_PAYLOAD_BYTES_MAX, SIGN_IN_SECONDS_MAX, Outsider
from querybus.bus.connection import BusRefused, OnError, connect, reach
from querybus.core.subjects import ROOT, call_subject, submit_subject

CALL_SECONDS: Final = 65.0
SUBMIT_SECONDS: Final = 5.0
NOBODY_SECONDS_MAX: Final = 5.0
"""How long a call is repeated while nobody listens: a gateway that has just started is not reached at once."""
SIGN_IN_TRIES_SECONDS_MAX: Final = 15.0
"""How long a caller tries to be let in where no gateway says so in time: it may just be starting, or be busy."""

_NOBODY_PAUSE_SECONDS: Final = 0.1
_LAST_TRY_SHARE: Final = 1 / 3
"""Of the time that a call has, which a try must have: with less it could not distinguish nobody from no answer."""
_HEADER_BYTES_MAX: Final = 4_096
IDEMPOTENCY_HEADER: Final = "Idempotency-Key"


class NotAccepted(Exception):
    """The bus did not take or answer a request; what became of it is then not known."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """Where a durable question stands in its queue."""

    sequence: int
    duplicate: bool


async def _let_in(url: str, outsider: Outsider, password: str, on_error: OnError | None) -> Client:
    """Return a connection, trying again where no gateway answered in time.

    The server words that like a refusal ("Authorization Violation"), only later: a gateway that refuses does so at once.
    """
    until = time.monotonic() + SIGN_IN_TRIES_SECONDS_MAX
    while True:
        begun = time.monotonic()
        try:
            return await connect(url, outsider.name, password, inbox=outsider.inbox, on_error=on_error)
        except BusRefused:
            now = time.monotonic()
            if now - begun < SIGN_IN_SECONDS_MAX or now > until:
                raise


class BusClient:
    """One credential's connection; use `async with BusClient.connected(...)`."""

    def __init__(self, connection: Client, outsider: Outsider) -> None:
        self._connection = connection
        self._self = outsider

    @classmethod
    @asynccontextmanager
    async def connected(
        cls, url: str, outsider: Outsider, password: str, *, on_error: OnError | None = None
    ) -> AsyncGenerator[BusClient]:
        """Connect and close again; raises BusRefused for a wrong password or a bus that is absent for 15 s."""
        connection = await _let_in(url, outsider, password, on_error)
        try:
            yield cls(connection, outsider)
        finally:
            await connection.close()

    async def call(
        self, verb: str, payload: Mapping[str, object], *, timeout_seconds: float = CALL_SECONDS
    ) -> dict[str, Any]:
        """Ask the gateway and return its answer's JSON object; NotAccepted if none comes in time.

        A call that reached nobody is repeated; one that was received never is.
        """
        subject = call_subject(self._self.tenant, self._self.credential, verb)
        data = _encoded(payload)
        until = time.monotonic() + timeout_seconds
        no_try_after = until - max(timeout_seconds * _LAST_TRY_SHARE, timeout_seconds - NOBODY_SECONDS_MAX)
        while True:
            try:
                reply = await self._connection.request(subject, data, timeout=max(until - time.monotonic(), 0.001))
            except nats.errors.NoRespondersError as error:
                if time.monotonic() + _NOBODY_PAUSE_SECONDS > no_try_after:
                    raise NotAccepted("no gateway listens") from error
                await asyncio.sleep(_NOBODY_PAUSE_SECONDS)
            except (nats.errors.Error, TimeoutError) as error:
                raise NotAccepted(f"no answer within {timeout_seconds:g} s ({type(error).__name__})") from error
            else:
                return _object(reply)

    async def submit(self, payload: Mapping[str, object], idempotency_key: str) -> Submitted:
        """Leave a durable question and return once it is stored; the same key again is the same query.

        NotAccepted if it is refused (queue full, too large) or no acknowledgement comes; then submit again, same key.
        """
        subject = submit_subject(self._self.tenant, self._self.credential)
        headers = {"Nats-Msg-Id": f"{self._self.name}:{idempotency_key}", IDEMPOTENCY_HEADER: idempotency_key}
        data = _encoded(payload)
        try:
            reply = await self._connection.request(subject, data, timeout=SUBMIT_SECONDS, headers=headers)
        except (nats.errors.Error, TimeoutError) as error:
            raise NotAccepted(f"not stored: {type(error).__name__}") from error
        ack = _object(reply)
        if "error" in ack or "seq" not in ack:
            reason = cast("Mapping[str, object]", ack.get("error") or {}).get("description", "no reason given")
            raise NotAccepted(f"not stored: {reason}")
        return Submitted(int(ack["seq"]), bool(ack.get("duplicate", False)))

    @asynccontextmanager
    async def answers(self) -> AsyncGenerator[AsyncIterator[tuple[str, dict[str, Any]]]]:
        """Receive the final answers of this credential's user from now on, as (query token, answer)."""
        async with self._received("answer") as received:
            yield received

    @asynccontextmanager
    async def progress(self) -> AsyncGenerator[AsyncIterator[tuple[str, dict[str, Any]]]]:
        """Receive the progress of this credential's user from now on, as (query token, notice); lossy."""
        async with self._received("progress") as received:
            yield received

    @asynccontextmanager
    async def _received(self, word: str) -> AsyncGenerator[AsyncIterator[tuple[str, dict[str, Any]]]]:
        path = f"{self._self.tenant}.{self._self.user}.{self._self.audience}"
        subscription = await self._connection.subscribe(f"{ROOT}.{word}.{path}.*")
        # The subscription must have reached the server before anything is asked.
        await reach(self._connection)

        async def messages() -> AsyncIterator[tuple[str, dict[str, Any]]]:
            async for message in subscription.messages:
                yield message.subject.rpartition(".")[2], _object(message)

        try:
            yield messages()
        finally:
            await subscription.unsubscribe()


def _encoded(payload: Mapping[str, object]) -> bytes:
    data = json.dumps(payload).encode()
    if len(data) > OUTSIDE_PAYLOAD_BYTES_MAX - _HEADER_BYTES_MAX:
        # The server would close the connection for it.
        raise NotAccepted(f"{len(data)} bytes are more than the bus takes from outside")
    return data


def _object(message: Msg) -> dict[str, Any]:
    try:
        result: object = json.loads(message.data)
    except ValueError as error:
        raise NotAccepted("the answer is no JSON") from error
    if not isinstance(result, dict):
        raise NotAccepted("the answer is no JSON object")
    return cast("dict[str, Any]", result)
