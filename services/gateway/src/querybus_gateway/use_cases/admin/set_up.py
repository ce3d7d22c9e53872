"""Connections at the administration: tested, added, renamed, given a new password, removed, by the executor at an owner's request.

The gateway holds no address and no password: it passes a request on and forgets it. Whether it may is the executor's setting.
"""

from __future__ import annotations

from typing import Final, Protocol

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.credential import Credential
from querybus.core.requests.set_up import OwnerReply, SetUpOperation, SetUpReply, SetUpRequest
from querybus.core.subjects import token
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.admin.asked import NOT_OWNER
from querybus_gateway.use_cases.queries import BUS_RETRY_SECONDS

NAME: Final = r"^[\w.-]{1,64}$"
_PROBLEMS: Final = {"not_allowed": ProblemCode.SCOPE, "invalid": ProblemCode.INVALID}


class ConnectionTestRequest(BaseModel):
    """A database to test. The password may stand in the URL or beside it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = Field(min_length=1, max_length=4_000, repr=False, description="a URL, or a path at the executor")
    name: str | None = Field(default=None, pattern=NAME, description="left out: as the database is called")
    password: str | None = Field(default=None, max_length=4_000, repr=False)


class ConnectionRequest(ConnectionTestRequest):
    """A database to add, with the owner's word on columns that look personal."""

    hidden: tuple[str, ...] = Field(default=(), max_length=10_000, description="`table.column` that is personal")
    shown: tuple[str, ...] = Field(default=(), max_length=10_000, description="`table.column` that is not")


class ConnectionChange(BaseModel):
    """What is to be changed of a connection; at least one of both."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    new_name: str | None = Field(default=None, pattern=NAME)
    password: str | None = Field(default=None, min_length=1, max_length=4_000, repr=False)


class Executors(Protocol):
    """Whoever tests databases and writes the connections file."""

    async def ask(self, tenant: str, request: SetUpRequest) -> SetUpReply: ...


class SetUpCases:
    """What an owner may do about connections."""

    def __init__(self, executors: Executors) -> None:
        self._executors = executors

    async def test(self, credential: Credential, wanted: ConnectionTestRequest) -> Json | Problem:
        """Return what the executor finds of a database: `{works, steps, cause, setting, statements, personal, ...}`."""
        reply = await self._ask(credential, _request(SetUpOperation.TEST, wanted))
        return reply if isinstance(reply, Problem) else _tested(reply)

    async def add(self, credential: Credential, wanted: ConnectionRequest) -> Json | Problem:
        """Add a database that works: the same as `test` returns."""
        decided = {"hidden": wanted.hidden, "shown": wanted.shown}
        request = _request(SetUpOperation.ADD, wanted).model_copy(update=decided)
        reply = await self._ask(credential, request)
        return reply if isinstance(reply, Problem) else _tested(reply)

    async def change(self, credential: Credential, name: str, wanted: ConnectionChange) -> Json | Problem:
        """Give a connection a new password, another name, or both: `{name}`."""
        if wanted.new_name is None and wanted.password is None:
            return Problem(ProblemCode.INVALID, "say new_name, password, or both")
        reply: SetUpReply | Problem = SetUpReply(name=name)
        if wanted.password is not None:
            request = SetUpRequest(operation=SetUpOperation.SET_PASSWORD, name=name, password=wanted.password)
            reply = await self._ask(credential, request)
        if wanted.new_name is not None and isinstance(reply, SetUpReply):
            request = SetUpRequest(operation=SetUpOperation.RENAME, name=name, new_name=wanted.new_name)
            reply = await self._ask(credential, request)
        return reply if isinstance(reply, Problem) else {"name": reply.name}

    async def remove(self, credential: Credential, name: str) -> Json | Problem:
        """Remove a connection: `{name}`."""
        reply = await self._ask(credential, SetUpRequest(operation=SetUpOperation.REMOVE, name=name))
        return reply if isinstance(reply, Problem) else {"name": reply.name}

    async def _ask(self, credential: Credential, request: SetUpRequest) -> SetUpReply | Problem:
        if not credential.is_owner:
            return NOT_OWNER
        reply = await self._executors.ask(token(credential.tenant), request)
        return problem_of(reply, _tested(reply) if reply.tested is not None else None) or reply


def problem_of(reply: OwnerReply, tested: Json | None) -> Problem | None:
    """Return why a service did not do what an owner asked, with what it found meanwhile; None where it did."""
    if reply.problem is None:
        return None
    if reply.problem == "away":
        return Problem(ProblemCode.BUS_UNAVAILABLE, reply.detail, retry_after_seconds=BUS_RETRY_SECONDS)
    return Problem(_PROBLEMS[reply.problem], reply.detail, more={"tested": tested} if tested is not None else {})


def _request(operation: SetUpOperation, wanted: ConnectionTestRequest) -> SetUpRequest:
    return SetUpRequest(operation=operation, name=wanted.name or "", url=wanted.url, password=wanted.password or None)


def _tested(reply: SetUpReply) -> Json:
    return reply.tested.model_dump(mode="json") if reply.tested is not None else {"name": reply.name}
