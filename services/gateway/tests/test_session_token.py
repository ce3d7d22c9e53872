"""Claims on short-lived tokens: only what was signed here is read, and it is never more than the credential itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querybus.core.credential import TOKEN_CREDENTIAL, Credential
from querybus_gateway.access.callers import Callers
from querybus_gateway.access.session_token import PREFIX, SessionToken, read_session, sign_session
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.use_cases.sign_in import SignIn, SignInRequest, TokenRequest
from tests.support.audit_in_memory import AuditInMemory

KEY = b"k" * 32
NOW_MS = 1_780_000_000_000
ANALYST = Credential(name="lab", tenant="acme", user="ann", audience="analyst", connections=("shop", "hr"))
PROXY = ANALYST.model_copy(update={"name": "web", "is_trusted_proxy": True, "audience": "business"})


def made(**more: Any) -> SessionToken:
    fields: dict[str, Any] = {
        "kind": "session",
        "id": "1",
        "tenant": "acme",
        "credential": "lab",
        "user": "ann",
        "audience": "analyst",
        "connections": None,
        "expires_at": NOW_MS + 60_000,
    }
    return SessionToken(**fields | more)


class Registry:
    def __init__(self, *credentials: Credential) -> None:
        self.known = {(item.tenant, item.name): item for item in credentials}

    async def get(self, tenant: str, credential: str) -> Credential | None:
        return self.known.get((tenant, credential))


class Used:
    def __init__(self) -> None:
        self.ids: set[str] = set()

    async def take(self, code_id: str) -> bool:
        is_first = code_id not in self.ids
        self.ids.add(code_id)
        return is_first


class Stack:
    """The two use cases over one registry, with a clock that can be moved."""

    def __init__(self) -> None:
        self.now = NOW_MS
        self.registry = Registry(ANALYST, PROXY)
        self.bits = 0
        self.audit = AuditInMemory()
        self.sign_in = SignIn(
            self.registry,
            Used(),
            key=self.key,
            clock=lambda: self.now,
            random_bits=self.random_bits,
            audit=self.audit,
        )
        self.callers = Callers(self.registry, tokens=None, session_key=self.key, clock=lambda: self.now)

    async def key(self) -> bytes:
        return KEY

    def random_bits(self, count: int) -> int:
        self.bits += 1
        return self.bits

    async def token(self, of: Credential, **wanted: Any) -> str:
        reply = await self.sign_in.make(TokenRequest(**wanted), of)
        assert not isinstance(reply, Problem), reply
        return reply["token"]


def test_a_token_comes_back_as_it_was_and_only_for_its_use() -> None:
    text = sign_session(made(), KEY)
    assert read_session(text, KEY, "session") == made()
    assert read_session(text, KEY, "code") is None
    assert read_session(text, b"o" * 32, "session") is None


@given(st.text(max_size=300) | st.binary(max_size=200).map(lambda data: PREFIX + data.hex()))
def test_what_was_not_signed_here_is_no_token(text: str) -> None:
    assert read_session(text, KEY, "session") is None


@given(st.data())
def test_no_sign_of_a_token_can_be_changed(data: st.DataObject) -> None:
    text = sign_session(made(), KEY)
    place = data.draw(st.integers(len(PREFIX), len(text) - 2))
    other = data.draw(st.sampled_from("Aa0-_").filter(lambda sign: sign != text[place]))
    assert read_session(text[:place] + other + text[place + 1 :], KEY, "session") is None


def test_a_token_is_never_more_than_its_credential_is_now() -> None:
    wide = made(connections=("shop", "bank")).narrowed(ANALYST)
    assert (wide.connections, wide.audience) == (("shop",), "analyst")
    # What the credential lost since, its tokens have lost.
    demoted = ANALYST.model_copy(update={"audience": "business", "connections": ("hr",)})
    assert made(connections=("shop",)).narrowed(demoted).connections == ()
    assert made().narrowed(demoted).audience == "business"
    assert made().narrowed(PROXY).is_trusted_proxy is False


async def test_a_token_lets_in_until_it_ends_and_makes_no_other() -> None:
    stack = Stack()
    text = await stack.token(ANALYST, minutes=5, audience="business", connections=["shop"])
    caller = await stack.callers.identify(text, "1.1.1.1")
    assert isinstance(caller, Credential)
    assert (caller.user, caller.audience, caller.connections) == ("ann", "business", ("shop",))
    refused = await stack.sign_in.make(TokenRequest(), caller)
    assert isinstance(refused, Problem)
    assert refused.code is ProblemCode.SCOPE
    assert isinstance(await stack.sign_in.code(caller), Problem)
    stack.now += 5 * 60_000
    for _ in range(100):
        ended = await stack.callers.identify(text, "1.1.1.1")
        # An old token is no guess: nobody is kept out for it.
        assert isinstance(ended, Problem)
        assert (ended.code, "sign in again" in ended.detail) == (ProblemCode.UNAUTHENTICATED, True)


async def test_a_credential_that_is_gone_takes_its_tokens_with_it() -> None:
    stack = Stack()
    text = await stack.token(ANALYST)
    del stack.registry.known["acme", "lab"]
    assert isinstance(await stack.callers.identify(text, "1.1.1.1"), Problem)


async def test_forged_tokens_are_guesses() -> None:
    stack = Stack()
    codes = {
        reply.code
        for _ in range(40)
        if isinstance(reply := await stack.callers.identify("qbs.forged", "1.1.1.1"), Problem)
    }
    assert codes == {ProblemCode.UNAUTHENTICATED, ProblemCode.TOO_MANY_GUESSES}


@pytest.mark.parametrize(
    ("of", "wanted", "code"),
    [
        (ANALYST, {"user": "bob"}, ProblemCode.SCOPE),
        (PROXY, {"audience": "analyst"}, ProblemCode.SCOPE),
        (ANALYST, {"connections": ["bank"]}, ProblemCode.UNKNOWN_CONNECTION),
    ],
)
async def test_nobody_makes_a_token_for_more_than_it_has(
    of: Credential, wanted: dict[str, Any], code: ProblemCode
) -> None:
    refused = await Stack().sign_in.make(TokenRequest(**wanted), of)
    assert isinstance(refused, Problem)
    assert refused.code is code


async def test_who_stands_in_no_registry_gets_no_ticket_that_would_open_nothing() -> None:
    refused = await Stack().sign_in.ticket("q", ANALYST.model_copy(update={"name": TOKEN_CREDENTIAL}))
    assert isinstance(refused, Problem)
    assert refused.code is ProblemCode.SCOPE


async def test_a_trusted_proxy_makes_tokens_for_its_persons() -> None:
    stack = Stack()
    caller = await stack.callers.identify(await stack.token(PROXY, user="bob"), "1.1.1.1")
    assert isinstance(caller, Credential)
    assert (caller.user, caller.audience, caller.is_trusted_proxy) == ("bob", "business", False)


async def test_a_code_signs_in_once_and_in_time() -> None:
    stack = Stack()
    first, second = [await stack.sign_in.code(ANALYST) for _ in range(2)]
    assert not isinstance(first, Problem)
    assert not isinstance(second, Problem)
    # A code is no token.
    assert isinstance(await stack.callers.identify(first["code"], "1.1.1.1"), Problem)
    given = await stack.sign_in.redeem(SignInRequest(code=first["code"]))
    assert not isinstance(given, Problem)
    caller = await stack.callers.identify(given["token"], "1.1.1.1")
    assert isinstance(caller, Credential)
    assert (caller.user, caller.audience) == ("ann", "analyst")
    assert isinstance(await stack.sign_in.redeem(SignInRequest(code=first["code"])), Problem)
    # A token is no code.
    assert isinstance(await stack.sign_in.redeem(SignInRequest(code=given["token"])), Problem)
    stack.now += 10 * 60_000
    assert isinstance(await stack.sign_in.redeem(SignInRequest(code=second["code"])), Problem)
