"""Claims on the picture of events: nothing is written that nobody reads, nothing is read that nobody writes."""

from __future__ import annotations

from querybus.core.envelope import ENVELOPES
from querybus.core.failure import TRAITS, FailureCode
from querybus.core.subjects import READS, WRITES, EventName, StageName


def test_every_event_has_one_reader() -> None:
    readers = [event for events in READS.values() for event in events]
    assert sorted(readers) == sorted(EventName)


def test_every_event_has_a_writer() -> None:
    assert {event for events in WRITES.values() for event in events} == set(EventName)


def test_every_stage_reads_and_writes() -> None:
    assert set(READS) == set(WRITES) == set(StageName)


def test_only_the_validator_approves_and_only_the_apis_ask() -> None:
    assert [stage for stage, events in WRITES.items() if EventName.APPROVED in events] == [StageName.VALIDATOR]
    assert [stage for stage, events in WRITES.items() if EventName.ASKED in events] == [StageName.GATEWAY]


def test_recovery_never_writes_what_it_reads() -> None:
    assert EventName.FAILED not in WRITES[StageName.RECOVERY]


def test_every_event_has_a_body_type_and_every_code_its_traits() -> None:
    assert set(ENVELOPES) == set(EventName)
    assert set(TRAITS) == set(FailureCode)
