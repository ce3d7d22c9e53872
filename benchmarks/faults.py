"""Hurts a running stack in one way per row and reads from its log that nothing was lost and nothing ended twice.

Every service is a process of its own, the bus syncs every write, the model is a stub process, callers come through the
bus API. Deterministic up to the machine's timing: seed, questions, first drafts and times of faults follow from
--seed. Prints a table and writes build/bench/faults.json. A killed process is held for a moment before, so that it
dies with messages in its hands. `executed twice` counts an approval whose execution began more than once; a read that
is repeated costs time, not correctness. Progress is lossy, so while the bus is down it is a lower bound.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.fault_batch import batch_under_faults
from benchmarks.fault_clients import clients_under_restarts
from benchmarks.fault_load import DEADLINE_SECONDS, Figures, Load
from benchmarks.fault_stack import ROOT, FaultStack, Plan
from benchmarks.fault_writes import ledger_connection, write_under_faults
from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.core.subjects import StageName
from querybus.core.topology import BATCHES, EVENTS, LIMITS, QUERY_THREADS, RESULTS, SUBMIT, THREADS
from querybus_cli.local.local_stack import SERVICES
from tests.support.embedded_cluster import EmbeddedCluster

RATE_MAX = 45.0
"""Questions per second that the load is spread to at most."""
FULL_SECONDS = 4.0
PAUSED_SECONDS = 8.0
AWAY_SECONDS = 4.0
"""How long a killed server of a cluster is away."""
CUTS, CUT_SECONDS = 20, 2.5
SLOW_STOPPED_SECONDS, SLOW_RUNNING_SECONDS = 0.3, 0.05
STARVED_RUNNING_SECONDS = 0.1
LATE_STOPPED_SECONDS, LATE_RUNNING_SECONDS = 2.5, 0.5
REQUIRED: Mapping[str, int] = {
    "lost": 0,
    "finished_twice": 0,
    "forked": 0,
    "unreceived": 0,
    "expired": 0,
    "late": 0,
    "written_twice": 0,
    "untrue": 0,
    "unbatched": 0,
    "asked_again": 0,
    "client_errors": 0,
    "internal": 0,
}

Inflict = Callable[[FaultStack, Load, random.Random], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class Row:
    """One experiment: a stack, what is done to it while it works, and what must be seen for it to count."""

    title: str
    inflict: Inflict
    plan: Plan = field(default_factory=Plan)
    cancel_share: float = 0.0
    must_see: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    """Required figures that this row is about."""
    deadline_seconds: int = DEADLINE_SECONDS
    all_answered: bool = False
    """Whether no query may fail: where one replica of each service is gone for a moment only."""


async def nothing(_: FaultStack, __: Load, ___: random.Random) -> None:
    """No fault: what the other rows compare with."""


async def kill_each(stack: FaultStack, load: Load, dice: random.Random) -> None:
    for number, service in enumerate(SERVICES, 1):
        await load.at((number + dice.uniform(-0.3, 0.3)) / (len(SERVICES) + 1))
        await stack.kill_mid_work(f"{service}-1")


async def roll(stack: FaultStack, load: Load, _: random.Random) -> None:
    await load.at(0.1)
    for service in SERVICES:
        name = f"{service}-1"
        before = stack.supervisor.pids().get(name)
        stack.signal(name, signal.SIGTERM)
        while stack.supervisor.pids().get(name) in (before, None):
            await asyncio.sleep(0.1)
        await stack.ready(name)


async def restart_bus(stack: FaultStack, load: Load, dice: random.Random) -> None:
    assert isinstance(stack.bus, EmbeddedNats)
    await load.at(dice.uniform(0.2, 0.4))
    await stack.bus.restart(pause_seconds=0.5)
    await load.at(dice.uniform(0.6, 0.8))
    await stack.bus.restart(by_force=True, pause_seconds=0.5)


async def kill_leader(stack: FaultStack, load: Load, dice: random.Random) -> None:
    """Kill the server that leads the event stream, and once it is back the one that leads it then."""
    assert isinstance(stack.bus, EmbeddedCluster)
    for share in (dice.uniform(0.15, 0.25), dice.uniform(0.6, 0.7)):
        await load.at(share)
        leader = await stack.bus.leader_of(EVENTS)
        leader.kill()
        await asyncio.sleep(AWAY_SECONDS)
        await leader.start()
        await stack.bus.settled()


async def cut_off(stack: FaultStack, load: Load, _: random.Random) -> None:
    """Take one server of three out of the others' reach, twenty times: each comes back with a log that lags."""
    assert isinstance(stack.bus, EmbeddedCluster)
    for number in range(CUTS):
        await load.at((number + 1) / (CUTS + 2))
        server = stack.bus.servers[number % len(stack.bus.servers)]
        if server.pid is not None:
            os.kill(server.pid, signal.SIGSTOP)
            await asyncio.sleep(CUT_SECONDS)
            os.kill(server.pid, signal.SIGCONT)
    await stack.bus.settled()


