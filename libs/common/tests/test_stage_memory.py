"""Every row of the settlement table, with a message and a bus in memory."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

from querybus.bus.log.journal import Entry
from querybus.bus.log.publish import (
    MESSAGE_ID,
    SIGNATURE_HEADER,
    BusTrouble,
    Duplicate,
    FenceLost,
    Published,
    Stored,
    TooLarge,
    address_of,
)
from querybus.bus.log.sign import Signer, Verifier, generate_keys
from querybus.bus.settlement import Settlement
from querybus.bus.stage_policy import Runtime, StagePolicy
from querybus.core.catalog import Dialect
from querybus.core.envelope import Envelope, approved, concluded, drafted, encode, failed
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import (
    Answer,
    Approved,
    Asked,
    Concluded,
    Draft,
    Drafted,
    Finished,
    Origin,
    Outcome,
)
from querybus.core.options import Options
from querybus.core.subjects import EventName, StageName, message_id
from querybus.ops.metrics import Metrics

NOW = 1_700_000_000_000
QUERY = "018bcfe5-6800-7000-8000-000000000001"
THREAD = "018bcfe5-6800-7000-8000-000000000002"


def asked(**header: Any) -> Envelope[Asked]:
    values: dict[str, Any] = {
        "event": EventName.ASKED,
        "query_id": QUERY,
        "thread_id": THREAD,
        "tenant": "acme",
        "user": "Ann Lee",
        "audience": "analyst",
        "connection": "shop",
        "question": "How many customers are there?",
        "language": "en",
        "asked_at": NOW - 1_000,
        "deadline_at": NOW + 60_000,
        "body": Asked(),
    }
    return Envelope[Asked](**(values | header))


def a_draft(envelope: Envelope[Any]) -> Envelope[Drafted]:
    draft = Draft(sql="SELECT count(*) FROM customer", dialect=Dialect.SQLITE, origin=Origin.MODEL)
    return drafted(envelope, Drafted(draft=draft))


def an_approval(envelope: Envelope[Any]) -> Envelope[Approved]:
    body = Approved(
        sql="SELECT count(*) FROM customer LIMIT 101",
        dialect=Dialect.SQLITE,
        origin=Origin.MODEL,
        tables=("customer",),
        row_limit=100,
        checked=("static",),
    )
    return approved(a_draft(envelope), body)


def a_conclusion(envelope: Envelope[Any], outcome: Outcome = Outcome.REPLIED) -> Envelope[Concluded]:
    return concluded(envelope, Concluded(outcome=outcome, stage=StageName.GENERATOR, reply="hello"))


def plain_finish(envelope: Envelope[Any], _: Failure) -> Envelope[Finished]:
    answer = Answer(outcome=envelope.body.outcome, language="en", message="plain")
    return envelope.with_body(Finished(answer=answer))


class Letter:
    """A message in memory that remembers how it was settled."""

    def __init__(
        self,
        envelope: Envelope[Any] | None = None,
        *,
        data: bytes | None = None,
        subject: str | None = None,
        deliveries: int = 1,
        headers: dict[str, str] | None = None,
        sequence: int = 7,
    ) -> None:
        self.subject = subject or (address_of(envelope).subject if envelope else "")
        self.data = data if data is not None else (encode(envelope) if envelope else b"")
        self.headers = headers or {}
        self.stream = "QUERYBUS"
        self.sequence = sequence
        self.deliveries = deliveries
        self.is_last_delivery = deliveries >= 5
        self.settled = False
        self.end: tuple[str, float | None] | None = None
        self.confirmed = False

    def _settle(self, how: str, delay: float | None = None) -> None:
        assert self.end is None, f"settled twice: {self.end}, {how}"
        self.settled = True
        self.end = (how, delay)

    async def ack(self, *, confirmed: bool = False) -> None:
        self._settle("ack")
        self.confirmed = confirmed

    async def nak(self, delay_seconds: float) -> None:
        self._settle("nak", delay_seconds)

    async def term(self) -> None:
        self._settle("term")


class MemoryBus:
    """A bus in memory: one log, what was published on it, and trouble on demand."""

    def __init__(self, *, last_sequence: int = 7) -> None:
        self.published: list[Envelope[Any]] = []
        self.signed: list[bool] = []
        self.dead_lettered: list[tuple[StageName, bytes, str]] = []
        self.announced: list[tuple[str, dict[str, Any]]] = []
        self.last_sequence = last_sequence
        self.on_log: Entry | None = None
        self.began: Envelope[Any] | None = None
        self.unreadable = 0
        """How many reads of the log's end fail before one succeeds."""
        self.answers: list[Published | Exception] = []
        self.until_ms = 0

    async def publish(
        self, envelope: Envelope[Any], *, input_sequence: int, until_ms: int, sign: Signer | None
    ) -> Published:
        self.until_ms = until_ms
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            if not isinstance(answer, Stored):
                return answer
        elif input_sequence != self.last_sequence:
            return FenceLost()
        self.last_sequence += 1
        self.published.append(envelope)
        self.signed.append(sign is not None)
        return Stored(self.last_sequence)

    async def last(self, address: Any) -> Entry | None:
        if self.unreadable:
            self.unreadable -= 1
            raise BusTrouble("no leader")
        return self.on_log

    async def first(self, address: Any) -> Envelope[Any] | None:
        return self.began

    async def dead_letter(self, stage: StageName, message: Any, reason: str) -> bool:
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
        self.dead_lettered.append((stage, message.data, reason))
        return True

    async def announce(self, subject: str, data: bytes) -> None:
        self.announced.append((subject, json.loads(data)))

    def put(self, envelope: Envelope[Any], sequence: int, identity: str = "somebody else's") -> None:
        self.on_log = Entry(sequence, address_of(envelope), {MESSAGE_ID: identity}, encode(envelope), 0)


