"""The gRPC API against a real bus: calls, streams, refusals with their details, health, reflection, the way it closes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import grpc
import pytest
import pytest_asyncio
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from querybus.bus.log.publish import BusTrouble
from querybus.core.credential import Credential
from querybus.core.ids import derived_id
from querybus.core.messages import Outcome
from querybus.core.subjects import EventName
from querybus.ops.clock import system_random_bits
from querybus.ops.trace import Tracing
from querybus_gateway.grpc.call import CallHandler, Method
from querybus_gateway.grpc.server import REQUEST_BYTES_MAX, WATCHES_MAX, GrpcApi
from querybus_gateway.v1 import query_pb2
from querybus_gateway.v1 import query_service_pb2 as v1

from .grpc_caller import ALL_METHODS, GrpcCaller, Refusal, grpc_address, grpc_caller, question
from .stack_of_tests import SECRET_NAME, SQL, ApiStack, api_stack

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

NOT_WAITING = 0.0
AIO: Any = grpc.aio
HEALTH = "/grpc.health.v1.Health/Check"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack() -> AsyncGenerator[ApiStack]:
    async with api_stack(grpc_port=0, rate_per_second=10_000) as made:
        yield made


async def ask_only(caller: GrpcCaller, **more: Any) -> str:
    asked = await caller.call("Ask", v1.AskRequest(question=question(), wait_seconds=NOT_WAITING), **more)
    return asked.query.id


async def rest_of(call: Any) -> list[Any]:
    """Return what a running stream still sends."""
    values: list[Any] = []
    while (message := await call.read()) is not AIO.EOF:
        values.append(message)
    return values


async def test_a_question_is_answered_in_one_call(stack: ApiStack) -> None:
    async with grpc_caller(stack) as caller, stack.stages():
        query = (await caller.call("Ask", v1.AskRequest(question=question()))).query
    assert query.status == query_pb2.QUERY_STATUS_FINISHED
    assert query.answer.outcome == query_pb2.OUTCOME_ANSWERED
    assert [[cell.text for cell in row.cells] for row in query.answer.rows] == [["上海"], ["Rome"]]
    assert query.answer.columns[0].id == "c1"
    assert not query.answer.HasField("sql")
    assert SECRET_NAME not in str(query)
    assert not query.answer.HasField("more"), f"the contract lacks {query.answer.more}"


async def test_an_analyst_is_reported_the_statement(stack: ApiStack) -> None:
    async with grpc_caller(stack, "acme", "lab") as caller, stack.stages():
        query = (await caller.call("Ask", v1.AskRequest(question=question()))).query
    assert query.answer.sql == SQL


async def test_a_call_that_does_not_wait_is_reported_where_it_stands(stack: ApiStack) -> None:
    async with grpc_caller(stack) as caller:
        asked = await caller.call("Ask", v1.AskRequest(question=question(), wait_seconds=NOT_WAITING))
        assert asked.query.status == query_pb2.QUERY_STATUS_RUNNING
        assert not asked.query.HasField("answer")
        waiting = asyncio.create_task(
            caller.call("GetQuery", v1.GetQueryRequest(query_id=asked.query.id, wait_seconds=20))
        )
        await asyncio.sleep(0.1)
        await stack.answer(asked.query.id)
        assert (await waiting).query.answer.outcome == query_pb2.OUTCOME_ANSWERED
        again = await caller.call("GetQuery", v1.GetQueryRequest(query_id=asked.query.id))
        assert again.query == (await waiting).query


async def test_a_stream_gives_the_query_and_then_each_event_once_in_order(stack: ApiStack) -> None:
    async with grpc_caller(stack) as caller, stack.stages():
        request = v1.AskStreamRequest(question=question())
        updates = [event async for event in caller.stream("AskStream", request)]
    assert updates[0].WhichOneof("update") == "query"
    events = [update.event for update in updates if update.WhichOneof("update") == "event"]
    assert [event.name for event in events] == ["asked", "concluded", "finished"]
    assert [event.sequence for event in events] == sorted({event.sequence for event in events})
    assert events[-1].answer.outcome == query_pb2.OUTCOME_ANSWERED
    assert {event.query_id for event in events} == {updates[0].query.id}
    assert SECRET_NAME not in str(updates)


async def test_a_stream_is_taken_up_again_behind_any_event(stack: ApiStack) -> None:
    async with grpc_caller(stack) as caller:
        query = await ask_only(caller)
        await stack.answer(query)
        whole = [event.event async for event in caller.stream("Follow", v1.FollowRequest(query_id=query))]
        assert [path.name for path in whole] == ["asked", "concluded", "finished"]
        for number, item in enumerate(whole, 1):
            request = v1.FollowRequest(query_id=query, after_sequence=item.sequence)
            rest = [later.event async for later in caller.stream("Follow", request)]
            assert rest == whole[number:]


async def test_a_query_is_cancelled_once(stack: ApiStack) -> None:
    async with grpc_caller(stack) as caller:
        query = await ask_only(caller)
        assert (await caller.call("Cancel", v1.CancelRequest(query_id=query))).query.id == query
        with pytest.raises(Refusal) as caught:
            await caller.call("Cancel", v1.CancelRequest(query_id=query))
    assert caught.value.code is grpc.StatusCode.FAILED_PRECONDITION
    assert caught.value.reason == "already_finished"
    assert caught.value.info.metadata["outcome"] == "cancelled"


async def test_a_page_of_the_result_is_read_by_number(stack: ApiStack) -> None:
    async with grpc_caller(stack) as caller:
        query = await ask_only(caller)
        with pytest.raises(Refusal) as caught:
            await caller.call("GetResultPage", v1.GetResultPageRequest(query_id=query))
        assert caught.value.reason == "not_finished"
        await stack.answer(query)
        page = await caller.call("GetResultPage", v1.GetResultPageRequest(query_id=query))
        assert (page.page, page.has_next, page.has_prev, page.total_count) == (1, False, False, 2)
        assert [[cell.text for cell in row.cells] for row in page.rows] == [["上海"], ["Rome"]]
        for request, code in (
            (v1.GetResultPageRequest(query_id=query, page=2), grpc.StatusCode.NOT_FOUND),
            (v1.GetResultPageRequest(query_id=query, page=-1), grpc.StatusCode.INVALID_ARGUMENT),
            (v1.GetResultPageRequest(query_id=query, page_token="forged"), grpc.StatusCode.INVALID_ARGUMENT),
        ):
            with pytest.raises(Refusal) as caught:
                await caller.call("GetResultPage", request)
            assert caught.value.code is code


async def test_the_same_key_is_the_same_query_over_grpc_and_http(stack: ApiStack) -> None:
    body = {"question": "How many customers?", "connection": "shop"}
    async with grpc_caller(stack) as caller, stack.http() as http:
        request = v1.AskRequest(question=question(), wait_seconds=NOT_WAITING)
        first = await caller.call("Ask", request, idempotency_key="grpc-and-http")
        again = await caller.call("Ask", request, idempotency_key="grpc-and-http")
        posted = await http.post("/v1/queries", json=body, headers={"Idempotency-Key": "grpc-and-http"})
        assert not first.idempotency_replayed
        assert again.idempotency_replayed
        assert first.query.id == again.query.id == posted.json()["id"]
        other = v1.AskRequest(question=question("How many orders?"), wait_seconds=NOT_WAITING)
        with pytest.raises(Refusal) as caught:
            await caller.call("Ask", other, idempotency_key="grpc-and-http")
    assert caught.value.reason == "idempotency_mismatch"


@pytest.mark.parametrize("key", ["", "nonsense", "qb.acme.web.wrong", "qb.other.lab.x"])
async def test_without_a_valid_key_nothing_is_said(stack: ApiStack, key: str) -> None:
    async with grpc_caller(stack, key=key) as caller:
        for path, _ in ALL_METHODS:
            with pytest.raises(Refusal) as caught:
                await caller.raw(path, b"\xff\xff")
            assert caught.value.code is grpc.StatusCode.UNAUTHENTICATED
            assert caught.value.reason == "unauthenticated"


async def test_another_users_query_does_not_exist(stack: ApiStack) -> None:
    async with grpc_caller(stack) as caller:
        query = await ask_only(caller)
        await stack.answer(query)
    for tenant, credential in (("other", "web"), ("acme", "desk")):
        async with grpc_caller(stack, tenant, credential) as foreign:
            for name, request in (
                ("GetQuery", v1.GetQueryRequest(query_id=query)),
                ("Cancel", v1.CancelRequest(query_id=query)),
                ("GetResultPage", v1.GetResultPageRequest(query_id=query)),
                ("Clarify", v1.ClarifyRequest(query_id=query, question="q")),
                ("Confirm", v1.ConfirmRequest(query_id=query, sql_sha256="0" * 64)),
            ):
                with pytest.raises(Refusal) as caught:
                    await foreign.call(name, request)
                assert caught.value.code is grpc.StatusCode.NOT_FOUND, name
            with pytest.raises(Refusal) as caught:
                _ = [event async for event in foreign.stream("Follow", v1.FollowRequest(query_id=query))]
            assert caught.value.code is grpc.StatusCode.NOT_FOUND


async def test_the_calls_deadline_is_the_querys(stack: ApiStack) -> None:
    async with grpc_caller(stack) as caller:
        request = v1.AskRequest(question=question(options=v1.Options(deadline_seconds=100)), wait_seconds=0.01)
        query = (await caller.call("Ask", request, timeout=50, idempotency_key="short")).query
        assert 0 < query.deadline_at_ms - query.created_at_ms <= 50_500
        stream = caller.begin("AskStream", v1.AskStreamRequest(question=request.question), timeout=50)
        query = (await stream.read()).query
        stream.cancel()
        assert 0 < query.deadline_at_ms - query.created_at_ms <= 50_500
        # It is a cap, no part of the request: another deadline of the call is not another request.
        again = await caller.call("Ask", request, timeout=70, idempotency_key="short")
        assert again.idempotency_replayed
        # A call that does not wait lends its deadline to nobody.
        request.wait_seconds = NOT_WAITING
        free = (await caller.call("Ask", request, timeout=50)).query
        assert free.deadline_at_ms - free.created_at_ms == 100_000


@pytest.mark.parametrize("cancels", [True, False])
async def test_a_caller_that_goes_away_cancels_its_query_only_if_it_asked_for_that(
    stack: ApiStack, cancels: bool
) -> None:
    async with grpc_caller(stack) as caller:
        call = caller.begin("AskStream", v1.AskStreamRequest(question=question(), cancel_on_disconnect=cancels))
        query = (await call.read()).query.id
        await call.read()
        call.cancel()
        if cancels:
            log = await stack.until(query, EventName.CONCLUDED)
            assert log[-1].envelope().body.outcome is Outcome.CANCELLED
        else:
            await asyncio.sleep(0.3)
            assert await stack.events(query) == ["asked"]


async def test_a_unary_caller_that_goes_away_cancels_too(stack: ApiStack) -> None:
    async with grpc_caller(stack) as caller:
        request = v1.AskRequest(question=question(), cancel_on_disconnect=True)
        asking = asyncio.create_task(caller.call("Ask", request, idempotency_key="gone"))
        query = derived_id("key", "acme", "ann", "gone")
        await stack.until(query, EventName.ASKED)
        # Stored is not yet known: the API reads the log once more before it waits.
        await asyncio.sleep(0.3)
        asking.cancel()
        with suppress(asyncio.CancelledError, Refusal):
            await asking
        log = await stack.until(query, EventName.CONCLUDED)
        assert log[-1].envelope().body.outcome is Outcome.CANCELLED


@pytest.mark.parametrize(
    ("request_", "reason", "field"),
    [
        (v1.AskRequest(), "question_empty", ""),
        (v1.AskRequest(question=question("q", "nowhere")), "unknown_connection", ""),
        (v1.AskRequest(question=question("x" * 20_000)), "question_too_long", ""),
        (v1.AskRequest(question=question(options=v1.Options(retries_max=99))), "bad_options", "/options/retries_max"),
        (v1.AskRequest(question=question(options=v1.Options(mode=77))), "bad_options", "/options/mode"),  # pyright: ignore[reportArgumentType]
        (v1.AskRequest(question=question(options=v1.Options(today="no day"))), "bad_options", "/options/today"),
        (v1.AskRequest(question=question(), wait_seconds=float("nan")), "invalid", ""),
        (v1.AskRequest(question=question(operation=99)), "invalid", "/operation"),
        (v1.AskRequest(question=question(operation=v1.OPERATION_RUN, sql="SELECT 1")), "scope", ""),
    ],
)
async def test_a_bad_request_says_what_is_wrong_where(
    stack: ApiStack, request_: v1.AskRequest, reason: str, field: str
) -> None:
    async with grpc_caller(stack) as caller:
        with pytest.raises(Refusal) as caught:
            await caller.call("Ask", request_, x_request_id="bad-1")
    assert caught.value.reason == reason
    assert caught.value.info.domain == "querybus"
    assert len(caught.value.info.metadata["trace_id"]) == 32
    assert caught.value.request_id == caught.value.metadata["x-request-id"] == "bad-1"
    if field:
        assert caught.value.violations[0].field == field


async def test_a_call_is_marked_with_its_id_and_continues_its_trace(stack: ApiStack) -> None:
    async with grpc_caller(stack) as caller:
        await ask_only(caller, x_request_id="report-7", traceparent=f"00-{'ab' * 16}-{'cd' * 8}-03")
        assert caller.metadata["x-request-id"] == "report-7"
        assert caller.metadata["x-trace-id"] == "ab" * 16
        await ask_only(caller, x_request_id="two words")
        assert len(caller.metadata["x-request-id"]) == 32


async def test_one_tenants_rate_is_a_matter_of_waiting() -> None:
    async with api_stack(grpc_port=0, rate_per_second=0.01) as stack, grpc_caller(stack) as caller:
        await ask_only(caller)
        with pytest.raises(Refusal) as caught:
            await ask_only(caller)
    assert caught.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert caught.value.reason == "rate_limited"
    assert (caught.value.retry_seconds or 0) > 0


async def test_an_oversized_request_is_refused_before_it_is_read(stack: ApiStack) -> None:
    async with grpc_caller(stack) as caller:
        with pytest.raises(Refusal) as caught:
            await caller.raw("/querybus.v1.QueryService/Ask", b"x" * (REQUEST_BYTES_MAX + 1))
        assert caught.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert await ask_only(caller), "the connection goes on"


async def test_an_unknown_method_is_not_implemented(stack: ApiStack) -> None:
    async with grpc_caller(stack) as caller:
        for path in ("/querybus.v1.QueryService/Drop", "/querybus.v2.QueryService/Ask", "/x/y"):
            with pytest.raises(Refusal) as caught:
                await caller.raw(path, b"")
            assert caught.value.code is grpc.StatusCode.UNIMPLEMENTED


async def test_health_and_reflection_report_what_is_served(stack: ApiStack) -> None:
    async with grpc_caller(stack, key="") as nobody:
        for service in ("", "querybus.v1.QueryService"):
            data = await nobody.raw(HEALTH, health_pb2.HealthCheckRequest(service=service).SerializeToString())
            status = health_pb2.HealthCheckResponse.FromString(data).status
            assert status == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(Refusal) as caught:
            await nobody.raw(HEALTH, health_pb2.HealthCheckRequest(service="nothing").SerializeToString())
        assert caught.value.code is grpc.StatusCode.NOT_FOUND
        call = nobody.channel.stream_stream(
            REFLECTION,
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )
        answers = [
            item async for item in call(iter([reflection_pb2.ServerReflectionRequest(list_services="")]), timeout=5)
        ]
    names = {path.name for path in answers[0].list_services_response.service}
    assert {"querybus.v1.QueryService", "grpc.health.v1.Health"} <= names


@pytest.mark.parametrize("served", ["", "health"])
async def test_health_and_reflection_answer_without_a_key_only_where_that_was_chosen(served: str) -> None:
    use_cases: Any = None
    api = GrpcApi(
        use_cases,
        host="127.0.0.1",
        port=0,
        calls_max=1,
        tracing=Tracing("gateway"),
        random_bits=system_random_bits,
        on_listening=lambda _: None,
        without_key=(served,) if served else (),
    )
    await api.start()
    try:
        async with grpc.aio.insecure_channel(api.address) as channel:
            for path, name in ((HEALTH, "health"), (REFLECTION, "reflection")):
                call: Any = channel.unary_unary(path) if name == "health" else channel.stream_unary(path)
                asked: Any = b"" if name == "health" else iter([b""])
                if name == served:
                    assert health_pb2.HealthCheckResponse.FromString(await call(asked, timeout=20)).status
                    continue
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await call(asked, timeout=20)
                assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    finally:
        await api.drain()


BYTES = st.one_of(
    st.binary(max_size=300),
    # What looks like a message: a field's tag and then anything.
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 7), st.binary(max_size=30)), max_size=6).map(
        lambda parts: b"".join(bytes([(number << 3 | wire) & 0x7F]) + rest for number, wire, rest in parts)
    ),
    st.builds(
        lambda text, mode, number: v1.AskRequest(
            question=v1.Question(
                question=text, connection="shop", operation=mode, options=v1.Options(mode=mode, rows_max=number)
            ),
            wait_seconds=0,
        ).SerializeToString(),
        st.text(max_size=50),
        st.integers(-(2**31), 2**31 - 1),
        st.integers(-(2**31), 2**31 - 1),
    ),
)
MAY_BE_SAID = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    # What was understood as a question waits for its answer.
    grpc.StatusCode.DEADLINE_EXCEEDED,
}


@pytest.mark.parametrize(
    "path",
    [
        path if path.endswith(("/Ask", "/AskStream", "/SubmitBatch")) else pytest.param(path, marks=pytest.mark.slow)
        for path, _ in ALL_METHODS
    ],
)
async def test_no_bytes_make_the_api_stumble(stack: ApiStack, path: str) -> None:
    streams = {item for item, method in ALL_METHODS if method.is_streaming}
    loop = asyncio.get_running_loop()
    said: dict[bytes, Any] = {}

    async with grpc_caller(stack) as caller:

        async def send(data: bytes) -> None:
            try:
                if path in streams:
                    metadata = (("authorization", f"Bearer {caller.key}"),)
                    async for _ in caller.channel.unary_stream(path)(data, metadata=metadata, timeout=0.15):
                        pass
                else:
                    await caller.raw(path, data, timeout=0.15)
            except Refusal as refusal:
                said[data] = refusal.code
            except grpc.aio.AioRpcError as error:
                said[data] = error.code()

        @settings(max_examples=25, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
        @given(data=BYTES)
        @example(data=b"")
        @example(data=b"\xff" * 20)
        @example(data=b"\x0a\xff\xff\xff\xff\x0f")
        @example(data=b"\x0a" * 2_000)
        def fuzz(data: bytes) -> None:
            asyncio.run_coroutine_threadsafe(send(data), loop).result(10)

        await asyncio.to_thread(fuzz)
        assert {data: code for data, code in said.items() if code not in MAY_BE_SAID} == {}
        assert (await caller.raw(HEALTH, b""))[-1] == health_pb2.HealthCheckResponse.SERVING


async def test_health_bytes_that_are_no_message_are_malformed(stack: ApiStack) -> None:
    async with grpc_caller(stack) as caller:
        with pytest.raises(Refusal) as caught:
            await caller.raw(HEALTH, b"\xff\xff")
    assert caught.value.code is grpc.StatusCode.INVALID_ARGUMENT


async def test_an_api_that_closes_says_so_before_it_cuts_anybody() -> None:
    async with api_stack(grpc_port=0) as stack, grpc_caller(stack) as caller:
        watching = caller.channel.unary_stream(
            "/grpc.health.v1.Health/Watch", response_deserializer=health_pb2.HealthCheckResponse.FromString
        )(b"", timeout=10)
        first = (await watching.read()).status
        request = v1.AskStreamRequest(question=question(), cancel_on_disconnect=True)
        following = caller.begin("AskStream", request)
        query = (await following.read()).query.id
        api = next(part for part in stack.gateway.parts if isinstance(part, GrpcApi))
        closing = asyncio.create_task(api.drain())
        second = (await watching.read()).status
        assert (first, second) == (
            health_pb2.HealthCheckResponse.SERVING,
            health_pb2.HealthCheckResponse.NOT_SERVING,
        )
        await stack.answer(query)
        # What runs is given its time: the answer still comes over the open stream.
        assert (await rest_of(following))[-1].event.name == "finished"
        await closing
        with pytest.raises(Refusal) as caught:
            await ask_only(caller, timeout=2)
        assert caught.value.code in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}


async def test_more_calls_than_one_replica_takes_are_refused_not_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("querybus_gateway.app.GRPC_CALLS_MAX", 1)
    async with api_stack(grpc_port=0) as stack, grpc_caller(stack) as caller:
        following = caller.begin("AskStream", v1.AskStreamRequest(question=question()))
        assert (await following.read()).query.id
        with pytest.raises(Refusal) as caught:
            await ask_only(caller)
        following.cancel()
    assert caught.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_health_watches_take_no_more_than_their_own_places() -> None:
    async with api_stack(grpc_port=0) as stack, grpc.aio.insecure_channel(grpc_address(stack)) as channel:
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
        open_ones = [watch(b"") for _ in range(WATCHES_MAX)]
        for call in open_ones:
            assert isinstance(await call.read(), bytes)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await watch(b"").read()
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        open_ones[0].cancel()
        async with asyncio.timeout(60):
            while True:
                try:
                    assert isinstance(await watch(b"").read(), bytes)
                except grpc.aio.AioRpcError:
                    await asyncio.sleep(0.05)
                else:
                    break


class Someone:
    """The use cases of a gateway in trouble: everybody may come in."""

    callers: Any
    queries: Any
    is_closing = False

    def __init__(self) -> None:
        self.callers = self.queries = self

    async def identify(self, key: str | None, source: str) -> Credential:
        return Credential(name="web", tenant="acme", user="ann")

    def count(self, api: str, status: int) -> None:
        assert (api, status >= 500) == ("grpc", True)


@pytest.mark.parametrize(
    ("trouble", "code", "retry_seconds"),
    [
        (ValueError("secret of a driver"), grpc.StatusCode.INTERNAL, None),
        (BusTrouble("secret of the bus"), grpc.StatusCode.UNAVAILABLE, 2),
    ],
)
@pytest.mark.parametrize("is_streaming", [False, True])
async def test_trouble_behind_the_api_is_said_without_its_text(
    trouble: Exception, code: grpc.StatusCode, retry_seconds: int | None, is_streaming: bool
) -> None:
    async def fails(_: Any, __: Any) -> Any:
        raise trouble

    async def breaks(_: Any, __: Any) -> AsyncGenerator[Any]:
        yield v1.AskStreamResponse()
        raise trouble

    name = "AskStream" if is_streaming else "Ask"
    request = v1.AskStreamRequest if is_streaming else v1.AskRequest
    use_cases: Any = Someone()
    context = CallHandler(use_cases, tracing=Tracing("gateway"), random_bits=system_random_bits)
    handler = context.handler(Method(request, breaks if is_streaming else fails, is_streaming=is_streaming))
    server: Any = AIO.server()
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("querybus.v1.QueryService", {name: handler}),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with AIO.insecure_channel(f"127.0.0.1:{port}") as channel:
            caller = GrpcCaller(channel, "any")

            async def sent() -> None:
                if is_streaming:
                    _ = [event async for event in caller.stream(name, request())]
                else:
                    await caller.call(name, request())

            with pytest.raises(Refusal) as caught:
                await sent()
    finally:
        await server.stop(grace=0)
    assert caught.value.code is code
    assert caught.value.retry_seconds == retry_seconds
    assert "secret" not in str(caught.value)


@pytest.mark.slow
async def test_an_api_that_closes_cancels_no_query(stack: ApiStack) -> None:
    async with api_stack(grpc_port=0) as closing, grpc_caller(closing) as caller:
        following = caller.begin("AskStream", v1.AskStreamRequest(question=question(), cancel_on_disconnect=True))
        query = (await following.read()).query.id
        async with asyncio.timeout(60):
            await closing.gateway.stop()
        with pytest.raises(grpc.aio.AioRpcError):
            await rest_of(following)
        assert await closing.events(query) == ["asked"]


async def test_a_taken_port_is_said_at_the_start(stack: ApiStack) -> None:
    host, _, port = grpc_address(stack).rpartition(":")
    use_cases: Any = None
    second = GrpcApi(
        use_cases,
        host=host,
        port=int(port),
        calls_max=1,
        tracing=Tracing("gateway"),
        random_bits=system_random_bits,
        on_listening=lambda _: None,
    )
    with pytest.raises(OSError, match="cannot listen"):
        await second.start()
    assert await second.ping() == "not listening"
