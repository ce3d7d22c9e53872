"""The client's own rules, against a gateway that is a function: what is sent again, what errors mean, how streams resume."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from querybus_client import (
    AsyncClient,
    Client,
    Conflict,
    Invalid,
    NotFound,
    QueryBusError,
    Refused,
    StreamBroken,
    TooMany,
    Unauthenticated,
    Unavailable,
    Unreachable,
)
from querybus_client import wire as client_wire
from querybus_client.wire import Frames, bearer

QUERY = "0190a0a0-0000-7000-8000-00000000beef"
ANSWER: dict[str, Any] = {
    "query_id": QUERY,
    "thread_id": QUERY,
    "outcome": "answered",
    "message": "Done: 1 row.",
    "columns": [{"id": "c1", "label": "cities", "kind": "integer"}],
    "rows": [[3]],
    "row_count": 1,
    "pages": {"count": 2, "page_size": 1},
    "a_newer_member": 1,
}
FINISHED: dict[str, Any] = {"id": QUERY, "thread_id": QUERY, "status": "finished", "answer": ANSWER}
RUNNING: dict[str, Any] = {"id": QUERY, "thread_id": QUERY, "status": "running", "deadline_at": 1, "answer": None}

Handler = Callable[[httpx.Request], httpx.Response]


class Gateway:
    """Answers one request after the other with what it was reported; what it received is kept."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.received: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.received.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx.Response):
            return answer
        return httpx.Response(200, json=answer)

    def client(self, **more: Any) -> Client:
        return Client("http://gateway", "the-key", transport=httpx.MockTransport(self), **more)


def problem(status: int, code: str, **headers: str) -> httpx.Response:
    body = {
        "code": code,
        "title": "no",
        "detail": f"because of {code}",
        "status": status,
        "trace_id": "t",
        "errors": [],
    }
    return httpx.Response(status, json=body, headers=headers)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_wire, "RETRY_SECONDS", 0.0)


def test_a_question_is_waited_for_until_it_has_its_answer() -> None:
    gateway = Gateway(RUNNING, RUNNING, FINISHED)
    answer = gateway.client().ask("How many cities?", connection="shop", options={"retries_max": 1})
    assert answer.is_good
    assert answer.rows == ((3,),)
    assert answer.columns[0].label == "cities"
    assert answer.page_count == 2
    assert answer.raw["a_newer_member"] == 1
    first, second, _ = gateway.received
    assert json.loads(first.content) == {
        "question": "How many cities?",
        "connection": "shop",
        "options": {"retries_max": 1},
    }
    assert first.headers["authorization"] == "Bearer the-key"
    assert first.headers["prefer"] == second.headers["prefer"] == "wait=25"
    assert len(first.headers["idempotency-key"]) == 32
    assert second.url.path == f"/v1/queries/{QUERY}"


@pytest.mark.parametrize(
    "trouble",
    [
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("late"),
        httpx.RemoteProtocolError("cut"),
        problem(503, "bus_unavailable", **{"Retry-After": "0"}),
        problem(429, "rate_limited", **{"Retry-After": "0"}),
        httpx.Response(502, text="<html>an ingress</html>"),
    ],
)
def test_a_question_that_may_have_arrived_is_sent_again_under_the_same_key(trouble: Any) -> None:
    gateway = Gateway(trouble, trouble, FINISHED)
    gateway.client().ask("How many cities?")
    assert len({item.headers["idempotency-key"] for item in gateway.received}) == 1
    assert len(gateway.received) == 3


def test_what_is_not_safe_to_repeat_is_sent_once() -> None:
    gateway = Gateway(httpx.ReadTimeout("late"), FINISHED)
    with pytest.raises(Unreachable):
        gateway.client().cancel(QUERY)
    assert len(gateway.received) == 1


def test_attempts_are_bounded() -> None:
    gateway = Gateway(*[httpx.ConnectError("refused")] * 9)
    with pytest.raises(Unreachable):
        gateway.client(retries=2).ask("q")
    assert len(gateway.received) == 3


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "malformed", Invalid),
        (401, "unauthenticated", Unauthenticated),
        (404, "not_found", NotFound),
        (409, "already_finished", Conflict),
        (422, "question_empty", Invalid),
        (500, "internal", Unavailable),
    ],
)
def test_a_refusal_is_its_own_type_and_carries_the_problem(status: int, code: str, kind: type[Refused]) -> None:
    gateway = Gateway(problem(status, code))
    with pytest.raises(kind) as caught:
        gateway.client().ask("q")
    assert (caught.value.status, caught.value.code, caught.value.trace_id) == (status, code, "t")
    assert caught.value.detail == f"because of {code}"
    assert len(gateway.received) == 1, "a refusal is not asked again"