class Verb:
    """A verb that gives, in order, what it was given; an exception is raised."""

    def __init__(self, *results: Any) -> None:
        self.results = list(results)
        self.calls: list[tuple[Envelope[Any], Any]] = []

    async def __call__(self, envelope: Envelope[Any], delivery: Any) -> Any:
        self.calls.append((envelope, delivery))
        result = self.results.pop(0)
        if isinstance(result, BaseException):
            raise result
        return await cast("Any", result)(envelope) if callable(result) else result


async def hang(_: Envelope[Any]) -> Any:
    await asyncio.sleep(3_600)


def settlement(bus: MemoryBus, verb: Any, *, name: StageName = StageName.GENERATOR, **more: Any) -> Settlement:
    runtime = Runtime(
        metrics=more.pop("metrics", Metrics(name)), clock=more.pop("clock", lambda: NOW), jitter=lambda: 0.25
    )
    more.setdefault("cancel_pauses_seconds", (0.0, 0.0))
    return Settlement(bus, verb, StagePolicy(name=name, **more), runtime)


@pytest.mark.requirement("000.39")
async def test_what_a_verb_returned_is_published_and_then_acked():
    bus, verb, letter = MemoryBus(), Verb(a_draft(asked())), Letter(asked())
    metrics = Metrics("generator")
    await settlement(bus, verb, metrics=metrics).handle(letter)
    assert [event.event for event in bus.published] == [EventName.DRAFTED]
    assert letter.end == ("ack", None)
    assert metrics.value("querybus_stage_messages_total", stage="generator", outcome="published") == 1


@pytest.mark.requirement("000.30")
async def test_the_path_gets_one_step_with_the_stage_and_its_event():
    bus = MemoryBus()
    await settlement(bus, Verb(a_draft(asked()))).handle(Letter(asked()))
    (step,) = bus.published[0].path
    assert (step.stage, step.event, step.started_at, step.ended_at) == ("generator", "drafted", NOW, NOW)


async def test_a_verb_is_reported_sequence_deliveries_and_time():
    bus, verb = MemoryBus(), Verb(a_draft(asked()))
    await settlement(bus, verb).handle(Letter(asked(), deliveries=2))
    delivery = verb.calls[0][1]
    assert (delivery.sequence, delivery.deliveries, delivery.now_ms) == (7, 2, NOW)


async def test_a_stage_that_is_done_at_once_announces_nothing():
    bus = MemoryBus()
    await settlement(bus, Verb(a_draft(asked()))).handle(Letter(asked()))
    await asyncio.sleep(0)
    assert bus.announced == []


