"""Confirmed changes while executors are killed and paused: what the database holds, against what was said.

Each change adds one number to a ledger of its own. Afterwards a number that stands there twice was written twice; one
that stands there although its change was said not to have been made, or that is missing although it was said to have
been made, was spoken of untruly. A change whose outcome is said not to be known may be either.
"""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.fault_stack import FaultStack
from querybus.bus.client import BusClient, NotAccepted

CHANGES = 40
AT_ONCE = 6
KILLS = 5
PAUSED_SECONDS = 4.0
"""Longer than the ack_wait of the row's stack, so that another executor gets what the paused one holds."""
CALL_SECONDS = 35
TRIES = 40
LEDGER = "ledger"


def ledger_connection(directory: Path) -> dict[str, Any]:
    """Make the ledger and return its entry for the connections file."""
    file = directory / "ledger.sqlite"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE ledger (number INTEGER NOT NULL)")
    return {"name": LEDGER, "url": f"sqlite:///{file}", "access": "read_write"}


@dataclass(frozen=True)
class Written:
    """What became of the changes."""

    written: int
    written_twice: int
    untrue: int
    unknown: int

    @classmethod
    def of(cls, directory: Path, said: Mapping[int, str]) -> Written:
        with sqlite3.connect(directory / "ledger.sqlite") as database:
            counts = Counter(number for (number,) in database.execute("SELECT number FROM ledger"))
        untrue = sum(
            (outcome == "answered" and not counts[number]) or (outcome == "not made" and counts[number] > 0)
            for number, outcome in said.items()
        )
        twice = sum(count > 1 for count in counts.values())
        return cls(len(counts), twice, untrue, sum(outcome == "unknown" for outcome in said.values()))


async def write_under_faults(stack: FaultStack, dice: random.Random) -> Written:
    """Confirm changes while both executors are killed and paused in turn; return what became of the changes."""
    said: dict[int, str] = {}
    places = asyncio.Semaphore(AT_ONCE)

    async def change(client: BusClient, number: int) -> None:
        async with places:
            said[number] = await _changed(client, number)

    async with stack.client() as client:
        changing = [asyncio.create_task(change(client, number)) for number in range(CHANGES)]
        hurting = asyncio.create_task(_hurt(stack, dice, changing))
        await asyncio.gather(*changing)
        await hurting
    return Written.of(stack.directory, said)


async def _hurt(stack: FaultStack, dice: random.Random, changing: list[asyncio.Task[None]]) -> None:
    for number in range(KILLS):
        name = f"executor-{number % 2 + 1}"
        await asyncio.sleep(dice.uniform(0.3, 1.2))
        await stack.kill_mid_work(name)
        await stack.ready(name)
        other = f"executor-{(number + 1) % 2 + 1}"
        stack.signal(other, signal.SIGSTOP)
        await asyncio.sleep(PAUSED_SECONDS)
        stack.signal(other, signal.SIGCONT)
        if all(task.done() for task in changing):
            return


async def _changed(client: BusClient, number: int) -> str:
    """Ask for a change and confirm it; return `answered`, `unknown`, `not made`, or `unasked`."""
    request = {
        "operation": "run",
        "sql": f"INSERT INTO ledger (number) VALUES ({number})",
        "connection": LEDGER,
        "idempotency_key": f"change-{number}",
        "options": {"deadline_seconds": 60},
    }
    asked = await _finished(client, "ask", request)
    confirmation = asked.get("confirmation")
    if not confirmation:
        return "unasked"
    yes = {"query_id": asked["query_id"], "sql_sha256": confirmation["sql_sha256"]}
    done = await _finished(client, "confirm", yes)
    if done.get("outcome") == "answered":
        return "answered"
    return "not made" if done.get("code") not in (None, "write_outcome_unknown") else "unknown"


async def _finished(client: BusClient, verb: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Call until the query that it is about has finished; a call that was not received is made again, which is harmless."""
    reply: dict[str, Any] = {}
    for _ in range(TRIES):
        try:
            if "query_id" in reply and "outcome" not in reply:
                wait = {"query_id": reply["query_id"], "wait_seconds": 10}
                result = await client.call("answer", wait, timeout_seconds=CALL_SECONDS)
            else:
                result = await client.call(verb, {**request, "wait_seconds": 10}, timeout_seconds=CALL_SECONDS)
        except NotAccepted:
            await asyncio.sleep(0.2)
            continue
        if "outcome" in result:
            return result
        reply = result if "query_id" in result else reply
        await asyncio.sleep(0.2)
    return reply
