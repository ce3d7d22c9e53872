"""A token lets its user in if issuer, audience, time, algorithm and signature hold, and in no other case."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Mapping
from typing import Any, cast

import pytest
from joserfc import jwk, jwt

from querybus.core.credential import Credential, Group
from querybus_gateway.access.callers import Callers
from querybus_gateway.access.oidc import FETCH_SECONDS_MIN, Issuer, KeysUnreachable, TokenReader
from querybus_gateway.problems import Problem, ProblemCode

ISSUER = "https://issuer.example"
NOW_MS = 1_790_000_000_000
NOW = NOW_MS // 1_000
RSA = jwk.RSAKey.generate_key(2_048, {"kid": "k1", "use": "sig", "alg": "RS256"})
OTHER = jwk.RSAKey.generate_key(2_048, {"kid": "k1"})
EC = jwk.ECKey.generate_key("P-256", {"kid": "e1", "use": "sig"})
CLAIMS: dict[str, Any] = {
    "iss": ISSUER,
    "aud": ["querybus", "else"],
    "sub": "ann@example.com",
    "tenant": "acme",
    "exp": NOW + 300,
    "iat": NOW - 5,
    "querybus_audience": "analyst",
    "querybus_connections": ["shop"],
}


class Keys:
    """An issuer's key endpoint."""

    def __init__(self, *keys: jwk.Key) -> None:
        self.keys = [key.as_dict(private=False) for key in keys]
        self.fetched = 0
        self.is_down = False

    async def __call__(self) -> Mapping[str, object]:
        self.fetched += 1
        if self.is_down:
            raise KeysUnreachable("down")
        return {"keys": self.keys}


GROUPS = {"clerks": Group(connections=("shop", "crm"), rows_max=10, only_verified=True)}


class Stack:
    def __init__(self, *, algorithms: tuple[str, ...] = ("RS256",), tenants: tuple[str, ...] = (), **more: Any) -> None:
        self.now_ms = NOW_MS
        self.keys = Keys(RSA, EC)
        issuer = Issuer(issuer=ISSUER, audience="querybus", algorithms=algorithms, **more)
        self.reader = TokenReader(issuer, self.keys, clock=lambda: self.now_ms, tenants=tenants, groups=GROUPS)

    async def read(self, text: str) -> Credential | ProblemCode:
        result = await self.reader.read(text)
        return result.code if isinstance(result, Problem) else result


def signed(key: jwk.Key = RSA, header: Mapping[str, Any] | None = None, **changed: Any) -> str:
    claims = {name: value for name, value in (CLAIMS | changed).items() if value is not None}
    known = {"alg": "RS256", "kid": "k1"} | dict(header or {})
    return jwt.encode(known, claims, key, algorithms=[known["alg"]])


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


async def test_a_good_token_says_who_is_calling() -> None:
    assert await Stack().read(signed()) == Credential(
        name="oidc", tenant="acme", user="ann@example.com", audience="analyst", connections=("shop",)
    )


async def test_without_a_role_a_token_is_business_and_without_a_list_it_may_use_every_connection() -> None:
    result = await Stack().read(signed(querybus_audience=None, querybus_connections=None))
    assert isinstance(result, Credential)
    assert (result.audience, result.connections) == ("business", None)


async def test_a_tokens_group_narrows_it_and_one_that_nobody_set_up_lets_nobody_in() -> None:
    one = await Stack().read(signed(querybus_group="clerks"))
    assert isinstance(one, Credential)
    assert (one.connections, one.caps.rows_max, one.caps.only_verified_always) == (("shop",), 10, True)
    every = await Stack().read(signed(querybus_group="clerks", querybus_connections=None))
    assert isinstance(every, Credential)
    assert every.connections == ("shop", "crm")
    for group in ("strangers", ["clerks"], 7):
        assert await Stack().read(signed(querybus_group=group)) is ProblemCode.UNAUTHENTICATED, group


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://other.example"},
        {"iss": None},
        {"aud": "else"},
        {"aud": ["else"]},
        {"aud": None},
        {"exp": NOW - 60},
        {"exp": None},
        {"exp": "soon"},
        {"nbf": NOW + 120},
        {"iat": NOW + 3_600},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "x" * 201},
        {"tenant": None},
        {"tenant": ["acme"]},
        {"querybus_audience": "root"},
        {"querybus_connections": "shop"},
    ],
    ids=str,
)
async def test_a_claim_that_does_not_hold_lets_nobody_in(changed: dict[str, Any]) -> None:
    assert await Stack().read(signed(**changed)) is ProblemCode.UNAUTHENTICATED


async def test_an_unsigned_token_lets_nobody_in() -> None:
    for alg in ("none", "None", "NONE", "", None):
        for signature in ("", "AA"):
            text = f"{part({'alg': alg, 'kid': 'k1'})}.{part(CLAIMS)}.{signature}"
            assert await Stack().read(text) is ProblemCode.UNAUTHENTICATED


async def test_a_public_key_is_never_taken_for_a_secret() -> None:
    public = RSA.as_pem(private=False)
    for secret in (public, public.strip(), json.dumps(RSA.as_dict(private=False)).encode()):
        for alg, digest in (("HS256", "sha256"), ("HS512", "sha512")):
            # By hand: the library refuses to make such a token.
            signed_part = f"{part({'alg': alg, 'kid': 'k1'})}.{part(CLAIMS)}"
            mac = hmac.digest(secret, signed_part.encode(), digest)
            forged = f"{signed_part}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"
            assert await Stack().read(forged) is ProblemCode.UNAUTHENTICATED