async def test_progress_names_a_stage_that_takes_its_time_and_has_a_number():
    async def slowly(*_: Any) -> Envelope[Any]:
        await asyncio.sleep(0.05)
        return a_draft(asked())

    bus = MemoryBus()
    await settlement(bus, slowly, announce_after_seconds=0.0).handle(Letter(asked()))
    ((subject, word),) = bus.announced
    assert subject.startswith("querybus.v1.progress.acme.x-")
    assert subject.endswith(QUERY)
    assert word == {"n": 7, "stage": "generator", "state": "started", "at": NOW}


@pytest.mark.requirement("000.37", "003.23")
async def test_a_failure_becomes_a_failed_event_and_an_ack():
    bus, letter, metrics = MemoryBus(), Letter(asked()), Metrics("generator")
    verb = Verb(Failure.of(FailureCode.MODEL_UNAVAILABLE, "429"))
    await settlement(bus, verb, metrics=metrics).handle(letter)
    assert bus.published[0].event is EventName.FAILED
    assert bus.published[0].body.code is FailureCode.MODEL_UNAVAILABLE
    assert letter.end == ("ack", None)
    assert metrics.value("querybus_failures_total", stage="generator", code="model_unavailable") == 1


@pytest.mark.parametrize(
    ("result", "deliveries"), [(Failure.of(FailureCode.INTERNAL), 1), (RuntimeError(), 5)], ids=["failure", "last"]
)
async def test_recovery_makes_a_conclusion_of_its_own_failure_and_last_delivery(result, deliveries):
    def conclude_failed(envelope: Envelope[Any], failure: Failure) -> Envelope[Concluded]:
        body = Concluded(outcome=Outcome.FAILED, code=failure.code, stage=StageName.RECOVERY)
        return concluded(envelope, body)

    envelope = failed(a_draft(asked()), Failure.of(FailureCode.TIMEOUT), StageName.VALIDATOR)
    bus, letter = MemoryBus(), Letter(envelope, deliveries=deliveries)
    machine = settlement(bus, Verb(result), name=StageName.RECOVERY, on_failure=conclude_failed)
    await machine.handle(letter)
    assert bus.published[0].event is EventName.CONCLUDED
    assert (bus.published[0].body.outcome, bus.published[0].body.code) == (Outcome.FAILED, FailureCode.INTERNAL)
    assert letter.end == ("ack", None)


@pytest.mark.parametrize(("deliveries", "delay"), [(1, 1.25), (2, 2.25), (3, 4.25), (4, 8.25)])
async def test_an_unexpected_exception_goes_back_with_a_growing_delay(deliveries, delay):
    bus, letter = MemoryBus(), Letter(asked(), deliveries=deliveries)
    await settlement(bus, Verb(RuntimeError("boom"))).handle(letter)
    assert bus.published == []
    assert letter.end == ("nak", delay)


async def test_an_unexpected_exception_on_the_last_delivery_is_failed_internal():
    bus, letter = MemoryBus(), Letter(asked(), deliveries=5)
    await settlement(bus, Verb(RuntimeError("secret dsn"))).handle(letter)
    assert bus.published[0].body.code is FailureCode.INTERNAL
    assert "secret" not in encode(bus.published[0]).decode()
    assert letter.end == ("ack", None)


async def test_a_timeout_of_the_verbs_own_is_an_unexpected_exception():
    bus, letter = MemoryBus(), Letter(asked())
    await settlement(bus, Verb(TimeoutError())).handle(letter)
    assert bus.published == []
    assert letter.end == ("nak", 1.25)


async def test_bus_trouble_with_deliveries_left_goes_back():
    bus, letter = MemoryBus(), Letter(asked())
    bus.answers = [BusTrouble("no answer")]
    await settlement(bus, Verb(a_draft(asked()))).handle(letter)
    assert letter.end == ("nak", 1.25)


