"""Claims on running a batch: leases, going on after a crash, order, failures, deadline, cancel and the run after."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from querybus.bus.stores.batches import KeptBatch, Mark
from querybus.core.credential import Credential
from querybus.core.envelope import Envelope
from querybus.core.messages import Asked, Clarifies
from querybus.core.options import OptionCaps
from querybus.core.requests.refinement import Refinement
from querybus.core.stored.batch import LEASE_MS, BatchItem, Manifest, totals
from querybus.core.subjects import EventAddress, EventName
from querybus_gateway.admit import AskRequest, Chance, admit
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.batches.batches import Batches, BatchRequest
from querybus_gateway.use_cases.batches.runner import BatchRunner
from querybus_gateway.use_cases.queries import Begun
from querybus_gateway.use_cases.resources import Frame, Reply

OWNER = Credential(name="web", tenant="acme", user="ann")


@dataclass
class Time:
    """A clock that a test moves."""

    now: int = 1_000_000

    def __call__(self) -> int:
        return self.now


@dataclass
class Kept:
    """The bucket in memory, with revisions."""

    manifests: dict[tuple[str, str], KeptBatch] = field(default_factory=dict[tuple[str, str], KeptBatch])
    marks: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    revision: int = 0

    def _next(self) -> int:
        self.revision += 1
        return self.revision

    async def create(self, manifest: Manifest) -> bool:
        key = (manifest.credential.tenant, manifest.batch_id)
        if key in self.manifests:
            return False
        self.manifests[key] = KeptBatch(manifest, self._next())
        await self.mark(manifest)
        return True

    async def get(self, tenant: str, batch: str) -> KeptBatch | None:
        return self.manifests.get((tenant, batch))

    async def count(self, tenant: str) -> int:
        return sum(1 for key in self.manifests if key[0] == tenant)

    async def replace(self, manifest: Manifest, revision: int) -> int | None:
        key = (manifest.credential.tenant, manifest.batch_id)
        if self.manifests[key].revision != revision:
            return None
        self.manifests[key] = KeptBatch(Manifest.model_validate_json(manifest.model_dump_json()), self._next())
        return self.revision

    async def mark(self, manifest: Manifest) -> None:
        self.marks[(manifest.credential.tenant, manifest.batch_id)] = self._next()

    async def open(self) -> tuple[Mark, ...]:
        return tuple(Mark(*key, revision) for key, revision in self.marks.items())

    async def close(self, mark: Mark) -> None:
        if self.marks.get((mark.tenant, mark.batch)) == mark.revision:
            del self.marks[(mark.tenant, mark.batch)]


@dataclass
class Stored:
    """An event of a query's log, as far as the runner looks."""

    address: EventAddress


@dataclass
class Stack:
    """Queries that a test answers by hand, and what was asked of them."""

    begun: list[Envelope[Asked]] = field(default_factory=list[Envelope[Asked]])
    answers: dict[str, Json] = field(default_factory=dict[str, Json])
    failing: set[str] = field(default_factory=set[str])
    cancelled: set[str] = field(default_factory=set[str])
    refuses: dict[str, Problem] = field(default_factory=dict[str, Problem])
    notes: list[Mapping[str, object]] = field(default_factory=list[Mapping[str, object]])
    at_once_max: int = 0
    paced: list[str] = field(default_factory=list[str])
    registry: dict[tuple[str, str], Credential | None] = field(default_factory=dict[tuple[str, str], Credential | None])
    rights: list[Credential] = field(default_factory=list[Credential])

    async def get(self, tenant: str, credential: str) -> Credential | None:
        return self.registry.get((tenant, credential), OWNER)

    async def admitted(
        self,
        request: AskRequest,
        credential: Credential,
        idempotency_key: str | None,
        continues: Clarifies | Refinement | None = None,
    ) -> Envelope[Asked] | Problem:
        self.rights.append(credential)
        if request.question in self.refuses:
            return self.refuses[request.question]
        return admit(
            request,
            credential,
            Chance(1_000_000, 0),
            connections=("shop",),
            caps=OptionCaps(),
            idempotency_key=idempotency_key,
            continues=continues,
        )

    async def wait_for_rate(self, envelope: Envelope[Asked]) -> None:
        self.paced.append(envelope.question)

    async def begin(self, envelope: Envelope[Asked], *, has_key: bool) -> Begun | Problem:
        assert has_key
        is_known = any(item.query_id == envelope.query_id for item in self.begun)
        if not is_known:
            self.begun.append(envelope)
        open_ones = {item.query_id for item in self.begun} - set(self.answers)
        self.at_once_max = max(self.at_once_max, len(open_ones))
        return Begun(envelope, is_replayed=is_known)

    async def wait(self, query: str, credential: Credential, seconds: float, *, is_known: bool = False) -> Reply:
        for _ in range(3):
            if query in self.answers:
                return await self.read(query, credential)
            await asyncio.sleep(0.001)
        return Reply(query, {"answer": None}, is_finished=False)

    async def read(self, query: str, credential: Credential) -> Reply:
        return Reply(query, {"answer": self.answers.get(query)}, is_finished=query in self.answers)

    async def cancel(self, query: str, credential: Credential) -> Reply:
        self.cancelled.add(query)
        self.answers.setdefault(query, {"outcome": "cancelled", "code": "cancelled", "attempts": []})
        return await self.read(query, credential)

    async def query(self, tenant: str, query: str) -> tuple[Stored, ...]:
        events = (EventName.ASKED, EventName.FAILED) if query in self.failing else (EventName.ASKED,)
        return tuple(Stored(EventAddress(tenant, query, query, event)) for event in events)

    async def report(self, credential: Credential, batch: str, note: Json) -> None:
        self.notes.append(note)

    def asked(self, question: str) -> Envelope[Asked]:
        return next(item for item in reversed(self.begun) if item.question == question)

    def answered(self, question: str, outcome: str = "answered", *codes: str | None) -> None:
        attempts = [{"code": code, "stage": "validator", "detail": ""} for code in (codes or (None,))]
        self.answers[self.asked(question).query_id] = {
            "outcome": outcome,
            "code": None if outcome == "answered" else "timeout",
            "attempts": attempts,
            "question": question,
        }


