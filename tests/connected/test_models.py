"""Models by name over a real bus: changed while they are used, limited for all replicas together, with a stand-in."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.connection import Held
from querybus.bus.stores.buckets import CounterStore
from querybus.bus.stores.models import ModelStore
from querybus.core.stored.models import Models, NamedModel
from querybus.llm import ModelServiceSettings, NamedModels
from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus.ops.metrics import Metrics
from tests.support.scripted_model import ScriptedModel, Seen, Step, fail, say

pytestmark = pytest.mark.connected
HELLO = [ChatMessage("user", "hello there")]


class Counting:
    """A script that counts the calls that it holds at once, as a provider would."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._until: list[float] = []
        self.most = 0
        self.calls = 0

    def __call__(self, _: Seen) -> Step:
        now = time.monotonic()
        with self._lock:
            self.calls += 1
            self._until = [until for until in self._until if until > now] + [now + self._seconds]
            self.most = max(self.most, len(self._until))
        return say("fine", delay_seconds=self._seconds)


def named(name: str, address: str, **more: object) -> NamedModel:
    return NamedModel.model_validate({"name": name, "base_url": address, "model": name, **more})


@pytest.mark.requirement("002.1", "002.5")
async def test_models_are_changed_limited_and_replaced_without_a_restart():
    script = Counting(0.05)
    async with EmbeddedNats(()) as bus:
        await bus.migrate()
        operator = ModelStore(Held(await bus.connect("operator")))
        replicas: list[tuple[ModelStore, NamedModels]] = []
        for _ in range(4):
            held = Held(await bus.connect("generator"))
            store = ModelStore(held, follow=True)
            await store.start()
            models = NamedModels(ModelServiceSettings(), Metrics("test"), known=store, counters=CounterStore(held))
            replicas.append((store, models))
        assert not await replicas[0][1].prompting("acme", None)
        with ScriptedModel(script) as one, ScriptedModel([fail(500)]) as broken:
            limited = named("one", one.base_url, concurrency_max=5, requests_per_minute=600, price_in=1.0)
            await operator.write(Models(models=(limited,)))
            async with asyncio.timeout(60):
                while not all([await models.prompting("acme", None) for _, models in replicas]):
                    await asyncio.sleep(0.02)
            for _, models in replicas:
                await models.start()
            said = await asyncio.gather(
                *(replicas[n % 4][1].reply(HELLO, timeout_seconds=20, tenant="acme") for n in range(60))
            )
            assert all(isinstance(item, ModelReply) for item in said)
            assert script.calls == 60
            # A call's slot is free when its reply is read, a moment after the stub has sent it.
            assert script.most <= 5

            both = Models(
                models=(named("broken", broken.base_url), limited, named("own", one.base_url, tenants=("other",))),
                tenants={"acme": "broken"},
                fallbacks=("one",),
            )
            await operator.write(both)
            models = replicas[0][1]
            reply = None
            async with asyncio.timeout(60):
                while not broken.requests:
                    reply = await models.reply(HELLO, timeout_seconds=10, tenant="acme")
            assert isinstance(reply, ModelReply)
            assert reply.model == "one"
            refused = await models.reply(HELLO, timeout_seconds=5, tenant="acme", model="own")
            assert not isinstance(refused, ModelReply)
            assert isinstance(await models.reply(HELLO, timeout_seconds=5, tenant="other", model="own"), ModelReply)
        for store, models in replicas:
            await models.drain()
            await store.drain()


@pytest.mark.requirement("002.55")
async def test_calls_a_minute_hold_over_replicas_that_share_a_bus():
    """A call of `HELLO` is taken for 204 tokens, and takes so many; a tenth of either limit is 24 calls at once."""
    came: dict[str, list[float]] = {"requests": [], "tokens": []}

    def script(seen: Seen) -> Step:
        came[seen.json["model"]].append(time.monotonic())
        return say(" ".join(["word"] * 202))

    async with EmbeddedNats(()) as bus:
        await bus.migrate()
        with ScriptedModel(script) as server:
            limited = (
                named("requests", server.base_url, requests_per_minute=240),
                named("tokens", server.base_url, tokens_per_minute=204 * 240),
            )
            await ModelStore(Held(await bus.connect("operator"))).write(Models(models=limited))
            replicas: list[NamedModels] = []
            for _ in range(4):
                held = Held(await bus.connect("generator"))
                known = ModelStore(held)
                replicas.append(
                    NamedModels(ModelServiceSettings(), Metrics("test"), known=known, counters=CounterStore(held))
                )
            for models in replicas:
                await models.start()
            began = time.monotonic()
            await asyncio.gather(
                *(
                    replicas[n % 4].reply(HELLO, timeout_seconds=3, tenant="acme", model=model)
                    for n in range(80)
                    for model in came
                )
            )
            for models in replicas:
                await models.drain()
    for moments in came.values():
        assert 1 <= len(moments) < 80, "more was asked for than may be called"
        for number, moment in enumerate(moments, 1):
            # What was granted is used within a second, which is the tolerance.
            assert number <= 24 + 1 + 4.0 * (moment - began + 1.0)


@pytest.mark.requirement("002.4")
async def test_a_streamed_reply_is_reported_in_parts_and_counted_whole():
    with ScriptedModel([say("SELECT one, two, three FROM four")]) as server:
        settings = ModelServiceSettings(llm_base_url=server.base_url, llm_model="m", llm_streaming=True)
        metrics = Metrics("test")
        models = NamedModels(settings, metrics)
        parts: list[str] = []
        reply = await models.reply(HELLO, timeout_seconds=10, on_text=parts.append)
        await models.drain()
    assert isinstance(reply, ModelReply)
    assert len(parts) > 1
    assert "".join(parts) == reply.text == "SELECT one, two, three FROM four"
    assert reply.tokens_out > 0
