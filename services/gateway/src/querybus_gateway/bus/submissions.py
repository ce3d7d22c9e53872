"""Durable questions: those that bus clients submitted, and those of any API that exceed their tenant's cap.

Each waits in this replica, kept alive, for its tenant's turn; then its `asked` is appended and the message acked. One
whose deadline passes while it waits is begun only to be expired. What is no question is dead-lettered with its reason, and
whoever sent it gets the refusal where answers come. Answer and refusal carry a `correlation_id`: the message's header, else
its number in the acknowledgement. At most HELD_MAX messages of a tenant are held by a replica; those behind them are not
looked at before.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from querybus.bus.log.publish import address_of
from querybus.bus.pull import Message
from querybus.core.credential import Credential
from querybus.core.envelope import Audience, Envelope, Undecodable, decode
from querybus.core.ids import is_id
from querybus.core.messages import Asked
from querybus.core.subjects import ROOT, EventName, token
from querybus.ops.clock import Clock, Jitter
from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus_gateway.admit import AskCall, read
from querybus_gateway.lifecycle.fair_queue import Turns
from querybus_gateway.lifecycle.sweeper import Sweeper
from querybus_gateway.lifecycle.undecodable import Refusals
from querybus_gateway.ports import Answers, Credentials, DeadLetters
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.use_cases.queries import Queries

KEY_HEADER: Final = "Idempotency-Key"
CORRELATION_HEADER: Final = "Querybus-Correlation-Id"
CORRELATION_LENGTH_MAX: Final = 128

_log = get_log(__name__)


class Submissions:
    """Handles the messages of every tenant's submit durable."""

    def __init__(
        self,
        *,
        queries: Queries,
        turns: Turns,
        credentials: Credentials,
        answers: Answers,
        dead_letters: DeadLetters,
        sweeper: Sweeper,
        metrics: Metrics,
        clock: Clock,
        jitter: Jitter,
    ) -> None:
        self._queries = queries
        self._turns = turns
        self._credentials = credentials
        self._answers = answers
        self._refusals = Refusals(dead_letters, metrics=metrics, jitter=jitter)
        self._sweeper = sweeper
        self._clock = clock

    async def handle(self, message: Message) -> None:
        """Bring one submitted question onto its log and settle its message; BusTrouble leaves it for later."""
        envelope = await self._admitted(message)
        if isinstance(envelope, _Refused):
            await self._refuse(message, envelope)
            return
        tenant = token(envelope.tenant)
        if not is_id(message.subject.rpartition(".")[2]):
            await self._queries.wait_for_rate(envelope)
        left_seconds = envelope.remaining_ms(self._clock()) / 1_000
        async with self._turns.turn(tenant, left_seconds) as has_turn:
            begun = await self._queries.mint(envelope)
        if isinstance(begun, Problem):
            await self._refuse(message, _Refused(begun, envelope.tenant, envelope.user, envelope.audience))
            return
        if not has_turn:
            await self._sweeper.expire(address_of(envelope))
        await message.ack()

    async def _refuse(self, message: Message, refused: _Refused) -> None:
        """Keep the message for the operator, and send the refusal where its sender waits for the answer. BusTrouble."""
        if refused.user:
            # Before the message ends: without the bus both come again.
            await self._answers.refuse(
                refused.tenant,
                refused.user,
                refused.audience,
                f"{message.stream}:{message.sequence}",
                refused.problem,
                _correlation_of(message),
            )
        await self._refusals.refuse(message, refused.reason)

    async def _admitted(self, message: Message) -> Envelope[Asked] | _Refused:
        """Return the first event of the query, or why there is none."""
        parts = message.subject.removeprefix(f"{ROOT}.submit.").split(".")
        if len(parts) != 2 or "Nats-Stream" in message.headers:
            return _nothing("no submitted question")
        tenant, name = parts
        if is_id(name):
            return _queued(message, tenant, name)
        credential = await self._credentials.get(tenant, name)
        if credential is None or token(credential.tenant) != tenant:
            return _nothing("there is no such credential")
        return await self._asked(message, credential)

    async def _asked(self, message: Message, credential: Credential) -> Envelope[Asked] | _Refused:
        call = read(message.data, AskCall)
        if isinstance(call, Problem):
            return _Refused(call, credential.tenant, credential.user, credential.audience)
        digest = hashlib.sha256(message.data).hexdigest()[:16]
        # Without a key of the client's own, the same message must make the same query at every delivery.
        key = message.headers.get(KEY_HEADER) or call.idempotency_key or f"submit:{message.sequence}:{digest}"
        envelope = await self._queries.admitted(call.request(), credential, key)
        if isinstance(envelope, Problem):
            return _Refused(envelope, credential.tenant, credential.user, credential.audience)
        return envelope.with_body(envelope.body, correlation_id=_correlation_of(message))


@dataclass(frozen=True, slots=True)
class _Refused:
    """Why there is no query, and who learns of it; nobody where nobody can be known."""

    problem: Problem
    tenant: str = ""
    user: str = ""
    audience: Audience = "business"

    @property
    def reason(self) -> str:
        return f"{self.problem.code}: {self.problem.detail}" if self.user else self.problem.detail


def _nothing(reason: str) -> _Refused:
    return _Refused(Problem(ProblemCode.INVALID, reason))


def _correlation_of(message: Message) -> str:
    """Return what the answer is known by: the sender's word, else the message's number, which its acknowledgement has."""
    said = message.headers.get(CORRELATION_HEADER, "").strip()
    return said[:CORRELATION_LENGTH_MAX] if said.isprintable() and said else str(message.sequence)


def _queued(message: Message, tenant: str, query: str) -> Envelope[Asked] | _Refused:
    try:
        envelope: Envelope[Asked] = decode(EventName.ASKED, message.data)
    except Undecodable as error:
        return _nothing(error.reason)
    address = address_of(envelope)
    return envelope if (address.tenant, address.query) == (tenant, query) else _nothing("another query's question")
