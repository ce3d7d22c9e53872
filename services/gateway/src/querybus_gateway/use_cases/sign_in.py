"""Short-lived tokens for browsers: a credential makes them for itself, a trusted proxy for the persons it speaks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from querybus.bus.log.publish import BusTrouble
from querybus.core.credential import TOKEN_CREDENTIAL, Credential
from querybus.core.envelope import Audience
from querybus.core.stored.audit import AuditKind
from querybus.core.subjects import answer_filter, token
from querybus.ops.clock import Clock, RandomBits
from querybus_gateway.access.session_token import (
    CODE_MINUTES,
    MINUTES_DEFAULT,
    MINUTES_MAX,
    PICTURE_MINUTES,
    TICKET_MINUTES,
    SessionToken,
    TokenKind,
    read_session,
    sign_session,
)
from querybus_gateway.ports import Audit, Credentials, UsedCodes
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.queries import BUS_RETRY_SECONDS

SIGNED_IN_MINUTES: Final = 12 * 60
MS_MAX: Final = 2**53
_MEMBERS: Final[dict[TokenKind, str]] = {"session": "token", "code": "code", "ticket": "ticket", "picture": "ticket"}
_NOBODYS: Final = Problem(
    ProblemCode.UNAUTHENTICATED, "the code is not known, was used, or is too old: ask for a new one"
)


class TokenRequest(BaseModel):
    """What a token shall be good for; left out: what the caller is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    user: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="the person; another than the caller for trusted proxies",
    )
    audience: Audience | None = Field(default=None, description="business, where the caller is an analyst")
    connections: tuple[str, ...] | None = Field(default=None, max_length=200, description="some of the caller's")
    minutes: int = Field(default=MINUTES_DEFAULT, ge=1, le=MINUTES_MAX, description="how long it is good")


