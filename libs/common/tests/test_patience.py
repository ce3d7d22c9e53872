"""A read of the bus whose answer comes late is waited for while work on a query has time left."""

from __future__ import annotations

import asyncio

import nats.errors
import pytest

from querybus.bus import connection
from querybus.bus.connection import answer_of, reads_until
from querybus.bus.log.publish import BusTrouble


class Late:
    """A read that answers in time only from the third request on; keeps the seconds that each was given."""

    def __init__(self, cause: Exception) -> None:
        self.cause = cause
        self.given: list[float] = []

    async def read(self, seconds: float) -> str:
        self.given.append(seconds)
        if len(self.given) < 3:
            raise BusTrouble("log not read") from self.cause
        return "read"


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LATE_PAUSE_SECONDS", 0.0)


async def test_within_work_on_a_query_a_late_answer_is_asked_for_again_with_more_time() -> None:
    late = Late(nats.errors.TimeoutError())
    with reads_until(asyncio.get_running_loop().time() + 60):
        assert await answer_of(late.read, 2.0) == "read"
    assert late.given == [2.0, 4.0, 8.0]


async def test_once_the_time_of_the_query_is_over_a_late_answer_is_trouble() -> None:
    late = Late(nats.errors.TimeoutError())
    with reads_until(asyncio.get_running_loop().time()), pytest.raises(BusTrouble):
        await answer_of(late.read, 2.0)
    assert len(late.given) == 1


async def test_a_caller_that_waits_at_an_api_is_answered_after_one_request() -> None:
    late = Late(nats.errors.TimeoutError())
    with pytest.raises(BusTrouble):
        await answer_of(late.read, 2.0)
    assert len(late.given) == 1


async def test_what_the_bus_refuses_is_not_asked_for_again() -> None:
    late = Late(nats.errors.NoRespondersError())
    with reads_until(asyncio.get_running_loop().time() + 60), pytest.raises(BusTrouble):
        await answer_of(late.read, 2.0)
    assert len(late.given) == 1
