"""The real generator on a real bus with its own rights: a draft, the thread of one user only, a model that fails."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr
from services.generator.tests.shop_for_generation import SHOP

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.application import Service
from querybus.bus.connection import Held
from querybus.bus.log.journal import Journal
from querybus.bus.log.publish import Stored, address_of
from querybus.bus.stores.buckets import ConnectionStore
from querybus.bus.stores.catalogs import CatalogStore
from querybus.core.envelope import Envelope, concluded
from querybus.core.failure import FailureCode
from querybus.core.messages import Asked, Concluded, Origin, Outcome
from querybus.core.policy import Connection
from querybus.core.subjects import EventName, StageName
from querybus_generator.app import build
from querybus_generator.settings import Settings
from tests.connected.queries import append, ask, asked, broker_of, sizes, until
from tests.support.scripted_model import ScriptedModel, fail, say

pytestmark = pytest.mark.connected


@pytest.fixture
async def bus() -> AsyncIterator[EmbeddedNats]:
    async with EmbeddedNats(sync="2m", sizes=sizes()) as server:
        await server.migrate()
        owner = broker_of(server, StageName.EXECUTOR)
        await owner.connect()
        await CatalogStore(owner).write(SHOP)
        await ConnectionStore(owner).write(Connection(name="shop", dialect=SHOP.dialect))
        await owner.stop()
        yield server


@asynccontextmanager
async def generator(bus: EmbeddedNats, **settings: Any) -> AsyncGenerator[Service]:
    service = build(
        Settings(nats_url=bus.url, nats_password=SecretStr(bus.password("generator")), drain_seconds=2, **settings)
    )
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


async def next_event(gateway: Any, first: Envelope[Any]) -> Envelope[Any]:
    """Return what the generator made of a first event."""
    journal = Journal(Held(gateway))
    envelopes: list[Envelope[Any]] = []

    async def is_there() -> bool:
        entries = await journal.query(first.tenant, first.query_id, thread=first.thread_id)
        envelopes[:] = [entry.envelope() for entry in entries if entry.address.event is not EventName.ASKED]
        return bool(envelopes)

    await until(is_there)
    return envelopes[-1]


async def test_a_question_becomes_a_draft_without_a_model(bus: EmbeddedNats):
    gateway = await bus.connect("gateway")
    async with generator(bus) as service:
        assert await service.troubles() == {}
        first, _ = await ask(gateway)
        event = await next_event(gateway, first)
    assert event.event is EventName.DRAFTED
    assert event.body.draft.origin is Origin.BUILTIN
    assert event.classification is not None
    await gateway.close()


@pytest.mark.requirement("002.14")
async def test_a_follow_up_carries_the_thread_of_the_same_user_to_the_model(bus: EmbeddedNats):
    gateway = await bus.connect("gateway")
    presenterless = await bus.connect("executor")
    with ScriptedModel(
        say("```sql\nSELECT city FROM orders JOIN customers ON orders.customer_id = customers.id\n```")
    ) as model:
        async with generator(bus, llm_base_url=model.base_url):
            first, _ = await ask(gateway, asked(question="Orders by city?"))
            draft = await next_event(gateway, first)
            ended = concluded(draft, Concluded(outcome=Outcome.ANSWERED, stage=StageName.EXECUTOR, sql="SELECT 1"))
            last = await Journal(Held(gateway)).last(address_of(first))
            assert last is not None
            sequence = last.sequence
            stored = await append(presenterless, ended, sequence)
            assert isinstance(stored, Stored)
            follow_up = asked(
                question="And by month?", thread_id=first.thread_id, body=Asked(thread_until_sequence=stored.sequence)
            )
            await ask(gateway, follow_up)
            assert (await next_event(gateway, follow_up)).event is EventName.DRAFTED
            stranger = follow_up.model_copy(update={"query_id": asked().query_id, "user": "bob"})
            await ask(gateway, stranger)
            assert (await next_event(gateway, stranger)).event is EventName.DRAFTED
    assert "Orders by city?" in model.requests[1].text
    assert "Orders by city?" not in model.requests[2].text
    await gateway.close()
    await presenterless.close()


async def test_a_model_that_fails_is_on_the_log_as_its_own_code(bus: EmbeddedNats):
    gateway = await bus.connect("gateway")
    with ScriptedModel(fail(500)) as model:
        async with generator(bus, llm_base_url=model.base_url) as service:
            first, _ = await ask(gateway, question="Which weather makes the moon feel happier than jazz?")
            event = await next_event(gateway, first)
            assert service.metrics.value("querybus_model_errors_total", model="default", code="unreachable") == 1
    assert event.event is EventName.FAILED
    assert event.body.code is FailureCode.MODEL_UNAVAILABLE
    assert event.classification is not None
    assert len(model.requests) == 2
    await gateway.close()