def test_too_many_requests_say_when_to_come_again() -> None:
    gateway = Gateway(problem(429, "rate_limited", **{"Retry-After": "7"}))
    with pytest.raises(TooMany) as caught:
        gateway.client(retries=0).ask("q")
    assert caught.value.retry_after_seconds == 7


def test_something_else_than_a_gateway_is_said_to_be_that() -> None:
    with pytest.raises(QueryBusError, match="no JSON"):
        Gateway(httpx.Response(200, text="<html>")).client().query(QUERY)
    with pytest.raises(Unavailable, match="status 500"):
        Gateway(httpx.Response(500, text="<html>")).client().query(QUERY)


@pytest.mark.parametrize("bad", ["../keys", "", "a/b", "x" * 36])
def test_an_id_reaches_no_other_path(bad: str) -> None:
    gateway = Gateway()
    with pytest.raises(ValueError, match="UUID"):
        gateway.client().cancel(bad)
    assert gateway.received == []


def frame(name: str, sequence: int | None, data: dict[str, Any]) -> bytes:
    head = f"event: {name}\n" + ("" if sequence is None else f"id: {sequence}\n")
    return f"{head}data: {json.dumps(data)}\n\n".encode()


class Cut(httpx.SyncByteStream):
    """A body that ends by a broken connection."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks
        raise httpx.ReadError("cut")


def test_a_broken_stream_is_taken_up_where_it_broke_and_gives_each_event_once() -> None:
    whole = [frame("asked", 4, {}), frame("progress", None, {"stage": "generator"}), frame("drafted", 6, {})]
    gateway = Gateway(
        httpx.Response(200, stream=Cut(b": ping\n\n", *whole, b"event: conc")),
        problem(503, "bus_unavailable", **{"Retry-After": "0"}),
        httpx.Response(200, content=frame("concluded", 7, {})),
        httpx.Response(200, content=frame("finished", 9, {"answer": ANSWER})),
    )
    events = list(gateway.client().follow(QUERY))
    assert [(event.name, event.sequence) for event in events] == [
        ("asked", 4),
        ("progress", None),
        ("drafted", 6),
        ("concluded", 7),
        ("finished", 9),
    ]
    assert events[-1].answer is not None
    assert [item.headers.get("last-event-id") for item in gateway.received] == [None, "6", "6", "7"]


OF_A_CONNECTION: dict[str, Callable[[Client, str], Any]] = {
    "catalog": lambda client, name: client.catalog(name),
    "definitions": lambda client, name: client.definitions(name),
    "suggestions": lambda client, name: client.suggestions(name),
    "knowledge": lambda client, name: client.knowledge(name),
    "refresh": lambda client, name: client.refresh_catalog(name),
}


@pytest.mark.parametrize("what", OF_A_CONNECTION)
def test_what_belongs_to_a_connection_is_asked_for_by_its_name_and_nowhere_else(what: str) -> None:
    gateway = Gateway({}, {})
    ask = OF_A_CONNECTION[what]
    ask(gateway.client(), "shop")
    ask(gateway.client(), "../queries?x=1")
    assert [request.url.raw_path.partition(b"?language")[0].decode() for request in gateway.received] == [
        f"/v1/connections/shop/{what}",
        f"/v1/connections/..%2Fqueries%3Fx%3D1/{what}",
    ]
    for name in ("", ".", ".."):
        with pytest.raises(ValueError, match="no name of a connection"):
            ask(gateway.client(), name)


def test_a_stream_that_stays_broken_says_where_to_go_on() -> None:
    gateway = Gateway(httpx.Response(200, content=frame("asked", 4, {})), *[httpx.ConnectError("refused")] * 5)
    with pytest.raises(StreamBroken) as caught:
        list(gateway.client(retries=2).follow(QUERY))
    assert caught.value.after == 4


def test_a_stream_that_is_refused_is_not_tried_again() -> None:
    gateway = Gateway(problem(404, "not_found"))
    with pytest.raises(NotFound):
        list(gateway.client().follow(QUERY))
    assert len(gateway.received) == 1


@pytest.mark.parametrize("size", [1, 3, 7, 1_000])
def test_frames_are_the_same_however_they_are_cut(size: int) -> None:
    data = b'retry: 2000\r\n\r\n: ping\n\nevent: asked\r\nid: 4\r\ndata: {"a":\ndata: "\xe4\xb8\x8a"}\r\n\r\n' + frame(
        "progress", None, {"n": 1}
    )
    frames = Frames()
    events = [item for at in range(0, len(data), size) for item in frames.feed(data[at : at + size])]
    assert [(event.name, event.sequence, event.data) for event in events] == [
        ("asked", 4, {"a": "上"}),
        ("progress", None, {"n": 1}),
    ]


def test_pages_and_threads_are_read_one_after_the_other() -> None:
    def page(number: int) -> dict[str, Any]:
        return {
            "query_id": QUERY,
            "page": number,
            "page_size": 1,
            "columns": [],
            "rows": [[number]],
            "has_next": number < 3,
            "has_prev": number > 1,
            "total_count": 3,
            "total_pages": 3,
        }

    gateway = Gateway(page(1), page(2), page(3))
    assert [page.rows for page in gateway.client().pages(QUERY)] == [((1,),), ((2,),), ((3,),)]
    thread = {"thread_id": QUERY, "title": "t", "connection": "shop", "created_at": 1}
    gateway = Gateway({"threads": [thread], "next_cursor": "12"}, {"threads": [thread, thread], "next_cursor": None})
    assert len(list(gateway.client().threads())) == 3
    assert gateway.received[1].url.params["cursor"] == "12"


def test_a_picture_is_its_bytes_and_a_missing_one_a_refusal() -> None:
    gateway = Gateway(httpx.Response(200, content=b"<svg/>"), problem(404, "not_found"))
    assert gateway.client().chart(QUERY) == b"<svg/>"
    assert gateway.received[0].url.params["format"] == "svg"
    with pytest.raises(NotFound):
        gateway.client().chart(QUERY, "png")


async def test_the_asynchronous_client_does_the_same() -> None:
    gateway = Gateway(httpx.ConnectError("refused"), RUNNING, FINISHED)
    async with AsyncClient("http://gateway", "the-key", transport=httpx.MockTransport(gateway)) as client:
        assert (await client.ask("How many cities?")).rows == ((3,),)
    assert len({item.headers.get("idempotency-key") for item in gateway.received[:2]}) == 1
    gateway = Gateway(
        httpx.Response(200, content=frame("asked", 4, {})),
        httpx.Response(200, content=frame("finished", 9, {"answer": ANSWER})),
    )
    async with AsyncClient("http://gateway", "the-key", transport=httpx.MockTransport(gateway)) as client:
        assert [path.name async for path in client.follow(QUERY)] == ["asked", "finished"]
    assert gateway.received[1].headers["last-event-id"] == "4"


def test_both_clients_offer_the_same() -> None:
    def offered(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert offered(Client) == offered(AsyncClient)


def test_a_key_from_a_file_is_taken_and_what_is_none_is_refused_without_being_shown() -> None:
    assert bearer("qb.a.b.secret\n") == {"Authorization": "Bearer qb.a.b.secret"}
    for key in ("", " \n", "qb.a.b.sec ret", "qb.a.b.sec\nret", "qb.a.b.秘密"):
        with pytest.raises(ValueError, match="visible ASCII") as refused:
            bearer(key)
        assert "qb.a" not in str(refused.value)


def test_where_one_gateway_is_away_the_next_is_asked_and_stays() -> None:
    gateway = Gateway(httpx.ConnectError("away"), FINISHED, FINISHED, httpx.Response(503), FINISHED)
    with Client(["http://a", "http://b/"], "the-key", transport=httpx.MockTransport(gateway)) as client:
        for _ in range(3):
            client.query(QUERY)
    assert [request.url.host for request in gateway.received] == ["a", "b", "b", "b", "a"]


def test_a_refusal_is_no_reason_to_ask_another_gateway() -> None:
    gateway = Gateway(httpx.Response(404, json={"code": "not_found"}), FINISHED)
    with Client(["http://a", "http://b"], "the-key", transport=httpx.MockTransport(gateway)) as client:
        with pytest.raises(NotFound):
            client.query(QUERY)
        client.query(QUERY)
    assert [request.url.host for request in gateway.received] == ["a", "a"]


def test_a_client_without_an_address_says_so() -> None:
    with pytest.raises(ValueError, match="address"):
        Client([], "the-key")
