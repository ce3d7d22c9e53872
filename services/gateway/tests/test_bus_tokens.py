"""What a server asks and is answered: bytes from outside are read or refused, and a mark follows the key."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querybus.bus.admin.issuer import generate_issuer
from querybus.core.credential import Credential
from querybus_gateway.access.bus_tokens import BusTokens, SignInRequest, connection_name, read_request

REQUEST = SignInRequest(user="acme.web", key="qb.acme.web.s", host="127.0.0.1", server="N1", connection="U1")
ANN = Credential(name="web", tenant="acme", user="ann", key_sha256="0" * 64)


def part(token: bytes, number: int) -> dict[str, object]:
    text = token.split(b".")[number]
    return json.loads(base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4)))


def asked(body: object) -> bytes:
    return b"h." + base64.urlsafe_b64encode(json.dumps({"nats": body}).encode()) + b".s"


def test_a_servers_question_is_read_whole() -> None:
    body = {
        "server_id": {"id": "N1"},
        "user_nkey": "U1",
        "client_info": {"host": "127.0.0.1"},
        "connect_opts": {"user": "acme.web", "pass": "qb.acme.web.s"},
    }
    assert read_request(asked(body)) == REQUEST
    assert read_request(asked({**body, "connect_opts": {"auth_token": "k"}})) == SignInRequest(
        "", "k", "127.0.0.1", "N1", "U1"
    )


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"server_id": {}},
        {"server_id": {"id": 1}, "user_nkey": "U", "client_info": {}, "connect_opts": {}},
    ],
)
def test_anything_else_is_none(body: object) -> None:
    assert read_request(asked(body)) is None


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    read_request(data)
    read_request(b"a." + data + b".c")


def test_an_admission_grants_the_credentials_own_subjects_in_its_tenants_account() -> None:
    private, public = generate_issuer()
    answer = BusTokens(private).admission(REQUEST, ANN, 7)
    assert part(answer, 0) == {"typ": "JWT", "alg": "ed25519-nkey"}
    outer = part(answer, 1)
    assert (outer["iss"], outer["aud"], outer["sub"]) == (public, "N1", "U1")
    nats = outer["nats"]
    assert isinstance(nats, dict)
    user = part(nats["jwt"].encode(), 1)
    assert (user["aud"], user["sub"], user["name"]) == ("TENANT-acme", "U1", connection_name(ANN))
    granted = user["nats"]
    assert isinstance(granted, dict)
    assert granted["pub"]["allow"] == ["querybus.v1.call.acme.web.*", "querybus.v1.submit.acme.web"]
    assert granted["sub"]["allow"] == [
        "_INBOX.out.acme.web.>",
        "querybus.v1.answer.acme.ann.business.*",
        "querybus.v1.progress.acme.ann.business.*",
    ]


@pytest.mark.parametrize("change", [{"key_sha256": "1" * 64}, {"user": "bob"}, {"audience": "analyst"}])
def test_the_mark_changes_with_the_key_its_person_and_its_readers(change: dict[str, object]) -> None:
    assert connection_name(ANN) != connection_name(ANN.model_copy(update=change))
    assert connection_name(ANN) != connection_name(ANN.model_copy(update={"connections": ("shop",)}))
    assert connection_name(ANN) == connection_name(ANN.model_copy(update={"may_share_boards": True}))


def test_what_is_no_private_key_is_refused() -> None:
    with pytest.raises(ValueError, match=r"."):
        BusTokens("short")
