"""What a question costs where there is much around it, against a stack where there is little, by turns in one run.

j: 1, 10 and 100 connections of 100 tables, asked in turn; k: 100,000 threads of the person who asks; l: ten million
events of others on the log, and what the bus sends to a gateway that starts; m: a thousand readers of events on which
nothing happens.
"""

from __future__ import annotations

import resource
import sqlite3
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from full_store import Message, events_of_others, fill, threads
from measuring import Bench
from process_group import ProcessGroup
from stack_under_load import StackUnderLoad

from querybus.core.subjects import StageName

CALLERS = 32
CONNECTIONS = (1, 10, 100)
TABLES = 100
THREADS = 100_000
EVENTS_ON_LOG = 10_000_000
READERS = 1_000
FILES_MAX = 8_192
GROWTH_MAX = 1.1


async def row_j(bench: Bench, stack: StackUnderLoad) -> None:
    """More connections, each of many tables."""
    async with AsyncExitStack() as exits:
        stacks: dict[str, StackUnderLoad] = {}
        for count in CONNECTIONS:
            databases = _databases(bench.directory, stack.database, count)
            stacks[f"{count}"] = await exits.enter_async_context(_beside(bench, f"j{count}", databases=databases))
        for count, one in zip(CONNECTIONS, stacks.values(), strict=True):
            # The first question of a connection reads its catalog, however many there are.
            said = [await one.ask(number) for number in range(count)]
            bench.wrong.update(word for word in said if word != "answered")
        await _compare(bench, "j", stacks)
        for name, one in stacks.items():
            bench.figures[f"j_{name}_services_mb"] = round(one.services_memory_mb())


async def row_k(bench: Bench, stack: StackUnderLoad) -> None:
    """A person with many threads."""
    await stack.delay_model(0)
    query, events = await stack.events_of_one()
    async with _filled(bench, "k", threads(THREADS, query, events)) as grown:
        await _compare(bench, "k", {"few": stack, f"{THREADS}": grown})


async def row_l(bench: Bench, stack: StackUnderLoad) -> None:
    """A long log, and a gateway that starts beside it."""
    await stack.delay_model(0)
    async with _filled(bench, "l", events_of_others(EVENTS_ON_LOG)) as grown:
        await _compare(bench, "l", {"few": stack, f"{EVENTS_ON_LOG}": grown})
        for name, one in {"few": stack, f"{EVENTS_ON_LOG}": grown}.items():
            before, begun = await one.traffic(), time.monotonic()
            await one.replicas(StageName.GATEWAY, 1)
            bench.figures[f"l_{name}_gateway_start_s"] = round(time.monotonic() - begun, 2)
            bench.figures[f"l_{name}_messages_at_start"] = (await one.traffic())["out"] - before["out"]


async def row_m(bench: Bench, stack: StackUnderLoad) -> None:
    """Many who read events and receive nothing."""
    await stack.delay_model(0)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Both ends of a thousand connections are here.
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, FILES_MAX), hard))
    async with _beside(bench, "m") as read, read.idle_readers(READERS):
        await _compare(bench, "m", {"few": stack, f"{READERS}": read})


async def _compare(bench: Bench, row: str, stacks: Mapping[str, StackUnderLoad]) -> None:
    """Measure each in turn; the first is what the others are compared with."""
    costs: dict[str, list[float]] = {name: [] for name in stacks}
    for _ in range(bench.rounds):
        for name, one in stacks.items():
            costs[name].append((await bench.window(one.ask, CALLERS, cpu=one.cpu)).cpu_ms)
    first, *others = costs
    bench.put(f"{row}_{first}_cpu_ms", costs[first])
    for name in others:
        pairs = zip(costs[name], costs[first], strict=True)
        bench.put(f"{row}_{name}_cpu_ms", costs[name])
        bench.put(f"{row}_{name}_to_{first}", [grown / little for grown, little in pairs])


@asynccontextmanager
async def _beside(
    bench: Bench, name: str, *, databases: Mapping[str, Path] | None = None, store: Path | None = None
) -> AsyncGenerator[StackUnderLoad]:
    """Run another stack, of processes of its own."""
    directory = bench.directory / name
    directory.mkdir(exist_ok=True)
    async with (
        ProcessGroup(directory) as group,
        StackUnderLoad(directory, group, databases=databases, store=store) as stack,
    ):
        yield stack


@asynccontextmanager
async def _filled(bench: Bench, name: str, messages: Iterable[Message]) -> AsyncGenerator[StackUnderLoad]:
    store = bench.directory / f"store-{name}"
    begun = time.monotonic()
    await fill(store, messages)
    print(f"   filled in {time.monotonic() - begun:.0f} s", flush=True)
    async with _beside(bench, name, store=store) as stack:
        yield stack


def _databases(directory: Path, shop: Path, count: int) -> dict[str, Path]:
    """Return files of TABLES tables each, of which one is the shop's products, by names for their connections."""
    result: dict[str, Path] = {}
    for number in range(count):
        file = directory / f"many-{number}.db"
        result[f"c{number}"] = file
        if file.exists():
            continue
        with sqlite3.connect(file) as database:
            database.execute("ATTACH ? AS shop", (f"{shop}",))
            database.execute("CREATE TABLE products AS SELECT * FROM shop.products")
            for place in range(1, TABLES):
                database.execute(
                    f"CREATE TABLE ledger_{number}_{place} (id INTEGER PRIMARY KEY, opened_on DATE, branch TEXT,"
                    f" amount NUMERIC(12, 2), note_{place} TEXT)"
                )
    return result
