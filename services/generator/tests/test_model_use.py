"""What every call of a model takes goes with the query: replies without a statement, second drafts and retries included."""

from __future__ import annotations

import pytest
from services.generator.tests.shop_for_generation import SpokenModel, asked, run

from querybus.core.catalog import Dialect
from querybus.core.envelope import Envelope, drafted
from querybus.core.failure import Facts, Failure, FailureCode, ModelTrouble
from querybus.core.messages import Analysis, Draft, Drafted, Origin
from querybus.core.stored.models import NO_USE, Models, ModelUse, NamedModel
from querybus.llm import ModelServiceSettings, NamedModels
from querybus.llm.dialogue import ChatMessage, ModelReply, use_of
from querybus.ops.metrics import Metrics
from querybus_generator.generate import generation_failed
from querybus_generator.reply.metered import MeteredModel
from tests.support.scripted_model import ScriptedModel, say

UNREADABLE = "Which weather makes the moon feel happier than yesterday's jazz?"
SQL = "SELECT COUNT(*) AS n FROM customers WHERE city = 'Berlin'"
ASK = [ChatMessage("user", "one two three")]


async def test_a_draft_carries_what_its_call_took_beside_what_was_used_before() -> None:
    before = ModelUse(calls=2, tokens_in=100, tokens_out=10, cost=0.5)
    result = await run(asked(UNREADABLE, model_use=before), model=SpokenModel(SQL))
    assert not isinstance(result, Failure)
    assert result.model_use == ModelUse(calls=3, tokens_in=107, tokens_out=13, cost=0.5)


@pytest.mark.parametrize("reply", ["   I cannot say.", "Do you mean paid or open orders?"])
async def test_a_reply_without_a_statement_is_counted_once(reply: str) -> None:
    envelope = asked(UNREADABLE)
    result = await run(envelope, model=SpokenModel(reply))
    ended = generation_failed(envelope, result) if isinstance(result, Failure) else result
    assert ended.model_use == ModelUse(calls=1, tokens_in=7, tokens_out=3)


async def test_a_failed_call_is_counted_with_the_tokens_of_its_fault() -> None:
    facts = Facts(model_trouble=ModelTrouble.CUT, tokens_in=40, tokens_out=2)
    failure = Failure.of(FailureCode.MODEL_UNAVAILABLE, "cut", facts)
    envelope = asked(UNREADABLE)
    result = await run(envelope, model=SpokenModel(failure))
    assert isinstance(result, Failure)
    assert generation_failed(envelope, result).model_use == ModelUse(calls=1, tokens_in=40, tokens_out=2)


def test_a_repair_by_rule_counts_the_tokens_of_its_draft_no_second_time() -> None:
    used = ModelUse(calls=1, tokens_in=7, tokens_out=3)
    body = Drafted(
        draft=Draft(sql="SELECT 1", dialect=Dialect.SQLITE, origin=Origin.RULE),
        analysis=Analysis(tokens_in=7, tokens_out=3),
    )
    repaired = drafted(asked(UNREADABLE, model_use=used), body)
    assert repaired.model_use == used
    assert Envelope[Drafted].model_validate_json(repaired.model_dump_json()).model_use == used
    assert "model_use" not in asked(UNREADABLE).model_dump(), "an event without a call is as it was before"


async def test_a_question_that_has_used_its_tokens_makes_no_further_call() -> None:
    spoken = SpokenModel(SQL)
    model = MeteredModel(spoken, ModelUse(calls=1, tokens_in=95), tokens_max=100, cost_max=1.0)
    assert isinstance(await model.reply(ASK, timeout_seconds=5), ModelReply)
    refused = await model.reply(ASK, timeout_seconds=5)
    assert isinstance(refused, Failure)
    assert (refused.facts.model_trouble, len(spoken.prompts)) == (ModelTrouble.QUOTA, 1)
    assert "QUERYBUS_TOKENS_PER_QUESTION" in refused.detail
    assert model.use.calls == 1


async def test_a_question_that_has_cost_what_it_may_makes_no_further_call() -> None:
    spoken = SpokenModel(SQL)
    refused = await MeteredModel(spoken, ModelUse(calls=1, cost=0.5), cost_max=0.5).reply(ASK, timeout_seconds=5)
    assert isinstance(refused, Failure)
    assert (refused.facts.model_trouble, spoken.prompts) == (ModelTrouble.QUOTA, [])
    assert "QUERYBUS_COST_PER_QUESTION" in refused.detail
    again = await MeteredModel(spoken, ModelUse(calls=1, cost=0.4), cost_max=0.5).reply(ASK, timeout_seconds=5)
    assert isinstance(again, ModelReply)


class Chain:
    """Two models with prices; the second stands in for the first."""

    def __init__(self, *addresses: str) -> None:
        named = [
            NamedModel(name=f"m{place}", base_url=address, model="m", price_in=1_000, price_out=10_000)
            for place, address in enumerate(addresses)
        ]
        self.models = Models(models=tuple(named), fallbacks=("m1",))

    async def read(self) -> Models:
        return self.models


@pytest.mark.process
async def test_a_model_that_is_not_set_up_forgets_nothing_of_those_before_it_and_counts_no_call() -> None:
    with ScriptedModel(say(" ")) as empty:
        chain = Chain(empty.base_url, empty.base_url)
        lacking = chain.models.models[1].model_copy(update={"base_url": "", "model": "azure_openai:m"})
        chain.models = chain.models.model_copy(update={"models": (chain.models.models[0], lacking)})
        model = NamedModels(ModelServiceSettings(), Metrics("test"), known=chain, environment={})
        failure = await model.reply(ASK, timeout_seconds=60, tenant="acme")
        unknown = await model.reply(ASK, timeout_seconds=60, tenant="acme", model="nobody")
        await model.drain()
    assert isinstance(failure, Failure)
    assert (failure.facts.native_code, use_of(failure).calls, use_of(failure).tokens_in) == ("not_configured", 1, 3)
    assert use_of(unknown) == NO_USE


@pytest.mark.process
async def test_a_chain_costs_what_all_its_models_took_and_the_tenant_is_counted() -> None:
    metrics = Metrics("test")
    with ScriptedModel(say(" ")) as empty, ScriptedModel(say("a b")) as good:
        model = NamedModels(ModelServiceSettings(), metrics, known=Chain(empty.base_url, good.base_url))
        reply = await model.reply(ASK, timeout_seconds=60, tenant="acme")
        await model.drain()
    assert isinstance(reply, ModelReply)
    assert reply.use is not None
    # The script counts words: three in at both, none and two out.
    assert (reply.use.calls, reply.use.tokens_in, reply.use.tokens_out) == (2, 6, 2)
    assert reply.use.cost == pytest.approx((6 * 1_000 + 2 * 10_000) / 1_000_000)
    assert metrics.value("querybus_tenant_tokens_total", tenant="acme", model="m0") == 3
    assert metrics.value("querybus_tenant_tokens_total", tenant="acme", model="m1") == 5
    assert metrics.value("querybus_tenant_cost_total", tenant="acme", model="m1") == pytest.approx(0.023)
