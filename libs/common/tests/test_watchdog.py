"""A process whose loop is stuck ends; one that was not run for a while goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from querybus.ops.run import STUCK_EXIT_CODE

pytestmark = [pytest.mark.process, pytest.mark.long]

PROGRAM = """
import asyncio, sys, time
from querybus.ops import run

run._TICK_SECONDS = 0.2

async def main():
    run.Watchdog(stuck_seconds_max=1.0).start()
    await asyncio.sleep(0.5)
    print("started", flush=True)
    if sys.argv[1] == "stuck":
        time.sleep(5)
    await asyncio.sleep(4)

asyncio.run(main())
"""


def started(how: str) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, how], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


def test_a_stuck_loop_ends_its_process() -> None:
    with started("stuck") as process:
        assert process.wait(timeout=20) == STUCK_EXIT_CODE


def test_a_process_that_was_paused_goes_on() -> None:
    with started("paused") as process:
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(3)
        os.kill(process.pid, signal.SIGCONT)
        assert process.wait(timeout=20) == 0