@pytest.mark.parametrize(("full", "code"), [(False, FailureCode.INTERNAL), (True, FailureCode.RESOURCE_LIMIT)])
async def test_bus_trouble_on_the_last_delivery_is_failed_with_the_causes_code(full, code):
    bus, letter = MemoryBus(), Letter(asked(), deliveries=5)
    await settlement(bus, Verb(BusTrouble("no answer", full=full))).handle(letter)
    assert bus.published[0].body.code is code
    assert letter.end == ("ack", None)


async def test_when_even_the_last_word_cannot_be_published_the_message_is_left_to_the_sweeper():
    bus, letter = MemoryBus(), Letter(asked(), deliveries=5)
    bus.answers = [BusTrouble("1"), BusTrouble("2")]
    await settlement(bus, Verb(a_draft(asked()))).handle(letter)
    assert bus.published == []
    assert letter.end is not None
    assert letter.end[0] == "nak"


async def test_past_the_deadline_the_verb_is_not_called():
    bus, verb = MemoryBus(), Verb()
    letter = Letter(asked(deadline_at=NOW))
    await settlement(bus, verb).handle(letter)
    assert verb.calls == []
    body = bus.published[0].body
    assert (body.outcome, body.code, body.stage) == (Outcome.EXPIRED, FailureCode.EXPIRED, StageName.GENERATOR)
    assert letter.end == ("ack", None)


async def test_a_verb_that_outlives_the_deadline_is_stopped_and_the_query_expired():
    bus, letter = MemoryBus(), Letter(asked(deadline_at=NOW + 30))
    await settlement(bus, Verb(hang)).handle(letter)
    assert bus.published[0].body.outcome is Outcome.EXPIRED
    assert letter.end == ("ack", None)


async def test_an_expired_conclusion_keeps_the_draft():
    bus = MemoryBus()
    envelope = a_draft(asked(deadline_at=NOW - 1))
    await settlement(bus, Verb(), name=StageName.VALIDATOR).handle(Letter(envelope))
    assert bus.published[0].body.sql == "SELECT count(*) FROM customer"


@pytest.mark.parametrize(
    "letter",
    [
        Letter(asked(), data=b"not json"),
        Letter(asked(), data=b"{}"),
        Letter(asked(), data=b'{"envelope_version":"0.9"}'),
        Letter(asked(), data=encode(a_draft(asked()))),
        Letter(asked(), subject="querybus.v1.event.other." + THREAD + "." + QUERY + ".asked"),
        Letter(asked(), subject="querybus.v1.event.acme." + QUERY + "." + QUERY + ".asked"),
        Letter(asked(), subject="querybus.v1.event.acme." + THREAD + "." + THREAD + ".asked"),
        Letter(asked(), headers={"Nats-Stream": "QUERYBUS", "Nats-Sequence": "3"}),
        Letter(a_conclusion(asked())),
        Letter(asked(), subject="querybus.v1.answer.acme.ann.q1"),
    ],
    ids=[
        "no json", "no envelope", "older major", "another event", "another tenant", "another thread", "another query",
        "a copy made by the server", "an event of another stage", "no event",
    ],
)  # fmt: skip
async def test_what_is_no_event_of_this_stage_is_dead_lettered_and_never_delivered_again(letter):
    bus, verb, metrics = MemoryBus(), Verb(), Metrics("generator")
    fresh = Letter(subject=letter.subject, data=letter.data, headers=letter.headers)
    await settlement(bus, verb, metrics=metrics).handle(fresh)
    assert verb.calls == []
    assert bus.published == []
    ((stage, data, reason),) = bus.dead_lettered
    assert (stage, data) == (StageName.GENERATOR, letter.data)
    assert reason
    assert fresh.end == ("term", None)
    assert metrics.value("querybus_dead_letters_total", stage="generator") == 1


async def test_what_cannot_be_dead_lettered_comes_again():
    bus, letter = MemoryBus(), Letter(asked(), data=b"x")
    bus.answers = [BusTrouble("full", full=True)]
    await settlement(bus, Verb()).handle(letter)
    assert letter.end == ("nak", 1.25)


async def test_a_newer_version_waits_for_a_newer_reader():
    data = encode(asked()).replace(b'"1.0"', b'"9.0"')
    bus, letter = MemoryBus(), Letter(asked(), data=data)
    await settlement(bus, Verb()).handle(letter)
    assert bus.dead_lettered == []
    assert letter.end == ("nak", 1.25)


