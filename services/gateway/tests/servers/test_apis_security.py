"""What an attacker sends is refused as what it is: nobody gets in, out of bounds, or into another's matters."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any
from urllib.parse import urlsplit

import grpc
import httpx
import pytest
import pytest_asyncio
from joserfc import jwk, jwt

from querybus.core.ids import derived_id
from querybus.core.subjects import EventName, StageName
from querybus.ops.clock import system_clock
from querybus_gateway.http import request as http_request
from querybus_gateway.http import server as http_server
from querybus_gateway.problems import STATUS, ProblemCode
from querybus_gateway.settings import Oidc
from querybus_gateway.v1 import connection_service_pb2 as connections

from .every_api import HttpFace, Reported, faces
from .grpc_caller import Refusal, grpc_caller
from .stack_of_tests import ApiStack, api_stack, data_of, frames_of, key_of

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

GUESSED = grpc.StatusCode.RESOURCE_EXHAUSTED
QUESTION = {"question": "How many?", "connection": "shop"}
HOSTILE = (
    "*",
    ">",
    "a.b",
    "..",
    "../x",
    "a%2Fb",
    "x%00",
    "%0d%0aX-A:%20b",
    "\u202e",
    "租户",
    "a b",
    "$JS",
    "_INBOX",
    "-" * 400,
)
RSA = jwk.RSAKey.generate_key(2_048, {"kid": "k1", "use": "sig"})


def some(cases: Sequence[Any], count: int = 2) -> list[Any]:
    """Return the cases with all but the first few marked slow."""
    return [case if n < count else pytest.param(case, marks=pytest.mark.slow) for n, case in enumerate(cases)]


class IssuerServer:
    """An OpenID Connect issuer on loopback."""

    def __init__(self) -> None:
        self.address = ""
        self.requests = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        self.requests += 1
        body: dict[str, object] = {"keys": [RSA.as_dict(private=False)]}
        if path.endswith("openid-configuration"):
            body = {"issuer": self.address, "jwks_uri": f"{self.address}/keys"}
        data = json.dumps(body).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(data) + data)
        await writer.drain()
        writer.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def issuer() -> AsyncGenerator[IssuerServer]:
    made = IssuerServer()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield made


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack(issuer: IssuerServer) -> AsyncGenerator[ApiStack]:
    settings = {"oidc": Oidc(issuer=issuer.address, audience="querybus"), "cors_origins": ("https://page.example",)}
    async with api_stack(grpc_port=0, **settings) as made:
        yield made


def token(issuer: IssuerServer, **changed: Any) -> str:
    now = system_clock() // 1_000
    claims = {"iss": issuer.address, "aud": "querybus", "sub": "ann", "tenant": "acme", "exp": now + 60}
    return jwt.encode({"alg": "RS256", "kid": "k1"}, claims | changed, RSA)


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


async def raw(stack: ApiStack, data: bytes, seconds: float = 5) -> bytes:
    """Send bytes as they are and return what comes until the API closes or falls silent."""
    place = urlsplit(stack.address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(data)
    received = b""
    try:
        # An API that closes on what it has not read resets the connection.
        async with asyncio.timeout(seconds):
            while chunk := await reader.read(65_536):
                received += chunk
    except (TimeoutError, ConnectionResetError):
        pass
    finally:
        writer.close()
    return received


async def test_a_token_of_the_issuer_is_its_tenants_and_users_key(stack: ApiStack, issuer: IssuerServer) -> None:
    headers = {"Authorization": f"Bearer {token(issuer)}"}
    async with httpx.AsyncClient(base_url=stack.address, headers=headers) as http, stack.http() as same_user:
        made = await http.post("/v1/queries", json=QUESTION)
        assert made.status_code == 202, made.text
        # The key of the same tenant's same user reads it; a token brings no identity of its own kind.
        assert (await same_user.get(f"/v1/queries/{made.json()['id']}")).status_code == 200
    assert issuer.requests == 2, "discovery and keys, once"


async def test_a_token_that_is_forged_expired_or_for_another_lets_nobody_in(
    stack: ApiStack, issuer: IssuerServer
) -> None:
    good = token(issuer)
    head, body, signature = good.split(".")
    forged = (
        token(issuer, exp=system_clock() // 1_000 - 100),
        token(issuer, aud="another"),
        token(issuer, iss="https://evil.example"),
        f"{part({'alg': 'none'})}.{body}.",
        f"{part({'alg': 'HS256', 'kid': 'k1'})}.{body}.{signature}",
        f"{head}.{part({'sub': 'ann', 'tenant': 'other'})}.{signature}",
        good[:-2],
    )
    before = issuer.requests
    async with httpx.AsyncClient(base_url=stack.address) as http:
        for item in forged:
            for headers in ({"Authorization": f"Bearer {item}"}, {"x-api-key": item}):
                reply = await http.get("/v1/connections", headers=headers)
                assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")
    assert issuer.requests == before


async def test_keys_are_not_guessed_at_but_a_known_caller_behind_the_same_address_goes_on() -> None:
    async with (
        api_stack(key_guesses_max=5, grpc_port=0, trusted_proxies="10.0.0.0/8") as stack,
        stack.http() as known,
        httpx.AsyncClient(base_url=stack.address) as http,
        grpc_caller(stack, key="qb.acme.web.guess") as guesser,
    ):
        assert (await known.get("/v1/connections")).status_code == 200
        codes = [
            (await http.get("/v1/connections", headers={"x-api-key": f"qb.acme.web.guess-{n}"})).status_code
            for n in range(10)
        ]
        assert codes == [401] * 5 + [429] * 5
        refused = await http.get("/v1/connections", headers={"x-api-key": "qb.acme.lab.guess"})
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_guesses")
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        fresh = await http.get("/v1/connections", headers={"x-api-key": key_of("acme", "lab")})
        assert fresh.status_code == 200, "a key that fits is let in, although this replica has never seen it"
        forged = {"x-api-key": "qb.acme.web.x", "X-Forwarded-For": "9.9.9.9"}
        assert (await http.get("/v1/connections", headers=forged)).status_code == 429, "nobody's word for it"
        # Over gRPC it is the same source, and nobody's word counts there either.
        for said in ("", "9.9.9.9"):
            with pytest.raises(Refusal) as caught:
                await guesser.call("ListConnections", connections.ListConnectionsRequest(), x_forwarded_for=said)
            assert (caught.value.code, caught.value.reason) == (GUESSED, "too_many_guesses")
        assert (await known.get("/v1/connections")).status_code == 200


@pytest.mark.parametrize("hostile", some(HOSTILE))
async def test_no_path_or_parameter_widens_a_subject(stack: ApiStack, hostile: str) -> None:
    async with stack.http() as http:
        for path in (
            f"/v1/queries/{hostile}",
            f"/v1/queries/{hostile}/events",
            f"/v1/queries/{hostile}/result",
            f"/v1/queries/{hostile}/export",
            f"/v1/threads/{hostile}",
            f"/v1/batches/{hostile}",
            f"/v1/connections/{hostile}/catalog",
        ):
            reply = await http.get(path)
            assert reply.status_code == 404, path
            assert reply.headers["content-type"] == "application/problem+json"
        asked = await http.post("/v1/queries", json=QUESTION | {"connection": hostile})
        assert asked.json()["code"] == ("invalid" if len(hostile) > 200 else "unknown_connection")
        followed = await http.post("/v1/queries", json=QUESTION | {"thread_id": hostile})
        assert followed.status_code in (404, 422)
    async with httpx.AsyncClient(base_url=stack.address) as nobody:
        for key in (f"qb.{hostile}.web.x", f"qb.acme.{hostile}.x"):
            headers = [(b"x-api-key", key.encode())]
            assert (await nobody.get("/v1/connections", headers=headers)).status_code == 401


@pytest.mark.parametrize("hostile", some(["*", ">", "a.b", "", "租户", "x" * 65, "A"]))
async def test_no_payload_over_grpc_or_the_bus_widens_a_subject(stack: ApiStack, hostile: str) -> None:
    async with faces(stack, "acme", "lab") as apis:
        for name, api in apis.items():
            if isinstance(api, HttpFace):
                continue
            met = (
                await api.read(hostile),
                await api.read(hostile, wait=1),
                await api.cancel(hostile),
                await api.page(hostile),
                await api.page(hostile, page_token=hostile or "x"),
                await api.clarify(hostile, {"question": "q"}),
                await api.confirm(hostile, {"sql_sha256": "ab" * 32}),
                await api.ask(QUESTION | {"connection": hostile}),
                await api.ask(QUESTION | {"thread_id": hostile or "*"}),
                await api.turns(hostile),
                await api.state(hostile),
                await api.thread_events(hostile),
                await api.fork(hostile, {}),
                await api.fork(hostile, {"query_id": hostile}),
                await api.delete(hostile),
                await api.batch(hostile),
                await api.batch_cancel(hostile),
                await api.batch_retry(hostile),
                await api.feedback(hostile, "right"),
                await api.picture(hostile),
                await api.teach(hostile, {"instructions": ["x"]}),
                await api.known(hostile, "pair"),
                await api.search(hostile, "q"),
                await api.forget(hostile, hostile),
                await api.forget("shop", hostile),
                await api.catalog(hostile),
                await api.suggestions(hostile),
                await api.prefer({"connection": hostile or "*"}),
            )
            codes = [outcome.code if isinstance(outcome, Reported) else outcome for outcome in met]
            fine = {"not_found", "unknown_connection", "invalid", "bad_page_token", "connection_missing"}
            assert set(map(str, codes)) <= fine, (name, codes)


async def test_no_header_is_written_by_a_request(stack: ApiStack) -> None:
    async with stack.http() as http:
        for value in ("a b", "a\tb", "x" * 129, "<script>"):
            reply = await http.get("/v1/connections", headers=[("X-Request-Id", value)])
            assert len(reply.headers["x-request-id"]) == 32
        for parent in ("00-zz-zz-01", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "x" * 5_000):
            reply = await http.get("/v1/connections", headers={"traceparent": parent})
            assert reply.status_code == 200
            assert reply.headers["traceparent"].count("-") == 3
        traced = await http.get("/v1/connections", headers={"traceparent": f"00-{'ab' * 16}-{'cd' * 8}-03"})
        assert traced.headers["x-trace-id"] == "ab" * 16
        key = await http.post("/v1/queries", json=QUESTION, headers={"Idempotency-Key": "a b"})
        assert key.json()["code"] == "invalid"
    authorization = f"Authorization: Bearer {key_of('acme', 'web')}\r\n".encode()
    split = await raw(
        stack, b"GET /v1/connections HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\rb: c\r\n" + authorization + b"\r\n", 2
    )
    assert split.startswith(b"HTTP/1.1 400")
    assert b"\nb: c" not in split


async def test_a_page_of_another_origin_may_call_only_if_it_is_named(stack: ApiStack) -> None:
    ask = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    async with stack.http() as http:
        named = await http.options("/v1/queries", headers=ask | {"Origin": "https://page.example"})
        assert named.headers["access-control-allow-origin"] == "https://page.example"
        assert "access-control-allow-credentials" not in named.headers
        other = await http.options("/v1/queries", headers=ask | {"Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers
        seen = await http.get("/v1/connections", headers={"Origin": "https://page.example"})
        assert seen.headers["access-control-allow-origin"] == "https://page.example"
        assert "x-trace-id" in seen.headers["access-control-expose-headers"].lower()


@pytest.mark.parametrize(
    "body",
    some(
        [
            b'{"question": "' + b"\\u0000" * 40_000 + b'"}',
            b"[" * 100_000,
            b'{"a":' * 40_000 + b"1" + b"}" * 40_000,
            b'{"question": ' + b"9" * 200_000 + b"}",
            b'{"question": "x", "options": {' + b",".join(b'"k%d": 1' % n for n in range(20_000)) + b"}}",
            b'{"question": "\\ud800", "connection": "shop"}',
            b"\x00" * 1_000,
            "{“question”: 1}".encode("utf-16"),
            b'{"question": NaN}',
        ]
    ),
    ids=lambda body: str(body[:20]),
)
async def test_a_body_that_is_a_bomb_is_refused_at_once(stack: ApiStack, body: bytes) -> None:
    async with stack.http() as http:
        for path in ("/v1/queries", "/v1/batches"):
            started = asyncio.get_running_loop().time()
            reply = await http.post(path, content=body, headers={"Content-Type": "application/json"})
            assert reply.status_code in (400, 413, 422), reply.text[:200]
            assert len(reply.content) < 20_000
            assert asyncio.get_running_loop().time() - started < 10
        if len(body) < 250_000:
            async with stack.outside() as connection:
                for verb in ("ask", "batch"):
                    said = await connection.request(f"querybus.v1.call.acme.web.{verb}", body, timeout=10)
                    assert 400 <= STATUS[ProblemCode(json.loads(said.data)["code"])][0] < 500
        packed = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        assert (await http.post("/v1/queries", content=body, headers=packed)).status_code in (400, 413, 415, 422)


async def test_a_client_that_is_slow_with_its_head_or_body_is_shut_out(
    stack: ApiStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "HEAD_SECONDS_MAX", 0.3)
    monkeypatch.setattr(http_request, "BODY_SECONDS_MAX", 0.3)
    loop = asyncio.get_running_loop()
    seconds_as_shipped = 10
    started = loop.time()
    assert await raw(stack, b"GET /v1/connections HTTP/1.1\r\nHost:") == b""
    assert await raw(stack, b"") == b""
    assert loop.time() - started < seconds_as_shipped, "the API has closed both"
    head = (
        b"POST /v1/queries HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
        + f"Authorization: Bearer {key_of('acme', 'web')}\r\n\r\n".encode()
    )
    late = await raw(stack, head + b'{"question"', 60)
    assert late.startswith(b"HTTP/1.1 400")
    assert b"did not come in time" in late
    async with stack.http() as http:
        following = asyncio.create_task(http.get("/v1/connections"))
        assert (await following).status_code == 200


async def test_heads_that_are_too_large_or_no_http_are_refused(stack: ApiStack) -> None:
    for data in (
        b"GET /v1/connections HTTP/1.1\r\n" + b"X-A: " + b"a" * 200_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00" * 100,
        b"GET /v1/connections HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello",
    ):
        assert b" 200 " not in (await raw(stack, data, 2)).partition(b"\r\n")[0]


async def test_a_slow_reader_of_events_does_not_slow_another(stack: ApiStack) -> None:
    place = urlsplit(stack.address)
    async with stack.http("acme", "lab") as http:
        query = (await http.post("/v1/queries", json=QUESTION)).json()["id"]
        slow = []
        for _ in range(5):
            reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=1)
            writer.write(
                f"GET /v1/queries/{query}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                f"{key_of('acme', 'lab')}\r\n\r\n".encode()
            )
            slow.append((reader, writer))
        following = asyncio.create_task(http.get(f"/v1/queries/{query}/events"))
        await asyncio.sleep(0.3)
        talker = await stack.user(StageName.GENERATOR)
        note = json.dumps({"n": 1, "stage": "generator", "state": "started", "at": 1, "text": "x" * 10_000}).encode()
        for _ in range(300):
            await talker.publish(f"querybus.v1.progress.acme.bob.analyst.{query}", note)
        await stack.answer(query)
        async with asyncio.timeout(60):
            reply = await following
        for _, writer in slow:
            writer.close()
    frames = frames_of(reply.text)
    assert frames[-1]["event"] == "finished"
    assert data_of(frames[-1])["answer"]["outcome"] == "answered"


async def test_another_users_idempotency_key_is_another_query(stack: ApiStack) -> None:
    headers = {"Idempotency-Key": "same-for-all"}
    async with stack.http() as ann, stack.http("acme", "lab") as bob, stack.http("other") as eve:
        ids = [
            (await item.post("/v1/queries", json=QUESTION, headers=headers)).json()["id"] for item in (ann, bob, eve)
        ]
        assert len(set(ids)) == 3
        # Whoever works out another's id from its key still finds nothing.
        guessed = derived_id("key", "acme", "ann", "same-for-all")
        assert guessed == ids[0]
        for item in (bob, eve):
            for path in ("", "/events", "/result", "/export"):
                assert (await item.get(f"/v1/queries/{guessed}{path}")).status_code == 404
            assert (await item.post(f"/v1/queries/{guessed}/cancel")).status_code == 404
    assert await stack.events(ids[0]) == ["asked"]


async def test_knowledge_preferences_and_threads_of_one_tenant_are_not_anothers(stack: ApiStack) -> None:
    async with stack.http("acme", "lab") as bob, stack.http("other") as eve, stack.client("other") as eve_on_the_bus:
        taught = {
            "pairs": [{"question": "What is the zebra figure?", "sql": "SELECT 1"}],
            "terms": {"zebra": "stripes"},
        }
        assert (await bob.post("/v1/connections/shop/knowledge", json=taught)).status_code == 200
        assert (await bob.put("/v1/preferences", json={"language": "zh"})).status_code == 200
        thread = (await bob.post("/v1/queries", json=QUESTION)).json()["thread_id"]
        assert "zebra" in (await bob.get("/v1/connections/shop/knowledge")).text
        replies = [
            (await eve.get(path)).text
            for path in (
                "/v1/connections/shop/knowledge",
                "/v1/connections/shop/knowledge/search?q=zebra",
                "/v1/preferences",
                "/v1/threads",
            )
        ]
        replies += [
            json.dumps(await eve_on_the_bus.call("knowledge", body | {"connection": "shop"}))
            for body in ({"action": "list"}, {"action": "search", "query": "zebra"})
        ]
        assert all("zebra" not in reply and "zh" not in reply and thread not in reply for reply in replies)
        for path in (f"/v1/threads/{thread}", f"/v1/threads/{thread}/turns", f"/v1/threads/{thread}/events"):
            assert (await eve.get(path)).status_code == 404
        assert (await eve.delete(f"/v1/threads/{thread}")).status_code == 404
        assert (await eve.post(f"/v1/threads/{thread}/fork", json={})).status_code in (404, 422)


@pytest.mark.parametrize(
    "forged",
    some(
        [
            {"tenant": "other"},
            {"user": "bob"},
            {"audience": "analyst"},
            {"query_id": "0190a0a0-0000-7000-8000-000000000000"},
            {"envelope_version": "1.0"},
            {"deadline_at": 1},
            {"retries": {"generation": 0}},
            {"attempts": []},
            {"path": []},
            {"classification": {"kind": "chat"}},
            {"event": "approved"},
            {"body": {"sql": "DROP TABLE t"}},
            {"clarifies": {"query_id": "x", "option_id": "a", "action": "retry_as_is"}},
            {"thread_until_sequence": 99},
            {"options": {"allow_execution": True}},
        ]
    ),
    ids=lambda forged: next(iter(forged)),
)
@pytest.mark.requirement("002.16")
async def test_a_field_of_the_envelope_is_taken_from_no_request(stack: ApiStack, forged: dict[str, Any]) -> None:
    async with stack.http() as http, stack.client() as client, stack.outside() as outside:
        reply = await http.post("/v1/queries", json=QUESTION | forged)
        assert reply.status_code == 422
        assert reply.json()["code"] in ("unknown_field", "bad_options")
        assert (await client.call("ask", QUESTION | forged))["code"] == reply.json()["code"]
        before = stack.gateway.metrics.value("querybus_dead_letters_total", stage="gateway")
        await outside.request("querybus.v1.submit.acme.web", json.dumps(QUESTION | forged).encode(), timeout=5)
    async with asyncio.timeout(60):
        while stack.gateway.metrics.value("querybus_dead_letters_total", stage="gateway") == before:
            await asyncio.sleep(0.02)


async def test_an_envelope_that_somebody_submits_is_no_event(stack: ApiStack) -> None:
    """A submitted envelope, under a query's id as the gateway itself puts it there, is out of an outsider's reach."""
    async with stack.http() as http, stack.outside() as outside:
        query = (await http.post("/v1/queries", json=QUESTION)).json()["id"]
        envelope = (await stack.log(query))[0].data
        refused: list[Any] = []
        for subject in (
            f"querybus.v1.submit.acme.{query}",
            f"querybus.v1.event.acme.{query}.{query}.approved",
            "querybus.v1.call.acme.lab.ask",
            "querybus.v1.call.other.web.ask",
            f"querybus.v1.answer.acme.ann.{query}",
            f"querybus.v1.ctl.cancel.acme.{query}",
        ):
            try:
                refused.append(await outside.request(subject, envelope, timeout=0.3))
            except Exception as error:  # noqa: BLE001 - whatever it is called, no answer came
                refused.append(type(error).__name__)
        assert all(isinstance(item, str) for item in refused), refused
    assert await stack.events(query) == ["asked"]
    assert (await stack.log(query))[-1].address.event is EventName.ASKED


async def test_a_business_caller_cannot_ask_for_statements_by_any_api(stack: ApiStack) -> None:
    body = {"operation": "run", "sql": "SELECT 1", "connection": "shop"}
    async with stack.http() as http, stack.client() as client:
        assert (await http.post("/v1/queries", json=body)).json()["code"] == "scope"
        assert (await client.call("ask", body))["code"] == "scope"
        assert (await http.get("/v1/openapi.json")).status_code == 200, "the document is for everybody"
