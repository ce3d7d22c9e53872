"""First-pass and retry success are exact: ten known queries, every conclusion delivered more than once, one count each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from querybus.bus.log.journal import Entry
from querybus.core.envelope import Envelope
from querybus.core.subjects import EventName, StageName
from querybus.ops.metrics import Metrics
from tests.faults.faulty_stack import FaultyStack, faulty_stack
from tests.support.scripted_model import Step, say

pytestmark = pytest.mark.connected

PRESENTER = StageName.PRESENTER
RIGHT = say("SELECT COUNT(name) FROM customers")
WRONG = tuple(say(f"SELECT COUNT(nonsense_column_{number}) FROM customers") for number in range(4))
KNOWN: Mapping[str, tuple[tuple[Step, ...], str, str]] = {
    **{f"right at once, {number}": ((RIGHT,), "answered", "first") for number in range(5)},
    **{f"right in the end, {number}": ((WRONG[0], RIGHT), "answered", "retry") for number in range(2)},
    "always wrong": (WRONG, "failed", "retry"),
    "harmful": ((say("DROP TABLE customers"),), "refused", "none"),
    "prose": ((say("I am sorry, could you tell me more about what you are looking for?"),), "clarification", "none"),
}
"""What the model says, how the query ends, and in which denominator it counts."""


@dataclass
class Again:
    """A conclusion delivered once more."""

    entry: Entry
    deliveries: int
    is_last_delivery: bool = False
    settled: bool = False
    stream: str = "QUERYBUS"
    ends: list[str] = field(default_factory=list[str])

    @property
    def subject(self) -> str:
        return self.entry.address.subject

    @property
    def data(self) -> bytes:
        return self.entry.data

    @property
    def headers(self) -> Mapping[str, str]:
        # What the read adds to a stored message is not on the wire of a delivery.
        added = ("Nats-Stream", "Nats-Subject", "Nats-Sequence", "Nats-Time-Stamp")
        return {name: value for name, value in self.entry.headers.items() if name not in added}

    @property
    def sequence(self) -> int:
        return self.entry.sequence

    async def ack(self, *, confirmed: bool = False) -> None:
        self.settled = True
        self.ends.append("ack")

    async def nak(self, delay_seconds: float) -> None:
        self.settled = True
        self.ends.append("nak")

    async def term(self) -> None:
        self.settled = True
        self.ends.append("term")


def counted(metrics: Metrics) -> dict[tuple[str, str], float]:
    """Return the queries by outcome and pass, without zeros."""
    return {
        (sample.labels["outcome"], sample.labels["pass"]): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "querybus_queries_total" and sample.value
    }


def ratio(metrics: Metrics, passes: str, among: tuple[str, ...]) -> float:
    """Return the success rate as the dashboard asks for it."""
    queries = counted(metrics)
    return queries[("answered", passes)] / sum(count for (_, name), count in queries.items() if name in among)


@pytest.mark.requirement("003.22", "003.21")
async def test_ten_known_queries_give_exactly_their_ratios_whatever_is_delivered_again(tmp_path: Path) -> None:
    async with faulty_stack(tmp_path) as stack:
        logs: dict[str, tuple[Entry, ...]] = {}
        stack.before[PRESENTER] = overtake
        for name, (steps, outcome, _) in KNOWN.items():
            question = f"How many customers are there, {name}?"
            stack.context.scripts[question] = list(steps)
            answer = await stack.ask(question)
            assert answer["outcome"] == outcome, (name, answer)
            logs[name] = await stack.log(answer["query_id"])
        for log in logs.values():
            conclusion = next(entry for entry in log if entry.address.event is EventName.CONCLUDED)
            for deliveries in (1, 2, 4):
                again = Again(conclusion, deliveries)
                await stack.settlements[PRESENTER].handle(again)
                assert again.ends == ["ack"]
        metrics = stack.metrics[PRESENTER]
        assert counted(metrics) == {
            ("answered", "first"): 5,
            ("answered", "retry"): 2,
            ("failed", "retry"): 1,
            ("refused", "none"): 1,
            ("clarification", "none"): 1,
        }
        assert ratio(metrics, "first", ("first", "retry")) == 5 / 8
        assert ratio(metrics, "retry", ("retry",)) == 2 / 3
        assert metrics.value("querybus_sql_attempts_total", attempt="first", outcome="success") == 5
        assert metrics.value("querybus_sql_attempts_total", attempt="retry", outcome="success") == 2
        for log in logs.values():
            assert [entry.address.event for entry in log].count(EventName.FINISHED) == 1


async def overtake(stack: FaultyStack, envelope: Envelope[Any], sequence: int) -> None:
    """Let a second delivery of the same conclusion be presented and stored before the first one is."""
    log = await stack.log(envelope.query_id)
    conclusion = next(entry for entry in log if entry.sequence == sequence)
    del stack.before[PRESENTER]
    try:
        await stack.settlements[PRESENTER].handle(Again(conclusion, 2))
    finally:
        stack.before[PRESENTER] = overtake
