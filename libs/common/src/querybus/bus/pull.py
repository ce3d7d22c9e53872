"""The slot-bounded pull loop: no message is held without a slot to work on it.

Invariant: requested but not yet received + being worked on <= slots. The loop pulls, keeps messages alive while
they are worked on, starts again after silence or a reconnect, and drains; the handler settles. FastStream's own
pull subscriber costs 6.4 times the CPU and holds messages beyond its slots (docs/adr/, "the pull loop").
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Final

import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.errors import NotFoundError

from querybus.bus.connection import Connected, until_answered
from querybus.ops.clock import Jitter, system_jitter
from querybus.ops.log import get_log
from querybus.ops.run import end

REQUEST_SECONDS: Final = 30.0
HEARTBEAT_SECONDS: Final = 5.0
DELAY_SECONDS_MAX: Final = 30.0
STOPPED_DELAY_SECONDS: Final = 0.1

_TICK_SECONDS: Final = 0.5
_PAUSE_SECONDS: Final = 1.0
_UNSUBSCRIBE_SECONDS_MAX: Final = 2.0
_ACK_SECONDS_MAX: Final = 2.0
_CANCELLED_SECONDS_MAX: Final = 5.0

_log = get_log(__name__)


def retry_delay_seconds(deliveries: int, jitter: Jitter) -> float:
    """Return how long a message stays away after its n-th delivery: 1, 2, 4, ... at most 30, plus up to 1 second.

    >>> retry_delay_seconds(2, lambda: 0.5)
    2.5
    """
    # The exponent is bounded so that a consumer without a delivery limit cannot overflow the float.
    return min(DELAY_SECONDS_MAX, 0.5 * 2.0 ** min(deliveries, 16)) + jitter()


class Message:
    """One delivered message; exactly one of ack, nak and term settles it."""

    __slots__ = (
        "_raw",
        "data",
        "deliveries",
        "headers",
        "is_last_delivery",
        "kept_at",
        "sequence",
        "settled",
        "stream",
        "subject",
    )

    def __init__(self, raw: Msg, deliveries_max: int) -> None:
        # $JS.ACK.<stream>.<durable>.<deliveries>.<stream seq>...; with domain and account hash before the stream
        # where there are more than nine tokens.
        tokens = raw.reply.split(".")
        at = 2 if len(tokens) == 9 else 4
        self._raw = raw
        self.subject = raw.subject
        self.data = raw.data
        self.headers: dict[str, str] = raw.headers or {}
        self.stream = tokens[at]
        self.deliveries = int(tokens[at + 2])
        self.sequence = int(tokens[at + 3])
        self.is_last_delivery = 0 < deliveries_max <= self.deliveries
        self.settled = False
        self.kept_at = 0.0

    def renew(self, later: Message) -> None:
        """Take the place of a later delivery of the same message."""
        self._raw, self.deliveries, self.is_last_delivery = later._raw, later.deliveries, later.is_last_delivery

    async def ack(self, *, confirmed: bool = False) -> None:
        """Settle as done; `confirmed` waits for the server's word and gives up on it silently."""
        self.settled = True
        if confirmed:
            # Without the word the message comes again, and then its output is found on the log.
            with suppress(nats.errors.Error):
                await self._raw.ack_sync(timeout=_ACK_SECONDS_MAX)
        else:
            await self._raw.ack()

    async def nak(self, delay_seconds: float) -> None:
        """Settle as not done: deliver again after the delay. A nak without a delay would loop without a pause."""
        self.settled = True
        await self._raw.nak(delay_seconds)

    async def term(self) -> None:
        """Settle as never to be delivered again."""
        self.settled = True
        await self._raw.term()

    async def keep(self) -> None:
        """Report to the server that the message is still being worked on."""
        await self._raw.in_progress()


Handle = Callable[[Message], Awaitable[None]]


def _end_process(reason: str) -> None:
    """A service whose consumer is gone can do nothing but look healthy: end it in good order."""
    _log.critical("pull.consumer_lost", reason=reason)
    signal.raise_signal(signal.SIGTERM)


