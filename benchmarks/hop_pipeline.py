"""Five durable hops in five processes, once as `stage(...)` with verbs that think nothing, once as nats-py alone.

Both have the same bus, permissions, streams, durables and settings, sync `always`; the caller appends the first event
and receives the last, as the gateway does.
"""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from types import TracebackType
from typing import Literal, Self

from hop_worker import raw_payload
from nats.aio.client import Client
from process_group import ProcessGroup, cpu_seconds

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.connection import Held
from querybus.bus.log.journal import Journal
from querybus.bus.log.publish import publish_event
from querybus.bus.pull import Message, PullLoop
from querybus.core.envelope import Envelope
from querybus.core.messages import Asked
from querybus.core.subjects import EventName, StageName, event_subject
from querybus.core.topology import EVENTS
from querybus_cli.local.ports import free_ports
from querybus_cli.local.up import is_ready

TENANT = "bench"
STAGES = (StageName.GENERATOR, StageName.RECOVERY, StageName.VALIDATOR, StageName.EXECUTOR, StageName.PRESENTER)
ANSWER_SECONDS = 30.0
READY_SECONDS = 60.0
DEADLINE_MS = 60_000
RECEIVE_SLOTS = 256

Route = list[tuple[str, int]]
"""The events of a query in order, with their bytes on the wire."""


class HopPipeline:
    """A bus of its own with five workers, as an async context manager."""

    def __init__(self, kind: Literal["null", "raw"], group: ProcessGroup) -> None:
        self._kind = kind
        self._group = group
        self._bus = EmbeddedNats()
        self._connection: Client | None = None
        self._subscriber: PullLoop | None = None
        self._waiting: dict[str, asyncio.Future[None]] = {}

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self._close()

    async def ask_null(self, number: int) -> str:
        return await self._received(await self._ask_null(number))

    async def ask_raw(self, route: Route) -> str:
        assert self._connection is not None
        query = str(uuid.uuid4())
        self._expect(query)
        subject = event_subject(TENANT, query, query, EventName.ASKED)
        await self._connection.jetstream().publish(subject, raw_payload(route), timeout=ANSWER_SECONDS)
        return await self._received(query)

    async def route(self) -> Route:
        """Return the events of one query and their sizes."""
        assert self._connection is not None
        query = await self._ask_null(0)
        await self._received(query)
        entries = await Journal(Held(self._connection)).query(TENANT, query)
        return [(entry.address.event.value, len(entry.data)) for entry in entries]

    def cpu(self) -> float:
        """Return the CPU seconds of the workers and the server so far."""
        return cpu_seconds(self._pids)

    async def _ask_null(self, number: int) -> str:
        assert self._connection is not None
        now_ms, query = time.time_ns() // 1_000_000, str(uuid.uuid4())
        envelope = Envelope[Asked](
            event=EventName.ASKED,
            query_id=query,
            thread_id=query,
            tenant=TENANT,
            user="analyst",
            audience="analyst",
            connection="shop",
            question=f"Which 5 active products that cost more than {number} have the highest price?",
            language="en",
            asked_at=now_ms,
            deadline_at=now_ms + DEADLINE_MS,
            body=Asked(body_sha256="0" * 64),
        )
        self._expect(query)
        await publish_event(
            self._connection.jetstream(),
            envelope,
            input_sequence=0,
            expected_last_sequence=0,
            until_ms=envelope.deadline_at,
        )
        return query

    def _expect(self, query: str) -> None:
        self._waiting[query] = asyncio.get_running_loop().create_future()

    async def _received(self, query: str) -> str:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._waiting[query]
        finally:
            del self._waiting[query]
        return "answered"

    async def _on_finished(self, message: Message) -> None:
        waiting = self._waiting.get(message.subject.split(".")[-2])
        if waiting is not None and not waiting.done():
            waiting.set_result(None)
        await message.ack()

    async def _start(self) -> None:
        await self._bus.start()
        await self._bus.migrate()
        ports = dict(zip(STAGES, free_ports(len(STAGES)), strict=True))
        for name, port in ports.items():
            environment = {
                "QUERYBUS_NATS_URL": self._bus.url,
                "QUERYBUS_NATS_PASSWORD": self._bus.password(name),
                "QUERYBUS_SIGNING_KEY": self._bus.signing_key,
                "QUERYBUS_VERIFY_KEY": self._bus.verify_key,
                "QUERYBUS_HTTP_PORT": str(port),
                "QUERYBUS_LOG_LEVEL": "error",
            }
            command = [sys.executable, "benchmarks/hop_worker.py", self._kind, name.value]
            await self._group.start(f"{self._kind}-{name}", command, environment, speaks=self._kind == "raw")
        async with asyncio.timeout(READY_SECONDS):
            for name, port in ports.items():
                if self._kind == "raw":
                    await self._group.line(f"raw-{name}")
                while self._kind == "null" and not await asyncio.to_thread(is_ready, f"http://127.0.0.1:{port}"):
                    await asyncio.sleep(0.1)
        self._connection = await self._bus.connect(StageName.GATEWAY)
        # The gateway's own durable, for both kinds alike: it is how the last event is received.
        self._subscriber = PullLoop(
            Held(self._connection),
            stream=EVENTS,
            durable=StageName.GATEWAY,
            slots=RECEIVE_SLOTS,
            handle=self._on_finished,
        )
        await self._subscriber.start()
        assert self._bus.pid is not None
        self._pids = (*self._group.pids(f"{self._kind}-"), self._bus.pid)

    async def _close(self) -> None:
        if self._subscriber is not None:
            await self._subscriber.drain()
        if self._connection is not None:
            await self._connection.close()
        await self._group.stop(*self._group.names(f"{self._kind}-"))
        await self._bus.stop()
