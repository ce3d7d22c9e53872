"""Who is calling, at any API that takes keys: an API key, or a token of the configured issuer; nobody without one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from querybus.core.credential import Credential, key_name
from querybus.core.subjects import token
from querybus.ops.clock import Clock
from querybus.ops.log import get_log
from querybus_gateway.access.credentials import authenticate
from querybus_gateway.access.oidc import TokenReader, is_token_like
from querybus_gateway.access.session_token import SessionToken, TokenKind, is_session_token, read_session
from querybus_gateway.access.throttle import GUESSES_MAX, Guesses
from querybus_gateway.ports import Credentials
from querybus_gateway.problems import Problem, ProblemCode

_log = get_log(__name__)
_NO_KEY: Final = Problem(
    ProblemCode.UNAUTHENTICATED, "send a key as `Authorization: Bearer KEY` or as `x-api-key: KEY`"
)
_NOBODYS: Final = Problem(ProblemCode.UNAUTHENTICATED, "what was sent as a key lets nobody in here")

_ENDED: Final = Problem(ProblemCode.UNAUTHENTICATED, "this token has ended: sign in again")


class Callers:
    """Identifies callers, and keeps those out who guess."""

    def __init__(
        self,
        registry: Credentials,
        *,
        tokens: TokenReader | None,
        session_key: Callable[[], Awaitable[bytes]],
        clock: Clock,
        guesses_max: int = GUESSES_MAX,
        on_refused: Callable[[str, str, str], None] = lambda source, claimed, code: None,  # noqa: ARG005
    ) -> None:
        """`on_refused` gets the address, the public part of a key that was sent, and the code of each refusal."""
        self._registry = registry
        self._tokens = tokens
        self._session_key = session_key
        self._clock = clock
        self._on_refused = on_refused
        self._guesses = Guesses(guesses_max)

    async def identify_ticket(
        self, ticket: str, query_id: str, source: str, kind: TokenKind = "ticket"
    ) -> Credential | Problem:
        """Return whose ticket for this query's events, or its picture, it is. Raises BusTrouble."""
        read = read_session(ticket, await self._session_key(), kind)
        if read is None or read.id != query_id:
            return self._refused(source)
        return await self._narrowed(read, source)

    async def identify(self, key: str | Problem | None, source: str) -> Credential | Problem:
        """Return whose key or token this is; `source` is the caller's address. Raises BusTrouble.

        What was wrong with the way a key was sent is returned as it is.
        """
        if isinstance(key, Problem):
            return key
        if key is None:
            return _NO_KEY
        # Looked at first, whatever came from this address before: behind an ingress all callers may have one.
        if self._tokens is not None and is_token_like(key):
            result = await self._tokens.read(key)
        elif is_session_token(key):
            result = await self._of_session(key, source)
        else:
            result = await authenticate(key, self._registry)
        if isinstance(result, Credential) or result.code is not ProblemCode.UNAUTHENTICATED or result is _ENDED:
            return result
        return self._refused(source, key)

    def _refused(self, source: str, key: str = "") -> Problem:
        now = self._clock()
        wait = self._guesses.wait_seconds(source, now)
        self._guesses.wrong(source, now)
        _log.info("callers.refused", source=source, is_held_back=wait is not None)
        refused = _NOBODYS if wait is None else Problem(ProblemCode.TOO_MANY_GUESSES, retry_after_seconds=wait)
        name = key_name(key) if wait is None else None
        self._on_refused(source, "" if name is None else f"{name.tenant}.{name.credential}", refused.code)
        return refused

    async def _of_session(self, text: str, source: str) -> Credential | Problem:
        session = read_session(text, await self._session_key(), "session")
        if session is None:
            return Problem(ProblemCode.UNAUTHENTICATED)
        return await self._narrowed(session, source)

    async def _narrowed(self, session: SessionToken, source: str) -> Credential | Problem:
        # It was made here, so its end is no guess. A credential that is gone takes its tokens with it.
        credential = await self._registry.get(token(session.tenant), token(session.credential))
        if credential is None or session.expires_at <= self._clock():
            self._on_refused(source, f"ended token of {session.tenant}.{session.credential}", _ENDED.code)
            return _ENDED
        return session.narrowed(credential)