def test_no_setting_can_pin_a_symmetric_algorithm() -> None:
    for algorithms in (("HS256",), ("RS256", "none"), ()):
        with pytest.raises(ValueError, match="algorithms are some of"):
            Issuer(issuer=ISSUER, audience="querybus", algorithms=algorithms)


async def test_another_keys_signature_or_algorithm_lets_nobody_in() -> None:
    assert await Stack().read(signed(OTHER)) is ProblemCode.UNAUTHENTICATED
    es256 = signed(EC, {"alg": "ES256", "kid": "e1"})
    assert await Stack().read(es256) is ProblemCode.UNAUTHENTICATED, "RS256 alone is pinned"
    assert isinstance(await Stack(algorithms=("RS256", "ES256")).read(es256), Credential)
    crossed = signed(RSA, {"alg": "RS256", "kid": "e1"})
    assert await Stack(algorithms=("RS256", "ES256")).read(crossed) is ProblemCode.UNAUTHENTICATED


async def test_a_changed_token_lets_nobody_in() -> None:
    head, body, signature = signed().split(".")
    forged = part(CLAIMS | {"tenant": "other"})
    for text in (
        f"{head}.{forged}.{signature}",
        f"{head}.{body}.{signature[:-4]}",
        f"{head}.{body}.",
        f"{head}.{body}",
        f"{head}.{body}.{signature}.x",
        f"{part({'alg': 'RS256', 'kid': 'k1', 'crit': ['b64'], 'b64': False})}.{body}.{signature}",
        f"{part({'alg': 'RS256', 'kid': ['k1']})}.{body}.{signature}",
        f"{part({'alg': 'RS256', 'jwk': OTHER.as_dict(private=False)})}.{body}.{signature}",
        "eyJ" + "x" * 9_000 + ".a.b",
        "ey.ey.ey",
        "ey\u00e9.a.b",
    ):
        assert await Stack().read(text) is ProblemCode.UNAUTHENTICATED, text[:60]


async def test_keys_are_fetched_once_and_a_flood_of_unknown_key_ids_fetches_no_more() -> None:
    stack = Stack()
    for number in range(50):
        assert await stack.read(signed(OTHER, {"kid": f"made-up-{number}"})) is ProblemCode.UNAUTHENTICATED
        assert isinstance(await stack.read(signed()), Credential)
    assert stack.keys.fetched == 1


async def test_a_new_key_of_the_issuer_is_found() -> None:
    stack = Stack()
    assert isinstance(await stack.read(signed()), Credential)
    fresh = jwk.RSAKey.generate_key(2_048, {"kid": "k2", "use": "sig"})
    stack.keys.keys.append(fresh.as_dict(private=False))
    stack.now_ms += round(FETCH_SECONDS_MIN * 1_000)
    assert isinstance(await stack.read(signed(fresh, {"kid": "k2"})), Credential)
    assert stack.keys.fetched == 2


async def test_an_issuer_that_is_away_keeps_nobody_out_whose_key_is_known_for_a_day() -> None:
    stack = Stack()
    assert isinstance(await stack.read(signed()), Credential)
    stack.keys.is_down = True
    stack.now_ms += 3_600_000
    late = signed(exp=NOW + 4_000)
    assert isinstance(await stack.read(late), Credential)
    stack.now_ms += 86_400_000
    assert await stack.read(signed(exp=NOW + 200_000)) is ProblemCode.ISSUER_UNAVAILABLE


async def test_an_issuer_that_was_never_reached_lets_nobody_in_and_says_why() -> None:
    stack = Stack()
    stack.keys.is_down = True
    assert await stack.read(signed()) is ProblemCode.ISSUER_UNAVAILABLE


async def test_a_tenant_that_is_not_listed_comes_in_by_no_token() -> None:
    assert await Stack(tenants=("other",)).read(signed()) is ProblemCode.UNAUTHENTICATED
    fixed = await Stack(tenant="fixed").read(signed())
    assert isinstance(fixed, Credential)
    assert fixed.tenant == "fixed", "an issuer of one tenant says no other"


async def test_a_set_with_keys_that_nobody_can_use_still_gives_the_others() -> None:
    stack = Stack()
    stack.keys.keys[:0] = cast(
        "Any",
        [
            {"kty": "oct", "kid": "k1", "k": "c2VjcmV0"},
            {"kty": "RSA", "kid": "k3"},
            {"kty": "new", "kid": "k4"},
            "text",
            None,
            RSA.as_dict(private=False) | {"use": "enc", "kid": "k5"},
        ],
    )
    assert isinstance(await stack.read(signed()), Credential)


async def session_key() -> bytes:
    return b"k" * 32


async def test_a_key_and_a_token_come_in_by_the_same_api() -> None:
    class Nobody:
        async def get(self, tenant: str, credential: str) -> Credential | None:
            return None

    stack = Stack()
    callers = Callers(Nobody(), tokens=stack.reader, session_key=session_key, clock=lambda: NOW_MS)
    assert isinstance(await callers.identify(signed(), "1.1.1.1"), Credential)
    for number in range(20):
        result = await callers.identify(f"qb.acme.web.{number}", "2.2.2.2")
        assert isinstance(result, Problem)
        assert result.code is ProblemCode.UNAUTHENTICATED
    for key in ("qb.acme.web.x", signed(exp=NOW - 100)):
        result = await callers.identify(key, "2.2.2.2")
        assert isinstance(result, Problem)
        assert result.code is ProblemCode.TOO_MANY_GUESSES
    assert isinstance(await callers.identify(signed(), "2.2.2.2"), Credential), "known before: it goes on"
    without = Callers(Nobody(), tokens=None, session_key=session_key, clock=lambda: NOW_MS)
    result = await without.identify(signed(), "1.1.1.1")
    assert isinstance(result, Problem), "no issuer is configured"
