"""Boards: named lists of pinned questions, asked again when somebody opens them or on schedule.

Who opens a shared board asks its questions under its own credential, so that it sees what it may see and nothing else; a question of
somebody else's that names what stands in a database is not there for business readers. A board is asked in one thread of each of its
readers, every question as if nothing had been asked in it before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol

from pydantic import BaseModel, ConfigDict, Field

from querybus.bus.log.publish import BusTrouble, TooLarge
from querybus.core.catalog import Catalog
from querybus.core.credential import TOKEN_CREDENTIAL, Credential
from querybus.core.messages import Outcome
from querybus.core.stored.boards import (
    BOARDS_MAX,
    NAME_LENGTH_MAX,
    PINS_MAX,
    AskedAs,
    Board,
    Boards,
    Pin,
    Schedule,
)
from querybus.ops.clock import Clock, RandomBits
from querybus.text.disclosure import leaks
from querybus_gateway.admit import AskRequest, RequestOptions
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.queries import BUS_RETRY_SECONDS, Queries
from querybus_gateway.use_cases.resources import Reply

ASKED_AT_ONCE_MAX: Final = 4
_TROUBLE: Final = Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)
_MISSING: Final = Problem(ProblemCode.NOT_FOUND, "there is no such board")
_NOT_SHARING: Final = Problem(ProblemCode.SCOPE, "this credential may not share boards: keys create --may-share-boards")


class BoardRequest(BaseModel):
    """A board to make."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=NAME_LENGTH_MAX)


class BoardChange(BaseModel):
    """What is changed of a board; what is left out stays."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str | None = Field(default=None, min_length=1, max_length=NAME_LENGTH_MAX)
    is_shared: bool | None = Field(default=None, description="whether others of the tenant may open it")
    schedule: Schedule | None = Field(default=None, description="when it is asked without being opened")
    pins: tuple[str, ...] | None = Field(
        default=None, max_length=PINS_MAX, description="its pins in their new order; one that is left out goes"
    )


class PinRequest(BaseModel):
    """A question to pin: the one of a finished query of the caller's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query_id: str = Field(max_length=36)


class BoardsKept(Protocol):
    """Boards by tenant and user. Raises BusTrouble, a change TooLarge as well."""

    async def read(self, tenant: str, name: str) -> Boards: ...

    async def all(self, tenant: str) -> tuple[Boards, ...]: ...

    async def change(self, tenant: str, name: str, alter: Callable[[Boards], Boards | None]) -> Boards | None: ...


class KnownCatalogs(Protocol):
    """The catalogs. Raises BusTrouble."""

    async def read(self, connection: str) -> Catalog | None: ...


