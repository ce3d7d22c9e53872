"""A signature stands for one subject, one message id and one body."""

from __future__ import annotations

import base64

import pytest

from querybus.bus.log.sign import Signer, Verifier, generate_keys

SUBJECT = "querybus.v1.event.acme.t1.q1.approved"


@pytest.fixture(scope="module")
def keys() -> tuple[str, str]:
    return generate_keys()


def test_a_signature_by_the_owner_is_accepted(keys):
    signature = Signer(keys[0]).sign(SUBJECT, "q1:approved:7", b"{}")
    assert Verifier(keys[1]).verify(SUBJECT, "q1:approved:7", b"{}", signature)


@pytest.mark.parametrize(
    ("subject", "identity", "body"),
    [
        ("querybus.v1.event.acme.t1.q2.approved", "q1:approved:7", b"{}"),
        (SUBJECT, "q1:approved:8", b"{}"),
        (SUBJECT, "q1:approved:7", b"{ }"),
    ],
)
def test_a_signature_does_not_fit_another_event(keys, subject, identity, body):
    signature = Signer(keys[0]).sign(SUBJECT, "q1:approved:7", b"{}")
    assert not Verifier(keys[1]).verify(subject, identity, body, signature)


def test_parts_cannot_be_shifted_into_each_other(keys):
    signature = Signer(keys[0]).sign("a", "bc", b"d")
    assert not Verifier(keys[1]).verify("ab", "c", b"d", signature)


def test_another_owners_signature_is_refused(keys):
    signature = Signer(generate_keys()[0]).sign(SUBJECT, "id", b"{}")
    assert not Verifier(keys[1]).verify(SUBJECT, "id", b"{}", signature)


@pytest.mark.parametrize("signature", ["", "not base64 !", "AAAA", base64.b64encode(bytes(64)).decode(), "ä"])
def test_rubbish_is_no_signature(keys, signature):
    assert not Verifier(keys[1]).verify(SUBJECT, "id", b"{}", signature)


@pytest.mark.parametrize("text", ["", "short", base64.b64encode(b"31 bytes are not quite enough..").decode()])
def test_a_bad_key_is_named_as_such_without_showing_it(text):
    with pytest.raises(ValueError, match="32 bytes"):
        Signer(text)
    with pytest.raises(ValueError, match="32 bytes"):
        Verifier(text)
