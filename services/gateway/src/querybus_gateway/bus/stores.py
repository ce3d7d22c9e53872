"""The gateway's ports as the bus has them: each a few lines around querybus.bus, none with a decision in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from pydantic_core import to_json

from querybus.bus.connection import Connected
from querybus.bus.log.journal import Entry
from querybus.bus.log.publish import (
    FenceLost,
    Published,
    address_of,
    publish_event,
    publish_message,
    send,
)
from querybus.bus.log.query_threads import claim
from querybus.bus.log.stream_reads import last, unsettled_of
from querybus.bus.stores.buckets import ConnectionStore, CounterStore, SecretStore
from querybus.core.credential import Credential
from querybus.core.envelope import Audience, Envelope, encode
from querybus.core.ids import derived_id
from querybus.core.policy import Connection
from querybus.core.subjects import (
    StageName,
    answer_subject,
    cancel_subject,
    dead_message_id,
    dead_subject,
    progress_subject,
    refresh_subject,
    submit_subject,
    token,
)
from querybus.core.topology import EVENTS, SUBMIT, submit_durable
from querybus.ops.clock import Clock, RandomBits
from querybus.ops.trace import Tracing
from querybus_gateway.lifecycle.answers import answer_bytes
from querybus_gateway.problems import Problem

STORE_MS_MAX: Final = 5_000
CONNECTIONS_TRUST_MS: Final = 1_000
"""How long the list of connections is used again; a new one is known a second later."""
REASON_LENGTH_MAX: Final = 500
WAITING_TRUST_MS: Final = 1_000
KEY_BYTES: Final = 32


class FencedEvents:
    """Publishes the gateway's events, fenced and with the current trace."""

    def __init__(self, holder: Connected, *, clock: Clock, tracing: Tracing) -> None:
        self._holder = holder
        self._clock = clock
        self._tracing = tracing

    async def publish(
        self, envelope: Envelope[Any], *, input_sequence: int, expected_last_sequence: int, until_ms: int
    ) -> Published:
        if not input_sequence and not await claim(self._holder, address_of(envelope)):
            return FenceLost()
        headers: dict[str, str] = {}
        self._tracing.inject(headers)
        return await publish_event(
            self._holder.connection.jetstream(),
            envelope,
            input_sequence=input_sequence,
            expected_last_sequence=expected_last_sequence,
            until_ms=until_ms,
            headers=headers,
            clock=self._clock,
        )


