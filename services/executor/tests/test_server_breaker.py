"""A database server that is away: reported at once, asked by one at a time whether it is back, and open again when it is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from querybus.core.failure import Failure, FailureCode
from querybus.core.subjects import StageName
from querybus.ops.metrics import Metrics
from querybus_executor.engines.server import BREAKER_FAILURES, BREAKER_SECONDS, CONNECT_SECONDS_MAX, Server
from querybus_executor.ports import Estimate


class Session:
    """A place in the pool whose connection is the database's to give."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def session(self) -> Any:
        return self

    async def give_back(self) -> None:
        return None

    async def drop(self) -> None:
        return None


class Database:
    """Pool and driver of a server that can be away, with a clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.is_away = False
        self.hangs: asyncio.Event | None = None
        self.knocks = 0

    open = idle = 0

    async def lend(self) -> Session:
        self.knocks += 1
        if self.hangs is not None:
            await self.hangs.wait()
        if self.is_away:
            raise ConnectionRefusedError
        return Session(self)

    async def close(self) -> None:
        return None

    async def begin(self, session: Any, seconds: float) -> None:
        return None

    async def run(self, session: Any, asked: Any) -> Any:
        raise AssertionError("nothing runs here")

    async def explain(self, session: Any, sql: str) -> Estimate | Failure:
        return Estimate()

    async def stop(self, session: Any) -> None:
        return None

    async def reset(self, session: Any) -> None:
        return None

    def failure(self, error: BaseException, sql: str) -> Failure | None:
        return Failure.of(FailureCode.CONNECTION, type(error).__name__)


def server_of(database: Database) -> Server:
    return Server(
        "shop",
        database,
        database,  # type: ignore[arg-type]
        database,  # type: ignore[arg-type]
        bytes_max=1,
        metrics=Metrics(StageName.EXECUTOR),
        timer=lambda: database.now,
    )


async def explain(server: Server) -> Estimate | Failure:
    return await server.explain("SELECT 1", seconds_max=60.0)


async def open_the_breaker(server: Server, database: Database) -> None:
    database.is_away = True
    for _ in range(BREAKER_FAILURES):
        assert isinstance(await explain(server), Failure)
    database.knocks = 0


@pytest.mark.long
async def test_a_server_that_stays_away_is_not_asked_again_for_a_while() -> None:
    database = Database()
    server = server_of(database)
    await open_the_breaker(server, database)
    said = await explain(server)
    assert isinstance(said, Failure)
    assert said.code is FailureCode.CONNECTION
    assert database.knocks == 0


@pytest.mark.long
async def test_after_that_one_asks_whether_it_is_back_and_the_others_are_reported_at_once() -> None:
    database = Database()
    server = server_of(database)
    await open_the_breaker(server, database)
    database.now += BREAKER_SECONDS + 0.1
    database.hangs = asyncio.Event()
    first = asyncio.create_task(explain(server))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    reported = await asyncio.wait_for(asyncio.gather(*(explain(server) for _ in range(20))), 30)
    assert all(isinstance(outcome, Failure) and outcome.code is FailureCode.CONNECTION for outcome in reported)
    assert database.knocks == 1
    database.is_away = False
    database.hangs.set()
    assert isinstance(await first, Estimate)
    assert isinstance(await explain(server), Estimate)


@pytest.mark.long
async def test_a_first_statement_that_takes_long_keeps_nobody_out() -> None:
    database = Database()
    server = server_of(database)
    await open_the_breaker(server, database)
    database.now += BREAKER_SECONDS + 0.1
    database.is_away, database.hangs = False, asyncio.Event()
    first = asyncio.create_task(server.explain("SELECT 1", seconds_max=60.0))
    await asyncio.sleep(0)
    database.now += CONNECT_SECONDS_MAX + 0.1
    database.hangs.set()
    assert isinstance(await explain(server), Estimate)
    await first


class Restarted(Database):
    """A pool of many sessions; those opened before the restart are dead."""

    def __init__(self, sessions: int) -> None:
        super().__init__()
        self.waiting: list[OldSession] = [OldSession(self, 0) for _ in range(sessions)]
        self.started = 1
        self.opened = 0

    async def lend(self) -> Session:
        if self.waiting:
            return self.waiting.pop()
        self.opened += 1
        return OldSession(self, self.started)

    async def close(self) -> None:
        self.waiting.clear()

    async def explain(self, session: Any, sql: str) -> Estimate | Failure:
        if session.of_start != self.started:
            raise ConnectionResetError
        return Estimate()

    async def reset(self, session: Any) -> None:
        if session.of_start != self.started:
            raise ConnectionResetError


class OldSession(Session):
    def __init__(self, database: Restarted, of_start: int) -> None:
        super().__init__(database)
        self.of_start = of_start
        self._home = database

    async def give_back(self) -> None:
        self._home.waiting.append(self)


@pytest.mark.long
@pytest.mark.requirement("002.54")
async def test_a_restarted_server_is_back_with_the_next_question_however_many_sessions_it_had() -> None:
    database = Restarted(sessions=24)
    server = server_of(database)
    assert isinstance(await explain(server), Estimate)
    assert database.opened == 1


@pytest.mark.long
async def test_a_second_dead_session_closes_none_that_were_opened_after_the_first() -> None:
    database = Restarted(sessions=24)
    server = server_of(database)
    ended = await asyncio.gather(*(explain(server) for _ in range(8)))
    assert all(isinstance(item, Estimate) for item in ended)
    assert len(database.waiting) == database.opened
