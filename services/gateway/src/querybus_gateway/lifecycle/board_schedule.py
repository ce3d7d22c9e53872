"""Boards with a schedule are asked when they are due, by one replica: whoever first writes down that it does.

With the rights that the credential which set the schedule has now, and never more than it had then; without the credential nothing
is asked.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from querybus.bus.log.publish import BusTrouble, TooLarge
from querybus.core.credential import Credential
from querybus.core.stored.boards import Board, Boards
from querybus.core.subjects import token
from querybus.ops.clock import Clock
from querybus.ops.log import get_log
from querybus.ops.run import end
from querybus_gateway.access.session_token import SessionToken
from querybus_gateway.problems import Problem
from querybus_gateway.use_cases.batches.boards import BoardCases, BoardsKept

TICK_SECONDS: Final = 60.0

_log = get_log(__name__)


class Registry(Protocol):
    """The credentials; tenant and credential are subject tokens. Raises BusTrouble."""

    async def get(self, tenant: str, credential: str) -> Credential | None: ...

    async def all(self) -> tuple[Credential, ...]: ...


class BoardSchedule:
    """The loop. A part."""

    def __init__(self, boards: BoardCases, kept: BoardsKept, credentials: Registry, *, clock: Clock) -> None:
        self.name = "board-schedule"
        self.boards = boards
        self._kept = kept
        self._credentials = credentials
        self._clock = clock
        self._loop: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop().create_task(self._run(), name=self.name)

    async def drain(self) -> None:
        if self._loop is not None:
            await end(self._loop)

    async def ping(self) -> str | None:
        return None if self._loop is not None and not self._loop.done() else "not running"

    async def tick(self) -> None:
        """Ask what is due now. BusTrouble."""
        for tenant in sorted({item.tenant for item in await self._credentials.all()}):
            for item in await self._kept.all(tenant):
                for board in item.boards:
                    if board.is_due(self._clock()):
                        await self._ask(tenant, item.user, board)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            try:
                await self.tick()
            except (BusTrouble, TooLarge) as trouble:
                _log.warning("boards.not_asked", reason=str(trouble))

    async def _ask(self, tenant: str, user: str, board: Board) -> None:
        credential = await self._credential(tenant, user, board)
        now = self._clock()

        def take(boards: Boards) -> Boards | None:
            known = boards.get(board.id)
            if known is None or not known.is_due(now):
                return None
            return boards.with_board(known.model_copy(update={"asked_at": now}))

        if await self._kept.change(tenant, user, take) is None or credential is None:
            return
        result = await self.boards.ask(credential, board.id)
        problem = result.code if isinstance(result, Problem) else None
        _log.info("boards.asked", tenant=tenant, board=board.id, problem=problem)

    async def _credential(self, tenant: str, user: str, board: Board) -> Credential | None:
        asked_as = board.asked_as
        if asked_as is None:
            return None
        credential = await self._credentials.get(token(tenant), token(asked_as.credential))
        if credential is None or not (credential.user == user or credential.is_trusted_proxy):
            return None
        kept = SessionToken(
            kind="session",
            id="",
            tenant=tenant,
            credential=credential.name,
            user=user,
            audience=asked_as.audience,
            connections=asked_as.connections,
            expires_at=0,
        )
        return kept.narrowed(credential).model_copy(update={"expires_at": credential.expires_at})
