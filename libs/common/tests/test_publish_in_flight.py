"""A leader that holds an unfinished write refuses for the fence; nothing is given up for lost because of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pytest
from nats.js import JetStreamContext
from nats.js.api import PubAck, RawStreamMsg
from nats.js.errors import BadRequestError, NotFoundError

from querybus.bus.log.publish import (
    MESSAGE_ID,
    BusTrouble,
    Duplicate,
    FenceLost,
    Published,
    Stored,
    address_of,
    publish_event,
)
from querybus.core.envelope import Envelope
from querybus.core.messages import Asked
from querybus.core.subjects import EventName, message_id

NOW = 1_700_000_000_000
WRONG_LAST_SEQUENCE = 10071
IN_FLIGHT = 10164


def asked() -> Envelope[Asked]:
    query = "018bcfe5-6800-7000-8000-000000000001"
    return Envelope[Asked](
        event=EventName.ASKED,
        query_id=query,
        thread_id=query,
        tenant="acme",
        user="ann",
        audience="analyst",
        connection="shop",
        question="How many customers are there?",
        language="en",
        asked_at=NOW,
        deadline_at=NOW + 60_000,
        body=Asked(),
    )


@dataclass
class Leader:
    """A stream's leader that refuses the first `refusals` writes; `last` is the log's last message as it knows it."""

    refusals: int
    code: int = IN_FLIGHT
    last: tuple[int, str] | None = None
    writes: int = field(default=0)

    async def publish(self, subject: str, data: bytes, *, timeout: float, headers: dict[str, str]) -> PubAck:
        self.writes += 1
        if self.writes <= self.refusals:
            raise BadRequestError(code=400, err_code=self.code, description="wrong last sequence")
        return PubAck(stream="QUERYBUS", seq=12, duplicate=False)

    async def get_msg(self, stream: str, *, subject: str, direct: bool) -> RawStreamMsg:
        if self.last is None:
            raise NotFoundError
        sequence, identity = self.last
        return RawStreamMsg(subject=subject, seq=sequence, headers={MESSAGE_ID: identity})


async def publish(leader: Leader, *, expected_last_sequence: int = 0, seconds: float = 30.0) -> Published:
    now = [NOW]

    def clock() -> int:
        now[0] += 100
        return now[0]

    return await publish_event(
        cast("JetStreamContext", leader),
        asked(),
        input_sequence=expected_last_sequence,
        expected_last_sequence=expected_last_sequence,
        until_ms=NOW + round(seconds * 1_000),
        clock=clock,
    )


@pytest.mark.parametrize("code", [WRONG_LAST_SEQUENCE, IN_FLIGHT])
async def test_a_first_event_that_is_refused_over_an_empty_log_is_tried_again(code: int) -> None:
    leader = Leader(refusals=3, code=code)
    assert await publish(leader) == Stored(12)
    assert leader.writes == 4


async def test_an_event_that_is_refused_though_the_log_ends_where_it_expects_is_tried_again() -> None:
    leader = Leader(refusals=2, last=(7, "another id"))
    assert await publish(leader, expected_last_sequence=7) == Stored(12)


async def test_an_event_that_another_one_has_come_before_is_lost_at_once() -> None:
    leader = Leader(refusals=2, last=(8, "another id"))
    assert await publish(leader, expected_last_sequence=7) == FenceLost()
    assert leader.writes == 1


async def test_an_event_over_a_log_that_was_deleted_is_lost_at_once() -> None:
    leader = Leader(refusals=2)
    assert await publish(leader, expected_last_sequence=7) == FenceLost()
    assert leader.writes == 1


async def test_what_an_earlier_try_has_stored_after_all_is_recognised() -> None:
    address = address_of(asked())
    leader = Leader(refusals=1, last=(8, message_id(address.query, address.event, 7)))
    assert await publish(leader, expected_last_sequence=7) == Duplicate(8)


@pytest.mark.long
async def test_a_leader_that_never_decides_is_bus_trouble_when_the_time_is_over() -> None:
    with pytest.raises(BusTrouble, match="on its way"):
        await publish(Leader(refusals=1_000), seconds=1.0)
