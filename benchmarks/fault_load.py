"""Callers at the bus API, and what the log says of their queries afterwards: accepted, finished, lost, twice.

A caller asks with an idempotency key until it knows that its question was accepted, and then for the answer. What
became of a query is read from the event stream, never from what a caller received.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Collection
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.fault_batch import Batched
from benchmarks.fault_clients import Called
from benchmarks.fault_model import question
from benchmarks.fault_stack import FaultStack
from benchmarks.fault_writes import Written
from querybus.bus.client import BusClient, NotAccepted
from querybus.bus.connection import Held
from querybus.bus.log.follower import Follower
from querybus.bus.log.journal import Entry
from querybus.bus.log.publish import DEADLINE_HEADER
from querybus.core.subjects import EventName, StageName, message_id
from querybus_cli.local.answers import DEMO

DEADLINE_SECONDS = 60
LATE_SECONDS = 10.0
"""How long after its deadline a query may end, by the rules of the stack."""
CALL_SECONDS = 4.0
ANSWER_SECONDS = 8
ASK_SECONDS_MAX = 90.0
PAUSE_SECONDS = 0.2


@dataclass
class Asked:
    """One question of the load and what its caller received."""

    number: int
    query_id: str = ""
    accepted_at: float = 0.0
    refusals: int = 0
    outcome: str = ""
    code: str = ""


@dataclass(frozen=True)
class Figures:
    """One row. `lost`: accepted and not finished 10 seconds after the deadline."""

    accepted: int
    finished: int
    answered: int
    finished_twice: int
    lost: int
    forked: int
    """Logs in which an event does not follow from the one before it."""
    unreceived: int
    """Finished, but the API gave no answer."""
    expired: int
    late: int
    executed_twice: int
    begun_twice: int
    """Steps of any stage that were begun more than once, executions among them."""
    worst_delay_seconds: float
    refused: int
    written: int = 0
    """Confirmed changes that the database holds; of rows that make any."""
    written_twice: int = 0
    untrue: int = 0
    """Changes that were said to have been made and were not, or the other way round."""
    unknown: int = 0
    """Changes of which was said that their outcome is not known."""
    batched: int = 0
    """Answered items of a batch; of rows that run one."""
    unbatched: int = 0
    asked_again: int = 0
    """Items that were asked as more than one query."""
    called: int = 0
    """Questions of callers over HTTP, server-sent events and gRPC; of rows that have any."""
    client_errors: int = 0
    """What such a caller saw that trying again as the documents say does not cover."""
    resumed: int = 0
    """How often one tried again."""
    internal: int = 0
    """Failed as an internal fault: no end that a fault of the surroundings may bring about."""
    outcomes: dict[str, int] = field(default_factory=dict[str, int])
    lost_after: dict[str, int] = field(default_factory=dict[str, int])
    """The last events of the logs of what was lost, `nothing` for one that is empty."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Load:
    """The callers of one row."""

    def __init__(
        self,
        stack: FaultStack,
        *,
        queries: int,
        seconds: float,
        seed: int,
        cancel_share: float = 0.0,
        deadline_seconds: int = DEADLINE_SECONDS,
    ) -> None:
        self._stack = stack
        self._dice = random.Random(seed)
        self._seconds = seconds
        self._cancel_share = cancel_share
        self._deadline_seconds = deadline_seconds
        self.asked = [Asked(number) for number in range(queries)]
        self.written: Written | None = None
        self.batched: Batched | None = None
        self.called: Called | None = None
        self._begun_steps: Counter[tuple[str, str, int]] = Counter()
        self._begun = 0.0

    async def at(self, share: float) -> None:
        """Sleep until this share of the load's time has passed."""
        await asyncio.sleep(max(0.0, self._begun + share * self._seconds - time.monotonic()))

    async def run(self) -> None:
        """Ask everything, spread over the time, and return when each caller has its answer or has given up."""
        self._begun = time.monotonic()
        starts = sorted(self._dice.random() for _ in self.asked)
        async with self._stack.client() as client, client.progress() as progress:
            hearing = asyncio.create_task(self._receive(progress))
            try:
                async with asyncio.TaskGroup() as group:
                    for item, start in zip(self.asked, starts, strict=True):
                        cancels = self._dice.random() < self._cancel_share
                        cancel_after = self._dice.uniform(0.0, 0.5) if cancels else None
                        group.create_task(self._call(client, item, start, cancel_after))
            finally:
                hearing.cancel()
                with suppress(asyncio.CancelledError):
                    await hearing

    async def _receive(self, progress: AsyncIterator[tuple[str, dict[str, Any]]]) -> None:
        async for query, notice in progress:
            if notice.get("state") == "started":
                self._begun_steps[str(notice["stage"]), query, int(notice["n"])] += 1

    async def _call(self, client: BusClient, asked: Asked, start: float, cancel_after: float | None) -> None:
        await self.at(start)
        request = {
            "question": question(asked.number),
            "connection": DEMO,
            "options": {"deadline_seconds": self._deadline_seconds},
            "idempotency_key": f"faults-{asked.number}",
        }
        until = time.monotonic() + ASK_SECONDS_MAX
        while not asked.query_id and time.monotonic() < until:
            reply = await _received(client, "ask", request, CALL_SECONDS)
            if "query_id" in reply:
                asked.query_id = reply["query_id"]
                asked.accepted_at = time.time()
                asked.outcome, asked.code = reply.get("outcome", ""), reply.get("code") or ""
            else:
                asked.refusals += reply.get("code") is not None
                await asyncio.sleep(PAUSE_SECONDS)
        if cancel_after is not None and asked.query_id:
            await asyncio.sleep(cancel_after)
            await _received(client, "cancel", {"query_id": asked.query_id}, CALL_SECONDS)
        until = time.monotonic() + self._deadline_seconds + LATE_SECONDS
        while asked.query_id and not asked.outcome and time.monotonic() < until:
            wanted = {"query_id": asked.query_id, "wait_seconds": ANSWER_SECONDS}
            reply = await _received(client, "answer", wanted, ANSWER_SECONDS + CALL_SECONDS)
            asked.outcome, asked.code = reply.get("outcome", ""), reply.get("code") or ""
            if not asked.outcome:
                await asyncio.sleep(PAUSE_SECONDS)

    async def figures(self, besides: Collection[str] = ()) -> Figures:
        """Return the row, once every query of the log has finished or can only be lost; `besides` those left out."""
        until = time.time() + self._deadline_seconds + LATE_SECONDS
        while True:
            logs = await read_logs(self._stack)
            for query in besides:
                logs.pop(query, None)
            accepted = {item.query_id for item in self.asked if item.query_id} | set(logs)
            open_queries = [query for query in accepted if _count(logs[query], EventName.FINISHED) == 0]
            # Nothing can still finish in time that is as far past its deadline.
            if not open_queries or time.time() > until:
                return self._figures(logs, accepted)
            until = min(until, max((_deadline(logs[query]) for query in open_queries), default=until) + LATE_SECONDS)
            await asyncio.sleep(0.5)

    def _figures(self, logs: dict[str, list[Entry]], accepted: set[str]) -> Figures:
        finished = {query for query in accepted if _count(logs[query], EventName.FINISHED)}
        received = {outcome.query_id for outcome in self.asked if outcome.outcome}
        known = {item.query_id: item.accepted_at for item in self.asked if item.query_id}
        outcomes = Counter(outcome.outcome for outcome in self.asked if outcome.outcome)
        ends = {query: _ended_at(logs[query]) for query in finished}
        return Figures(
            accepted=len(accepted),
            finished=len(finished),
            answered=outcomes["answered"],
            finished_twice=sum(_count(log, EventName.FINISHED) > 1 for log in logs.values()),
            lost=len(accepted - finished),
            forked=sum(not is_linear(log) for log in logs.values()),
            unreceived=len((finished & set(known)) - received),
            expired=outcomes["expired"],
            late=sum(end > _deadline(logs[query]) + LATE_SECONDS for query, end in ends.items()),
            executed_twice=sum(
                count > 1 for (stage, *_), count in self._begun_steps.items() if stage == StageName.EXECUTOR
            ),
            begun_twice=sum(count > 1 for count in self._begun_steps.values()),
            worst_delay_seconds=round(
                max((ends[query] - known[query] for query in finished & set(known)), default=0), 1
            ),
            refused=sum(item.refusals for item in self.asked),
            internal=sum(item.outcome == "failed" and item.code == "internal" for item in self.asked),
            outcomes=dict(outcomes),
            lost_after=dict(
                Counter(
                    logs[query][-1].address.event.value if logs[query] else "nothing" for query in accepted - finished
                )
            ),
            **({} if self.written is None else asdict(self.written)),
            **({} if self.batched is None else asdict(self.batched)),
            **({} if self.called is None else asdict(self.called)),
        )


