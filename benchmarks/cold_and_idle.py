"""How long a person waits for the first answer of a command, and what a stack takes while nobody asks."""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
import time
from pathlib import Path

from process_group import ROOT, ProcessGroup, clean_environment
from stack_under_load import StackUnderLoad

READY_SECONDS_MAX = 60.0
IDLE_SECONDS = 20.0
COMMAND = (sys.executable, "-c", "from querybus_cli.entry import main; main()")


async def ask_seconds(database: Path) -> float:
    """Return how long `querybus ask` takes from its start to its end: a bus and six services for one question."""
    begun = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *(*COMMAND, "ask", "--database", str(database), "How many orders are there?"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=clean_environment(),
        cwd=ROOT,
    )
    said, _ = await process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"querybus ask ended with {process.returncode}: {said.decode()[-500:]}")
    return time.monotonic() - begun


async def up_seconds(directory: Path, group: ProcessGroup) -> float:
    """Return how long `querybus up` takes until it says that everything is ready."""
    with tempfile.TemporaryDirectory(dir=directory) as store:
        begun = time.monotonic()
        await group.start("up", [*COMMAND, "up", "--store", store, "--port", "0"], speaks=True)
        try:
            async with asyncio.timeout(READY_SECONDS_MAX):
                while not re.search(r"^ready", await group.line("up")):
                    pass
            return time.monotonic() - begun
        finally:
            await group.stop("up")


async def idle(stack: StackUnderLoad) -> tuple[float, float]:
    """Return the share of one core that an idle stack takes, in percent, and the memory of its services in MB."""
    await asyncio.sleep(2)
    before, begun = stack.cpu(), time.monotonic()
    await asyncio.sleep(IDLE_SECONDS)
    share = 100 * (stack.cpu() - before) / (time.monotonic() - begun)
    return share, stack.services_memory_mb()