class SignInRequest(BaseModel):
    """The code of a one-time link."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str = Field(max_length=4_096)


class SignIn:
    """Makes tokens and takes codes."""

    def __init__(
        self,
        registry: Credentials,
        used: UsedCodes,
        *,
        key: Callable[[], Awaitable[bytes]],
        clock: Clock,
        random_bits: RandomBits,
        audit: Audit,
    ) -> None:
        """`key` is the same in every replica; `used` remembers which codes were taken."""
        self._audit = audit
        self._registry = registry
        self._used = used
        self._key = key
        self._clock = clock
        self._random_bits = random_bits

    async def make(self, request: TokenRequest, caller: Credential) -> Json | Problem:
        """Return a token for the caller or, for a trusted proxy, for one of its persons."""
        if (refused := _refusal(request, caller)) is not None:
            self._audit.note_refusal(caller, refused, "token")
            return refused
        return await self._made(
            "session",
            caller,
            minutes=request.minutes,
            user=request.user or caller.user,
            audience=request.audience or caller.audience,
            connections=request.connections if request.connections is not None else caller.connections,
        )

    async def code(self, caller: Credential) -> Json | Problem:
        """Return a code that signs its holder in as the caller, once, within CODE_MINUTES."""
        if (refused := _refusal(TokenRequest(), caller)) is not None:
            self._audit.note_refusal(caller, refused, "sign-in code")
            return refused
        return await self._made(
            "code",
            caller,
            minutes=CODE_MINUTES,
            user=caller.user,
            audience=caller.audience,
            connections=caller.connections,
        )

    async def ticket(self, query_id: str, caller: Credential) -> Json | Problem:
        """Return a ticket for the events of one query, for somebody who may read it and stands in the registry."""
        if caller.name == TOKEN_CREDENTIAL:
            return Problem(ProblemCode.SCOPE, "a token of the issuer makes no ticket: send it as a header, with fetch")
        return await self._made(
            "ticket",
            caller,
            token_id=query_id,
            minutes=TICKET_MINUTES,
            user=caller.user,
            audience=caller.audience,
            connections=caller.connections,
        )

    async def picture(self, query_id: str, caller: Credential) -> str | None:
        """Return a ticket for the picture of one answer, for a conversation that shows it; None where there can be none."""
        if caller.name == TOKEN_CREDENTIAL:
            return None
        made = await self._made(
            "picture",
            caller,
            token_id=query_id,
            minutes=PICTURE_MINUTES,
            user=caller.user,
            audience=caller.audience,
            connections=caller.connections,
        )
        return None if isinstance(made, Problem) else str(made["ticket"])

    async def redeem(self, request: SignInRequest, source: str = "") -> Json | Problem:
        """Return a token of SIGNED_IN_MINUTES for a code that nobody has used; `source` is the caller's address."""
        try:
            code = read_session(request.code, await self._key(), "code")
            credential = None
            if code is not None and code.expires_at > self._clock():
                credential = await self._registry.get(token(code.tenant), token(code.credential))
            if code is None or credential is None or not await self._used.take(code.id):
                claimed = "sign-in code" if code is None else f"sign-in code of {code.tenant}.{code.credential}"
                self._audit.note_stranger(source, claimed, _NOBODYS.code)
                return _NOBODYS
        except BusTrouble:
            return Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)
        allowed = code.narrowed(credential)
        return await self._made(
            "session",
            credential,
            minutes=SIGNED_IN_MINUTES,
            user=allowed.user,
            audience=allowed.audience,
            connections=allowed.connections,
        )

    async def _made(
        self,
        kind: TokenKind,
        of: Credential,
        *,
        minutes: int,
        user: str,
        audience: Audience,
        connections: tuple[str, ...] | None,
        token_id: str = "",
    ) -> Json | Problem:
        expires_at = min(self._clock() + minutes * 60_000, of.ends_at or MS_MAX)
        made = SessionToken(
            kind=kind,
            id=token_id or f"{self._random_bits(128):032x}",
            tenant=of.tenant,
            credential=of.name,
            user=user,
            audience=audience,
            connections=connections,
            expires_at=expires_at,
        )
        try:
            if kind == "session":
                person = of.model_copy(update={"user": user, "audience": audience})
                await self._audit.record(AuditKind.SIGN_IN, person, about="page or application")
            text = sign_session(made, await self._key())
        except BusTrouble:
            return Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)
        return {_MEMBERS[kind]: text, "expires_at": expires_at}


def me(caller: Credential) -> Json:
    """Return who the caller is and what it may do."""
    return {
        "tenant": caller.tenant,
        "user": caller.user,
        "credential": caller.name,
        "audience": caller.audience,
        "connections": None if caller.connections is None else list(caller.connections),
        "may_run_sql": caller.audience == "analyst" and not caller.caps.only_verified_always,
        "is_owner": caller.is_owner,
        "may_share_boards": caller.shares_boards,
        "expires_at": caller.ends_at,
        "answers": _answers_of(caller),
        "deadline_seconds_max": caller.caps.deadline_seconds,
        "rows_max": caller.caps.rows_max,
    }


def _answers_of(caller: Credential) -> str:
    return "" if caller.is_narrowed else answer_filter(token(caller.tenant), token(caller.user), caller.audience)


def _refusal(request: TokenRequest, caller: Credential) -> Problem | None:
    if caller.expires_at is not None or caller.name == TOKEN_CREDENTIAL:
        return Problem(ProblemCode.SCOPE, "a short-lived token makes no other: use a key")
    if request.user not in (None, caller.user) and not caller.is_trusted_proxy:
        return Problem(ProblemCode.SCOPE, "only a trusted proxy speaks for others: keys create --trusted-proxy")
    if request.audience == "analyst" and caller.audience != "analyst":
        return Problem(ProblemCode.SCOPE, "this credential is no analyst's")
    own = caller.connections
    if request.connections is not None and own is not None and not set(request.connections) <= set(own):
        return Problem(ProblemCode.UNKNOWN_CONNECTION, "there is no such connection for this credential")
    return None
