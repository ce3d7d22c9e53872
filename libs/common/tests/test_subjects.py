"""Claims on subjects: no outside name widens one, and reading gives back what was built."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querybus.core.credential import Credential, key_fits, key_hash, key_name, key_text
from querybus.core.ids import derived_id, is_id, time_ordered_id
from querybus.core.subjects import (
    EventAddress,
    EventName,
    event_subject,
    message_id,
    page_subject,
    parse_event_subject,
    token,
)


@given(st.text(max_size=100))
def test_a_token_of_any_name_fits_a_subject(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9-]{1,64}", token(name))


@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=30))
def test_two_names_never_share_a_token(one: str, other: str) -> None:
    assert (token(one) == token(other)) == (one == other)


def test_a_name_that_looks_like_a_hashed_one_is_hashed_again() -> None:
    assert token(token("Acme")) != token("Acme")


@given(st.sampled_from(list(EventName)), st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
@pytest.mark.requirement("card.14")
def test_an_event_subject_is_read_back_as_it_was_built(event: EventName, tenant: str, thread: str, query: str) -> None:
    subject = event_subject(token(tenant), token(thread), token(query), event)
    assert parse_event_subject(subject) == EventAddress(token(tenant), token(thread), token(query), event)


@pytest.mark.parametrize("name", ["", "a.b", "*", ">", "a b", "A", "ä", "a" * 65])
def test_a_name_that_was_not_made_a_token_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="token"):
        event_subject(name, "t", "q", EventName.ASKED)


@pytest.mark.parametrize(
    "subject", ["", "querybus.v1.event.a.b.c.deleted", "querybus.v2.event.a.b.c.asked", "querybus.v1.event.a.b.asked"]
)
def test_any_other_subject_is_no_event(subject: str) -> None:
    assert parse_event_subject(subject) is None


def test_a_message_id_names_query_event_and_input() -> None:
    assert message_id("q", EventName.ASKED, 0) == "q:asked:0"


def test_pages_count_from_one() -> None:
    with pytest.raises(ValueError, match="from 1"):
        page_subject("acme", "q", "7-1", 0)


@given(st.integers(0, 2**48 - 1), st.integers(0, 2**74 - 1))
def test_a_time_ordered_id_is_a_canonical_uuid_that_sorts_by_time(now_ms: int, bits: int) -> None:
    made = time_ordered_id(now_ms, bits)
    assert is_id(made)
    assert made[14] == "7"
    assert time_ordered_id(min(now_ms + 1, 2**48 - 1), 0) >= made or now_ms == 2**48 - 1


def test_a_derived_id_depends_on_every_part_and_its_place() -> None:
    assert derived_id("key", "a", "bc") != derived_id("key", "ab", "c")
    assert derived_id("key", "a", "b") == derived_id("key", "a", "b") != derived_id("batch", "a", "b")
    assert not is_id("not-an-id")


def test_a_key_is_recognised_by_its_hash_alone() -> None:
    key = key_text("acme", "ann", "s3cret")
    name = key_name(key)
    assert name is not None
    assert (name.tenant, name.credential) == ("acme", "ann")
    record = Credential(name="ann", tenant="acme", user="ann", key_sha256=key_hash(key))
    assert key_fits(key, record)
    assert not key_fits(key + "x", record)
    assert not key_fits("", Credential(name="ann", tenant="acme", user="ann"))


@pytest.mark.parametrize("key", ["", "qb.a.b", "qb.A.b.c", "qb.a.*.c", "sk.a.b.c", "qb.a.b.", "qb.a.b." + "x" * 400])
def test_what_is_no_key_names_nobody(key: str) -> None:
    assert key_name(key) is None