async def slow_down(stack: FaultStack, load: Load, _: random.Random) -> None:
    end = asyncio.create_task(load.at(0.9))
    while not end.done():
        stack.signal("executor-1", signal.SIGSTOP)
        await asyncio.sleep(SLOW_STOPPED_SECONDS)
        stack.signal("executor-1", signal.SIGCONT)
        await asyncio.sleep(SLOW_RUNNING_SECONDS)


async def starve(stack: FaultStack, load: Load, _: random.Random) -> None:
    """Leave every service a fifth of its CPU."""
    end = asyncio.create_task(load.at(1.0))
    while not end.done():
        for name in stack.supervisor.pids():
            stack.signal(name, signal.SIGSTOP)
        await asyncio.sleep(4 * STARVED_RUNNING_SECONDS)
        for name in stack.supervisor.pids():
            stack.signal(name, signal.SIGCONT)
        await asyncio.sleep(STARVED_RUNNING_SECONDS)


async def answer_late(stack: FaultStack, load: Load, _: random.Random) -> None:
    """Let the bus answer everything seconds late, longer than a read waits at first."""
    assert isinstance(stack.bus, EmbeddedNats)
    await load.at(0.1)
    end = asyncio.create_task(load.at(0.9))
    while not end.done():
        assert stack.bus.pid is not None
        os.kill(stack.bus.pid, signal.SIGSTOP)
        await asyncio.sleep(LATE_STOPPED_SECONDS)
        os.kill(stack.bus.pid, signal.SIGCONT)
        await asyncio.sleep(LATE_RUNNING_SECONDS)


async def pause(stack: FaultStack, load: Load, dice: random.Random) -> None:
    await load.at(dice.uniform(0.2, 0.3))
    for name in ("generator-1", "presenter-1"):
        stack.signal(name, signal.SIGSTOP)
    await asyncio.sleep(PAUSED_SECONDS)
    for name in ("generator-1", "presenter-1"):
        stack.signal(name, signal.SIGCONT)


async def fill(stack: FaultStack, load: Load, dice: random.Random) -> None:
    await load.at(dice.uniform(0.3, 0.5))
    await stack.limit((EVENTS,), 1_024)
    await asyncio.sleep(FULL_SECONDS)
    await stack.limit((EVENTS,), None)


async def fill_stores(stack: FaultStack, load: Load, dice: random.Random) -> None:
    """Fill everything but the log: what waits, results, threads, shared counters."""
    await load.at(dice.uniform(0.2, 0.3))
    await stack.limit(STORES, 1)
    await asyncio.sleep(FULL_SECONDS)
    await stack.limit(STORES, None)


async def stop_generator(stack: FaultStack, load: Load, _: random.Random) -> None:
    await load.at(0.2)
    stack.signal("generator-1", signal.SIGSTOP)


async def write_changes(stack: FaultStack, load: Load, dice: random.Random) -> None:
    """Confirm changes while both executors are killed and paused in turn."""
    await load.at(0.05)
    load.written = await write_under_faults(stack, dice)


