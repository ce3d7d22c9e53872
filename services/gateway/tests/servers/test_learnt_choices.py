"""The options that a person chooses are counted for that person alone, shown at every API, and forgotten on demand."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio

from querybus.bus.connection import Held
from querybus.bus.stores.knowledge import ChoiceStore
from querybus.core.asking_back import Clarification, Option, OptionAction, Trigger
from querybus.core.envelope import concluded
from querybus.core.failure import FailureCode
from querybus.core.messages import Concluded, Outcome
from querybus.core.stored.choices import choices_name
from querybus.core.subjects import StageName

from .every_api import Api
from .stack_of_tests import ApiStack, api_stack
from .test_same_at_every_api import same

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

OPTIONS = (
    Option(
        id="1", text="Narrow", question="Orders of May?", action=OptionAction.NARROW_PERIOD, key="amount.narrow_period"
    ),
    Option(id="2", text="Totals", question="Orders by month?", action=OptionAction.AGGREGATE, key="amount.aggregate"),
)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack() -> AsyncGenerator[ApiStack]:
    async with api_stack(grpc_port=0, rate_per_second=10_000) as made:
        yield made


async def ask_back(stack: ApiStack, query: str) -> None:
    last = (await stack.log(query))[-1]
    body = Concluded(
        outcome=Outcome.CLARIFICATION,
        code=FailureCode.TIMEOUT,
        stage=StageName.EXECUTOR,
        clarification=Clarification(trigger=Trigger.SQL_EXECUTION_ERROR, options=OPTIONS),
    )
    await stack.publish(StageName.GENERATOR, concluded(last.envelope(), body), last)
    await stack.finish(query, options=OPTIONS)


async def choose(stack: ApiStack, option: str, *, by_words: bool = False) -> None:
    async with stack.http() as http:
        asked = (await http.post("/v1/queries", json={"question": "All orders?", "connection": "shop"})).json()
        await ask_back(stack, asked["id"])
        if by_words:
            body = {"question": option, "connection": "shop", "thread_id": asked["thread_id"]}
            assert (await http.post("/v1/queries", json=body)).status_code == 202
        else:
            reply = await http.post(f"/v1/queries/{asked['id']}/clarify", json={"option_id": option})
            assert reply.status_code == 202, reply.text


@pytest.mark.requirement("004.17")
async def test_choices_are_counted_shown_and_forgotten_by_their_person_alone(stack: ApiStack) -> None:
    for _ in range(3):
        await choose(stack, "2")
    await choose(stack, "2", by_words=True)
    await choose(stack, "1")

    async def listed(api: Api, _: str) -> list[Any]:
        return [await api.choices()]

    counted = [
        {"kind": "amount", "option": "aggregate", "count": 4},
        {"kind": "amount", "option": "narrow_period", "count": 1},
    ]
    assert await same(stack, listed) == [{"choices": counted}]
    presenter = ChoiceStore(Held(await stack.user(StageName.PRESENTER)))
    assert (await presenter.read("acme", choices_name("ann"))).count_of("amount.aggregate") == 4
    for tenant, credential in (("acme", "desk"), ("other", "web")):
        async with stack.http(tenant, credential) as other:
            assert (await other.get("/v1/preferences/choices")).json() == {"choices": []}
            assert (await other.delete("/v1/preferences/choices")).json() == {"choices": []}
    async with stack.http() as http:
        await http.put("/v1/preferences", json={"page_size": 9})
        assert (await http.get("/v1/preferences/choices")).json() == {"choices": counted}

    async def forgotten(api: Api, _: str) -> list[Any]:
        return [await api.forget_choices("column"), await api.choices()]

    assert await same(stack, forgotten) == [{"choices": counted}, {"choices": counted}]

    async def cleared(api: Api, _: str) -> list[Any]:
        await choose(stack, "2")
        return [await api.forget_choices(), await api.choices()]

    assert await same(stack, cleared) == [{"choices": []}, {"choices": []}]
    async with stack.http() as http:
        assert (await http.get("/v1/preferences")).json()["page_size"] == 9


async def test_the_same_choice_sent_twice_with_one_key_counts_once(stack: ApiStack) -> None:
    async with stack.http() as http:
        await http.delete("/v1/preferences/choices")
        asked = (await http.post("/v1/queries", json={"question": "All orders?", "connection": "shop"})).json()
        await ask_back(stack, asked["id"])
        for _ in range(2):
            headers = {"Idempotency-Key": "once"}
            reply = await http.post(f"/v1/queries/{asked['id']}/clarify", json={"option_id": "2"}, headers=headers)
            assert reply.status_code == 202
        counted = (await http.get("/v1/preferences/choices")).json()["choices"]
    assert counted == [{"kind": "amount", "option": "aggregate", "count": 1}]
