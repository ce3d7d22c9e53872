"""A draft that another one contradicts is put to a vote: within the effort, in time, and what two of three give is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from services.executor.tests.test_execute_verb import NOW, ShelfDatabase, approved, run

from querybus.core.envelope import Attempt, Envelope, PathStep, Retries
from querybus.core.failure import Failure
from querybus.core.messages import Alternative, Analysis, Concluded, Origin, Returned
from querybus.core.options import Agreement, Effort, Options
from querybus.core.subjects import EventName
from querybus_executor.ports import Rows

FIRST = "SELECT id FROM orders LIMIT 11"
READ = "SELECT id FROM orders WHERE id > 1"
SECOND = "SELECT id FROM orders WHERE id > 2"
THIRD = "SELECT id FROM orders WHERE id > 3"
WRITTEN = Attempt(origin=Origin.MODEL, sql="SELECT id FROM orders", validated=True)


class Given(ShelfDatabase):
    """A database whose statements give what is said here."""

    def __init__(self, given: Mapping[str, int]) -> None:
        super().__init__()
        self.given = given

    async def run(self, sql: str, **how: Any) -> Rows | Failure:
        """Return the one number of a statement."""
        self.rows = ((self.given[sql],),)
        return await super().run(sql, **how)


def draft(sql: str) -> Alternative:
    return Alternative(draft=sql, sql=sql)


async def voted(
    given: Mapping[str, int],
    *votes: str,
    read: str = "Orders above one.",
    doubts: tuple[str, ...] = (),
    effort: Effort = Effort.STANDARD,
    origin: Origin = Origin.MODEL,
    path: tuple[PathStep, ...] = (),
    seconds: float = 60.0,
) -> Envelope[Any]:
    envelope = approved()
    analysis = Analysis(second_reading=read, second_confidence=0.8, doubts=doubts)
    changes = {
        "origin": origin,
        "alternative": draft(READ) if read else None,
        "votes": tuple(map(draft, votes)),
        "analysis": analysis,
        "notes": ("noted",),
    }
    body = envelope.body.model_copy(update=changes)
    header = {"attempts": (WRITTEN,), "path": path, "retries": Retries(vote=len(votes))}
    result = await run(
        envelope.with_body(body, options=Options(effort=effort), deadline_at=NOW + round(seconds * 1_000), **header),
        Given(given),
    )
    assert isinstance(result, Envelope), result
    return result


async def test_a_draft_that_the_translator_reads_otherwise_is_returned_for_another_one() -> None:
    result = await voted({FIRST: 1, READ: 2})
    assert isinstance(result.body, Returned)
    assert (result.body.advice, result.body.alternative_sql, result.body.notes) == (None, READ, ("noted",))
    assert result.body.draft is not None
    assert result.body.draft.sql == WRITTEN.sql, "as it was written, without the limit of the server"
    assert (result.retries, result.attempts) == (Retries(vote=1), (WRITTEN,))


@pytest.mark.parametrize(
    "how",
    [
        {"effort": Effort.QUICK},
        {"origin": Origin.USER},
        {"seconds": 8.0},
        {"path": (PathStep(stage="gateway", event=EventName.CONFIRMED, started_at=1, ended_at=1),)},
    ],
    ids=["quick", "a person's own", "too late", "confirmed"],
)
async def test_what_is_not_put_to_a_vote_is_answered_with_its_difference(how: dict[str, Any]) -> None:
    result = await voted({FIRST: 1, READ: 2}, **how)
    assert isinstance(result.body, Concluded)
    assert result.body.analysis.agreement is Agreement.DIFFERENT


async def test_where_both_agree_or_nothing_is_doubtful_no_other_draft_is_wanted() -> None:
    assert isinstance((await voted({FIRST: 1, READ: 1})).body, Concluded)
    assert isinstance((await voted({FIRST: 1}, read="")).body, Concluded)
    assert isinstance((await voted({FIRST: 1}, read="", doubts=("unknown_name",))).body, Concluded)
    assert isinstance((await voted({FIRST: 1}, read="", doubts=("unused_table",))).body, Returned)


async def test_two_of_three_are_shown_as_who_wrote_the_first_of_them() -> None:
    result = await voted({FIRST: 1, READ: 2, SECOND: 2}, SECOND)
    assert isinstance(result.body, Concluded)
    assert (result.body.sql, result.body.analysis.agreement) == (READ, Agreement.REPLACED)
    assert result.body.analysis.votes == (Agreement.DIFFERENT,)
    assert [attempt.origin for attempt in result.attempts] == [Origin.MODEL, Origin.BUILTIN]
    result = await voted({FIRST: 1, READ: 2, SECOND: 3, THIRD: 3}, SECOND, THIRD, effort=Effort.THOROUGH)
    assert isinstance(result.body, Concluded)
    assert (result.body.sql, result.body.analysis.second_reading) == (SECOND, "")
    assert [attempt.origin for attempt in result.attempts] == [Origin.MODEL, Origin.MODEL]


async def test_a_first_draft_that_is_seconded_stays() -> None:
    result = await voted({FIRST: 1, READ: 2, SECOND: 1}, SECOND)
    assert isinstance(result.body, Concluded)
    assert (result.body.sql, result.body.analysis.agreement) == (FIRST, Agreement.DIFFERENT)
    assert result.body.analysis.votes == (Agreement.EQUAL,)


async def test_where_nobody_agrees_only_the_thorough_ask_a_third_time_and_nobody_a_fourth() -> None:
    apart = {FIRST: 1, READ: 2, SECOND: 3, THIRD: 4}
    assert isinstance((await voted(apart, SECOND)).body, Concluded)
    assert isinstance((await voted(apart, SECOND, effort=Effort.THOROUGH)).body, Returned)
    assert isinstance((await voted(apart, SECOND, THIRD, effort=Effort.THOROUGH)).body, Concluded)
