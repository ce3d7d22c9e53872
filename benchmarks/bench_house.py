"""Measures the running stack against what it is built on and what it replaces, in the same run on the same machine.

a: verbs that think nothing against raw nats-py JetStream hops of the same count and size, and a whole question of one
caller; b: CPU per question at 64 callers above a hand-written ChatOpenAI + sqlite3 loop; c: questions per second with
a model that takes 200 ms; d: the same with 1, 2 and 4 generators, each with 8 calls at once; e: at twice the capacity;
f: far above it for long; g: stored messages (each synced once) and messages of one question; i: the first answer of a
command, and an idle stack; h: CPU and questions per second over HTTP, with the settings as they are shipped; j to m:
the same question beside many connections, threads, events and readers. Medians of rounds taken in turn. Prints a table
and writes build/bench/house.json. `--against COMMIT` runs an older version in turn. A missed target is no error unless
`--strict` is given. Linux only: CPU is read from /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import uvloop
from against import AgainstError, compare, show
from callers import Callers, Window
from cold_and_idle import ask_seconds, idle, up_seconds
from growth import CONNECTIONS, EVENTS_ON_LOG, GROWTH_MAX, READERS, THREADS, row_j, row_k, row_l, row_m
from hop_pipeline import HopPipeline, Route
from measuring import Bench, busy_share, fsync_ms, spin_ms
from process_group import ROOT, ProcessGroup
from stack_under_load import FIRST_NUMBER, StackUnderLoad

from querybus.core.subjects import StageName

CALLERS = 64
FEW = 16
"""Callers at once that no tenant is refused for."""
MODEL_SECONDS = 0.2
CALLS_MAX = 8
"""Model calls of one generator at once, in row d."""
COUNTED = 200
"""Questions over which row g counts."""
OVERLOAD = 2.0
OVERLOAD_DEADLINE_SECONDS = 10
OVERLOAD_WARM_SECONDS = 5.0
"""The queue of what waits must be full before what is refused and what is answered is steady."""
OVERLOAD_SETTLE_SECONDS, SLICE_SECONDS = 20, 10
SHIPPED = {"rate_per_second": 500, "in_flight_max": 64, "in_flight_total_max": 96}
"""The limits of a tenant as the gateway has them by default; the other rows lift them."""
REQUIRED: Mapping[str, tuple[str, float]] = {
    "a_null_to_floor": ("<=", 1.5),
    "a_full_above_floor_ms": ("<=", 8.0),
    "a_full_p50_ms": ("<=", 12.0),
    "b_cpu_above_loop_ms": ("<=", 6.0),
    "b_house_cpu_ms": ("<=", 8.0),
    "c_per_second": (">=", 170.0),
    "h_cpu_ms": ("<=", 9.0),
    "h_shipped_per_second": (">=", 170.0),
    "d_2_to_1": (">=", 1.85),
    "d_4_to_1": (">=", 3.3),
    "e_goodput_to_peak": (">=", 0.8),
    # Below that it was no overload, and the row has shown nothing.
    "e_offered_to_goodput": (">=", 1.5),
    # Too much work is refused or expires; it is no reason to say that something went wrong.
    "e_failed": ("<=", 0.0),
    "g_stored": ("<=", 6.0),
    "i_ask_s": ("<=", 2.0),
    "i_up_ready_s": ("<=", 5.0),
    "i_idle_cpu_percent": ("<=", 1.0),
    "i_services_memory_mb": ("<=", 600.0),
    "e_unclear": ("<=", 0.0),
    "e_memory_growth_mb": ("<=", 256.0),
    f"l_{EVENTS_ON_LOG}_messages_at_start": ("<=", 1_000.0),
    **{f"j_{count}_to_1": ("<=", GROWTH_MAX) for count in CONNECTIONS[1:]},
    f"k_{THREADS}_to_few": ("<=", GROWTH_MAX),
    f"l_{EVENTS_ON_LOG}_to_few": ("<=", GROWTH_MAX),
    f"m_{READERS}_to_few": ("<=", GROWTH_MAX),
    **{f"f_{factor}x_worst_slice_to_peak": (">=", 0.9) for factor in (2, 4)},
    **{f"f_{factor}x_expired_percent": ("<=", 1.0) for factor in (2, 4)},
    **{f"f_{factor}x_accepted_p99_to_calm": ("<=", 3.0) for factor in (2, 4)},
    **{f"f_{factor}x_refused_p99_ms": ("<=", 20.0) for factor in (2, 4)},
    **{f"f_{factor}x_back_after_s": ("<=", 5.0) for factor in (2, 4)},
}


async def row_a(bench: Bench, stack: StackUnderLoad) -> None:
    await stack.delay_model(0)
    async with HopPipeline("raw", bench.group) as raw:
        async with HopPipeline("null", bench.group) as null:
            route = await null.route()
            await _hops(bench, null, raw, route)
        sizes = await stack.sizes()
        times: dict[str, list[float]] = {"floor": [], "full": []}

        async def ask_raw(_: int) -> str:
            return await raw.ask_raw(sizes)

        for _ in range(bench.rounds):
            times["floor"].append((await bench.window(ask_raw, 1)).p50_ms)
            times["full"].append((await bench.window(stack.ask, 1)).p50_ms)
    bench.put("a_full_floor_p50_ms", times["floor"])
    bench.put("a_full_p50_ms", times["full"])
    bench.put("a_full_above_floor_ms", [a - b for a, b in zip(times["full"], times["floor"], strict=True)])


async def _hops(bench: Bench, null: HopPipeline, raw: HopPipeline, route: Route) -> None:
    async def ask_raw(_: int) -> str:
        return await raw.ask_raw(route)

    for callers in (1, CALLERS):
        windows: list[tuple[Window, Window]] = []
        for _ in range(bench.rounds):
            floor = await bench.window(ask_raw, callers, cpu=raw.cpu)
            windows.append((floor, await bench.window(null.ask_null, callers, cpu=null.cpu)))
        mark = "" if callers == 1 else f"_{callers}"
        bench.put(f"a_floor{mark}_p50_ms", [floor.p50_ms for floor, _ in windows])
        bench.put(f"a_null{mark}_p50_ms", [null.p50_ms for _, null in windows])
        bench.put(f"a_null_to_floor{mark}", [null.p50_ms / floor.p50_ms for floor, null in windows])
        bench.put(f"a_floor{mark}_cpu_ms", [floor.cpu_ms for floor, _ in windows])
        bench.put(f"a_null{mark}_cpu_ms", [null.cpu_ms for _, null in windows])
        if callers > 1:
            bench.put(f"a_floor{mark}_per_second", [floor.per_second for floor, _ in windows], 1)
            bench.put(f"a_null{mark}_per_second", [null.per_second for _, null in windows], 1)
    bench.figures["a_null_bytes_mean"] = round(statistics.mean(size for _, size in route))


async def _loop_window(bench: Bench, callers: int) -> Window:
    """Return a window of the hand-written loop, which has callers and CPU of its own."""
    bench.spins.append(spin_ms())
    bench.group.report("loop", f"{callers} {bench.seconds / 3} {bench.seconds}")
    result = json.loads(await bench.group.line("loop"))
    window = Window(
        result["seconds"], Counter(result["outcomes"]), tuple(result["milliseconds"]), result["cpu_seconds"]
    )
    bench.note(window)
    return window


async def _against_loop(bench: Bench, stack: StackUnderLoad) -> list[tuple[Window, Window]]:
    await bench.group.start("loop", [sys.executable, "benchmarks/direct_loop.py"], speaks=True)
    task = {
        "base_url": stack.base_url,
        "database": str(stack.database),
        "messages": stack.messages,
        "number": str(FIRST_NUMBER),
    }
    bench.group.report("loop", json.dumps(task))
    await bench.group.line("loop")
    windows: list[tuple[Window, Window]] = []
    for _ in range(bench.rounds):
        loop = await _loop_window(bench, CALLERS)
        windows.append((loop, await bench.window(stack.ask, CALLERS, cpu=stack.cpu)))
    await bench.group.stop("loop")
    return windows


async def row_b(bench: Bench, stack: StackUnderLoad) -> None:
    await stack.delay_model(0)
    before = stack.cpu_by_service()
    asked = 0
    windows = await _against_loop(bench, stack)
    asked = sum(window.outcomes.total() for _, window in windows)
    # Warming up is in these shares as well, so they are scaled to what the windows say.
    moved = {name: seconds - before[name] for name, seconds in stack.cpu_by_service().items()}
    share = sum(window.cpu_seconds for _, window in windows) / sum(moved.values())
    bench.put("b_loop_cpu_ms", [loop.cpu_ms for loop, _ in windows])
    bench.put("b_house_cpu_ms", [window.cpu_ms for _, window in windows])
    bench.put("b_cpu_above_loop_ms", [window.cpu_ms - loop.cpu_ms for loop, window in windows])
    bench.put("b_loop_per_second", [loop.per_second for loop, _ in windows], 1)
    bench.put("b_house_per_second", [window.per_second for _, window in windows], 1)
    # A service that shares a process is counted with it, and by itself as nothing.
    for name, seconds in filter(lambda item: item[1], moved.items()):
        bench.figures[f"b_{name}_cpu_ms"] = round(seconds * share * 1_000 / asked, 2)


async def row_g(bench: Bench, stack: StackUnderLoad) -> None:
    """What one question writes and sends, above what the stack does by itself in the same time."""
    await stack.delay_model(0)
    await stack.ask(0)
    before, begun = await stack.traffic(), time.monotonic()
    for number in range(1, COUNTED + 1):
        bench.wrong.update(word for word in [await stack.ask(number)] if word != "answered")
    await asyncio.sleep(2)
    asked, lasted = await stack.traffic(), time.monotonic() - begun
    await asyncio.sleep(lasted)
    idle = await stack.traffic()
    moved = {name: (2 * asked[name] - before[name] - idle[name]) / COUNTED for name in asked}
    stored = {name: value for name, value in moved.items() if name.startswith("stored") and value > 0.005}
    bench.figures |= {f"g_{name.replace(' ', '_').lower()}": round(value, 2) for name, value in stored.items()}
    bench.figures |= {
        "g_stored": round(sum(stored.values()), 2),
        "g_messages_to_the_bus": round(moved["in"], 1),
        "g_messages_from_the_bus": round(moved["out"], 1),
    }


async def row_i(bench: Bench, stack: StackUnderLoad) -> None:
    """What a person waits for at first, and what stands there when nobody asks."""
    share, memory = await idle(stack)
    bench.figures |= {"i_idle_cpu_percent": round(share, 2), "i_services_memory_mb": round(memory)}
    bench.put("i_ask_s", [await ask_seconds(stack.database) for _ in range(bench.rounds)])
    bench.put("i_up_ready_s", [await up_seconds(bench.directory, bench.group) for _ in range(bench.rounds)])


async def row_h(bench: Bench, stack: StackUnderLoad) -> None:
    """The HTTP API, and last the settings that are shipped: no row that runs after it has others."""
    await stack.delay_model(0)
    windows = [await bench.window(stack.ask_over_http, CALLERS, cpu=stack.cpu) for _ in range(bench.rounds)]
    bench.put("h_cpu_ms", [window.cpu_ms for window in windows])
    bench.put("h_per_second", [window.per_second for window in windows], 1)
    bench.put("h_one_caller_p50_ms", [(await bench.window(stack.ask_over_http, 1)).p50_ms for _ in range(bench.rounds)])
    await stack.delay_model(MODEL_SECONDS)
    await stack.as_shipped()
    # Services that have just started are slow at first, which the gateway would take for their pace.
    for first in range(0, 3 * FEW, FEW):
        await asyncio.gather(*(stack.ask(number) for number in range(first, first + FEW)))
    windows = [await bench.window(stack.ask_over_http, CALLERS, cpu=stack.cpu) for _ in range(bench.rounds)]
    bench.put("h_shipped_per_second", [window.per_second for window in windows], 1)
    bench.put("h_shipped_p50_ms", [window.p50_ms for window in windows], 1)
    bench.put("h_shipped_cpu_ms", [window.cpu_ms for window in windows])


async def row_c(bench: Bench, stack: StackUnderLoad) -> None:
    await stack.delay_model(MODEL_SECONDS)
    windows = await _against_loop(bench, stack)
    bench.put("c_per_second", [window.per_second for _, window in windows], 1)
    bench.put("c_p50_ms", [window.p50_ms for _, window in windows], 1)
    bench.put("c_loop_per_second", [loop.per_second for loop, _ in windows], 1)
    bench.put("c_to_loop", [window.per_second / loop.per_second for loop, window in windows])
    bench.put("c_cpu_ms", [window.cpu_ms for _, window in windows])


async def row_d(bench: Bench, stack: StackUnderLoad) -> None:
    await stack.delay_model(MODEL_SECONDS)
    await stack.apart()
    result: dict[int, float] = {}
    for count in (1, 2, 4):
        await stack.replicas(StageName.GENERATOR, count, llm_concurrency_max=CALLS_MAX)
        windows = [await bench.window(stack.ask, CALLERS) for _ in range(bench.rounds)]
        result[count] = bench.put(f"d_{count}_per_second", [window.per_second for window in windows], 1)
    for count in (2, 4):
        bench.figures[f"d_{count}_to_1"] = round(result[count] / result[1], 2)
    await stack.apart(is_apart=False)


async def row_e(bench: Bench, stack: StackUnderLoad) -> None:
    await stack.delay_model(MODEL_SECONDS)
    # The cap of queries in flight is the server's own way to refuse, so it stands at its default.
    await stack.replicas(StageName.GATEWAY, 1, in_flight_max=CALLERS)
    async with Callers(stack.ask, CALLERS) as callers:
        await callers.warm(bench.seconds / 3)
        alone = await callers.window(2 * bench.seconds)
    bench.note(alone)
    peak = max(alone.per_second, bench.figures.get("c_per_second", 0.0))
    before = most = stack.memory_mb()
    ended: list[tuple[float, str]] = []

    async def one(number: int) -> None:
        word = await stack.ask_within(number, OVERLOAD_DEADLINE_SECONDS)
        ended.append((time.monotonic(), word))

    begun, number = time.monotonic(), 0
    lasts = OVERLOAD_WARM_SECONDS + 2 * bench.seconds
    async with asyncio.TaskGroup() as group:
        while (passed := time.monotonic() - begun) < lasts:
            while number < passed * peak * OVERLOAD:
                number += 1
                group.create_task(one(number))
            most = max(most, stack.memory_mb())
            await asyncio.sleep(0.02)
    steady = [word for at, word in ended if begun + OVERLOAD_WARM_SECONDS <= at < begun + lasts]
    words = Counter(word for _, word in ended)
    goodput = steady.count("answered") / (2 * bench.seconds)
    bench.figures |= {
        "e_peak_per_second": round(peak, 1),
        "e_offered_per_second": round(number / lasts, 1),
        "e_goodput_per_second": round(goodput, 1),
        "e_goodput_to_peak": round(goodput / peak, 2),
        "e_offered_to_goodput": round(number / lasts / max(goodput, 0.1), 2),
        "e_answered": words["answered"],
        "e_refused": sum(count for word, count in words.items() if word.startswith("refused")),
        "e_expired": sum(count for word, count in words.items() if word.startswith("expired")),
        "e_failed": sum(count for word, count in words.items() if word.startswith("failed")),
        "e_memory_mb": round(before),
        "e_memory_peak_mb": round(most),
        "e_memory_growth_mb": round(most - before),
    }
    bench.figures["e_unclear"] = words.total() - sum(
        int(bench.figures[f"e_{name}"]) for name in ("answered", "refused", "expired", "failed")
    )
    print("   e ended as: " + ", ".join(f"{word} {count}" for word, count in words.most_common()))


@dataclass(frozen=True)
class Ended:
    """One request of an open load: when it was sent and ended, and how."""

    sent_at: float
    ended_at: float
    word: str

    @property
    def seconds(self) -> float:
        return self.ended_at - self.sent_at


async def offered(stack: StackUnderLoad, per_second: float, seconds: float) -> list[Ended]:
    """Offer so many questions a second, whatever becomes of those before, and return all once they have ended."""
    ended: list[Ended] = []

    async def one(number: int) -> None:
        sent_at = time.monotonic()
        word = await stack.ask_within(number)
        ended.append(Ended(sent_at, time.monotonic(), word))

    begun, number = time.monotonic(), 0
    async with asyncio.TaskGroup() as group:
        while (passed := time.monotonic() - begun) < seconds:
            while number < passed * per_second:
                number += 1
                group.create_task(one(number))
            await asyncio.sleep(0.01)
    return ended


async def row_f(bench: Bench, stack: StackUnderLoad) -> None:
    """Load above the capacity for longer than a queue can hide it, with the shipped limits of a tenant."""
    await stack.delay_model(MODEL_SECONDS)
    await stack.replicas(StageName.GATEWAY, 1, **SHIPPED)
    async with Callers(stack.ask, CALLERS) as callers:
        await callers.warm(bench.seconds)
        alone = await callers.window(4 * bench.seconds)
    bench.note(alone)
    peak = alone.per_second
    calm = sorted(item.seconds for item in await offered(stack, 0.8 * peak, bench.overload_seconds / 3))
    bench.figures |= {"f_peak_per_second": round(peak, 1), "f_calm_p99_s": round(_percentile(calm, 0.99), 2)}
    for factor in (2, 4):
        begun = time.monotonic()
        ended = await offered(stack, factor * peak, bench.overload_seconds)
        loaded = [item for item in ended if item.ended_at < begun + bench.overload_seconds]
        slices = [
            sum(item.word == "answered" and at <= item.ended_at - begun < at + SLICE_SECONDS for item in loaded)
            for at in range(OVERLOAD_SETTLE_SECONDS, int(bench.overload_seconds) - SLICE_SECONDS + 1, SLICE_SECONDS)
        ]
        accepted = sorted(item.seconds for item in ended if not item.word.startswith(("refused", "no reply")))
        refused = sorted(item.seconds for item in ended if item.word.startswith("refused"))
        words = Counter(item.word for item in ended)
        after = await offered(stack, 0.5 * peak, 2 * SLICE_SECONDS)
        back = [item for item in after if item.word != "answered" or item.seconds > 2 * bench.figures["f_calm_p99_s"]]
        last_wrong = max((item.sent_at for item in back), default=0.0)
        name = f"f_{factor}x"
        bench.figures |= {
            f"{name}_worst_slice_to_peak": round(min(slices) / SLICE_SECONDS / peak, 2) if slices else 0.0,
            f"{name}_expired_percent": round(
                100 * sum(word.startswith("expired") for word in words.elements()) / max(1, len(accepted)), 2
            ),
            f"{name}_accepted_p99_to_calm": round(_percentile(accepted, 0.99) / bench.figures["f_calm_p99_s"], 2),
            f"{name}_refused_p99_ms": round(1_000 * _percentile(refused, 0.99), 1),
            f"{name}_back_after_s": round(max(0.0, last_wrong - min(item.sent_at for item in after)), 1),
        }
        print(
            f"   f {factor} times: slices of {SLICE_SECONDS} s {slices}; "
            + ", ".join(f"{word} {count}" for word, count in words.most_common())
        )


def _percentile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


ROWS: Mapping[str, tuple[str, Callable[[Bench, StackUnderLoad], Awaitable[None]]]] = {
    "a": ("null verbs and one caller against raw hops", row_a),
    "b": (f"CPU per question, {CALLERS} callers, instant model", row_b),
    "c": (f"{CALLERS} callers, model of {MODEL_SECONDS:g} s", row_c),
    "d": (f"generator replicas of {CALLS_MAX} calls at once", row_d),
    "e": (f"{OVERLOAD:g} times the capacity", row_e),
    "f": ("2 and 4 times the capacity for long, with the shipped limits", row_f),
    "g": ("what a question writes and sends", row_g),
    "i": ("the first answer of a command, and an idle stack", row_i),
    "j": ("1, 10 and 100 connections of 100 tables", row_j),
    "k": ("100,000 threads of one person", row_k),
    "l": ("ten million events of others on the log", row_l),
    "m": ("a thousand readers of events on which nothing happens", row_m),
    "h": ("the HTTP API, and the settings as shipped", row_h),
}


async def run(bench: Bench, rows: Sequence[str]) -> None:
    main = asyncio.current_task()
    assert main is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, main.cancel)
    async with AsyncExitStack() as exits:
        await exits.enter_async_context(bench.group)
        stack = await exits.enter_async_context(StackUnderLoad(bench.directory, bench.group))
        for name in rows:
            title, row = ROWS[name]
            bench.syncs.append(fsync_ms(bench.directory))
            bench.spins.append(spin_ms())
            begun = time.monotonic()
            known = set(bench.figures)
            print(f"{name}: {title}", flush=True)
            await row(bench, stack)
            for figure, value in bench.figures.items():
                if figure not in known:
                    print(f"   {figure:28}{value:12,.10g}{_spread(bench, figure)}{_judged(figure, value)}")
            print(f"   ({time.monotonic() - begun:.0f} s)", flush=True)


def _spread(bench: Bench, figure: str) -> str:
    spread = bench.spreads.get(figure)
    return f"{f'+-{spread * 50:.0f} %':>9}" if spread is not None else " " * 9


def _judged(figure: str, value: float) -> str:
    if figure not in REQUIRED:
        return ""
    sign, limit = REQUIRED[figure]
    if _is_met(figure, value):
        return f"   {sign} {limit:g}  met"
    return f"   {sign} {limit:g}  MISSED by {abs(value - limit):.4g}"


def _is_met(figure: str, value: float) -> bool:
    sign, limit = REQUIRED[figure]
    return value <= limit if sign == "<=" else value >= limit


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", default=",".join(ROWS), help=f"of {', '.join(ROWS)}")
    parser.add_argument("--seconds", type=float, default=2.5, help="of one window")
    parser.add_argument("--rounds", type=int, default=3, help="of which the median is taken")
    parser.add_argument("--overload-seconds", type=float, default=60.0, help="of each load of row f")
    parser.add_argument("--quick", action="store_true", help="one round of one second: to see that it works")
    parser.add_argument("--strict", action="store_true", help="a missed target is an error")
    parser.add_argument(
        "--against", metavar="COMMIT", help="run the same rows of this older version in turn, and compare"
    )
    parser.add_argument("--turns", type=int, default=3, help="of each version, with --against")
    given = parser.parse_args()
    rows = [row.strip() for row in given.rows.split(",")]
    if unknown := [row for row in rows if row not in ROWS]:
        parser.error(f"no such row: {', '.join(unknown)}")
    if given.against:
        lengths = ["--seconds", f"{given.seconds}", "--rounds", f"{given.rounds}"]
        try:
            show(given.against, compare(given.against, ["--rows", given.rows, *lengths], given.turns))
        except AgainstError as error:
            print(error)
            return 1
        return 0
    load_before, busy_before = os.getloadavg(), busy_share()
    with tempfile.TemporaryDirectory(prefix="querybus-bench-") as directory:
        group = ProcessGroup(Path(directory))
        seconds, rounds = (1.0, 1) if given.quick else (given.seconds, given.rounds)
        bench = Bench(Path(directory), group, seconds, rounds, given.overload_seconds)
        try:
            uvloop.run(run(bench, rows))
        except (asyncio.CancelledError, KeyboardInterrupt):
            print("stopped")
            return 130
    busy_after = busy_share()
    judged = {name: _is_met(name, bench.figures[name]) for name in REQUIRED if name in bench.figures}
    met = all(judged.values()) and not bench.wrong
    noise = (max(bench.spins) - min(bench.spins)) / statistics.median(bench.spins) if bench.spins else 0.0
    print(
        f"noise: a fixed piece of work took {statistics.median(bench.spins):.1f} ms (+-{noise * 50:.0f} %), a sync of"
        f" the disk {min(bench.syncs):.2f} to {max(bench.syncs):.2f} ms;"
        f" others kept the CPUs {busy_before:.0%} busy before and {busy_after:.0%} after"
    )
    if bench.wrong:
        print("NOT ANSWERED: " + ", ".join(f"{word} {count}" for word, count in bench.wrong.most_common()))
    missed = [name for name, is_met in judged.items() if not is_met]
    print("met" if met else f"NOT MET: {', '.join(missed) or 'questions that were not answered'}")
    report = {
        "name": "house",
        "figures": bench.figures | {"spread": bench.spreads, "not_answered": dict(bench.wrong)},
        "required": {name: f"{REQUIRED[name][0]} {REQUIRED[name][1]:g}" for name in judged},
        "met": met,
        "machine": {
            "cpus": os.cpu_count(),
            "system": platform.platform(),
            "python": platform.python_version(),
            "load_before": load_before,
            "load_after": os.getloadavg(),
            "busy_before": round(busy_before, 2),
            "busy_after": round(busy_after, 2),
            "spin_ms": round(statistics.median(bench.spins), 2) if bench.spins else None,
            "fsync_ms": [round(sync, 2) for sync in bench.syncs],
            "noise": round(noise, 3),
            "window_seconds": bench.seconds,
            "rounds": bench.rounds,
            "quick": given.quick,
        },
    }
    target = ROOT / "build" / "bench" / "house.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if given.strict and not met else 0


if __name__ == "__main__":
    sys.exit(main())
