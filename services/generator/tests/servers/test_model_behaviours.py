"""Each way in which servers of models answer ends in a statement, or in its true cause, within the deadline and few calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
from services.generator.tests.shop_for_generation import NOW_MS, asked, run

from querybus.core.failure import Failure, ModelTrouble
from querybus.core.messages import Drafted, Origin
from querybus.core.stored.models import Models, NamedModel
from querybus.llm import ModelServiceSettings, NamedModels, open_model
from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus.ops.metrics import Metrics
from tests.support.model_behaviours import ANSWERED, CALLS_MAX, FENCED, OPEN, SQL, Behaviour, behaviours
from tests.support.scripted_model import ScriptedModel, Seen, Step, hang, say

QUESTION = "Which weather makes the moon feel happier than yesterday's jazz?"
"""The translator reads nothing in it: what stands at the end is the model's."""
TABLE = behaviours()
SECONDS_MAX = 20.0
pytestmark = pytest.mark.slow
"""Half a minute of CPU: some 230 servers."""


def test_the_table_holds_enough_of_each_kind() -> None:
    assert len({item.name for item in TABLE}) == len(TABLE) >= 150
    assert {item.expected for item in TABLE} == {ANSWERED, *ModelTrouble} - {ModelTrouble.TOO_SLOW}
    assert sum(item.expected == ModelTrouble.CUT for item in TABLE) >= 10


@pytest.mark.parametrize("behaviour", TABLE, ids=lambda item: item.name[:60])
async def test_a_behaviour_ends_as_it_must(behaviour: Behaviour) -> None:
    began = time.monotonic()
    with ScriptedModel(behaviour.script) as server:
        settings = ModelServiceSettings(llm_base_url=server.base_url, llm_model="m", llm_temperature=0)
        model = open_model(settings, Metrics("test"))
        assert model is not None
        async with asyncio.timeout(3 * SECONDS_MAX):
            result = await run(asked(QUESTION, deadline_at=NOW_MS + int(SECONDS_MAX * 1_000)), model=model)
        await model.drain()
        assert 1 <= len(server.requests) <= CALLS_MAX
    assert time.monotonic() - began < 2 * SECONDS_MAX
    if isinstance(result, Failure):
        assert (result.facts.model_trouble, result.detail != "") == (behaviour.expected, True), result
    else:
        assert isinstance(result.body, Drafted)
        assert (behaviour.expected, result.body.draft.origin) == (ANSWERED, Origin.MODEL), result.body


STREAMS: dict[str, tuple[Step, list[Step], str | ModelTrouble]] = {
    "a piece at a time": (say(FENCED, piece_seconds=0.05), [], ANSWERED),
    "closed before its end, whole at the second time": (Step(text=OPEN, stream_end=False), [say(FENCED)], ANSWERED),
    "closed before its end, both times": (
        Step(text=OPEN, stream_end=False), [Step(text=OPEN, finish_reason=None)], ModelTrouble.CUT,
    ),
    "ended by its limit, twice": (say(OPEN, finish_reason="length"), [say(OPEN, finish_reason="length")], ModelTrouble.CUT),
    "ended by a filter": (say(OPEN, finish_reason="content_filter"), [], ModelTrouble.CONTENT_POLICY),
    "ended without a reason": (Step(text=OPEN, finish_reason=None), [say(OPEN, finish_reason=None)], ModelTrouble.CUT),
    "a piece in so long that its time ends": (say(FENCED * 20, piece_seconds=0.5), [], ModelTrouble.TOO_SLOW),
    "silence": (hang(30), [], ModelTrouble.TOO_SLOW),
}  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
async def test_a_streamed_reply_is_whole_or_has_its_cause(name: str) -> None:
    first, later, expected = STREAMS[name]
    with ScriptedModel([first, *later]) as server:
        model = open_model(ModelServiceSettings(llm_base_url=server.base_url, llm_model="m"), Metrics("test"))
        assert model is not None
        await model.start()
        parts: list[str] = []
        began = time.monotonic()
        reply = await model.reply([ChatMessage("user", "x")], timeout_seconds=6, on_text=parts.append)
        assert time.monotonic() - began < SECONDS_MAX
        await model.drain()
        assert len(server.requests) <= CALLS_MAX
    if isinstance(reply, ModelReply) and not reply.is_cut:
        assert (expected, SQL in reply.text) == (ANSWERED, True)
    elif isinstance(reply, ModelReply):
        # Nobody says that it ended: without a closed block nothing of it is read.
        assert (expected, FENCED in reply.text) == (ModelTrouble.CUT, False)
    else:
        assert reply.facts.model_trouble == expected, reply


class Chain:
    """Two models: the first of them hangs."""

    def __init__(self, *addresses: str) -> None:
        named = [NamedModel(name=f"m{place}", base_url=address, model="m") for place, address in enumerate(addresses)]
        self.models = Models(models=tuple(named), fallbacks=("m1",))

    async def read(self) -> Models:
        return self.models


async def test_the_second_model_of_a_chain_is_asked_while_half_of_the_time_is_left() -> None:
    asked_at: list[float] = []

    def play(_: Seen) -> Step:
        asked_at.append(time.monotonic())
        return say(FENCED)

    with ScriptedModel(hang(60)) as silent, ScriptedModel(play) as good:
        model = NamedModels(ModelServiceSettings(), Metrics("test"), known=Chain(silent.base_url, good.base_url))
        await model.start()
        # Its client is made at its first call, which takes a second where the machine is busy.
        await model.reply([ChatMessage("user", "x")], timeout_seconds=60, model="m1")
        asked_at.clear()
        began, seconds = time.monotonic(), SECONDS_MAX
        reply = await model.reply([ChatMessage("user", "x")], timeout_seconds=seconds)
        await model.drain()
    assert isinstance(reply, ModelReply)
    assert asked_at[0] - began <= seconds / 2


async def answer_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer whatever comes as a server of plain HTTP does."""
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    await writer.drain()
    writer.close()


async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Take what comes, as a port behind a wall does."""
    while await reader.read(1_000):
        pass
    writer.close()


@pytest.mark.parametrize("answer", [answer_plainly, say_nothing])
async def test_an_address_that_speaks_no_tls_ends_by_its_cause_and_within_the_time_to_connect(
    answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    model = open_model(ModelServiceSettings(llm_base_url=address, llm_model="m"), Metrics("test"))
    assert model is not None
    await model.start()
    began = time.monotonic()
    result = await run(asked(QUESTION), model=model)
    await model.drain()
    server.close()
    assert time.monotonic() - began < SECONDS_MAX
    assert isinstance(result, Failure)
    assert result.facts.model_trouble is ModelTrouble.SET_UP
    assert "TLS" in result.detail
