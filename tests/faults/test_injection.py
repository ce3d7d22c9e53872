"""Whatever goes wrong in a stage, once or always, its query ends exactly once, by itself, and on a linear log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from querybus.bus.log.journal import Entry
from querybus.core.failure import FailureCode
from querybus.core.subjects import StageName
from tests.faults.faulty_stack import THINKERS, Fault, Faults, FaultyStack, assert_linear, faulty_stack

pytestmark = [pytest.mark.connected, pytest.mark.timeout(900), pytest.mark.asyncio(loop_scope="module")]

GENERATOR, VALIDATOR, EXECUTOR = StageName.GENERATOR, StageName.VALIDATOR, StageName.EXECUTOR
RECOVERY, PRESENTER = StageName.RECOVERY, StageName.PRESENTER

RETRIED = {GENERATOR: FailureCode.UNKNOWN_GENERATION_FAILURE}
SINGLE_EVENTS_MAX = 12
SETTLED_SECONDS_MAX = 120.0
AT_ONCE = 8
DEADLINE_SECONDS = 600.0
"""Of queries that end long before it. How late an end after a deadline may be is measured by `make faults`."""


@dataclass(frozen=True)
class Case:
    """Faults, the options of the question that meets them, and what is known of the end."""

    faults: Faults
    outcomes: tuple[str, ...]
    is_single: bool = False
    retries_max: int = 2
    is_over_at_deadline: bool = False

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
            faults(Fault("hang")), answered if name is PRESENTER else ("expired",), is_over_at_deadline=True
        )
        cases[f"{name} raises until after the deadline"] = Case(
            faults(Fault("exception")), answered if name is PRESENTER else ("expired",), is_over_at_deadline=True
        )
    cases["generator hangs and presenter raises always"] = Case(
        {GENERATOR: Fault("hang"), PRESENTER: Fault("exception")}, ("expired",), is_over_at_deadline=True
    )
    four = (name for name in THINKERS if name is not RECOVERY)
    cases["every stage raises once"] = Case({name: Fault("exception", 1) for name in four}, ("answered",))
    return cases


CASES = _cases()


@dataclass(frozen=True)
class End:
    answer: dict[str, Any]
    log: tuple[Entry, ...]


@dataclass(frozen=True)
class Place:
    stack: FaultyStack
    ends: dict[str, End]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Place]:
    """Run several cases at once: they wait for delays, not for each other.

    What ends at its deadline comes last and gets one that its stage is reached in, by the pace of the cases before.
    """
    async with faulty_stack(tmp_path_factory.mktemp("injection")) as stack:
        turns = asyncio.Semaphore(AT_ONCE)
        ends: dict[str, End] = {}
        clock = asyncio.get_running_loop().time

        async def run(name: str, case: Case, deadline_seconds: float) -> float:
            question = f"How many customers are there, case {name}?"
            stack.faults[question] = case.faults
            for stage, fault in case.faults.items():
                if case.is_over_at_deadline and stage is not PRESENTER:
                    # The deadline comes before the last delivery, whatever the pace of this machine.
                    fault.wait_seconds = deadline_seconds / 3
            async with turns:
                begun = clock()
                answer = await stack.ask(question, retries_max=case.retries_max, deadline_seconds=deadline_seconds)
                took = clock() - begun
                ends[name] = End(answer, await stack.log(answer["query_id"]))
            return took if case.is_single else 0.0

        early = [(name, case) for name, case in CASES.items() if not case.is_over_at_deadline]
        slowest = max(await asyncio.gather(*(run(name, case, DEADLINE_SECONDS) for name, case in early)))
        late = [(name, case) for name, case in CASES.items() if case.is_over_at_deadline]
        await asyncio.gather(*(run(name, case, 2.0 + 2 * slowest) for name, case in late))
        yield Place(stack, ends)


@pytest.mark.parametrize("name", CASES)
async def test_a_query_that_meets_a_fault_ends_once_and_by_itself_on_a_linear_log(place: Place, name: str) -> None:
    case, end = CASES[name], place.ends[name]
    assert_linear(end.log)
    events = [entry.address.event.value for entry in end.log]
    assert len(events) <= case.events_max, events
    assert end.answer["outcome"] in case.outcomes, (end.answer["outcome"], end.answer["code"], events)
    for fault in case.faults.values():
        assert fault.struck, "the fault was never met"


async def test_every_message_is_settled_after_all_faults(place: Place) -> None:
    async with asyncio.timeout(SETTLED_SECONDS_MAX):
        while await place.stack.unsettled():
            await asyncio.sleep(0.2)


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
