"""The bus API's verbs about threads: what each takes, and the use case that it calls."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.credential import Credential
from querybus_gateway.problems import Problem
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.query_list import QueriesRequest, list_queries
from querybus_gateway.use_cases.threads import EVENTS_MAX, LISTED_MAX, TURNS_MAX


class ThreadsCall(BaseModel):
    """The caller's threads, newest first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    limit: int = Field(default=20, ge=1, le=LISTED_MAX)
    cursor: str = Field(default="", max_length=20, description="`next_cursor` of the page before")


class ThreadCall(BaseModel):
    """A call about one thread."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    thread_id: str = Field(max_length=64)


class TurnsCall(ThreadCall):
    limit: int = Field(default=20, ge=1, le=TURNS_MAX)
    before_sequence: int = Field(default=0, ge=0, description="0: the newest")


class StateCall(ThreadCall):
    at_sequence: int = Field(default=0, ge=0, description="0: as it stands")


class ThreadEventsCall(ThreadCall):
    after_sequence: int = Field(default=0, ge=0)
    limit: int = Field(default=EVENTS_MAX, ge=1, le=EVENTS_MAX)


class ForkCall(ThreadCall):
    """From an event, or from the end of a turn; of neither, from where the thread stands."""

    at_sequence: int = Field(default=0, ge=0)
    query_id: str | None = Field(default=None, max_length=64)


async def list_own_queries(wanted: QueriesRequest, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return await list_queries(use_cases.threads, credential, wanted)


async def list_threads(wanted: ThreadsCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return await use_cases.threads.list(credential, limit=wanted.limit, cursor=wanted.cursor)


async def turns(wanted: TurnsCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return await use_cases.threads.turns(
        wanted.thread_id, credential, limit=wanted.limit, before_sequence=wanted.before_sequence
    )


async def state(wanted: StateCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return await use_cases.threads.state(wanted.thread_id, credential, at_sequence=wanted.at_sequence)


async def events(wanted: ThreadEventsCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return await use_cases.threads.events(
        wanted.thread_id, credential, after_sequence=wanted.after_sequence, limit=wanted.limit
    )


async def fork(wanted: ForkCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return await use_cases.threads.fork(
        wanted.thread_id, credential, at_sequence=wanted.at_sequence, query_id=wanted.query_id
    )


async def delete(wanted: ThreadCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return await use_cases.threads.delete(wanted.thread_id, credential) or {
        "thread_id": wanted.thread_id,
        "deleted": True,
    }