@dataclass
class Rig:
    """One bucket, one stack, and as many runners as a test wants."""

    time: Time = field(default_factory=Time)
    kept: Kept = field(default_factory=Kept)
    stack: Stack = field(default_factory=Stack)

    @property
    def batches(self) -> Batches:
        return Batches(self.stack, self.kept, clock=self.time, random_bits=lambda _: 7)  # type: ignore[arg-type]

    def runner(self, owner: str = "one") -> BatchRunner:
        return BatchRunner(
            self.stack, self.kept, self.stack, self.stack,  # type: ignore[arg-type]
            credentials=self.stack, owner=owner, clock=self.time,
        )  # fmt: skip

    @asynccontextmanager
    async def running(self, owner: str = "one") -> AsyncGenerator[BatchRunner]:
        runner = self.runner(owner)
        await runner.tick()
        try:
            yield runner
        finally:
            await runner.drain()

    async def submit(self, *questions: str, **more: Any) -> str:
        items = tuple(BatchItem(id=f"i{n}", question=question) for n, question in enumerate(questions))
        result = await self.batches.submit(BatchRequest(items=items, connection="shop", **more), OWNER)
        assert not isinstance(result, Problem), result
        return str(result["id"])

    def manifest(self, batch: str) -> Manifest:
        return self.kept.manifests[("acme", batch)].manifest

    async def until(self, met: Any) -> None:
        async with asyncio.timeout(60):
            while not met():
                await asyncio.sleep(0.002)

    async def over(self, batch: str) -> Manifest:
        await self.until(lambda: self.manifest(batch).ended_at is not None)
        return self.manifest(batch)


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Rig:
    monkeypatch.setattr("querybus_gateway.use_cases.batches.runner.TICK_SECONDS", 0.01)
    monkeypatch.setattr("querybus_gateway.use_cases.batches.batches.FOLLOW_SECONDS", 0.002)
    return Rig()


@pytest.mark.requirement("003.10")
async def test_results_come_as_they_finish_and_stay_in_the_order_of_items(rig: Rig) -> None:
    batch = await rig.submit("a", "b", "c", concurrency=3)
    async with rig.running():
        await rig.until(lambda: len(rig.stack.begun) == 3)
        for question in ("c", "a", "b"):
            rig.stack.answered(question)
            await rig.until(lambda: rig.manifest(batch).states["abc".index(question)].status == "finished")  # noqa: B023
        await rig.over(batch)
    result = await rig.batches.read(batch, OWNER)
    assert not isinstance(result, Problem)
    assert [item["answer"]["question"] for item in result["items"]] == ["a", "b", "c"]
    frames = [event async for event in rig.batches.stream(batch, OWNER)]
    assert [frame.data["id"] for frame in frames if frame.event == "item"] == ["i2", "i0", "i1"]
    assert frames[-1].event == "finished"
    resumed = [event async for event in rig.batches.stream(batch, OWNER, after=2)]
    assert [event.data.get("id") for event in resumed if event.event == "item"] == ["i1"]