async def run_batch(stack: FaultStack, load: Load, dice: random.Random) -> None:
    """Run a batch while both gateways are killed in turn."""
    load.batched = await batch_under_faults(stack, dice)


async def restart_gateways(stack: FaultStack, load: Load, _: random.Random) -> None:
    """Restart both gateways in turn under callers of every API."""
    load.called = await clients_under_restarts(stack)


STORES = (SUBMIT, RESULTS, f"KV_{THREADS}", f"KV_{QUERY_THREADS}", f"KV_{LIMITS}", f"KV_{BATCHES}")
GENERATOR, VALIDATOR, EXECUTOR = StageName.GENERATOR, StageName.VALIDATOR, StageName.EXECUTOR
GATEWAY, PRESENTER, RECOVERY = StageName.GATEWAY, StageName.PRESENTER, StageName.RECOVERY
SLOW_MODEL = Plan(model_delay_seconds=1.0)
TWO = Plan(replicas={StageName.GENERATOR: 2, StageName.PRESENTER: 2})
ROWS: Mapping[str, Row] = {
    "none": Row("no fault", nothing, all_answered=True),
    "kill": Row("kill -9 of each service in turn", kill_each, must_see=("begun_twice",), all_answered=True),
    "roll": Row("rolling SIGTERM of all", roll, all_answered=True),
    "bus": Row("bus restarts: SIGTERM, kill -9", restart_bus),
    "cluster": Row("cluster of 3: two leaders killed", kill_leader, Plan(is_cluster=True), all_answered=True),
    "partition": Row("cluster of 3: each server cut off in turn", cut_off, Plan(is_cluster=True)),
    "slow": Row("a slow executor of two", slow_down, Plan(replicas={StageName.EXECUTOR: 2})),
    "starved": Row("a fifth of the CPU, production ack_wait", starve, Plan(ack_wait_seconds=None)),
    "late": Row("a bus that answers 2.5 s late", answer_late),
    "pause": Row("a paused generator and presenter", pause, TWO),
    "cancel": Row("half of the queries cancelled", nothing, cancel_share=0.5),
    "full": Row("the event stream takes nothing for a while", fill, SLOW_MODEL, must_see=("refused",)),
    "stores": Row("every store but the log is full for a while", fill_stores),
    "ahead": Row(
        "clocks of the stages 120 s ahead",
        nothing,
        Plan(clock_seconds=dict.fromkeys((GENERATOR, VALIDATOR, EXECUTOR, RECOVERY), 120)),
        all_answered=True,
    ),
    "behind": Row(
        "clocks of the stages 120 s behind",
        nothing,
        Plan(clock_seconds=dict.fromkeys((GENERATOR, VALIDATOR, EXECUTOR, RECOVERY), -120)),
        all_answered=True,
    ),
    "ends-ahead": Row(
        "clocks of gateway and presenter 120 s ahead",
        nothing,
        Plan(clock_seconds={GATEWAY: 120, PRESENTER: 120}),
        all_answered=True,
    ),
    "ends-behind": Row(
        "clocks of gateway and presenter 120 s behind",
        nothing,
        Plan(clock_seconds={GATEWAY: -120, PRESENTER: -120}),
        all_answered=True,
    ),
    "down": Row(
        "no generator from 1/5 on, 5 s deadline",
        stop_generator,
        must_see=("expired",),
        allowed=("expired",),
        deadline_seconds=5,
    ),
    "write": Row(
        "executors killed and paused at changes",
        write_changes,
        Plan(replicas={StageName.EXECUTOR: 2}, connection=ledger_connection),
        # A change that a second executor received and did not begin again; progress is sent only for what takes longer.
        must_see=("written", "unknown"),
    ),
    "batch": Row(
        "both gateways killed while one runs a batch",
        run_batch,
        replace(SLOW_MODEL, replicas={StageName.GATEWAY: 2}),
        must_see=("batched",),
    ),
    "gateways": Row(
        "gateways restarted under callers",
        restart_gateways,
        Plan(replicas={StageName.GATEWAY: 2}, has_apis=True, model_delay_seconds=1.0),
        # What the callers of the row itself were answered counts as their errors.
        must_see=("called", "resumed"),
    ),
    "production": Row("kill -9 of each, production ack_wait", kill_each, Plan(ack_wait_seconds=None)),
}