class PullLoop:
    """Takes messages of one durable consumer, at most `slots` at a time, each in its own task.

    `handle` settles its message; one that raises, or ends without settling, gets a delayed nak. `on_lost` is reported
    when the consumer does not exist any more. A part: start, drain, ping.
    """

    def __init__(
        self,
        holder: Connected,
        *,
        stream: str,
        durable: str,
        slots: int,
        handle: Handle,
        on_lost: Callable[[str], None] = _end_process,
        drain_seconds: float = 25.0,
        request_seconds: float = REQUEST_SECONDS,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        jitter: Jitter = system_jitter,
    ) -> None:
        self.name = f"pull-{durable}"
        self._holder = holder
        self._stream = stream
        self._durable = durable
        self._slots = slots
        self._handle = handle
        self._on_lost = on_lost
        self._drain_seconds = drain_seconds
        self._request_seconds = request_seconds
        self._heartbeat_seconds = heartbeat_seconds
        self._jitter = jitter
        self._next_subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{durable}"
        self._outstanding = 0
        self._running: dict[asyncio.Task[None], Message] = {}
        self._generation = 0
        self._inbox = ""
        self._subscription: Subscription | None = None
        self._reconnects = 0
        self._received_at = 0.0
        self._pause_until = 0.0
        self._ticker: asyncio.Task[None] | None = None
        self._draining = False
        self._state: str | None = "not started"
        self._keep_seconds = 10.0
        self.deliveries_max = -1
        """Deliveries that the consumer allows; -1 before the start, or for no limit."""

    @property
    def in_flight(self) -> int:
        """Messages that are being worked on."""
        return len(self._running)

    async def start(self) -> None:
        """Read the consumer's settings and begin to pull. LookupError if there is no such consumer."""
        connection = self._holder.connection
        try:
            # To give up would only start the process once more.
            info = await until_answered(
                lambda seconds: connection.jetstream(timeout=seconds).consumer_info(self._stream, self._durable)
            )
        except NotFoundError:
            raise LookupError(
                f"consumer {self._durable} of stream {self._stream} does not exist: run `querybus operate migrate`"
            ) from None
        self.deliveries_max = info.config.max_deliver or -1
        self._keep_seconds = (info.config.ack_wait or 30.0) / 3
        self._state = None
        await self._listen()
        self._ticker = asyncio.get_running_loop().create_task(self._tick(), name=self.name)
        await self._pull()

    async def drain(self) -> None:
        """Stop pulling, let running work finish within `drain_seconds`, then cancel the rest."""
        self._draining = True
        self._state = "draining"
        await self._leave()
        if self._running:
            _, late = await asyncio.wait(list(self._running), timeout=self._drain_seconds)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=_CANCELLED_SECONDS_MAX)
        if self._ticker is not None:
            await end(self._ticker)

    async def ping(self) -> str | None:
        if self._state is not None:
            return self._state
        if not self._holder.connection.is_connected:
            return "the bus is not connected"
        if self._is_silent():
            return f"no word from consumer {self._durable}"
        return None

    def _is_silent(self) -> bool:
        silence = asyncio.get_running_loop().time() - self._received_at
        return self._outstanding > 0 and silence > 2 * self._heartbeat_seconds + 0.5

    async def _listen(self) -> None:
        connection = self._holder.connection
        self._generation += 1
        self._outstanding = 0
        self._reconnects = connection.stats["reconnects"]
        self._received_at = asyncio.get_running_loop().time()
        # A new inbox each time: what an older request still brings is not counted as an answer to a newer one.
        self._inbox = connection.new_inbox()
        self._subscription = await connection.subscribe(self._inbox, cb=partial(self._receive, self._generation))

    async def _leave(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is None:
            return
        # Draining asks the server to stop and takes what it had sent before: nothing waits for its ack_wait.
        with suppress(nats.errors.Error, TimeoutError):
            await asyncio.wait_for(subscription.drain(), _UNSUBSCRIBE_SECONDS_MAX)

    async def _pull(self) -> None:
        free = self._slots - len(self._running) - self._outstanding
        if free <= 0 or self._state is not None:
            return
        if self._outstanding and free * 2 < self._slots:
            return
        loop = asyncio.get_running_loop()
        if loop.time() < self._pause_until:
            return
        if not self._outstanding:
            self._received_at = loop.time()
        self._outstanding += free
        request = {
            "batch": free,
            "expires": int(self._request_seconds * 1e9),
            "idle_heartbeat": int(self._heartbeat_seconds * 1e9),
        }
        try:
            await self._holder.connection.publish(self._next_subject, json.dumps(request).encode(), reply=self._inbox)
        except nats.errors.Error:
            self._outstanding -= free
            self._pause()

    def _pause(self) -> None:
        self._pause_until = asyncio.get_running_loop().time() + _PAUSE_SECONDS

    async def _receive(self, generation: int, raw: Msg) -> None:
        current = generation == self._generation
        loop = asyncio.get_running_loop()
        if current:
            self._received_at = loop.time()
        if not raw.reply.startswith("$JS.ACK."):
            if current:
                await self._status(raw.headers or {})
            return
        if current and self._outstanding:
            self._outstanding -= 1
        message = Message(raw, self.deliveries_max)
        if (held := self._held(message)) is not None:
            # The bus was away for longer than ack_wait: what is in hand goes on, and settles this delivery.
            held.renew(message)
            await self._pull()
            return
        if len(self._running) >= self._slots:
            # Only an answer to a request from before a reconnect can come here.
            await message.nak(STOPPED_DELAY_SECONDS)
            return
        message.kept_at = loop.time()
        task = loop.create_task(self._run(message))
        self._running[task] = message
        task.add_done_callback(self._ended)

    def _held(self, message: Message) -> Message | None:
        running = self._running.values()
        return next((item for item in running if item.sequence == message.sequence and not item.settled), None)

    def _ended(self, task: asyncio.Task[None]) -> None:
        # A task that was cancelled before its first step never reaches its own `finally`.
        self._running.pop(task, None)

    async def _run(self, message: Message) -> None:
        try:
            await self._handle(message)
        except asyncio.CancelledError:
            await self._return(message, STOPPED_DELAY_SECONDS)
            raise
        except Exception as error:  # noqa: BLE001 - the loop must outlive any handler
            _log.error("pull.handler_raised", consumer=self._durable, error=type(error).__name__)
        finally:
            task = asyncio.current_task()
            if task is not None:
                self._running.pop(task, None)
        await self._return(message, retry_delay_seconds(message.deliveries, self._jitter))
        await self._pull()

    async def _return(self, message: Message, delay_seconds: float) -> None:
        if not message.settled:
            with suppress(nats.errors.Error):
                await message.nak(delay_seconds)

    async def _status(self, headers: dict[str, str]) -> None:
        status, description = headers.get("Status", ""), headers.get("Description", "")
        match status:
            case "100" | "":
                return
            case "404" | "408":
                self._release(headers)
            case "503":
                self._release(headers)
                self._pause()
                await self._assert_consumer()
            case "409" if "deleted" in description.lower():
                self._lose(f"consumer {self._durable} of stream {self._stream} was deleted")
            case "409" if "push" not in description.lower():
                self._release(headers)
                if "exceeded" in description.lower():
                    _log.warning("pull.limited", consumer=self._durable, reason=description)
                    self._pause()
            case _:
                self._lose(f"consumer {self._durable} refuses to be pulled: {status} {description}")
        await self._pull()

    def _release(self, headers: dict[str, str]) -> None:
        pending = headers.get("Nats-Pending-Messages", "")
        self._outstanding = max(0, self._outstanding - int(pending)) if pending.isdigit() else 0

    async def _assert_consumer(self) -> None:
        with suppress(nats.errors.Error):
            try:
                await self._holder.connection.jetstream().consumer_info(self._stream, self._durable)
            except NotFoundError:
                self._lose(f"consumer {self._durable} of stream {self._stream} does not exist any more")

    def _lose(self, reason: str) -> None:
        if self._state is None:
            self._state = reason
            self._on_lost(reason)

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        period = min(_TICK_SECONDS, self._keep_seconds / 2)
        while True:
            await asyncio.sleep(period)
            connection = self._holder.connection
            if not connection.is_connected:
                continue
            try:
                await self._keep_all(loop.time())
                if self._draining:
                    continue
                if connection.stats["reconnects"] != self._reconnects or self._is_silent():
                    await self._leave()
                    await self._listen()
                await self._pull()
            except Exception as error:  # noqa: BLE001 - without its tick the loop would be deaf for good
                _log.warning("pull.tick_failed", consumer=self._durable, error=type(error).__name__)

    async def _keep_all(self, now: float) -> None:
        for message in list(self._running.values()):
            if not message.settled and now - message.kept_at >= self._keep_seconds:
                message.kept_at = now
                await message.keep()
