"""Whatever goes wrong in a stage, once or always, its query ends exactly once, soon, and on a linear log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from querybus.bus.log.journal import Entry
from querybus.core.failure import FailureCode
from querybus.core.subjects import StageName
from tests.faults.faulty_stack import THINKERS, Fault, Faults, FaultyStack, assert_linear, faulty_stack

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

GENERATOR, VALIDATOR, EXECUTOR = StageName.GENERATOR, StageName.VALIDATOR, StageName.EXECUTOR
RECOVERY, PRESENTER = StageName.RECOVERY, StageName.PRESENTER

RETRIED = {GENERATOR: FailureCode.UNKNOWN_GENERATION_FAILURE}
SINGLE_EVENTS_MAX = 12
STACK_SECONDS = 10.0
"""How long after its deadline a query may take to its end."""


@dataclass(frozen=True)
class Case:
    """Faults, the options of the question that meets them, and what is known of the end."""

    faults: Faults
    outcomes: tuple[str, ...]
    is_single: bool = False
    retries_max: int = 2
    deadline_seconds: float = 60.0

    @property
    def events_max(self) -> int:
        return SINGLE_EVENTS_MAX if self.is_single else 24 + 4 * self.retries_max


def _cases() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for name in THINKERS:
        # Recovery has work only after somebody else has failed.
        before: Faults = {VALIDATOR: Fault("failure", 1, FailureCode.COLUMN_NOT_FOUND)} if name is RECOVERY else {}
        retried = RETRIED.get(name, FailureCode.COLUMN_NOT_FOUND)

        def faults(fault: Fault, stage: StageName = name, before: Faults = before) -> Faults:
            return {**{key: Fault(value.kind, value.times, value.code) for key, value in before.items()}, stage: fault}

        ends_itself = name in (RECOVERY, PRESENTER)
        answered = ("answered",)
        lost = answered if name is PRESENTER else ("failed",)
        cases[f"{name} fails once"] = Case(
            faults(Fault("failure", 1, retried)), lost if ends_itself else answered, is_single=True
        )
        cases[f"{name} fails once for good"] = Case(faults(Fault("failure", 1)), lost, is_single=True)
        for retries in (0, 2, 5):
            cases[f"{name} fails always, {retries} retries"] = Case(
                faults(Fault("failure", None, retried)), lost, retries_max=retries
            )
        cases[f"{name} raises once"] = Case(faults(Fault("exception", 1)), answered, is_single=True)
        cases[f"{name} raises always"] = Case(faults(Fault("exception")), lost)
        cases[f"{name} hangs"] = Case(
            faults(Fault("hang")), answered if name is PRESENTER else ("expired",), deadline_seconds=2.0
        )
        cases[f"{name} raises until after the deadline"] = Case(
            faults(Fault("exception")), answered if name is PRESENTER else ("expired",), deadline_seconds=2.0
        )
    cases["generator hangs and presenter raises always"] = Case(
        {GENERATOR: Fault("hang"), PRESENTER: Fault("exception")}, ("expired",), deadline_seconds=2.0
    )
    four = (name for name in THINKERS if name is not RECOVERY)
    cases["every stage raises once"] = Case({name: Fault("exception", 1) for name in four}, ("answered",))
    return cases


CASES = _cases()


@dataclass(frozen=True)
class End:
    answer: dict[str, Any]
    log: tuple[Entry, ...]
    late_seconds: float


@dataclass(frozen=True)
class Place:
    stack: FaultyStack
    ends: dict[str, End]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Place]:
    """All cases at once: they wait for delays, not for each other."""
    async with faulty_stack(tmp_path_factory.mktemp("injection")) as stack:

        async def one(name: str, case: Case) -> tuple[str, End]:
            question = f"How many customers are there, case {name}?"
            stack.faults[question] = case.faults
            begun = time.monotonic()
            answer = await stack.ask(question, retries_max=case.retries_max, deadline_seconds=case.deadline_seconds)
            took = time.monotonic() - begun
            return name, End(answer, await stack.log(answer["query_id"]), took - case.deadline_seconds)

        ends = dict(await asyncio.gather(*(one(name, case) for name, case in CASES.items())))
        yield Place(stack, ends)


@pytest.mark.parametrize("name", CASES)
async def test_a_query_that_meets_a_fault_ends_once_and_soon_on_a_linear_log(place: Place, name: str) -> None:
    case, end = CASES[name], place.ends[name]
    assert_linear(end.log)
    events = [entry.address.event.value for entry in end.log]
    assert len(events) <= case.events_max, events
    assert end.late_seconds <= STACK_SECONDS
    assert end.answer["outcome"] in case.outcomes, (end.answer["outcome"], end.answer["code"], events)
    for fault in case.faults.values():
        assert fault.struck, "the fault was never met"


async def test_every_message_is_settled_after_all_faults(place: Place) -> None:
    waiting = await place.stack.unsettled()
    ends = time.monotonic() + STACK_SECONDS
    while waiting and time.monotonic() < ends:
        await asyncio.sleep(0.2)
        waiting = await place.stack.unsettled()
    assert waiting == {}


async def test_each_query_is_counted_once_whatever_it_met(place: Place) -> None:
    counted = sum(
        sample.value
        for family in place.stack.metrics[PRESENTER].registry.collect()
        for sample in family.samples
        if sample.name == "querybus_queries_total"
    )
    assert counted == len(CASES)
    for metrics in place.stack.metrics.values():
        assert metrics.value("querybus_permission_violations_total") == 0