async def test_a_newer_version_dies_on_its_last_delivery():
    data = encode(asked()).replace(b'"1.0"', b'"9.0"')
    bus, letter = MemoryBus(), Letter(asked(), data=data, deliveries=5)
    await settlement(bus, Verb()).handle(letter)
    assert len(bus.dead_lettered) == 1
    assert letter.end == ("term", None)


async def test_lost_work_is_dropped_and_counted():
    bus, letter, metrics = MemoryBus(last_sequence=9), Letter(asked()), Metrics("generator")
    await settlement(bus, Verb(a_draft(asked())), metrics=metrics).handle(letter)
    assert letter.end == ("ack", None)
    assert metrics.value("querybus_fence_lost_total", stage="generator") == 1


async def test_a_redelivery_whose_output_is_stored_does_not_call_the_verb_again():
    bus, verb, metrics = MemoryBus(), Verb(), Metrics("generator")
    bus.put(a_draft(asked()), 8, message_id(QUERY, EventName.DRAFTED, 7))
    letter = Letter(asked(), deliveries=2)
    await settlement(bus, verb, metrics=metrics).handle(letter)
    assert verb.calls == []
    assert letter.end == ("ack", None)
    assert metrics.value("querybus_fence_lost_total", stage="generator") == 0
    assert metrics.value("querybus_redeliveries_total", stage="generator") == 1


async def test_a_redelivery_of_a_log_that_went_on_is_dropped():
    bus, verb, metrics = MemoryBus(), Verb(), Metrics("generator")
    bus.put(a_conclusion(asked(), Outcome.CANCELLED), 8)
    letter = Letter(asked(), deliveries=2)
    await settlement(bus, verb, metrics=metrics).handle(letter)
    assert verb.calls == []
    assert letter.end == ("ack", None)
    assert metrics.value("querybus_fence_lost_total", stage="generator") == 1


async def test_a_redelivery_whose_log_has_not_moved_is_worked_on():
    bus, letter = MemoryBus(), Letter(asked(), deliveries=2)
    bus.put(asked(), 7)
    await settlement(bus, Verb(a_draft(asked()))).handle(letter)
    assert len(bus.published) == 1


@pytest.mark.long
async def test_a_redelivery_waits_for_a_bus_that_chooses_a_leader_and_is_not_given_back():
    bus, verb, letter = MemoryBus(), Verb(a_draft(asked())), Letter(asked(), deliveries=2)
    bus.put(asked(), 7)
    bus.unreadable = 3
    await settlement(bus, verb).handle(letter)
    assert letter.end == ("ack", None)
    assert len(bus.published) == len(verb.calls) == 1


async def test_a_redelivery_gives_up_on_the_bus_when_the_time_of_its_query_is_over():
    bus, verb, letter = MemoryBus(), Verb(), Letter(asked(), deliveries=2)
    bus.unreadable = 1_000
    now = [NOW]

    def clock() -> int:
        now[0] += 20_000
        return now[0]

    machine = settlement(bus, verb, clock=clock)
    await machine.handle(letter)
    assert verb.calls == []
    assert letter.end is not None
    assert letter.end[0] == "nak"


async def run_and_cancel(bus: MemoryBus, letter: Letter, **more: Any) -> None:
    machine = settlement(bus, Verb(hang), **more)
    task = asyncio.create_task(machine.handle(letter))
    await asyncio.sleep(0.01)
    machine.cancel("acme", THREAD)
    machine.cancel("other", QUERY)
    await asyncio.sleep(0.01)
    assert not task.done()
    machine.cancel("acme", QUERY)
    machine.cancel("acme", QUERY)
    await asyncio.wait_for(task, 60)


async def test_cancelled_work_stops_publishes_nothing_and_is_acked_once_the_log_is_concluded():
    bus, letter = MemoryBus(), Letter(asked())
    bus.put(a_conclusion(asked(), Outcome.CANCELLED), 8)
    await run_and_cancel(bus, letter)
    assert bus.published == []
    assert letter.end == ("ack", None)


