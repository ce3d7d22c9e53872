"""`make kill-and-scale` in small: replicas come, every service is restarted in its turn, replicas go, some by kill -9.

Nothing is lost, nothing ends twice, and the gauges by which replicas are added and removed fall back to nothing.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.fault_stack import Plan
from benchmarks.kill_and_scale import KILLED, Size, Step, measure
from querybus.core.subjects import StageName

pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.timeout(600)]

SMALL = Size(
    per_second=6.0,
    baseline_waves=0,
    added=(*KILLED, StageName.GATEWAY),
    restarts_added=False,
    waits_for_lag=False,
    plan=Plan(ack_wait_seconds=2.0, is_production=True, model_delay_seconds=0.4),
)


async def test_replicas_come_die_restart_and_go_under_load_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    steps = await measure(SMALL, tmp_path)
    assert [step.title for step in steps if step.broken()] == [], steps
    restarted = {step.title.removeprefix("rolling restart of ") for step in steps if "restart" in step.title}
    assert restarted == {str(stage) for stage in StageName}
    *each_step, whole = steps
    assert len(each_step) == len(StageName) + 2
    assert all(item.accepted > 0 for item in each_step)
    assert whole.accepted == sum(item.accepted for item in each_step)
    assert max(step.lag_max for step in steps) > 0, "the gauges never showed the load"


@pytest.mark.parametrize("name", ["lost", "finished_twice", "not_answered", "forked", "unreceived", "expired", "late"])
def test_a_step_that_loses_or_doubles_a_query_is_broken(name: str) -> None:
    counts = dict.fromkeys(("finished_twice", "lost", "forked", "unreceived", "expired", "late", "refused"), 0)
    step = Step(
        "one",
        1.0,
        accepted=3,
        answered=3,
        not_answered=0,
        worst_delay_seconds=0.1,
        lag_max=0.0,
        lag_seconds=0.0,
        **counts,
    )
    assert step.broken() == []
    assert replace(step, **{name: 1}).broken() == [f"{name} 1"]