async def read_logs(stack: FaultStack) -> dict[str, list[Entry]]:
    """Return the whole event stream by query, headers only."""
    logs: defaultdict[str, list[Entry]] = defaultdict(list)

    async def on_entry(entry: Entry) -> None:
        logs[entry.address.query].append(entry)

    connection = await stack.bus.connect(StageName.GATEWAY)
    try:
        follower = Follower(Held(connection), on_entry)
        await follower.start()
        async with asyncio.timeout(60):
            await follower.caught_up()
        await follower.drain()
    finally:
        await connection.close()
    return logs


def is_linear(log: list[Entry]) -> bool:
    """Return whether each event was made from the one before it."""
    before = 0
    for entry in log:
        if entry.message_id != message_id(entry.address.query, entry.address.event, before):
            return False
        before = entry.sequence
    return True


async def _received(client: BusClient, verb: str, payload: dict[str, Any], seconds: float) -> dict[str, Any]:
    try:
        return await client.call(verb, payload, timeout_seconds=seconds)
    except NotAccepted:
        return {}


def _count(log: list[Entry], event: EventName) -> int:
    return sum(entry.address.event is event for entry in log)


def _deadline(log: list[Entry]) -> float:
    return max((int(entry.headers.get(DEADLINE_HEADER, "0")) / 1_000 for entry in log), default=float("inf"))


def _ended_at(log: list[Entry]) -> float:
    return max(entry.stored_at for entry in log if entry.address.event is EventName.FINISHED) / 1_000