async def test_a_cancel_hint_that_the_log_does_not_confirm_only_delays():
    bus, letter = MemoryBus(), Letter(asked())
    bus.put(asked(), 7)
    await run_and_cancel(bus, letter)
    assert bus.published == []
    assert letter.end == ("nak", 1.25)


async def test_a_stopped_worker_gives_its_message_back_at_once():
    bus, letter = MemoryBus(), Letter(asked())
    task = asyncio.create_task(settlement(bus, Verb(hang)).handle(letter))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bus.published == []
    assert letter.end == ("nak", 0.1)


async def test_a_worker_stopped_on_the_last_delivery_says_the_last_word():
    bus, letter = MemoryBus(), Letter(asked(), deliveries=5)
    task = asyncio.create_task(settlement(bus, Verb(hang)).handle(letter))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bus.published[0].body.code is FailureCode.INTERNAL
    assert letter.end == ("ack", None)


def presenter(bus: MemoryBus, verb: Any, **more: Any) -> Settlement:
    more |= {"on_failure": plain_finish, "after_deadline": "proceed"}
    return settlement(bus, verb, name=StageName.PRESENTER, **more)


def finish_of(envelope: Envelope[Any]) -> Envelope[Finished]:
    return envelope.with_body(Finished(answer=Answer(outcome=envelope.body.outcome, language="en", message="worded")))


async def test_the_presenter_words_an_outcome_whatever_the_deadline():
    envelope = a_conclusion(asked(deadline_at=NOW - 5_000))
    bus, letter, metrics = MemoryBus(), Letter(envelope), Metrics("presenter")
    await presenter(bus, Verb(finish_of(envelope)), metrics=metrics).handle(letter)
    assert bus.published[0].body.answer.message == "worded"
    assert letter.confirmed
    assert bus.until_ms > NOW
    assert metrics.value("querybus_queries_total", outcome="replied", **{"pass": "none"}) == 1


@pytest.mark.parametrize(
    ("verb", "deliveries"),
    [(Verb(Failure.of(FailureCode.INTERNAL)), 1), (Verb(hang), 1), (Verb(), 5)],
    ids=["a failure", "its own time is up", "the last delivery"],
)
async def test_the_presenter_falls_back_to_the_plain_template_and_keeps_the_outcome(verb, deliveries):
    envelope = a_conclusion(asked(deadline_at=NOW - 5_000), Outcome.REFUSED)
    bus, letter = MemoryBus(), Letter(envelope, deliveries=deliveries)
    await presenter(bus, verb, grace_seconds=0.05).handle(letter)
    answer = bus.published[0].body.answer
    assert (answer.message, answer.outcome) == ("plain", Outcome.REFUSED)
    assert letter.end == ("ack", None)


@pytest.mark.parametrize(("left_ms", "end"), [(60_000, ("nak", 1.25)), (500, ("ack", None)), (-5_000, ("ack", None))])
async def test_an_exception_of_the_presenter_is_tried_again_only_while_there_is_time(left_ms, end):
    envelope = a_conclusion(asked(deadline_at=NOW + left_ms), Outcome.REFUSED)
    bus, letter = MemoryBus(), Letter(envelope)
    await presenter(bus, Verb(RuntimeError("broken")), grace_seconds=0.05).handle(letter)
    assert letter.end == end
    assert [event.body.answer.message for event in bus.published] == ["plain"] * (end[0] == "ack")


async def test_a_finished_query_is_not_counted_when_somebody_else_stored_it():
    envelope = a_conclusion(asked())
    bus, metrics = MemoryBus(), Metrics("presenter")
    for answer, deliveries in ((Duplicate(9), 1), (Duplicate(9, retried=True), 2), (FenceLost(), 1)):
        bus.answers = [answer]
        machine = presenter(bus, Verb(finish_of(envelope)), metrics=metrics)
        await machine.handle(Letter(envelope, deliveries=deliveries))
    assert metrics.value("querybus_queries_total", outcome="replied", **{"pass": "none"}) == 0


async def test_a_finished_query_is_counted_when_only_the_answer_to_its_publish_was_lost():
    envelope = a_conclusion(asked())
    bus, metrics = MemoryBus(), Metrics("presenter")
    bus.answers = [Duplicate(9, retried=True)]
    await presenter(bus, Verb(finish_of(envelope)), metrics=metrics).handle(Letter(envelope))
    assert metrics.value("querybus_queries_total", outcome="replied", **{"pass": "none"}) == 1