async def measure(row: Row, *, queries: int, seconds: float, seed: int) -> Figures:
    """Run one row in a stack of its own."""
    directory = Path(tempfile.mkdtemp(prefix="querybus-faults-"))
    try:
        async with FaultStack(directory, replace(row.plan, seed=seed)) as stack:
            load = Load(
                stack,
                queries=queries,
                seconds=seconds,
                seed=seed,
                cancel_share=row.cancel_share,
                deadline_seconds=row.deadline_seconds,
            )
            async with asyncio.TaskGroup() as group:
                group.create_task(load.run())
                # The load's clock begins with its first step.
                await asyncio.sleep(0)
                group.create_task(row.inflict(stack, load, random.Random(seed)))
            return await load.figures()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def broken(row: Row, figures: Figures) -> list[str]:
    """Return what a row shows that it must not, or fails to show; empty if it is as required."""
    values = figures.as_json()
    result = [
        f"{name} {values[name]}" for name, most in REQUIRED.items() if name not in row.allowed and values[name] > most
    ]
    if figures.lost:
        result.append(f"lost after {figures.lost_after}")
    if row.all_answered and figures.answered < figures.accepted:
        result.append(f"answered {figures.answered} of {figures.accepted}, outcomes {figures.outcomes}")
    return result + [f"{name} 0: the fault did not bite" for name in row.must_see if not values[name]]


COLUMNS = (
    ("accepted", "accepted"),
    ("finished", "finished"),
    ("answered", "answered"),
    ("finished_twice", "twice"),
    ("lost", "lost"),
    ("forked", "forked"),
    ("unreceived", "unreceived"),
    ("expired", "expired"),
    ("late", "late"),
    ("refused", "refused"),
    ("begun_twice", "begun twice"),
    ("executed_twice", "executed twice"),
    ("written_twice", "written twice"),
    ("worst_delay_seconds", "worst delay s"),
)


def machine() -> dict[str, Any]:
    return {
        "cpus": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_average": os.getloadavg(),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--queries", type=int, default=200, help="per row")
    parser.add_argument("--rows", default=",".join(ROWS), help=f"of {', '.join(ROWS)}")
    parser.add_argument("--seconds", type=float, default=20.0, help="time the questions of a row are spread over")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    names = [row.strip() for row in given.rows.split(",")]
    if unknown := [name for name in names if name not in ROWS]:
        parser.error(f"no such row: {', '.join(unknown)}")
    seconds = max(given.seconds, given.queries / RATE_MAX)
    print(f"{given.queries} queries per row over {seconds:.0f} s, seed {given.seed}")
    print(f"{'':40}" + " ".join(f"{title:>{max(8, len(title))}}" for _, title in COLUMNS), flush=True)
    figures: dict[str, Any] = {}
    met = True
    begun = time.monotonic()
    for name in names:
        row = ROWS[name]
        result = asyncio.run(measure(row, queries=given.queries, seconds=seconds, seed=given.seed))
        figures[name] = result.as_json()
        cells = " ".join(f"{figures[name][key]:>{max(8, len(title))}}" for key, title in COLUMNS)
        wrong = broken(row, result)
        met &= not wrong
        print(f"{row.title:40}{cells}" + (f"  NOT MET: {', '.join(wrong)}" if wrong else ""), flush=True)
    print(f"{'met' if met else 'NOT MET'}; {time.monotonic() - begun:.0f} s")
    folder = ROOT / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    report = {"name": "faults", "figures": figures, "required": REQUIRED, "met": met, "machine": machine()}
    (folder / "faults.json").write_text(json.dumps(report, indent=1))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