async def test_no_more_queries_run_at_once_than_the_batch_allows(rig: Rig) -> None:
    batch = await rig.submit("a", "b", "c", "d", "e", concurrency=2)
    async with rig.running():
        for question in "abcde":
            await rig.until(lambda: any(item.question == question for item in rig.stack.begun))  # noqa: B023
            rig.stack.answered(question)
        await rig.over(batch)
    assert rig.stack.at_once_max == 2


async def test_another_replica_goes_on_after_a_crash_and_asks_nothing_twice(rig: Rig) -> None:
    batch = await rig.submit("a", "b", "c", concurrency=2)
    async with rig.running("one"):
        await rig.until(lambda: rig.manifest(batch).states[1].status == "running")
    rig.stack.answered("a")
    async with rig.running("two"):
        assert rig.manifest(batch).lease.owner == "one"  # type: ignore[union-attr]
    rig.time.now += LEASE_MS + 1
    async with rig.running("two"):
        await rig.until(lambda: len(rig.stack.begun) == 3)
        for question in ("b", "c"):
            rig.stack.answered(question)
        made = await rig.over(batch)
    assert [item.question for item in rig.stack.begun] == ["a", "b", "c"]
    assert totals(made)["answered"] == 3
    assert not rig.kept.marks


async def test_of_two_replicas_one_runs_a_batch(rig: Rig) -> None:
    batch = await rig.submit("a")
    async with rig.running("one"), rig.running("two"):
        await rig.until(lambda: len(rig.stack.begun) == 1)
        assert rig.manifest(batch).lease.owner == "one"  # type: ignore[union-attr]
        rig.stack.answered("a")
        await rig.over(batch)


async def test_who_loses_the_lease_lets_go_without_writing(rig: Rig) -> None:
    batch = await rig.submit("a")
    async with rig.running("one"):
        await rig.until(lambda: len(rig.stack.begun) == 1)
        key = ("acme", batch)
        stolen = rig.manifest(batch).leased("two", rig.time())
        rig.kept.manifests[key] = KeptBatch(stolen, rig.kept.revision + 1)
        rig.kept.revision += 1
        rig.stack.answered("a")
        await asyncio.sleep(0.1)
    assert rig.manifest(batch) == stolen


@pytest.mark.requirement("003.11")
async def test_failing_queries_are_reported_as_being_repaired(rig: Rig) -> None:
    batch = await rig.submit("a", "b", "c", concurrency=3)
    async with rig.running():
        await rig.until(lambda: len(rig.stack.begun) == 3)
        rig.stack.failing |= {rig.stack.asked("a").query_id, rig.stack.asked("b").query_id}
        await rig.until(lambda: any(note["n"] == 2 for note in rig.stack.notes))
        rig.stack.answered("a", "answered", "syntax_error", None)
        rig.stack.answered("b", "failed", "syntax_error", "timeout")
        rig.stack.answered("c")
        made = await rig.over(batch)
    assert rig.stack.notes[-1]["message"] == "2 queries failed; mending them ..."
    result = totals(made)
    assert (result["first_pass"], result["after_retry"], result["failed"]) == (1, 1, 1)
    frames: list[Frame] = [event async for event in rig.batches.stream(batch, OWNER)]
    assert any(frame.event == "mending" and frame.data["n"] == 2 for frame in frames)


@pytest.mark.requirement("003.10")
async def test_only_the_failed_items_are_asked_again_as_new_queries(rig: Rig) -> None:
    batch = await rig.submit("a", "b")
    async with rig.running():
        await rig.until(lambda: len(rig.stack.begun) == 2)
        rig.stack.answered("a")
        rig.stack.answered("b", "failed", "timeout")
        await rig.over(batch)
        running = await rig.batches.run_again(batch, OWNER)
        assert not isinstance(running, Problem)
        assert running["status"] == "running"
    async with rig.running("two"):
        await rig.until(lambda: len(rig.stack.begun) == 3)
        assert rig.stack.begun[2].question == "b"
        assert rig.stack.begun[2].query_id != rig.stack.begun[1].query_id
        rig.stack.answered("b")
        made = await rig.over(batch)
    assert totals(made)["answered"] == 2
    assert made.states[1].first_failure is not None
    again = await rig.batches.run_again(batch, OWNER)
    assert isinstance(again, Problem)
    assert again.code is ProblemCode.ALREADY_FINISHED


async def test_what_was_not_begun_by_the_deadline_expires(rig: Rig) -> None:
    batch = await rig.submit("a", "b", concurrency=1, deadline_seconds=30)
    async with rig.running():
        await rig.until(lambda: len(rig.stack.begun) == 1)
        assert rig.stack.begun[0].deadline_at <= rig.manifest(batch).deadline_at
        rig.time.now += 31_000
        rig.stack.answered("a", "expired")
        made = await rig.over(batch)
    assert [str(state.outcome) for state in made.states] == ["expired", "expired"]
    assert len(rig.stack.begun) == 1


