"""A batch while the gateways that run it are killed one after the other: does every item end, each asked once?"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Any

from benchmarks.fault_model import question
from benchmarks.fault_stack import FaultStack
from querybus.bus.client import BusClient, NotAccepted
from querybus_cli.local.answers import DEMO

ITEMS = 40
CONCURRENCY = 4
DEADLINE_SECONDS = 150.0
KILL_SECONDS = (4.0, 9.0)
CALL_SECONDS = 10.0
PASSING = ("bus_unavailable", "stalled", "queue_full", "rate_limited")


@dataclass(frozen=True)
class Batched:
    """What became of the batch's items."""

    batched: int
    unbatched: int
    asked_again: int


async def batch_under_faults(stack: FaultStack, dice: random.Random) -> Batched:
    """Submit a batch, kill both gateways in turn while it runs, and return what became of it."""
    items = [{"id": f"i{n}", "question": question(1_000 + n)} for n in range(ITEMS)]
    batch: dict[str, Any] = {
        "items": items, "connection": DEMO, "concurrency": CONCURRENCY, "deadline_seconds": DEADLINE_SECONDS,
    }  # fmt: skip
    async with stack.client() as client:
        begun = await _called(client, {"batch": batch, "idempotency_key": "faults"})
        for number, seconds in enumerate(KILL_SECONDS, 1):
            await asyncio.sleep(seconds + dice.uniform(0.0, 1.0))
            await stack.kill_mid_work(f"gateway-{number}")
        entries: list[dict[str, Any]] = []
        while len(entries) < ITEMS:
            read = await _called(client, {"action": "read", "batch_id": begun["id"], "offset": len(entries)})
            if read["status"] != "finished":
                await asyncio.sleep(0.5)
                continue
            entries += read["items"]
    answered = sum(item["outcome"] == "answered" for item in entries)
    return Batched(answered, ITEMS - answered, sum(item["run"] > 1 for item in entries))


async def _called(client: BusClient, payload: dict[str, Any]) -> dict[str, Any]:
    """Call until a gateway answers: one that was killed says nothing, and the key makes a second call harmless."""
    async with asyncio.timeout(2 * DEADLINE_SECONDS):
        while True:
            try:
                reply = await client.call("batch", payload, timeout_seconds=CALL_SECONDS)
            except NotAccepted:
                continue
            if "id" in reply:
                return reply
            if reply["code"] not in PASSING:
                raise ValueError(f"the batch was refused: {reply['code']}, {reply['detail']}")
            await asyncio.sleep(0.5)
