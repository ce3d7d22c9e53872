"""The event log as it grows: every event's headers, in order, for whoever lives as long as the process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from querybus.bus.connection import Connected, until_answered
from querybus.bus.log.journal import READ_SECONDS_MAX, Entry, entry_at, epoch_ms
from querybus.bus.log.publish import BusTrouble
from querybus.core.subjects import EventName, event_filter
from querybus.core.topology import EVENTS
from querybus.ops.log import get_log
from querybus.ops.run import end

_HEARTBEAT_SECONDS: Final = 5.0
_INACTIVE_SECONDS: Final = 30.0
_TICK_SECONDS: Final = 0.5
_NEVER: Final = float("-inf")

_log = get_log(__name__)


class Follower:
    """Follows the log by an ordered, headers-only consumer that lives as long as this process does.

    Every event comes at least once and in order; after a gap, a silence or a reconnect it starts again behind the
    last event seen. Needs the rights to publish `$JS.API.CONSUMER.CREATE.QUERYBUS` (unnamed, so it can make
    ephemeral consumers only) and `$JS.FC.QUERYBUS.>`.
    """

    def __init__(
        self,
        holder: Connected,
        on_entry: Callable[[Entry], Awaitable[None]],
        *,
        events: Sequence[EventName] = tuple(EventName),
        start_sequence: Callable[[], Awaitable[int]] | None = None,
    ) -> None:
        self.name = "log-follower"
        self._holder = holder
        self._on_entry = on_entry
        self._filters = [event_filter(event) for event in events]
        self._start_sequence = start_sequence
        self._next_sequence = 1
        self._next_delivery = 1
        self._received_at = _NEVER
        self._reconnects = 0
        self._subscription: Subscription | None = None
        self._ticker: asyncio.Task[None] | None = None
        self._caught_up = asyncio.Event()
        self._trouble: str | None = "not started"

    async def start(self) -> None:
        """Begin; raises BusTrouble if the consumer cannot be made."""
        if self._start_sequence is not None:
            self._next_sequence = max(1, await self._start_sequence())
        try:
            await until_answered(self._create)
        except TimeoutError as error:
            raise BusTrouble("the log cannot be followed: nothing answers") from error
        self._ticker = asyncio.get_running_loop().create_task(self._tick())

    async def drain(self) -> None:
        """Stop; the consumer goes by itself when nobody listens."""
        if self._ticker is not None:
            await end(self._ticker)
        await self._unsubscribe()

    async def ping(self) -> str | None:
        return self._trouble

    @property
    def next_sequence(self) -> int:
        """The sequence behind the last event that was passed on."""
        return self._next_sequence

    async def caught_up(self) -> None:
        """Wait until everything that was stored at the start has been passed on."""
        await self._caught_up.wait()

    async def _create(self, seconds_max: float = READ_SECONDS_MAX) -> None:
        await self._unsubscribe()
        connection = self._holder.connection
        inbox = connection.new_inbox()
        # A new inbox each time: what an abandoned consumer still sends goes nowhere.
        self._next_delivery = 1
        self._reconnects = connection.stats["reconnects"]
        self._received_at = asyncio.get_running_loop().time()
        try:
            self._subscription = await connection.subscribe(inbox, cb=self._receive)
            reply = await connection.request(
                f"$JS.API.CONSUMER.CREATE.{EVENTS}",
                json.dumps(
                    {
                        "stream_name": EVENTS,
                        "action": "create",
                        "config": {
                            "filter_subjects": self._filters,
                            "deliver_subject": inbox,
                            "deliver_policy": "by_start_sequence",
                            "opt_start_seq": self._next_sequence,
                            "ack_policy": "none",
                            "max_deliver": 1,
                            "mem_storage": True,
                            "num_replicas": 1,
                            "headers_only": True,
                            "flow_control": True,
                            "idle_heartbeat": int(_HEARTBEAT_SECONDS * 1e9),
                            "inactive_threshold": int(_INACTIVE_SECONDS * 1e9),
                        },
                    }
                ).encode(),
                timeout=seconds_max,
            )
        except TimeoutError:
            raise
        except nats.errors.Error as error:
            raise BusTrouble(f"the log cannot be followed: {type(error).__name__}") from error
        answer: dict[str, Any] = json.loads(reply.data)
        if "error" in answer:
            raise BusTrouble(f"the log cannot be followed: {answer['error'].get('description', '')}")
        self._trouble = None
        if not answer.get("num_pending", 0):
            self._caught_up.set()

    async def _unsubscribe(self) -> None:
        if self._subscription is not None:
            with suppress(nats.errors.Error):
                await self._subscription.unsubscribe()
            self._subscription = None

    async def _receive(self, message: Msg) -> None:
        self._received_at = asyncio.get_running_loop().time()
        connection: Client = self._holder.connection
        headers = message.headers or {}
        if not message.reply.startswith("$JS.ACK."):
            # A heartbeat or flow control: a stalled consumer waits for an answer on the subject named here.
            stalled = message.reply or headers.get("Nats-Consumer-Stalled", "")
            if stalled:
                await connection.publish(stalled)
            if int(headers.get("Nats-Last-Consumer", "0")) >= self._next_delivery:
                self._received_at = _NEVER
            else:
                self._trouble = None
            return
        metadata = message.metadata
        if metadata.sequence.consumer != self._next_delivery:
            self._received_at = _NEVER
            return
        entry = entry_at(message, metadata.sequence.stream, epoch_ms(metadata.timestamp))
        # The consumer is there, whatever became of the answer to its request.
        self._trouble = None
        if entry is not None:
            await self._on_entry(entry)
        self._next_delivery += 1
        self._next_sequence = metadata.sequence.stream + 1
        if not metadata.num_pending:
            self._caught_up.set()

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            connection = self._holder.connection
            if not connection.is_connected:
                continue
            silent = loop.time() - self._received_at > 2 * _HEARTBEAT_SECONDS + 0.5
            if silent or connection.stats["reconnects"] != self._reconnects:
                try:
                    await self._create()
                except (BusTrouble, TimeoutError) as error:
                    # Late, the consumer may be there all the same: its next message or heartbeat clears this.
                    self._trouble = str(error)
                    _log.warning("journal.follow_failed", reason=str(error))