async def test_a_cancelled_batch_cancels_what_runs_and_begins_nothing_more(rig: Rig) -> None:
    batch = await rig.submit("a", "b", concurrency=1)
    async with rig.running() as runner:
        await rig.until(lambda: rig.manifest(batch).states[0].status == "running")
        assert not isinstance(await rig.batches.cancel(batch, OWNER), Problem)
        await runner.tick()
        made = await rig.over(batch)
    assert [str(state.outcome) for state in made.states] == ["cancelled", "cancelled"]
    assert rig.stack.cancelled == {rig.stack.asked("a").query_id}


async def test_an_item_that_is_refused_when_its_turn_comes_fails_alone(rig: Rig) -> None:
    batch = await rig.submit("a", "b")
    rig.stack.refuses["a"] = Problem(ProblemCode.UNKNOWN_CONNECTION, "there is no such connection")
    async with rig.running():
        await rig.until(lambda: len(rig.stack.begun) == 1)
        rig.stack.answered("b")
        made = await rig.over(batch)
    assert made.states[0].last_failure.code == "unknown_connection"  # type: ignore[union-attr]
    assert str(made.states[1].outcome) == "answered"


async def test_a_batch_with_an_item_that_no_api_takes_is_refused_as_a_whole(rig: Rig) -> None:
    items = (BatchItem(id="good", question="a"), BatchItem(id="own", sql="SELECT 1"))
    result = await rig.batches.submit(BatchRequest(items=items, connection="shop"), OWNER)
    assert isinstance(result, Problem)
    assert result.code is ProblemCode.SCOPE
    assert result.errors[0].pointer == "/items/1"


async def test_the_same_key_is_the_same_batch_and_another_body_is_refused(rig: Rig) -> None:
    request = BatchRequest(items=(BatchItem(id="a", question="q"),), connection="shop")
    first = await rig.batches.submit(request, OWNER, idempotency_key="k")
    second = await rig.batches.submit(request, OWNER, idempotency_key="k")
    assert not isinstance(first, Problem)
    assert not isinstance(second, Problem)
    assert (second["id"], second["idempotency_replayed"]) == (first["id"], True)
    other = request.model_copy(update={"concurrency": 1})
    refused = await rig.batches.submit(other, OWNER, idempotency_key="k")
    assert isinstance(refused, Problem)
    assert refused.code is ProblemCode.IDEMPOTENCY_MISMATCH


@pytest.mark.parametrize(
    "reader",
    [
        Credential(name="web", tenant="acme", user="bob"),
        Credential(name="web", tenant="other", user="ann"),
    ],
)
async def test_a_batch_is_there_for_nobody_but_its_owner(rig: Rig, reader: Credential) -> None:
    batch = await rig.submit("a")
    for result in (
        await rig.batches.read(batch, reader),
        await rig.batches.cancel(batch, reader),
        await rig.batches.run_again(batch, reader),
        await rig.batches.open_stream(batch, reader),
    ):
        assert isinstance(result, Problem)
        assert result.code is ProblemCode.NOT_FOUND


@pytest.mark.requirement("003.12")
async def test_what_surrounds_a_question_goes_with_it(rig: Rig) -> None:
    item = BatchItem(id="a", question="How many orders?", objective="growth")
    result = await rig.batches.submit(BatchRequest(items=(item,), connection="shop"), OWNER)
    assert not isinstance(result, Problem)
    async with rig.running():
        await rig.until(lambda: len(rig.stack.begun) == 1)
    assert rig.stack.begun[0].enriched_question == "How many orders?\nObjective: growth"
    assert rig.stack.begun[0].question == "How many orders?"


async def test_an_item_is_asked_with_the_rights_that_its_credential_has_by_then(rig: Rig) -> None:
    batch = await rig.submit("a", "b", concurrency=1)
    narrowed = OWNER.model_copy(update={"connections": ("shop",)})
    rig.stack.registry["acme", "web"] = narrowed
    rig.stack.rights.clear()
    async with rig.running():
        await rig.until(lambda: len(rig.stack.begun) == 1)
        assert rig.stack.rights == [narrowed]
        rig.stack.registry["acme", "web"] = None
        rig.stack.answered("a")
        await rig.over(batch)
    assert len(rig.stack.begun) == 1, "a removed credential asks nothing more"
    result = await rig.batches.read(batch, OWNER)
    assert not isinstance(result, Problem)
    assert result["items"][1]["outcome"] == "failed"
