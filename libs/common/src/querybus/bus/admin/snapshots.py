"""Whole streams go out as the server writes them, and back in where there is none of the name.

What `nats stream backup` and `restore` speak. The bytes are the server's own: a compressed archive of messages, with their
numbers and times, and of configuration. The log goes with its durables: a query that was concluded but not yet put into
words would end never otherwise. Of the other streams they are made anew by `querybus operate migrate`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, cast

import nats.errors
from nats.aio.client import Client

from querybus.core.topology import EVENTS

CHUNK_BYTES: Final = 128 * 1_024
REQUEST_SECONDS: Final = 10.0
SILENT_SECONDS_MAX: Final = 30.0
"""How long the server may be silent within a copy."""
RESTORED_SECONDS_MAX: Final = 600.0
"""How long it may take to put a stream together once it has all of it."""
LOOK_SECONDS: Final = 30.0
"""How long a server that has no leader yet is asked again, and a part is offered that nobody takes yet."""
_PAUSE_SECONDS: Final = 0.5
_API: Final = "$JS.API.STREAM"
_NOT_FOUND: Final = 10_059
_AWAY: Final = 503

Json = dict[str, Any]


class SnapshotError(Exception):
    """The server did not give or take a stream; the text says which, and why."""


@dataclass(frozen=True, slots=True)
class StreamState:
    """What a stream holds: how many messages, and the number of the last that it ever had."""

    messages: int
    last: int


class Publisher:
    """Copies streams and makes them anew, on a connection of the bus user `backup user`."""

    def __init__(self, connection: Client) -> None:
        self._connection = connection

    async def state(self, stream: str) -> StreamState | None:
        """Return what a stream holds, or None if there is none. SnapshotError if the server does not say."""
        answer = await _looked(self._connection, stream)
        return None if answer is None else _state(answer["state"])

    async def take(self, stream: str, write: Callable[[bytes], object]) -> tuple[Json, Json]:
        """Hand a copy of a stream to `write`, part by part; return the configuration and state to `put` it with.

        Messages go on coming in meanwhile; the copy is of one moment. SnapshotError if there is no such stream, or the
        server falls silent within the copy.
        """
        before = await _looked(self._connection, stream)
        inbox = self._connection.new_inbox()
        parts = await self._connection.subscribe(inbox)
        try:
            request = {"deliver_subject": inbox, "no_consumers": stream != EVENTS, "chunk_size": CHUNK_BYTES}
            answer = await _asked(self._connection, f"{_API}.SNAPSHOT.{stream}", stream, request)
            while True:
                try:
                    part = await parts.next_msg(timeout=SILENT_SECONDS_MAX)
                except (nats.errors.Error, TimeoutError) as error:
                    raise SnapshotError(f"{stream}: the server fell silent within the copy") from error
                if not part.data:
                    break
                # The disk is slower than the bus, and the server waits for each part to be taken.
                await asyncio.to_thread(write, part.data)
                if part.reply:
                    await self._connection.publish(part.reply)
            status = (part.headers or {}).get("Status", "204")
            if status != "204":
                raise SnapshotError(f"{stream}: the server ended the copy with {status}")
            return _going_on(answer["config"], (before or {}).get("sources") or ()), answer["state"]
        finally:
            await parts.unsubscribe()

    async def put(self, stream: str, config: Json, state: Json, parts: Iterable[bytes]) -> StreamState:
        """Make a stream of what `take` has returned and written; return what it holds now. SnapshotError if it is there."""
        request = {"config": {**config, "name": stream}, "state": state}
        answer = await _asked(self._connection, f"{_API}.RESTORE.{stream}", stream, request)
        subject = answer["deliver_subject"]
        rest = iter(parts)
        while part := await asyncio.to_thread(next, rest, b""):
            _checked(stream, await _handed(self._connection, subject, stream, part))
        made = _checked(stream, await _handed(self._connection, subject, stream, b"", RESTORED_SECONDS_MAX))
        return _state(made["state"])


def _going_on(config: Json, sources: Iterable[Json]) -> Json:
    """Return the configuration with each source going on from where it stood.

    A restored stream is another one to whoever reads it, who would begin it anew and hold everything twice.
    """
    at = {source["name"]: source["seq"] + 1 for source in sources if source.get("seq")}
    if not config.get("sources"):
        return config
    return {
        **config,
        "sources": [
            {**source, "opt_start_seq": at[source["name"]]} if source["name"] in at else source
            for source in config["sources"]
        ],
    }


async def _looked(connection: Client, stream: str) -> Json | None:
    until = time.monotonic() + LOOK_SECONDS
    while True:
        try:
            data = await _request(connection, f"{_API}.INFO.{stream}", stream, b"")
        except SnapshotError:
            if time.monotonic() > until:
                raise
        else:
            answer = cast("Json", json.loads(data))
            error = answer.get("error", {})
            if error.get("err_code") == _NOT_FOUND:
                return None
            if error.get("code") != _AWAY or time.monotonic() > until:
                return _checked(stream, data)
        await asyncio.sleep(_PAUSE_SECONDS)


async def _asked(connection: Client, subject: str, stream: str, request: Json) -> Json:
    return _checked(stream, await _request(connection, subject, stream, json.dumps(request).encode()))


async def _handed(
    connection: Client, subject: str, stream: str, part: bytes, timeout_seconds: float = REQUEST_SECONDS
) -> bytes:
    """Return the answer to a part of a copy, offered until somebody takes it.

    In a cluster the answer that names the subject may be here before the leader's subscription to it is. A part that
    nobody took has arrived nowhere, so that it never goes in twice.
    """
    until = time.monotonic() + LOOK_SECONDS
    while True:
        try:
            return await _request(connection, subject, stream, part, timeout_seconds)
        except SnapshotError as error:
            if not isinstance(error.__cause__, nats.errors.NoRespondersError) or time.monotonic() > until:
                raise
        await asyncio.sleep(_PAUSE_SECONDS)


async def _request(
    connection: Client, subject: str, stream: str, data: bytes, timeout_seconds: float = REQUEST_SECONDS
) -> bytes:
    try:
        return (await connection.request(subject, data, timeout=timeout_seconds)).data
    except (nats.errors.Error, TimeoutError) as error:
        raise SnapshotError(
            f"{stream}: the server gives no answer ({type(error).__name__}; does its permission file know the user?)"
        ) from error


def _checked(stream: str, data: bytes) -> Json:
    """Return an answer, an empty one for nothing; SnapshotError with the server's reason if it is a refusal."""
    answer = cast("Json", json.loads(data)) if data else {}
    if "error" in answer:
        raise SnapshotError(f"{stream}: {answer['error'].get('description', 'refused without a reason')}")
    return answer


def _state(state: Json) -> StreamState:
    return StreamState(int(state["messages"]), int(state["last_seq"]))
