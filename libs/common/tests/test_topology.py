"""The table of streams, durables and buckets is closed: what is written is stored once, what is stored is read."""

from __future__ import annotations

from itertools import combinations

import pytest

from querybus.core.subjects import (
    READS,
    STAGE_OF_DURABLE,
    WRITES,
    EventName,
    StageName,
    answer_subject,
    dead_subject,
    durables_of,
    event_filter,
    event_subject,
    page_subject,
    rpc_subject,
    submit_subject,
)
from querybus.core.topology import (
    ACK_WAIT_SECONDS,
    ASSERTED_STREAMS,
    BUCKETS,
    EVENTS,
    FOLLOWED_BUCKETS,
    READ_BUCKETS,
    SUBMIT,
    SWEEPER,
    WRITTEN_BUCKETS,
    Sizes,
    submit_durable,
    topology,
)

TABLE = topology(tenants=("acme", "other"))
STREAMS = {stream.name: stream for stream in TABLE.streams}


def matches(pattern: str, subject: str) -> bool:
    wanted, parts = pattern.split("."), subject.split(".")
    for index, token in enumerate(wanted):
        if token == ">":
            return len(parts) > index
        if index >= len(parts) or token not in ("*", parts[index]):
            return False
    return len(wanted) == len(parts)


def collide(one: str, other: str) -> bool:
    for left, right in zip(one.split("."), other.split("."), strict=False):
        if ">" in (left, right):
            return True
        if left != right and "*" not in (left, right):
            return False
    return len(one.split(".")) == len(other.split("."))


def test_no_two_streams_store_the_same_subject() -> None:
    subjects = [(stream.name, subject) for stream in TABLE.streams for subject in stream.subjects]
    for (one, left), (other, right) in combinations(subjects, 2):
        assert not collide(left, right), f"{one} and {other} both store {left} / {right}"


@pytest.mark.requirement("002.9")
def test_every_event_is_stored_written_and_read_by_somebody() -> None:
    for event in EventName:
        subject = event_subject("acme", "thread", "query", event)
        assert sum(matches(item, subject) for item in STREAMS[EVENTS].subjects) == 1
        assert any(event in events for events in WRITES.values())
        assert any(event in events for events in READS.values())


def test_an_unknown_event_is_stored_nowhere() -> None:
    subject = "querybus.v1.event.acme.thread.query.guessed"
    assert not any(matches(item, subject) for stream in TABLE.streams for item in stream.subjects)


@pytest.mark.parametrize(
    ("subject", "stream"),
    [
        (submit_subject("acme", "app"), "QUERYBUS_SUBMIT"),
        (answer_subject("acme", "alice", "business", "query"), None),
        (page_subject("acme", "query", "7-1", 1), "QUERYBUS_RESULTS"),
        (dead_subject(StageName.EXECUTOR), "QUERYBUS_DEAD"),
        (rpc_subject("acme", "shop", "explain"), None),
        ("querybus.v1.progress.acme.alice.business.query", None),
        ("querybus.v1.call.acme.app.ask", None),
    ],
)
def test_each_kind_of_subject_has_its_stream_or_none(subject: str, stream: str | None) -> None:
    result = [stream.name for stream in TABLE.streams if any(matches(pattern, subject) for pattern in stream.subjects)]
    assert result == ([] if stream is None else [stream])


def test_each_event_that_a_stage_reads_has_one_durable_of_one_filter() -> None:
    durables = {consumer.name: consumer for consumer in TABLE.consumers if consumer.stream == EVENTS}
    assert set(durables) == set(STAGE_OF_DURABLE)
    assert {*StageName, "generator-returned", "validator-confirmed"} == set(durables)
    for stage, events in READS.items():
        assert tuple(durables_of(stage).values()) == events
        for name, event in durables_of(stage).items():
            assert STAGE_OF_DURABLE[name] is stage
            assert durables[name].filters == (event_filter(event),)
            assert durables[name].ack_wait_seconds == ACK_WAIT_SECONDS[stage]
            assert durables[name].max_deliver == 5
            assert durables[name].deliver == "new"


def test_no_durable_has_several_filters() -> None:
    # For each message that it delivers the server would walk every subject of the stream (docs/adr/0016).
    assert all(len(consumer.filters) <= 1 for consumer in TABLE.consumers)


def test_each_tenant_has_its_own_submit_durable() -> None:
    durables = {consumer.name: consumer.filters for consumer in TABLE.consumers if consumer.stream == SUBMIT}
    assert durables == {"acme": ("querybus.v1.submit.acme.*",), "other": ("querybus.v1.submit.other.*",)}


def test_a_tenant_that_is_no_token_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a subject token"):
        submit_durable("acme.*")


def test_what_waits_is_never_dropped_silently() -> None:
    assert STREAMS[SUBMIT].discard == "new"


def test_what_only_shows_the_past_gives_way_to_what_is_new() -> None:
    # Of the log that is old threads: test_admission_by_log shows that what is open is not reached.
    assert STREAMS["QUERYBUS_RESULTS"].discard == STREAMS[EVENTS].discard == "old"
    given_way = {bucket.name for bucket in BUCKETS if bucket.discard == "old"}
    assert given_way == {"querybus_threads", "querybus_query_threads"}


def test_every_stream_has_a_limit_of_bytes_and_age() -> None:
    assert all(stream.max_bytes > 0 and stream.max_age_seconds > 0 for stream in TABLE.streams)
    assert all(bucket.max_bytes > 0 for bucket in BUCKETS)


def test_every_bucket_and_stream_that_a_service_uses_is_in_the_table() -> None:
    buckets = {bucket.name for bucket in BUCKETS}
    for used in (READ_BUCKETS, WRITTEN_BUCKETS, FOLLOWED_BUCKETS):
        assert {bucket for item in used.values() for bucket in item} <= buckets
    assert {name for asserted_stream in ASSERTED_STREAMS.values() for name in asserted_stream} == set(STREAMS)


def test_what_a_service_follows_it_may_read() -> None:
    for stage, followed in FOLLOWED_BUCKETS.items():
        assert set(followed) <= set(READ_BUCKETS[stage])


def test_sizes_are_the_operators_choice() -> None:
    table = topology(Sizes(replicas=3, max_ack_pending=99, ack_wait_seconds={StageName.EXECUTOR: 1.0}))
    executor = next(consumer for consumer in table.consumers if consumer.name == StageName.EXECUTOR)
    assert (table.replicas, executor.max_ack_pending, executor.ack_wait_seconds) == (3, 99, 1.0)


def test_a_question_that_waits_comes_back_in_time_to_be_ended_when_its_gateway_dies():
    table = topology(tenants=("acme",))
    waits = {consumer.name: consumer.ack_wait_seconds for consumer in table.consumers if consumer.stream != EVENTS}
    assert set(waits) == {"acme", SWEEPER}
    # The stack ends a query at the latest 10 seconds after its deadline.
    assert all(seconds <= 5 for seconds in waits.values())
