"""A read whose message comes again runs again, and does not run a third time where it ended two processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from querybus.bus.log.publish import BusTrouble
from querybus.core.envelope import Delivery
from querybus.core.failure import Failure, FailureCode
from querybus_executor.execute import execute_again

ENVELOPE: Any = type("Envelope", (), {"query_id": "q1"})()
DONE: Any = object()


@dataclass
class Runs:
    """What all processes share: who runs which message."""

    running: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    is_away: bool = False

    def of(self, process: str) -> ProcessRuns:
        return ProcessRuns(self, process)


@dataclass
class ProcessRuns:
    runs: Runs
    process: str

    async def begin(self, query: str, sequence: int) -> bool:
        if self.runs.is_away:
            raise BusTrouble("away")
        return self.runs.running.setdefault((query, sequence), self.process) == self.process

    async def end(self, query: str, sequence: int) -> None:
        self.runs.running.pop((query, sequence), None)


class Died(BaseException):
    """Stands for a process that is gone: nothing of it runs any more, nor says anything."""


async def delivered(runs: Runs, process: str, deliveries: int, *, ends: BaseException | None = None) -> Any:
    """Deliver message 7 to a process; one that dies never says that it has ended."""

    async def execute(_: Any, __: Delivery) -> Any:
        if ends is not None:
            raise ends
        return DONE

    store = runs.of(process)
    if isinstance(ends, Died):
        store.end = _nothing  # type: ignore[method-assign]
    return await execute_again(ENVELOPE, Delivery(7, deliveries, 0), execute=execute, runs=store)


async def _nothing(_: str, __: int) -> None: ...


async def test_what_was_delivered_often_and_reached_nobody_runs() -> None:
    runs = Runs()
    assert await delivered(runs, "a", 5) is DONE
    assert not runs.running


async def test_a_first_delivery_asks_the_bus_for_nothing() -> None:
    assert await delivered(Runs(is_away=True), "a", 1) is DONE


async def test_what_ended_two_processes_is_not_begun_by_a_third() -> None:
    runs = Runs()
    for process, deliveries in (("a", 1), ("b", 2)):
        with pytest.raises(Died):
            await delivered(runs, process, deliveries, ends=Died())
    for deliveries in (3, 4, 5):
        refused = await delivered(runs, "c", deliveries, ends=AssertionError("it must not run"))
        assert isinstance(refused, Failure)
        assert refused.code is FailureCode.RESOURCE_LIMIT


async def test_what_a_stopping_process_gave_back_runs_in_the_next_as_often_as_needed() -> None:
    runs = Runs()
    for process, deliveries in (("a", 2), ("b", 3), ("c", 4)):
        with pytest.raises(RuntimeError):
            await delivered(runs, process, deliveries, ends=RuntimeError("stopped"))
    assert await delivered(runs, "d", 5) is DONE


async def test_without_the_bus_it_waits_for_another_delivery_and_does_not_run() -> None:
    with pytest.raises(BusTrouble):
        await delivered(Runs(is_away=True), "a", 2, ends=AssertionError("it must not run"))
