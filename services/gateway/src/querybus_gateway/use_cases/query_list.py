"""One's questions, newest thread first: what was asked where, and what became of it, with filters and pages.

Made of the threads and their turns, so that a caller sees here what a thread shows and nothing else. A page ends with a thread: it
may hold a few questions more than were asked for, and none is on two pages. A page looks at THREADS_READ_MAX threads at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.credential import Credential
from querybus.core.messages import Outcome
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.answer import Status
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.threads import LISTED_MAX, TURNS_MAX, Threads

THREADS_READ_MAX: Final = 200
THREADS_AT_ONCE: Final = 20
TEXT_LENGTH_MAX: Final = 200


class QueriesRequest(BaseModel):
    """Which of one's questions; what is left out narrows nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: Outcome | None = None
    status: Status | None = None
    connection: str | None = Field(default=None, max_length=200)
    q: str = Field(default="", max_length=TEXT_LENGTH_MAX, description="words that the question holds, in any case")
    since: int = Field(default=0, ge=0, description="asked at this time or later, in milliseconds since the epoch")
    until: int | None = Field(default=None, ge=0, description="asked before this time")
    limit: int = Field(default=20, ge=1, le=LISTED_MAX)
    cursor: str = Field(default="", max_length=20, description="`next_cursor` of the page before")

    def matches(self, turn: Json) -> bool:
        """Return whether a turn is wanted."""
        return (
            (self.outcome is None or turn["outcome"] == self.outcome)
            and (self.status is None or turn["status"] == self.status)
            and (self.connection is None or turn["connection"] == self.connection)
            and self.q.casefold() in turn["question"].casefold()
            and self.since <= turn["asked_at"]
            and (self.until is None or turn["asked_at"] < self.until)
        )


async def list_queries(threads: Threads, credential: Credential, wanted: QueriesRequest) -> Json | Problem:
    """Return `{queries, next_cursor}`; `next_cursor` is None on the last page."""
    found: list[Json] = []
    cursor, looked_at = wanted.cursor, 0
    while True:
        page = await threads.list(credential, limit=THREADS_AT_ONCE, cursor=cursor)
        if isinstance(page, Problem):
            return page
        listed: Sequence[Any] = page["threads"]
        for thread in listed:
            turns = await threads.turns(thread["thread_id"], credential, limit=TURNS_MAX)
            if isinstance(turns, Problem):
                if turns.code is ProblemCode.NOT_FOUND:
                    # It was deleted meanwhile, or nothing was asked in it yet.
                    continue
                return turns
            rows = [turn | {"thread_id": thread["thread_id"]} for turn in reversed(turns["turns"])]
            found += [turn for turn in rows if wanted.matches(turn)]
        looked_at += len(listed)
        cursor = page["next_cursor"] or ""
        if not cursor or len(found) >= wanted.limit or looked_at >= THREADS_READ_MAX:
            return {"queries": found, "next_cursor": cursor or None}
