"""`make faults` in small: nothing is lost and nothing ends twice; and it says so where a rule of the bus is broken."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from benchmarks.fault_load import Load
from benchmarks.fault_stack import FaultStack, Plan
from benchmarks.faults import ROWS, Row, broken, measure
from querybus.core.subjects import StageName

pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize("name", ["kill", "bus", "cluster", "cancel", "stores", "ahead", "ends-behind"])
async def test_a_row_in_small_is_as_required(name: str) -> None:
    row = replace(ROWS[name], must_see=())
    figures = await measure(row, queries=30, seconds=6.0, seed=3)
    assert broken(row, figures) == []
    assert figures.accepted == figures.finished == 30
    if name == "cancel":
        assert figures.outcomes["cancelled"]


async def test_without_the_fence_the_harness_reports_queries_that_finished_twice() -> None:
    everyone = dict.fromkeys(StageName, "tests.faults.unfenced_service")
    row = replace(ROWS["cancel"], plan=Plan(modules=everyone), cancel_share=1.0)
    figures = await measure(row, queries=40, seconds=4.0, seed=3)
    assert figures.finished_twice > 0, figures
    assert figures.forked > 0, figures
    assert broken(row, figures)


async def kill_presenter(stack: FaultStack, load: Load, _: random.Random) -> None:
    # Late in the load: services make their models at the first question, so that nothing is with the presenter before.
    await load.at(0.9)
    await stack.kill_mid_work("presenter-1")


HASTY = {StageName.PRESENTER: "tests.faults.hasty_service"}


async def test_with_acks_before_publishing_the_harness_reports_queries_that_were_lost() -> None:
    plan = Plan(modules=HASTY | {StageName.GATEWAY: "tests.faults.blind_gateway"})
    row = Row("an ack before the publish, and no sweeper behind it", kill_presenter, plan, deadline_seconds=12)
    figures = await measure(row, queries=40, seconds=4.0, seed=3)
    assert figures.lost > 0, figures
    assert figures.finished < figures.accepted
    assert set(figures.lost_after) == {"concluded"}
    assert broken(row, figures)


async def test_a_presenter_that_acks_too_early_and_dies_loses_nothing_where_the_sweeper_stands_behind_it() -> None:
    row = Row("an ack before the publish", kill_presenter, Plan(modules=HASTY), deadline_seconds=12)
    figures = await measure(row, queries=40, seconds=4.0, seed=3)
    assert broken(row, figures) == []
    assert figures.finished == figures.accepted