class KnownConnections:
    """The names of the connections that each tenant may use."""

    def __init__(self, store: ConnectionStore, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._connections: tuple[Connection, ...] = ()
        self._read_at = 0

    async def names(self, tenant: str) -> Sequence[str]:
        # An empty list is never trusted: it is what a stack that is just starting has.
        if not self._connections or self._clock() - self._read_at > CONNECTIONS_TRUST_MS:
            self._connections = tuple(await self._store.all())
            self._read_at = self._clock()
        return tuple(connection.name for connection in self._connections if connection.policy.serves(tenant))


class SharedKey:
    """A key that all replicas share: whoever needs it first makes it, and it stays."""

    def __init__(self, store: SecretStore, name: str, *, random_bits: RandomBits) -> None:
        self._store = store
        self._name = name
        self._random_bits = random_bits
        self._key: bytes | None = None

    async def __call__(self) -> bytes:
        """Return the key; raises BusTrouble."""
        if self._key is None:
            made = self._random_bits(8 * KEY_BYTES).to_bytes(KEY_BYTES, "big")
            self._key = await self._store.shared(self._name, made)
        return self._key


class TakenCodes:
    """Which one-time codes were used, in `querybus_limits`."""

    def __init__(self, counters: CounterStore) -> None:
        self._counters = counters

    async def take(self, code_id: str) -> bool:
        """Return True for the first caller of this code only; raises BusTrouble."""
        return await self._counters.write(f"sign-in.{token(code_id)}", b"1", 0)


class PublishedAnswers:
    """Sends answers to whoever listens on the bus; what nobody receives is read from the log.

    Nothing waits for a receipt: the message that an answer is due for is settled on the same connection behind it, so it
    comes again unless the server has both.
    """

    def __init__(self, holder: Connected) -> None:
        self._holder = holder

    async def put(self, envelope: Envelope[Any]) -> None:
        subject = answer_subject(
            token(envelope.tenant), token(envelope.user), envelope.audience, token(envelope.query_id)
        )
        await send(self._holder.connection, subject, answer_bytes(envelope))

    async def refuse(
        self, tenant: str, user: str, audience: Audience, about: str, problem: Problem, correlation_id: str
    ) -> None:
        identity = derived_id("refusal", tenant, user, about)
        body = problem.body(instance="submit", trace_id="0" * 32)
        await send(
            self._holder.connection,
            answer_subject(token(tenant), token(user), audience, token(identity)),
            to_json({**body, "id": identity, "status": "refused", "correlation_id": correlation_id}),
        )


class SubmitQueue:
    """Admitted questions in QUERYBUS_SUBMIT, under their query's id in the place of a credential.

    Only the gateway and an operator may publish there, and no credential has such a name: what stands under one was
    admitted.
    """

    def __init__(self, holder: Connected, *, clock: Clock) -> None:
        self._holder = holder
        self._clock = clock
        self._waiting: dict[str, tuple[int, int]] = {}

    async def put(self, envelope: Envelope[Any]) -> None:
        await publish_message(
            self._holder.connection.jetstream(),
            submit_subject(token(envelope.tenant), envelope.query_id),
            encode(envelope),
            identity=f"{envelope.query_id}:submitted",
            until_ms=self._clock() + STORE_MS_MAX,
            clock=self._clock,
        )
        if (known := self._waiting.get(token(envelope.tenant))) is not None:
            # What this replica adds within the second counts at once.
            self._waiting[token(envelope.tenant)] = (known[0] + 1, known[1])

    async def get(self, tenant: str, query: str) -> bytes | None:
        kept = await last(self._holder.connection, SUBMIT, submit_subject(token(tenant), token(query)))
        return None if kept is None else kept.data

    async def waiting(self, tenant: str) -> int:
        known = self._waiting.get(tenant)
        if known is None or self._clock() - known[1] > WAITING_TRUST_MS:
            unsettled = await unsettled_of(self._holder.connection, SUBMIT, submit_durable(tenant))
            known = (unsettled, self._clock())
            self._waiting[tenant] = known
        return known[0]


class CancelHints:
    """The hint to stop work early; what it misses, the fence catches."""

    def __init__(self, holder: Connected) -> None:
        self._holder = holder

    async def cancel(self, tenant: str, query: str) -> None:
        # A lost hint costs work, not correctness; nats-py raises its own errors from OSError and Exception alike.
        with suppress(Exception):
            await self._holder.connection.publish(cancel_subject(token(tenant), token(query)), b"")


class RefreshHints:
    """The hint to read a database's catalog again; what it misses, the schedule reads."""

    def __init__(self, holder: Connected) -> None:
        self._holder = holder

    async def refresh(self, tenant: str, connection: str) -> None:
        """Ask every executor; each reads a catalog once in five seconds at most."""
        with suppress(Exception):
            await self._holder.connection.publish(refresh_subject(token(tenant), token(connection)), b"")


class BatchProgress:
    """Where the followers of a batch receive how it goes; nobody depends on it."""

    def __init__(self, holder: Connected) -> None:
        self._holder = holder

    async def report(self, credential: Credential, batch: str, note: Mapping[str, object]) -> None:
        subject = progress_subject(token(credential.tenant), token(credential.user), credential.audience, token(batch))
        with suppress(Exception):
            await self._holder.connection.publish(subject, json.dumps(note, ensure_ascii=False).encode())


class DeadLetters:
    """The dead letters of the event stream and of the submit queue."""

    def __init__(self, holder: Connected, *, clock: Clock) -> None:
        self._holder = holder
        self._clock = clock

    async def dead_letter(
        self, stage: StageName, data: bytes, *, stream: str, subject: str, sequence: int, deliveries: int, reason: str
    ) -> bool:
        """Store the raw bytes and why they died; False if somebody dead-lettered them before. BusTrouble, TooLarge."""
        return await publish_message(
            self._holder.connection.jetstream(),
            dead_subject(stage),
            data,
            identity=dead_message_id(stream, sequence),
            until_ms=self._clock() + STORE_MS_MAX,
            headers={
                "Querybus-Reason": _header(reason),
                "Querybus-Stage": stage,
                "Querybus-Subject": _header(subject),
                "Querybus-Sequence": str(sequence),
                "Querybus-Deliveries": str(deliveries),
            },
            clock=self._clock,
        )

    async def dead_letter_event(self, stage: StageName, entry: Entry, *, deliveries: int, reason: str) -> bool:
        """The same for an event of the log."""
        return await self.dead_letter(
            stage,
            entry.data,
            stream=EVENTS,
            subject=entry.address.subject,
            sequence=entry.sequence,
            deliveries=deliveries,
            reason=reason,
        )


def _header(text: str) -> str:
    return "".join(character if " " <= character <= "~" else "?" for character in text[:REASON_LENGTH_MAX])
