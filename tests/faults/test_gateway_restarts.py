"""Callers over HTTP, server-sent events and gRPC see no error that trying again does not cover while gateways restart."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from benchmarks.fault_clients import Callers
from benchmarks.faults import ROWS, broken, measure

pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.timeout(300)]


async def test_restarted_gateways_cost_callers_nothing_but_another_try() -> None:
    row = ROWS["gateways"]
    figures = await measure(row, queries=20, seconds=10.0, seed=2)
    assert broken(row, figures) == []
    assert figures.resumed > 0


@pytest.mark.parametrize(
    "outcome", ["status 500: ", "failed", "a gap: ['asked', 'finished']", httpx.ReadTimeout("slow")]
)
async def test_what_a_caller_cannot_explain_is_counted(outcome: str | Exception) -> None:
    seen, end = Callers((), (), "key"), asyncio.Event()

    async def ask(_: int, __: int) -> str:
        end.set()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    await seen.run("waiting", ask, 1, end)
    assert len(seen.errors) == 1
