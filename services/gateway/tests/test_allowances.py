"""A tenant's allowance holds over all replicas, and a day's tokens are counted once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from querybus.core.catalog import Dialect
from querybus.core.credential import Credential, Group
from querybus.core.envelope import drafted
from querybus.core.messages import Draft, Drafted, Origin
from querybus.core.stored.models import ModelUse
from querybus.core.subjects import StageName
from querybus.ops.log import configure_logging
from querybus.ops.metrics import Metrics
from querybus_gateway.access.quotas import SPENT_TRUST_MS, Allowances, Allowed, Meter, TenantLimits
from querybus_gateway.access.rate import Rate
from querybus_gateway.problems import ProblemCode

from .servers.stack_of_tests import api_stack


class MemoryCounters:
    """Counters with revisions, as the bucket has them; other tasks may come between a read and a write."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[bytes, int]] = {}
        self.made: set[tuple[str, str]] = set()
        self.revision = 0

    async def read(self, key: str) -> tuple[bytes, int]:
        await asyncio.sleep(0)
        return self.kept.get(key, (b"", 0))

    async def write(self, key: str, value: bytes, revision: int, *, once: str = "") -> bool:
        await asyncio.sleep(0)
        if once and (key, once) in self.made:
            return True
        if self.kept.get(key, (b"", 0))[1] != revision:
            return False
        self.revision += 1
        self.kept[key] = (value, self.revision)
        if once:
            self.made.add((key, once))
        return True


def tokens(count: int) -> ModelUse:
    return ModelUse(calls=1, tokens_in=count)


class Clock:
    def __init__(self) -> None:
        self.ms = 1_790_000_000_000

    def __call__(self) -> int:
        return self.ms


def caller(tenant: str, user: str, group: str = "") -> Credential:
    return Credential(name="c", tenant=tenant, user=user, group=group)


