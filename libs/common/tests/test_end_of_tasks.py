"""A task is ended, however it takes its cancellation."""

from __future__ import annotations

import asyncio

import pytest

from querybus.ops import run
from querybus.ops.run import end

pytestmark = pytest.mark.asyncio


async def test_a_task_that_loses_a_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "CANCEL_AGAIN_SECONDS", 0.01)
    lost = 0

    async def loop() -> None:
        nonlocal lost
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                # As `asyncio.wait_for` does where the answer comes in the same moment.
                lost += 1
                if lost == 3:
                    raise

    task = asyncio.create_task(loop())
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await end(task)
    assert (task.cancelled(), lost) == (True, 3)


async def test_tasks_that_have_ended_or_failed_are_no_matter() -> None:
    async def fails() -> None:
        raise ValueError("its own")

    failed, done = asyncio.create_task(fails()), asyncio.create_task(asyncio.sleep(0))
    await asyncio.wait({failed, done})
    async with asyncio.timeout(60):
        await end(failed, done)
        await end()
