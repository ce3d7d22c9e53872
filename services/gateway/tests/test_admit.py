"""The one admission function: what it lets in, what it refuses and with which code."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querybus.core.credential import Credential
from querybus.core.envelope import Envelope, decode, encode
from querybus.core.ids import is_id
from querybus.core.messages import Asked
from querybus.core.options import ExecutionMode, Mode, OptionCaps, Options, cap
from querybus.core.stored.preferences import Preferences, silent_options
from querybus.core.subjects import EventName
from querybus_gateway.admit import AskCall, AskRequest, Chance, RequestOptions, admit, body_hash, read
from querybus_gateway.problems import Problem, ProblemCode

CHANCE = Chance(now_ms=1_800_000_000_000, random_bits=12345)
BUSINESS = Credential(name="web", tenant="acme", user="ann", audience="business")
ANALYST = Credential(name="lab", tenant="acme", user="bob", audience="analyst")


def admitted(body: dict[str, Any], credential: Credential = BUSINESS, **more: Any) -> Envelope[Asked] | Problem:
    request = read(json.dumps(body).encode(), AskRequest)
    if isinstance(request, Problem):
        return request
    more = {"connections": ("shop", "crm"), "caps": OptionCaps()} | more
    return admit(request, credential, CHANCE, **more)


def code_of(found: Envelope[Asked] | Problem) -> ProblemCode | None:
    return found.code if isinstance(found, Problem) else None


def envelope_of(found: Envelope[Asked] | Problem) -> Envelope[Asked]:
    assert isinstance(found, Envelope), found
    return found


def test_a_question_becomes_an_asked_event_with_the_credentials_identity() -> None:
    envelope = envelope_of(admitted({"question": " How many customers? ", "connection": "shop"}))
    assert (envelope.tenant, envelope.user, envelope.audience) == ("acme", "ann", "business")
    assert envelope.question == "How many customers?"
    assert envelope.language == "en"
    assert envelope.connection == "shop"
    assert envelope.asked_at == CHANCE.now_ms
    assert envelope.deadline_at == CHANCE.now_ms + 60_000
    assert is_id(envelope.query_id)
    assert envelope.query_id[14] == "7"
    assert envelope.thread_id == envelope.query_id
    assert decode(EventName.ASKED, encode(envelope)) == envelope


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, ProblemCode.QUESTION_EMPTY),
        ({"question": ""}, ProblemCode.QUESTION_EMPTY),
        ({"question": " \t\n\x00"}, ProblemCode.QUESTION_EMPTY),
        ({"question": "x" * 8_193}, ProblemCode.QUESTION_TOO_LONG),
        ({"question": "客" * 2_731}, ProblemCode.QUESTION_TOO_LONG),
        ({"question": "x" * 20_000}, ProblemCode.QUESTION_TOO_LONG),
        ({"question": 7}, ProblemCode.INVALID),
        ({"question": None}, ProblemCode.INVALID),
        ({"metrics": {"metrics": ["revenue"]}}, ProblemCode.CONNECTION_MISSING),
        ({"question": "q", "connection": "nowhere"}, ProblemCode.UNKNOWN_CONNECTION),
        ({"question": "q", "connection": "SHOP"}, ProblemCode.UNKNOWN_CONNECTION),
        ({"question": "q", "connection": "x" * 201}, ProblemCode.INVALID),
        ({"question": "q", "connection": "shop", "operation": "drop"}, ProblemCode.INVALID),
        ({"question": "q", "connection": "shop", "sql": "SELECT 1"}, ProblemCode.SQL_UNEXPECTED),
        ({"connection": "shop", "operation": "run", "sql": "SELECT 1"}, ProblemCode.SCOPE),
        ({"question": "q", "connection": "shop", "thread_id": "../x"}, ProblemCode.NOT_FOUND),
        ({"question": "q", "connection": "shop", "options": {"rows_max": 0}}, ProblemCode.BAD_OPTIONS),
        ({"question": "q", "connection": "shop", "options": {"retries_max": 6}}, ProblemCode.BAD_OPTIONS),
        ({"question": "q", "connection": "shop", "options": {"deadline_seconds": 0}}, ProblemCode.BAD_OPTIONS),
        ({"question": "q", "connection": "shop", "options": {"deadline_seconds": 601}}, ProblemCode.BAD_OPTIONS),
        ({"question": "q", "connection": "shop", "options": {"mode": "free"}}, ProblemCode.BAD_OPTIONS),
        ({"question": "q", "connection": "shop", "options": {"is_admin": True}}, ProblemCode.BAD_OPTIONS),
        ({"question": "q", "connection": "shop", "options": []}, ProblemCode.BAD_OPTIONS),
    ],
)
def test_a_bad_request_is_refused_with_its_code(body: dict[str, Any], code: ProblemCode) -> None:
    assert code_of(admitted(body)) is code


def test_a_question_that_names_no_connection_carries_those_of_its_caller_and_no_other() -> None:
    routed = envelope_of(admitted({"question": "q"})).body
    assert routed.connections == ("crm", "shop")
    one = BUSINESS.model_copy(update={"connections": ("shop",)})
    alone = envelope_of(admitted({"question": "q"}, one))
    assert (alone.connection, alone.body.connections) == ("shop", ())
    named = envelope_of(admitted({"question": "q", "connection": "shop"}))
    assert named.body.connections == ()


def test_a_thread_stays_where_it_was_asked_before_what_a_person_prefers() -> None:
    stays = envelope_of(
        admitted({"question": "q"}, thread_connection="shop", preferences=Preferences(connection="crm"))
    )
    assert (stays.connection, stays.body.connections) == ("shop", ("crm", "shop"))
    gone = envelope_of(
        admitted({"question": "q"}, thread_connection="hidden", preferences=Preferences(connection="crm"))
    )
    assert (gone.connection, gone.body.connections) == ("crm", ())


def test_a_models_words_are_for_analysts_who_ask_for_them() -> None:
    asked = {"question": "q", "connection": "shop", "options": {"stream_tokens": True}}
    assert envelope_of(admitted(asked, ANALYST)).options.stream_tokens
    assert not envelope_of(admitted(asked)).options.stream_tokens
    assert not envelope_of(admitted({"question": "q", "connection": "shop"}, ANALYST)).options.stream_tokens


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"question": "q", "conection": "shop"}, "/conection: there is no such field; did you mean `connection`?"),
        ({"question": "q", "zzz": 1}, "/zzz: there is no such field"),
        (
            {"question": "q", "options": {"row_max": 3}},
            "/options/row_max: there is no such field; did you mean `rows_max`?",
        ),
        ({"metrics": {"metrics": ["revenue"]}}, "name one of your connections in `connection`: crm, shop"),
        (
            {"question": "q", "connection": "sales"},
            "there is no such connection for this credential, or it was removed or renamed; name one of its own: crm, shop",
        ),
    ],
)
def test_a_refusal_says_what_could_be_said_instead(body: dict[str, Any], detail: str) -> None:
    result = admitted(body)
    assert isinstance(result, Problem)
    assert result.detail == detail


FORGED = (
    "tenant", "user", "audience", "query_id", "attempts", "retries", "path", "classification", "asked_at",
    "deadline_at", "envelope_version", "event", "body", "language", "enriched_question", "body_sha256", "credential",
)  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_header_field_is_refused(name: str) -> None:
    result = admitted({"question": "q", "connection": "shop", name: "other"})
    assert isinstance(result, Problem)
    assert result.code is ProblemCode.UNKNOWN_FIELD
    assert result.errors[0].pointer == f"/{name}"


@given(st.text(min_size=1, max_size=20).filter(lambda name: name not in AskCall.model_fields))
def test_no_field_of_any_other_name_is_taken(name: str) -> None:
    data = json.dumps({"question": "q", "connection": "shop", name: 1}).encode()
    for model in (AskRequest, AskCall):
        result = read(data, model)
        assert isinstance(result, Problem)
        assert result.code in (ProblemCode.UNKNOWN_FIELD, ProblemCode.MALFORMED)


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    result = read(data, AskRequest)
    assert isinstance(result, AskRequest | Problem)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"nul", b'{"question": "a"', b"\xff\xfe", b'{"question": "\\ud800"}', b"[" * 100_000]
)
def test_what_is_not_json_is_malformed(data: bytes) -> None:
    assert isinstance(result := read(data, AskRequest), Problem)
    assert result.code is ProblemCode.MALFORMED


@pytest.mark.parametrize("data", [b"[]", b"1", b'"q"', b"null"])
def test_json_that_is_no_object_is_invalid(data: bytes) -> None:
    assert isinstance(result := read(data, AskRequest), Problem)
    assert result.code is ProblemCode.INVALID


def test_a_body_over_the_limit_is_not_parsed() -> None:
    assert isinstance(result := read(b" " * 262_145, AskRequest), Problem)
    assert result.code is ProblemCode.TOO_LARGE


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999"])
def test_a_deadline_that_is_no_number_is_refused(value: str) -> None:
    data = f'{{"question":"q","options":{{"deadline_seconds":{value}}}}}'.encode()
    assert isinstance(read(data, AskRequest), Problem)


def test_options_are_lowered_to_the_servers_and_the_credentials_caps() -> None:
    credential = BUSINESS.model_copy(update={"caps": OptionCaps(rows_max=50, allow_execution=False)})
    options = {"rows_max": 9_000, "deadline_seconds": 500, "execution_mode": "allow_execution", "retries_max": 5}
    envelope = envelope_of(
        admitted(
            {"question": "q", "connection": "shop", "options": options},
            credential,
            caps=OptionCaps(deadline_seconds=30, retries_max=1),
        )
    )
    assert envelope.options.rows_max == 50
    assert envelope.options.deadline_seconds == 30
    assert envelope.options.retries_max == 1
    assert envelope.options.execution_mode is ExecutionMode.STATIC_ONLY
    assert envelope.deadline_at == CHANCE.now_ms + 30_000


@pytest.mark.requirement("002.13")
def test_a_credential_sees_its_own_connections_only() -> None:
    credential = BUSINESS.model_copy(update={"connections": ("crm", "gone")})
    assert code_of(admitted({"question": "q", "connection": "shop"}, credential)) is ProblemCode.UNKNOWN_CONNECTION
    assert code_of(admitted({"question": "q", "connection": "gone"}, credential)) is ProblemCode.UNKNOWN_CONNECTION
    assert envelope_of(admitted({"question": "q"}, credential)).connection == "crm", "the only one need not be named"


def test_a_refused_and_a_missing_connection_cannot_be_distinguished() -> None:
    credential = BUSINESS.model_copy(update={"connections": ("crm",)})
    hidden = admitted({"question": "q", "connection": "shop"}, credential)
    missing = admitted({"question": "q", "connection": "nowhere"}, credential)
    assert hidden == missing


@pytest.mark.parametrize(
    ("question", "option", "language"),
    [
        ("How many?", "auto", "en"),
        ("有多少?", "auto", "zh"),
        ("Combien de clients?", "auto", "en"),
        ("有多少?", "en", "en"),
        ("How many?", "zh", "zh"),
    ],
)
def test_the_language_is_the_questions_unless_one_is_chosen(question: str, option: str, language: str) -> None:
    body = {"question": question, "connection": "shop", "options": {"language": option}}
    assert envelope_of(admitted(body)).language == language


def test_an_analyst_may_give_a_statement_and_needs_one_to_run() -> None:
    envelope = envelope_of(admitted({"connection": "shop", "operation": "run", "sql": "SELECT 1"}, ANALYST))
    assert envelope.body.sql == "SELECT 1"
    assert code_of(admitted({"connection": "shop", "operation": "run"}, ANALYST)) is ProblemCode.SQL_MISSING


def test_a_key_makes_the_ids_of_its_tenant_and_user() -> None:
    body = {"question": "q", "connection": "shop"}
    one = envelope_of(admitted(body, idempotency_key="order-1"))
    again = envelope_of(admitted(body, idempotency_key="order-1"))
    other_user = envelope_of(admitted(body, ANALYST, idempotency_key="order-1"))
    assert one.query_id == again.query_id == one.thread_id
    assert one.query_id[14] == "5"
    assert one.query_id != other_user.query_id


@pytest.mark.parametrize("key", ["", "x" * 256, "with space", "schlüssel", "line\n"])
def test_a_key_that_is_not_visible_ascii_is_refused(key: str) -> None:
    assert code_of(admitted({"question": "q", "connection": "shop"}, idempotency_key=key)) is ProblemCode.INVALID


def test_the_body_hash_follows_the_meaning_not_the_spelling() -> None:
    one = read(b'{"question":"q","options":{"rows_max":5}}', AskRequest)
    same = read(b'{"options": {"rows_max": 5}, "question": "q"}', AskRequest)
    other = read(b'{"question":"q","options":{"rows_max":6}}', AskRequest)
    assert isinstance(one, AskRequest)
    assert isinstance(same, AskRequest)
    assert isinstance(other, AskRequest)
    assert body_hash(one) == body_hash(same) != body_hash(other)


def test_the_bus_and_http_hash_the_same_request_alike() -> None:
    call = read(b'{"question":"q","wait_seconds":5,"idempotency_key":"k"}', AskCall)
    request = read(b'{"question":"q"}', AskRequest)
    assert isinstance(call, AskCall)
    assert isinstance(request, AskRequest)
    assert body_hash(call.request()) == body_hash(request)


@given(
    st.builds(Credential, name=st.text(), tenant=st.text(min_size=1), user=st.text(min_size=1)),
    st.text(alphabet=st.characters(exclude_categories=("Cs",)), min_size=1, max_size=60),
)
def test_names_and_questions_of_any_kind_make_an_event_that_decodes(credential: Credential, question: str) -> None:
    result = admit(
        AskRequest(question=question, connection="shop"), credential, CHANCE, connections=("shop",), caps=OptionCaps()
    )
    if isinstance(result, Problem):
        assert result.code is ProblemCode.QUESTION_EMPTY
        return
    assert decode(EventName.ASKED, encode(result)) == result
    assert result.tenant == credential.tenant


def test_a_request_that_says_something_always_wins():
    preferences = Preferences(language="zh", chart="none", page_size=20)
    assert silent_options(preferences, frozenset({"chart"})) == {"language": "zh", "page_size": 20}


@pytest.mark.requirement("000.32")
def test_what_the_server_caps_holds_for_switches_as_for_numbers():
    caps = OptionCaps(
        count_total=False,
        stream_tokens=False,
        syntax_validation_always=True,
        forbidden_check_always=True,
        cross_check_always=True,
    )
    asked = Options(count_total=True, stream_tokens=True, enable_syntax_validation=False, enable_forbidden_check=False)
    capped = cap(asked, caps)
    assert (capped.count_total, capped.stream_tokens) == (False, False)
    assert (capped.enable_syntax_validation, capped.enable_forbidden_check, capped.cross_check) == (True, True, True)


@pytest.mark.requirement("000.19", "000.32")
def test_the_servers_defaults_hold_where_request_and_person_are_silent_and_stay_within_the_caps() -> None:
    defaults = RequestOptions(summary=False, page_size=20, retries_max=4, chart="none")
    envelope = envelope_of(
        admitted(
            {"question": "q", "options": {"chart": "auto"}},
            caps=OptionCaps(retries_max=1),
            defaults=defaults,
            preferences=Preferences(page_size=50),
        )
    )
    options = envelope.options
    assert (options.summary, options.page_size, options.retries_max, options.chart) == (False, 50, 1, "auto")
    assert options.deadline_seconds == 60.0


@pytest.mark.parametrize(("name", "mode"), [("database_direct", Mode.DATABASE), ("chat_direct", Mode.CHAT)])
@pytest.mark.requirement("000.4")
def test_the_modes_ordered_names_are_taken(name: str, mode: Mode) -> None:
    assert envelope_of(admitted({"question": "q", "options": {"mode": name}})).options.mode is mode
    assert code_of(admitted({"question": "q", "options": {"mode": "direct"}})) is ProblemCode.BAD_OPTIONS
    assert code_of(admitted({"question": "q", "options": {"mode": "hybrid_direct"}})) is ProblemCode.BAD_OPTIONS


@pytest.mark.parametrize(
    ("options", "effort"),
    [
        ({"second_draft": False}, "quick"),
        ({"second_draft": True}, "standard"),
        ({"second_draft": False, "effort": "thorough"}, "thorough"),
    ],
)
def test_the_option_before_effort_is_read_beside_options_that_are_lists_or_days(
    options: dict[str, object], effort: str
) -> None:
    body = {"question": "q", "options": {"today": "2026-01-31", "mode": "database", **options}}
    found = read(json.dumps(body).encode(), AskRequest)
    assert isinstance(found, AskRequest)
    assert (found.options.effort.value, str(found.options.today), found.options.mode.value) == (
        effort,
        "2026-01-31",
        "database",
    )


def test_an_option_before_effort_that_is_no_switch_is_refused() -> None:
    found = read(b'{"question": "q", "options": {"second_draft": 0}}', AskRequest)
    assert isinstance(found, Problem)
    assert found.code is ProblemCode.BAD_OPTIONS