@pytest.mark.parametrize("rate", [Rate(5, 40), Rate(100, 200), Rate(0.5, 1)])
async def test_four_replicas_together_never_pass_more_than_the_tenant_may(rate: Rate) -> None:
    counters, clock = MemoryCounters(), Clock()
    replicas = [Allowances(counters, Allowed(rate), clock=clock) for _ in range(4)]
    started, passed = clock.ms, 0
    for _ in range(20):
        result = await asyncio.gather(
            *(replica.take("acme") for replica in replicas for _ in range(rate.burst // 4 + 1))
        )
        passed += sum(item is None for item in result)
        assert passed <= rate.burst + rate.per_second * (clock.ms - started) / 1_000
        clock.ms += 250
    # What a replica holds in hand at the end is all that can be missing.
    seconds = (clock.ms - started) / 1_000
    assert passed >= rate.burst + rate.per_second * (seconds - 0.5) - len(replicas) * max(1, rate.burst // 20) - 1


async def test_a_tenant_that_asks_too_often_is_reported_when_to_come_again() -> None:
    counters, clock = MemoryCounters(), Clock()
    allowances = Allowances(counters, Allowed(Rate(0.5, 1)), clock=clock)
    assert await allowances.take("acme") is None
    refused = await allowances.take("acme")
    assert refused is not None
    assert (refused.code, refused.retry_after_seconds) == (ProblemCode.RATE_LIMITED, 2)
    assert await allowances.take("other") is None, "another tenant has its own"
    clock.ms += 2_000
    assert await allowances.take("acme") is None


async def test_most_questions_cost_no_look_at_the_store() -> None:
    counters, clock = MemoryCounters(), Clock()
    allowances = Allowances(counters, Allowed(Rate(1_000, 1_000)), clock=clock)
    for _ in range(100):
        assert await allowances.take("acme") is None
    assert counters.revision == 2


async def test_a_spent_day_is_over_at_midnight() -> None:
    counters, clock = MemoryCounters(), Clock()
    limits = {"small": TenantLimits(tokens_per_day=100), "free": TenantLimits(tokens_per_day=0)}
    allowed = Allowed(Rate(50, 200), 1_000, tenants=limits)
    one, two = Allowances(counters, allowed, clock=clock), Allowances(counters, allowed, clock=clock)
    await one.spend("small", "ann", "q1", tokens(99))
    await one.spend("small", "ann", "q1", tokens(99))
    assert await two.spent(caller("small", "ann")) is None, "counted once"
    await one.spend("small", "ann", "q2", tokens(1))
    clock.ms += 1_001
    for item in (one, two):
        refused = await item.spent(caller("small", "ann"))
        assert refused is not None
        assert refused.code is ProblemCode.TOKENS_SPENT
    assert refused.retry_after_seconds == (86_400_000 - clock.ms % 86_400_000 + 999) // 1_000
    assert await one.spend("free", "ann", "q3", tokens(9)) == ()
    clock.ms += 86_400_000 - clock.ms % 86_400_000
    assert await one.spent(caller("small", "ann")) is None


async def test_tenants_whose_names_look_alike_have_buckets_of_their_own() -> None:
    counters, clock = MemoryCounters(), Clock()
    allowances = Allowances(counters, Allowed(Rate(1, 1)), clock=clock)
    for tenant in ("acme", "Acme", "*", ">", "a.b", "租户"):
        assert await allowances.take(tenant) is None
        assert await allowances.take(tenant) is not None
    assert all(key.count(".") == 1 for key in counters.kept)


async def test_each_user_has_a_budget_of_its_own_within_that_of_the_tenant() -> None:
    counters, clock = MemoryCounters(), Clock()
    allowances = Allowances(counters, Allowed(Rate(50, 200), 0, 100), clock=clock)
    (share,) = await allowances.spend("acme", "ann", "q1", tokens(100))
    assert (share.budget.name, share.after) == ("tokens_per_day_user", 1.0)
    refused = await allowances.spent(caller("acme", "ann"))
    assert refused is not None
    assert "the person's allowance" in refused.detail
    assert await allowances.spent(caller("acme", "bob")) is None


async def test_a_groups_budget_is_that_of_each_of_its_users_where_it_is_the_fewer() -> None:
    counters, clock = MemoryCounters(), Clock()
    groups = {"clerks": Group(tokens_per_day_user=50), "heads": Group(tokens_per_day_user=900), "all": Group()}
    allowances = Allowances(counters, Allowed(Rate(50, 200), 0, 100, groups=groups), clock=clock)
    await allowances.spend("acme", "ann", "q1", tokens(60))
    assert await allowances.spent(caller("acme", "ann", "clerks")) is not None
    assert await allowances.spent(caller("acme", "ann", "heads")) is None
    await allowances.spend("acme", "ann", "q2", tokens(40))
    clock.ms += 1_001
    for group in ("heads", "all", ""):
        assert await allowances.spent(caller("acme", "ann", group)) is not None, group
    free = Allowances(MemoryCounters(), Allowed(Rate(50, 200), groups=groups), clock=clock)
    await free.spend("acme", "bob", "q1", tokens(60))
    assert await free.spent(caller("acme", "bob", "clerks")) is not None
    assert await free.spent(caller("acme", "bob")) is None


async def test_every_call_of_a_query_is_counted_once_and_four_fifths_of_a_day_are_said() -> None:
    counters, clock, metrics = MemoryCounters(), Clock(), Metrics("gateway")
    meter = Meter(Allowances(counters, Allowed(Rate(50, 200), 1_000), clock=clock), metrics)
    configure_logging("info")
    with capture_logs() as lines:
        for number, tokens in enumerate((700, 50, 60, 10)):
            await meter.count(cast("Any", Query(f"q{number}", ModelUse(calls=2, tokens_in=tokens))))
    assert metrics.value("querybus_tenant_budget_share", tenant="acme") == 0.82
    (line,) = [line for line in lines if line["event"] == "budget.nearly_spent"]
    assert (line["tenant"], line["budget"], line["spent_percent"]) == ("acme", "tokens_per_day", 81)


async def test_money_is_a_budget_of_its_own_of_tenants_and_of_users() -> None:
    counters, clock, metrics = MemoryCounters(), Clock(), Metrics("gateway")
    limits = {"small": TenantLimits(cost_per_day=0.5, cost_per_day_user=0.2)}
    allowances = Allowances(counters, Allowed(Rate(50, 200), cost_per_day=9.0, tenants=limits), clock=clock)
    meter = Meter(allowances, metrics)
    configure_logging("info")
    with capture_logs() as lines:
        for number, user in enumerate(("ann", "bob", "bob")):
            use = ModelUse(calls=1, tokens_in=9_000_000, cost=0.15)
            await meter.count(cast("Any", Query(f"q{number}", use, tenant="small", user=user)))
    assert [(line["budget"], line["spent_percent"]) for line in lines if line["event"] == "budget.nearly_spent"] == [
        ("cost_per_day", 90),
        ("cost_per_day_user", 150),
    ]
    assert metrics.value("querybus_tenant_budget_share", tenant="small") == pytest.approx(0.9)
    assert await allowances.spent(caller("small", "ann")) is None
    refused = await allowances.spent(caller("small", "bob"))
    assert refused is not None
    assert "cost_per_day_user" in refused.detail
    assert await allowances.spent(caller("other", "bob")) is None


@dataclass(frozen=True)
class Query:
    """What a meter reads of a finished event."""

    query_id: str
    model_use: ModelUse
    tenant: str = "acme"
    user: str = "ann"


@pytest.mark.process
@pytest.mark.connected
async def test_on_a_real_bus_replicas_share_a_tenants_questions_and_count_its_tokens() -> None:
    limits = {"other": TenantLimits(rate_burst=5, rate_per_second=0.01)}
    question = {"question": "How many?", "connection": "shop"}
    async with (
        api_stack(tenant_limits=limits, tokens_per_day=100) as stack,
        stack.replica(tenant_limits=limits, tokens_per_day=100) as second,
        stack.http("other") as here,
        stack.http("other", address=second) as there,
        stack.http() as http,
        stack.http(address=second) as elsewhere,
        stack.client() as client,
    ):
        codes = [(await item.post("/v1/queries", json=question)).status_code for item in (here, there) * 5]
        assert sorted(codes) == [202] * 5 + [429] * 5
        query = (await http.post("/v1/queries", json=question)).json()["id"]
        last = (await stack.log(query))[-1]
        draft = Draft(sql="SELECT 1", dialect=Dialect.SQLITE, origin=Origin.MODEL)
        used = ModelUse(calls=1, tokens_in=90, tokens_out=10)
        event = drafted(last.envelope(), Drafted(draft=draft), model_use=used)
        await stack.publish(StageName.GENERATOR, event, last)
        await stack.answer(query)
        async with asyncio.timeout(60):
            while (refused := await elsewhere.post("/v1/queries", json=question)).status_code == 202:
                await asyncio.sleep(0.3)
        assert (refused.status_code, refused.json()["code"]) == (429, "tokens_spent")
        assert int(refused.headers["retry-after"]) <= 86_400
        # The other replica may trust what it read a moment before.
        await asyncio.sleep(SPENT_TRUST_MS / 1_000)
        assert (await client.call("ask", question))["code"] == "tokens_spent"
        assert (await here.get("/v1/connections")).status_code == 200, "only questions are counted"