async def test_an_event_that_is_too_large_fails_the_query_instead_of_looping():
    bus, letter = MemoryBus(), Letter(asked())
    bus.answers = [TooLarge("2000000 bytes")]
    await settlement(bus, Verb(a_draft(asked()))).handle(letter)
    assert bus.published[0].body.code is FailureCode.RESOURCE_LIMIT
    assert letter.end == ("ack", None)


@pytest.mark.parametrize("result", [an_approval(asked()), a_draft(asked(tenant="other"))])
async def test_a_verb_may_neither_speak_for_another_stage_nor_change_the_query(result):
    bus, letter = MemoryBus(), Letter(asked())
    await settlement(bus, Verb(result)).handle(letter)
    assert bus.published == []
    assert letter.end == ("nak", 1.25)


async def test_only_an_approval_is_signed():
    signer = Signer(generate_keys()[0])
    bus, draft = MemoryBus(), a_draft(asked())
    bus.began = asked()
    machine = settlement(
        bus, Verb(an_approval(asked()), Failure.of(FailureCode.COST)), name=StageName.VALIDATOR, sign=signer
    )
    await machine.handle(Letter(draft))
    await machine.handle(Letter(draft, sequence=8))
    assert [event.event for event in bus.published] == [EventName.APPROVED, EventName.FAILED]
    assert bus.signed == [True, False]


@pytest.mark.parametrize(
    "forged",
    [{"user": "eve"}, {"audience": "business"}, {"connection": "payroll"}, {"options": Options(rows_max=10)}],
)
async def test_no_approval_is_signed_for_another_reader_or_connection_than_the_query_began_with(forged: dict[str, Any]):
    bus, draft = MemoryBus(), a_draft(asked())
    bus.began = asked().model_copy(update=forged)
    letter = Letter(draft)
    signer = Signer(generate_keys()[0])
    await settlement(bus, Verb(an_approval(asked())), name=StageName.VALIDATOR, sign=signer).handle(letter)
    assert bus.published == []
    assert letter.end == ("nak", 1.25)


async def test_an_approval_waits_until_the_first_event_can_be_read():
    bus, letter = MemoryBus(), Letter(a_draft(asked()))
    signer = Signer(generate_keys()[0])
    await settlement(bus, Verb(an_approval(asked())), name=StageName.VALIDATOR, sign=signer).handle(letter)
    assert bus.published == []
    assert letter.end == ("nak", 1.25)


@pytest.mark.parametrize("forgery", ["unsigned", "another key", "another body"])
async def test_an_approval_without_the_validators_signature_is_dead_lettered(forgery):
    private, public = generate_keys()
    envelope = an_approval(asked())
    letter = Letter(envelope)
    key = private if forgery != "another key" else generate_keys()[0]
    body = letter.data if forgery != "another body" else letter.data + b" "
    letter.headers = {MESSAGE_ID: "id", SIGNATURE_HEADER: Signer(key).sign(letter.subject, "id", body)}
    if forgery == "unsigned":
        del letter.headers[SIGNATURE_HEADER]
    bus, verb = MemoryBus(), Verb()
    await settlement(bus, verb, name=StageName.EXECUTOR, verify=Verifier(public)).handle(letter)
    assert verb.calls == []
    assert len(bus.dead_lettered) == 1
    assert letter.end == ("term", None)


async def test_an_approval_with_the_validators_signature_is_executed():
    private, public = generate_keys()
    envelope = an_approval(asked())
    letter = Letter(envelope)
    letter.headers = {MESSAGE_ID: "id", SIGNATURE_HEADER: Signer(private).sign(letter.subject, "id", letter.data)}
    bus, verb = MemoryBus(), Verb(a_conclusion(envelope, Outcome.ANSWERED))
    await settlement(bus, verb, name=StageName.EXECUTOR, verify=Verifier(public)).handle(letter)
    assert len(verb.calls) == 1
    assert bus.published[0].event is EventName.CONCLUDED