class BoardCases:
    """The boards of a tenant's people."""

    def __init__(
        self, queries: Queries, kept: BoardsKept, catalogs: KnownCatalogs, *, clock: Clock, random_bits: RandomBits
    ) -> None:
        self.queries = queries
        self._catalogs = catalogs
        self._kept = kept
        self._clock = clock
        self._random_bits = random_bits

    async def listed(self, credential: Credential) -> Json | Problem:
        """Return `{boards}`: one's own, then what others share."""
        try:
            everybody = await self._kept.all(credential.tenant)
            own = [board for item in everybody if item.user == credential.user for board in item.boards]
            shared = [
                (item.user, await self._seen(board, credential))
                for item in everybody
                if item.user != credential.user
                for board in item.boards
                if board.is_shared
            ]
        except BusTrouble:
            return _TROUBLE
        rows = [_view(board, credential.user, credential) for board in own]
        return {"boards": rows + [_view(board, user, credential) for user, board in shared]}

    async def make(self, credential: Credential, wanted: BoardRequest) -> Json | Problem:
        """Make an empty board and return it."""
        board = Board(
            id=f"{self._random_bits(64):016x}", name=wanted.name.strip() or wanted.name, made_at=self._clock()
        )
        full = Problem(ProblemCode.TOO_LARGE, f"one has at most {BOARDS_MAX} boards")
        return await self._changed(
            credential, lambda boards: full if len(boards.boards) >= BOARDS_MAX else boards.with_board(board), board.id
        )

    async def change(self, credential: Credential, board: str, wanted: BoardChange) -> Json | Problem:
        """Change one's own board and return it."""
        if wanted.is_shared and not credential.shares_boards:
            return _NOT_SHARING
        is_scheduled = wanted.schedule not in (None, "on_opening")
        if is_scheduled and credential.name == TOKEN_CREDENTIAL:
            return Problem(ProblemCode.SCOPE, "a token of the issuer ends: a schedule needs a key")

        def alter(boards: Boards) -> Boards | Problem:
            known = boards.get(board)
            if known is None:
                return _MISSING
            update: dict[str, Any] = wanted.model_dump(exclude_none=True, exclude={"pins"})
            if wanted.schedule is not None:
                asked_as = AskedAs(
                    credential=credential.name, audience=credential.audience, connections=credential.connections
                )
                update["asked_as"] = asked_as if is_scheduled else None
            if wanted.pins is not None:
                pins = {pin.id: pin for pin in known.pins}
                if len(set(wanted.pins)) < len(wanted.pins) or not set(wanted.pins) <= set(pins):
                    return Problem(ProblemCode.INVALID, "/pins: every pin once, and none that the board does not have")
                update["pins"] = tuple(pins[name] for name in wanted.pins)
            return boards.with_board(known.model_copy(update=update))

        return await self._changed(credential, alter, board)

    async def remove(self, credential: Credential, board: str) -> Json | Problem:
        """Remove one's own board: `{id}`."""
        made = await self._altered(
            credential, lambda boards: boards.without(board) if boards.get(board) is not None else _MISSING
        )
        return made if isinstance(made, Problem) else {"id": board}

    async def pin(self, credential: Credential, board: str, wanted: PinRequest) -> Json | Problem:
        """Pin the question of a query of one's own and return the board; a question that is there already stays once."""
        finished = await self.queries.finished(wanted.query_id, credential)
        if isinstance(finished, Problem):
            return finished
        question = (finished.enriched_question or finished.question).strip()
        if finished.body.answer.outcome is not Outcome.ANSWERED or not question:
            return Problem(ProblemCode.INVALID, "only an answered question can be pinned")
        pin = Pin(
            id=f"{self._random_bits(64):016x}",
            question=question,
            connection=finished.connection,
            language=finished.language,
            query_id=finished.query_id,
            asked_at=finished.asked_at,
        )

        def alter(boards: Boards) -> Boards | Problem:
            known = boards.get(board)
            if known is None:
                return _MISSING
            if any((item.question, item.connection) == (pin.question, pin.connection) for item in known.pins):
                return boards
            if len(known.pins) >= PINS_MAX:
                return Problem(ProblemCode.TOO_LARGE, f"a board has at most {PINS_MAX} questions")
            return boards.with_board(known.model_copy(update={"pins": (*known.pins, pin)}))

        return await self._changed(credential, alter, board)

    async def ask(self, credential: Credential, board: str) -> Json | Problem:
        """Ask all questions of a board again: `{id, asked}` with a query or a problem for each pin, in their order."""
        try:
            found = await self._found(credential, board)
            if found is None:
                return _MISSING
            owner, known = found
            own = await self._kept.read(credential.tenant, credential.user)
            thread = own.threads.get(board)
            replies: dict[str, Reply | Problem] = {}
            places = asyncio.Semaphore(ASKED_AT_ONCE_MAX)

            async def one(pin: Pin, thread: str | None) -> None:
                async with places:
                    replies[pin.id] = await self._asked(credential, pin, thread)

            rest = list(known.pins)
            while rest and thread is None:
                # The first that is taken begins the thread that the others are asked in.
                pin = rest.pop(0)
                await one(pin, None)
                begun = replies[pin.id]
                thread = begun.resource["thread_id"] if isinstance(begun, Reply) else None
            await asyncio.gather(*(one(pin, thread) for pin in rest))
            asked = {pin: reply.query_id for pin, reply in replies.items() if isinstance(reply, Reply)}

            def alter(boards: Boards) -> Boards:
                kept = boards.model_copy(update={"threads": {**boards.threads, **({board: thread} if thread else {})}})
                mine = kept.get(board)
                return kept if mine is None else kept.with_board(mine.with_asked(asked, self._clock()))

            await self._kept.change(credential.tenant, credential.user, alter)
        except BusTrouble:
            return _TROUBLE
        except TooLarge:
            return Problem(ProblemCode.TOO_LARGE, "these boards are too large to be kept")
        return {
            "id": board,
            "asked": [_asked_view(pin, replies[pin.id]) for pin in known.pins],
            "is_own": owner == credential.user,
        }

    async def _asked(self, credential: Credential, pin: Pin, thread: str | None) -> Reply | Problem:
        request = AskRequest(
            question=pin.question,
            connection=pin.connection,
            thread_id=thread,
            options=RequestOptions(language=pin.language),
        )
        reply = await self.queries.ask(request, credential, until_sequence=0)
        is_gone = isinstance(reply, Problem) and reply.code in {ProblemCode.NOT_FOUND, ProblemCode.INVALID}
        if is_gone and thread is not None:
            # The thread was deleted, or is as long as a thread may be: a new one takes its place.
            reply = await self.queries.ask(request.model_copy(update={"thread_id": None}), credential)
        return reply

    async def _found(self, credential: Credential, board: str) -> tuple[str, Board] | None:
        own = (await self._kept.read(credential.tenant, credential.user)).get(board)
        if own is not None:
            return credential.user, own
        for item in await self._kept.all(credential.tenant):
            known = item.get(board)
            if known is not None and known.is_shared:
                return item.user, await self._seen(known, credential)
        return None

    async def _seen(self, board: Board, credential: Credential) -> Board:
        """Return somebody else's board as a caller sees it. BusTrouble."""
        usable = tuple(pin for pin in board.pins if credential.may_use(pin.connection))
        board = board.model_copy(update={"pins": usable})
        if credential.audience == "analyst":
            return board
        catalogs = {name: await self._catalogs.read(name) for name in {pin.connection for pin in board.pins}}
        pins = (pin for pin in board.pins if not leaks(pin.question, catalogs[pin.connection], pin.language))
        return board.model_copy(update={"pins": tuple(pins)})

    async def _changed(
        self, credential: Credential, alter: Callable[[Boards], Boards | Problem], board: str
    ) -> Json | Problem:
        made = await self._altered(credential, alter)
        if isinstance(made, Problem):
            return made
        known = made.get(board)
        return _MISSING if known is None else _view(known, credential.user, credential)

    async def _altered(self, credential: Credential, alter: Callable[[Boards], Boards | Problem]) -> Boards | Problem:
        problem: Problem = _MISSING

        def altered(boards: Boards) -> Boards | None:
            nonlocal problem
            made = alter(boards)
            if isinstance(made, Problem):
                problem = made
                return None
            return made

        try:
            made = await self._kept.change(credential.tenant, credential.user, altered)
        except BusTrouble:
            return _TROUBLE
        except TooLarge:
            return Problem(ProblemCode.TOO_LARGE, "these boards are too large to be kept")
        return problem if made is None else made


def _view(board: Board, user: str, caller: Credential) -> Json:
    is_own = user == caller.user
    return {
        "id": board.id,
        "name": board.name,
        "is_own": is_own,
        "is_shared": board.is_shared,
        "schedule": board.schedule,
        "made_at": board.made_at,
        "pins": [
            {
                "id": pin.id,
                "question": pin.question,
                "connection": pin.connection,
                "language": pin.language,
                # Another's query is not to be read: a reader asks by itself.
                "query_id": pin.query_id if is_own and pin.query_id else None,
                "asked_at": pin.asked_at if is_own and pin.query_id else None,
            }
            for pin in board.pins
        ],
    }


def _asked_view(pin: Pin, reply: Reply | Problem) -> Json:
    if isinstance(reply, Problem):
        return {"pin": pin.id, "query_id": None, "code": reply.code.value, "detail": reply.detail}
    return {"pin": pin.id, "query_id": reply.query_id, "code": None, "detail": None}
