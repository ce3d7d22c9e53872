"""The client of a model: limits, retries, breaker; proven with an address of our own, then over the wire."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Sequence

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from querybus.core.failure import Failure, FailureCode, ModelTrouble
from querybus.core.stored.models import NO_USE, ModelUse
from querybus.llm import Limits, ModelClient, ModelServiceSettings, NamedModels, open_model
from querybus.llm.dialogue import ChatMessage, ModelReply, use_of
from querybus.llm.errors import Fault, FaultKind
from querybus.llm.forms import form_of, model_of
from querybus.llm.model import OnText
from querybus.llm.wire.chat import ChatAddress
from querybus.ops.log import configure_logging
from querybus.ops.metrics import Metrics
from querybus.ops.settings import load
from tests.support.scripted_model import (
    ScriptedModel,
    Seen,
    Step,
    call_tool,
    cut_json,
    empty_choice,
    fail,
    garbage,
    hang,
    hang_up,
    say,
)

HELLO = [ChatMessage("user", "hello there")]
KEY = "sk-a-key-that-nobody-may-see"


class ScriptedAddress:
    """A ModelAddress that plays outcomes in turn, on a clock of its own."""

    def __init__(self, *outcomes: ModelReply | Fault, seconds: float = 0.0) -> None:
        self.outcomes: list[ModelReply | Fault] = list(outcomes)
        self.calls = 0
        self.in_flight_max = 0
        self.seconds = seconds
        self._in_flight = 0

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        model: str,
        on_text: OnText | None = None,
        tokens_out_max: int | None = None,
    ) -> ModelReply | Fault:
        self.calls += 1
        self._in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self._in_flight)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self._in_flight -= 1
        return self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


GOOD = ModelReply("fine", 3, 1, "m")
BAD = Fault(FaultKind.SERVER, "HTTP 500", status=500)


def client_of(address: ScriptedAddress, clock: Clock | None = None, **limits: float) -> ModelClient:
    clock = clock or Clock()
    return ModelClient(
        address,
        model="m",
        limits=Limits(**limits),  # type: ignore[arg-type]
        metrics=Metrics("test"),
        jitter=lambda: 0.0,
        seconds=clock,
        sleep=clock.sleep,
    )


async def test_a_server_error_is_tried_again_once():
    address = ScriptedAddress(BAD, GOOD)
    assert await client_of(address).reply(HELLO, timeout_seconds=10) == GOOD
    assert address.calls == 2


async def test_a_request_at_fault_is_not_tried_again():
    address = ScriptedAddress(Fault(FaultKind.REQUEST, "HTTP 401", status=401), GOOD)
    result = await client_of(address).reply(HELLO, timeout_seconds=10)
    assert isinstance(result, Failure)
    assert result.facts.native_code == "401"
    assert address.calls == 1


async def test_retry_after_is_waited_for_and_holds_back_everybody():
    clock = Clock()
    address = ScriptedAddress(Fault(FaultKind.BUSY, "", status=429, retry_after_seconds=3), GOOD)
    client = client_of(address, clock)
    assert await client.reply(HELLO, timeout_seconds=10) == GOOD
    assert clock.now >= 3

    address.outcomes[:] = [Fault(FaultKind.BUSY, "", status=429, retry_after_seconds=60)]
    first = await client.reply(HELLO, timeout_seconds=10)
    calls = address.calls
    second = await client.reply(HELLO, timeout_seconds=10)
    assert isinstance(first, Failure)
    assert isinstance(second, Failure)
    assert second.facts.native_code == "429"
    assert address.calls == calls, "nobody knocks before the pause is over"


async def test_the_breaker_opens_and_one_call_probes():
    clock = Clock()
    address = ScriptedAddress(BAD)
    client = client_of(address, clock, breaker_failures=3, breaker_open_seconds=10, retries_max=0)
    for _ in range(3):
        await client.reply(HELLO, timeout_seconds=5)
    refused = await client.reply(HELLO, timeout_seconds=5)
    assert isinstance(refused, Failure)
    assert refused.facts.native_code == "breaker_open"
    assert address.calls == 3

    clock.now += 11
    await client.reply(HELLO, timeout_seconds=5)
    await client.reply(HELLO, timeout_seconds=5)
    assert address.calls == 4, "a failed probe keeps it open"

    clock.now += 11
    address.outcomes[:] = [GOOD]
    assert await client.reply(HELLO, timeout_seconds=5) == GOOD
    assert await client.reply(HELLO, timeout_seconds=5) == GOOD


async def test_many_callers_of_a_dead_address_make_no_storm():
    address = ScriptedAddress(BAD)
    client = client_of(address, breaker_failures=5, concurrency_max=4)
    result = await asyncio.gather(*(client.reply(HELLO, timeout_seconds=5) for _ in range(100)))
    assert all(isinstance(item, Failure) for item in result)
    assert address.calls <= 5 + 4


async def test_failures_in_a_row_among_calls_sent_before_an_answer_do_not_open_the_breaker():
    """An address that answers the first of many at once, and then fails as many in a row as open the breaker."""

    class Ordered(ScriptedAddress):
        async def complete(self, messages: Sequence[ChatMessage], **_: object) -> ModelReply | Fault:
            self.calls += 1
            number = self.calls
            await asyncio.sleep(number / 100)
            clock.now = max(clock.now, number / 100)
            return GOOD if number == 1 else BAD

    clock = Clock()
    address = Ordered(BAD)
    client = client_of(address, clock, breaker_failures=3, retries_max=0)
    await asyncio.gather(*(client.reply(HELLO, timeout_seconds=5) for _ in range(6)))
    assert address.calls == 6
    again = await client.reply(HELLO, timeout_seconds=5)
    assert isinstance(again, Failure)
    assert again.facts.native_code == "500", "it was called"
    for _ in range(3):
        await client.reply(HELLO, timeout_seconds=5)
    assert address.calls == 9, "three failures of calls sent after the answer open it"


async def test_no_more_calls_at_once_than_the_limit():
    address = ScriptedAddress(GOOD, seconds=0.01)
    client = client_of(address, concurrency_max=3)
    await asyncio.gather(*(client.reply(HELLO, timeout_seconds=5) for _ in range(12)))
    assert address.in_flight_max == 3
    assert address.calls == 12


async def test_a_model_that_is_not_configured_is_not_called():
    address = ScriptedAddress(GOOD)
    result = await client_of(address).reply(HELLO, timeout_seconds=5, model="another")
    assert isinstance(result, Failure)
    assert address.calls == 0


async def test_replies_and_errors_are_counted_by_model():
    metrics = Metrics("test")
    client = ModelClient(ScriptedAddress(GOOD), model="m", metrics=metrics)
    await client.reply(HELLO, timeout_seconds=5)
    await client.reply(HELLO, timeout_seconds=5, model="another")
    assert metrics.value("querybus_model_tokens_total", model="m", kind="in") == 3
    assert metrics.value("querybus_model_seconds_count", model="m") == 1


def test_without_an_address_there_is_no_model():
    assert open_model(ModelServiceSettings(llm_base_url=""), Metrics("test")) is None


def settings_for(server: ScriptedModel, **changes: object) -> ModelServiceSettings:
    return ModelServiceSettings.model_validate(
        {"llm_base_url": server.base_url, "llm_api_key": SecretStr(KEY), "llm_model": "scripted", **changes}
    )


def address_of(settings: ModelServiceSettings) -> ChatAddress:
    return ChatAddress(form_of(model_of(settings, settings.llm_model), settings, {}))


async def ask(server: ScriptedModel, timeout_seconds: float = 60.0, **changes: object) -> ModelReply | Failure:
    client = open_model(settings_for(server, **changes), Metrics("test"))
    assert client is not None
    await client.start()
    try:
        return await client.reply(HELLO, timeout_seconds=timeout_seconds)
    finally:
        await client.drain()


@pytest.mark.requirement("001.13", "002.3")
async def test_a_reply_comes_over_the_wire_with_its_tokens():
    with ScriptedModel(say("SELECT 1"), api_key=KEY) as server:
        assert await ask(server) == ModelReply("SELECT 1", tokens_in=2, tokens_out=2, model="scripted")
    body = server.requests[0].json
    assert "temperature" not in body, "a model whose family is not known has its own"
    assert 4096 in (body.get("max_tokens"), body.get("max_completion_tokens"))


async def test_a_made_up_tool_call_is_read_as_its_arguments():
    with ScriptedModel(call_tool({"sql": "SELECT 1"})) as server:
        result = await ask(server)
    assert isinstance(result, ModelReply)
    assert result.text == '{"sql": "SELECT 1"}'


@pytest.mark.parametrize("step", [say("SELECT 1"), say("SELECT a\nFROM t WHERE b = 'a longer text'")])
@pytest.mark.requirement("002.4")
async def test_a_streamed_reply_is_the_same_as_a_whole_one(step: Step):
    received: list[str] = []
    with ScriptedModel(step) as server:
        address = address_of(ModelServiceSettings(llm_base_url=server.base_url))
        whole = await address.complete(HELLO, model="m")
        streamed = await address.complete(HELLO, model="m", on_text=received.append)
        await address.close()
    assert whole == streamed
    assert "".join(received) == step.text


async def test_an_empty_key_is_no_key():
    with ScriptedModel(say("fine")) as server:
        address = address_of(ModelServiceSettings(llm_base_url=server.base_url, llm_api_key=SecretStr("")))
        said = await address.complete(HELLO, model="m")
        await address.close()
    assert isinstance(said, ModelReply)
    assert server.requests[0].headers["authorization"] == "Bearer none"


async def test_a_reply_at_its_token_limit_is_asked_for_once_more_with_twice_the_tokens():
    whole = [say("SELECT a FROM", finish_reason="length"), say("SELECT a FROM t")]
    with ScriptedModel(whole) as server:
        result = await ask(server)
        limits = [seen.json["max_completion_tokens"] for seen in server.requests]
    assert limits == [4096, 8192]
    assert result == ModelReply("SELECT a FROM t", tokens_in=4, tokens_out=7, model="scripted")
    with ScriptedModel(say("SELECT a FROM", finish_reason="length")) as server:
        result = await ask(server)
        assert len(server.requests) == 2
    assert isinstance(result, Failure)
    assert (result.facts.model_trouble, result.facts.tokens_out) == (ModelTrouble.CUT, 6)
    assert result.facts.model_use == ModelUse(calls=2, tokens_in=4, tokens_out=6)


async def test_every_request_of_a_call_counts_and_a_call_that_sends_none_counts_nothing():
    """Retries are paid for like first requests."""
    metrics = Metrics("test")
    with ScriptedModel([say("SELECT a FROM", finish_reason="length"), say("SELECT a FROM t")]) as server:
        client = open_model(settings_for(server), metrics)
        assert client is not None
        result = await client.reply(HELLO, timeout_seconds=60)
        unknown = await client.reply(HELLO, timeout_seconds=60, model="nobody")
        await client.drain()
    assert use_of(result) == ModelUse(calls=2, tokens_in=4, tokens_out=7)
    assert use_of(unknown) == NO_USE
    assert metrics.value("querybus_model_tokens_total", model="scripted", kind="out") == 7
    with ScriptedModel(say("SELECT a FROM", finish_reason="length")) as server:
        client = open_model(settings_for(server), metrics)
        assert client is not None
        await client.reply(HELLO, timeout_seconds=60)
        await client.drain()
    assert metrics.value("querybus_model_tokens_total", model="scripted", kind="out") == 13, "a cut reply was paid for"


CUT = "```sql\nSELECT COUNT(*) AS n FROM orders\n"


@pytest.mark.parametrize(
    ("reason", "trouble"),
    [
        ("length", ModelTrouble.CUT),
        ("max_tokens", ModelTrouble.CUT),
        ("MAX_TOKENS", ModelTrouble.CUT),
        ("model_length", ModelTrouble.CUT),
        ("insufficient_system_resource", ModelTrouble.CUT),
        ("error", ModelTrouble.CUT),
        ("abort", ModelTrouble.CUT),
        ("content_filter", ModelTrouble.CONTENT_POLICY),
        ("SAFETY", ModelTrouble.CONTENT_POLICY),
    ],
)
async def test_a_reply_that_did_not_end_by_itself_is_no_reply(reason: str, trouble: ModelTrouble):
    for text in (CUT, f"{CUT}```"):
        with ScriptedModel(say(text, finish_reason=reason)) as server:
            result = await ask(server)
        assert isinstance(result, Failure)
        assert result.facts.model_trouble is trouble


async def test_a_reply_without_a_reason_is_marked_and_a_stream_without_one_is_asked_for_whole():
    with ScriptedModel(say(CUT, finish_reason=None)) as server:
        marked = await ask(server)
    assert isinstance(marked, ModelReply)
    assert marked.is_cut
    with ScriptedModel([say(CUT, finish_reason=None), say("SELECT 1")]) as server:
        client = open_model(settings_for(server), Metrics("test"))
        assert client is not None
        result = await client.reply(HELLO, timeout_seconds=60, on_text=lambda _: None)
        await client.drain()
        assert [bool(seen.json.get("stream")) for seen in server.requests] == [True, False]
    assert isinstance(result, ModelReply)
    assert result.text == "SELECT 1"


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "function_call", "end_turn", "STOP", "eos"])
async def test_a_model_that_ended_by_itself_is_used(reason: str):
    with ScriptedModel(say("SELECT 1", finish_reason=reason)) as server:
        result = await ask(server)
    assert isinstance(result, ModelReply)
    assert not result.is_cut


async def test_why_a_model_gave_no_reply_stands_in_the_log_the_metric_and_the_failure(
    caplog: pytest.LogCaptureFixture,
):
    configure_logging("info")
    caplog.set_level(logging.INFO)
    metrics = Metrics("test")
    with ScriptedModel(fail(404, code="model_not_found", message=f"no such model {KEY}")) as server:
        client = open_model(settings_for(server), metrics)
        assert client is not None
        with capture_logs() as lines:
            result = await client.reply(HELLO, timeout_seconds=60)
        await client.drain()
    assert isinstance(result, Failure)
    assert result.facts.model_trouble is ModelTrouble.SET_UP
    line = next(line for line in lines if line["event"] == "model.no_reply")
    assert (line["trouble"], line["code"]) == ("set_up", "404")
    assert "model_not_found" in line["detail"]
    assert line["next"] == "querybus models test scripted"
    assert metrics.value("querybus_model_errors_total", model="scripted", code="set_up") == 1
    assert KEY not in str(lines)
    assert HELLO[0].text not in str(lines)


@pytest.mark.parametrize(
    ("step", "native_code", "requests"),
    [
        (fail(429), "429", 2),
        (fail(429, retry_after_seconds=100), "429", 1),
        (fail(500), "500", 2),
        (fail(401), "401", 1),
        (cut_json(), "protocol", 1),
        (garbage(), "protocol", 1),
        (empty_choice(), "protocol", 1),
        (Step(body=b"null"), "protocol", 1),
        (Step(body=b'{"choices": [{}]}'), "protocol", 1),
        (hang_up(), "connect", 2),
        (Step(body=b'{"choi', content_length=500), "connect", 2),
        (hang(), "timeout", 1),
    ],
    ids=lambda value: None if isinstance(value, Step) else str(value),
)
async def test_every_fault_is_typed_bounded_and_without_a_storm(step: Step, native_code: str, requests: int):
    with ScriptedModel(step) as server:
        # The server that hangs does so for an hour, and asks for more patience than there is.
        result = await ask(server, timeout_seconds=1.5 if native_code == "timeout" else 60.0)
        assert len(server.requests) == requests
    assert isinstance(result, Failure)
    assert result.code is FailureCode.MODEL_UNAVAILABLE
    assert result.facts.native_code == native_code
    assert KEY not in result.model_dump_json()


def refusing(*fields: str) -> Callable[[Seen], Step]:
    """A model that refuses fields, one at a time, as providers do."""

    def play(seen: Seen) -> Step:
        wrong = next((field for field in fields if field in seen.json), None)
        return (
            say("SELECT 1") if wrong is None else fail(400, message=f"Unsupported value: '{wrong}' is not supported.")
        )

    return play


@pytest.mark.parametrize(
    "fields", [("temperature",), ("max_completion_tokens",), ("max_completion_tokens", "temperature")]
)
async def test_a_field_that_a_model_refuses_is_left_out_now_and_later(fields: tuple[str, ...]):
    with ScriptedModel(refusing(*fields)) as server:
        client = open_model(settings_for(server, llm_temperature=0), Metrics("test"))
        assert client is not None
        for expected in (1 + len(fields), 2 + len(fields)):
            result = await client.reply(HELLO, timeout_seconds=60)
            assert isinstance(result, ModelReply)
            assert len(server.requests) == expected
        await client.drain()
        kept = {"temperature", "max_completion_tokens"} - set(fields)
        assert kept <= set(server.requests[-1].json)
        assert not set(fields) & set(server.requests[-1].json)


async def test_a_streamed_reply_leaves_refused_fields_out_as_well():
    with ScriptedModel(refusing("temperature")) as server:
        address = address_of(settings_for(server, llm_temperature=0))
        parts: list[str] = []
        result = await address.complete(HELLO, model="scripted", on_text=parts.append)
        await address.close()
    assert isinstance(result, ModelReply)
    assert "".join(parts) == "SELECT 1"
    assert address.fields_left_out("scripted") == {"temperature"}


async def test_a_request_that_is_refused_for_another_reason_is_sent_once():
    with ScriptedModel(fail(400, message="the messages are too long")) as server:
        result = await ask(server)
        assert len(server.requests) == 1
    assert isinstance(result, Failure)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (fail(401, code="invalid_api_key"), ("HTTP 401", "refuses the key in QUERYBUS_LLM_API_KEY")),
        (fail(404), ("HTTP 404", "QUERYBUS_LLM_BASE_URL usually ends in /v1")),
        (fail(404, code="model_not_found"), ("HTTP 404", "no model of the name in QUERYBUS_LLM_MODEL")),
        (fail(404, message='model "llama9:1b" not found, try pulling it first'), ("QUERYBUS_LLM_MODEL",)),
        (fail(429, code="insufficient_quota"), ("HTTP 429 (insufficient_quota)", "quota", "used up")),
        (garbage(), ("QUERYBUS_LLM_BASE_URL",)),
    ],
    ids=("key", "path", "model", "model-of-ollama", "quota", "no-json"),
)
async def test_a_fault_of_the_set_up_names_its_setting_and_is_not_tried_again(step: Step, said: tuple[str, ...]):
    with ScriptedModel(step) as server:
        result = await ask(server)
        assert len(server.requests) == 1
    assert isinstance(result, Failure)
    assert all(part in result.detail for part in said), result.detail


@pytest.mark.requirement("002.2", "002.3")
def test_a_key_of_openai_and_a_models_name_are_enough(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert load(ModelServiceSettings).llm_base_url == ""
    monkeypatch.setenv("QUERYBUS_LLM_MODEL", "gpt-8")
    settings = load(ModelServiceSettings)
    assert (settings.llm_base_url, settings.llm_api_key) == ("https://api.openai.com/v1", SecretStr(KEY))
    monkeypatch.setenv("QUERYBUS_LLM_BASE_URL", "http://127.0.0.1:1/v1")
    assert load(ModelServiceSettings).llm_api_key is None


@pytest.mark.requirement("002.2")
async def test_a_models_name_may_hold_colons_and_slashes():
    for name in ("llama3.1:8b", "openai/gpt-oss-20b"):
        with ScriptedModel(say("SELECT 1")) as server:
            models = NamedModels(settings_for(server, llm_model=name), Metrics("test"))
            assert isinstance(await models.reply(HELLO, timeout_seconds=60, model=name), ModelReply)
            await models.drain()
            assert server.requests[0].json["model"] == name


async def test_a_429_with_retry_after_is_honoured():
    with ScriptedModel([fail(429, retry_after_seconds=0.6), say("fine")]) as server:
        started = asyncio.get_running_loop().time()
        result = await ask(server)
        assert asyncio.get_running_loop().time() - started >= 0.6
    assert isinstance(result, ModelReply)


async def test_an_address_where_nobody_listens_is_a_typed_failure():
    with ScriptedModel(say("x")) as server:
        pass
    result = await ask(server)
    assert isinstance(result, Failure)
    assert result.facts.native_code == "connect"


async def test_a_cancelled_call_leaves_no_task_and_no_socket():
    with ScriptedModel(hang()) as server:
        client = open_model(settings_for(server), Metrics("test"))
        assert client is not None
        await client.start()
        before = asyncio.all_tasks()
        calls = [asyncio.create_task(client.reply(HELLO, timeout_seconds=600)) for _ in range(5)]
        while server.in_flight < 5:
            await asyncio.sleep(0.01)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert asyncio.all_tasks() == before
        async with asyncio.timeout(60):
            while server.connections_open:
                await asyncio.sleep(0.02)
        await client.drain()


async def test_draining_closes_every_socket():
    with ScriptedModel(say("fine", delay_seconds=0.05)) as server:
        client = open_model(settings_for(server), Metrics("test"))
        assert client is not None
        await client.start()
        await asyncio.gather(*(client.reply(HELLO, timeout_seconds=60) for _ in range(8)))
        await client.drain()
        async with asyncio.timeout(60):
            while server.connections_open:
                await asyncio.sleep(0.02)
    gc.collect()


async def test_the_key_stands_in_no_log_and_no_error(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    echo = Step(status=401, body=f'{{"error": {{"message": "bad key {KEY}", "code": "bad {KEY}"}}}}'.encode())
    with ScriptedModel([echo, garbage(), fail(500)]) as server:
        for _ in range(3):
            result = await ask(server)
            assert isinstance(result, Failure)
            assert KEY not in str(result)
    assert KEY not in caplog.text
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}", "it did travel where it belongs"


async def test_the_scripted_model_streams_as_the_protocol_says():
    import openai

    with ScriptedModel(say("SELECT name FROM customers")) as server:
        client = openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0)
        stream = await client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "x"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        pieces, usage = [], None
        async for chunk in stream:
            usage = chunk.usage or usage
            pieces += [choice.delta.content or "" for choice in chunk.choices]
        await client.close()
    assert "".join(pieces) == "SELECT name FROM customers"
    assert usage is not None
    assert usage.completion_tokens == 4
