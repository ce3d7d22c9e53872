"""Refusals that are alike are counted and recorded together; a flood of different ones takes a bounded place."""

from __future__ import annotations

from querybus.bus.log.publish import BusTrouble
from querybus.core.credential import Credential
from querybus.core.stored.audit import UNKNOWN_TENANT, AuditFacts, AuditKind, Words
from querybus.core.subjects import EventAddress
from querybus_gateway.access import audit_trail
from querybus_gateway.access.audit_trail import AuditTrail
from querybus_gateway.access.callers import Callers
from querybus_gateway.problems import Problem, ProblemCode
from tests.support.audit_in_memory import ChainsInMemory

ANN = Credential(name="app", tenant="acme", user="ann")


async def no_conclusion(address: EventAddress) -> tuple[int, bytes] | None:
    return None


def trail_of(chains: ChainsInMemory) -> AuditTrail:
    return AuditTrail(chains, no_conclusion, clock=lambda: 7)


async def test_equal_refusals_become_one_record_with_their_number() -> None:
    chains = ChainsInMemory()
    trail = trail_of(chains)
    for _ in range(3):
        trail.note_refusal(ANN, Problem(ProblemCode.SCOPE), "shop")
    trail.note_refusal(ANN, Problem(ProblemCode.UNKNOWN_CONNECTION), "shop")
    await trail.drain()
    found = [(item.user, item.about, item.code, item.count) for item in chains.facts]
    assert found == [("ann", "shop", "scope", 3), ("ann", "shop", "unknown_connection", 1)]
    assert {item.kind for item in chains.facts} == {AuditKind.REFUSAL}


async def test_a_flood_of_strangers_takes_a_bounded_number_of_records_also_when_it_goes_on() -> None:
    chains, now = ChainsInMemory(), 0
    trail = AuditTrail(chains, no_conclusion, clock=lambda: now)
    most, hours = audit_trail.REFUSALS_MAX, 2
    for step in range(hours * 60):
        now = step * 60_000
        for number in range(2 * most if step == 0 else 100):
            trail.note_stranger(f"10.{step}.0.{number}", "", "unauthenticated")
        await trail.drain()
    apart = [item for item in chains.facts if item.source]
    assert len([item for item in apart if item.at == 0]) == most
    assert len(apart) <= most + hours * 3_600 * audit_trail.REFUSALS_PER_SECOND
    assert sum(item.count for item in chains.facts) == 2 * most + (hours * 60 - 1) * 100
    assert {item.tenant for item in chains.facts} == {UNKNOWN_TENANT}


async def test_a_caller_whose_refusals_differ_each_time_takes_no_other_tenants_place() -> None:
    chains = ChainsInMemory()
    trail = trail_of(chains)
    for number in range(3 * audit_trail.REFUSALS_MAX):
        trail.note_refusal(ANN, Problem(ProblemCode.UNKNOWN_CONNECTION), f"c{number}")
    trail.note_refusal(ANN.model_copy(update={"tenant": "globex"}), Problem(ProblemCode.SCOPE), "shop")
    await trail.drain()
    assert [item.about for item in chains.facts if item.tenant == "globex"] == ["shop"]
    ours = [item for item in chains.facts if item.tenant == "acme"]
    assert len(ours) == audit_trail.REFUSALS_MAX + 1
    assert sum(item.count for item in ours) == 3 * audit_trail.REFUSALS_MAX


async def test_what_could_not_be_written_is_counted_until_it_is() -> None:
    class Away(ChainsInMemory):
        is_away = True

        async def record(self, facts: AuditFacts, words: Words | None = None) -> None:
            if self.is_away:
                raise BusTrouble("away")
            await super().record(facts, words)

    chains = Away()
    trail = trail_of(chains)
    trail.note_refusal(ANN, Problem(ProblemCode.SCOPE))
    await trail.drain()
    assert chains.facts == []
    chains.is_away = False
    trail.note_refusal(ANN, Problem(ProblemCode.SCOPE))
    await trail.drain()
    assert [item.count for item in chains.facts] == [2]


async def test_a_wrong_key_is_recorded_by_its_public_part_and_its_secret_never() -> None:
    class Nobody:
        async def get(self, tenant: str, credential: str) -> Credential | None:
            return None

    async def key() -> bytes:
        return b"k" * 32

    chains = ChainsInMemory()
    trail = trail_of(chains)
    callers = Callers(Nobody(), tokens=None, session_key=key, clock=lambda: 7, on_refused=trail.note_stranger)
    for _ in range(30):
        await callers.identify("qb.acme.web.s3cret", "192.0.2.1")
    await trail.drain()
    assert {(item.about, item.code) for item in chains.facts} == {
        ("acme.web", "unauthenticated"),
        ("", "too_many_guesses"),
    }
    assert sum(item.count for item in chains.facts) == 30
    assert not any("s3cret" in item.model_dump_json() for item in chains.facts)
