"""What chat front ends send is read as far as it means something, and housekeeping never becomes a query."""

from __future__ import annotations

import json

import pytest

from querybus.core.credential import Credential
from querybus_gateway.http.compatible.openai.conversation import acting, asked_in
from querybus_gateway.http.compatible.openai.replies import error_body, pieces, query_in
from querybus_gateway.http.compatible.openai.requests import ChatRequest, Message, connection_of, task_of, task_reply
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.markdown import markdown

QUERY = "0190a5e0-0000-7000-8000-000000000001"
ANSWER = {
    "outcome": "answered",
    "language": "en",
    "summary": "There are 2.",
    "columns": [{"label": "Name | of it"}, {"label": "Count"}],
    "rows": [["a|b<script>", 1], [None, 2]],
    "row_count": 30,
    "options": [],
    "chart": {"mark": {}},
}


def test_a_body_of_open_webui_is_read_and_what_means_nothing_is_ignored() -> None:
    body = {
        "model": "querybus/shop",
        "messages": [
            {"role": "system", "content": "x"},
            {"role": "user", "content": [{"type": "text", "text": "How many?"}]},
        ],
        "temperature": 0.7,
        "tools": [{"type": "function"}],
        "stream_options": {"include_usage": True},
        "user": "u",
    }
    wanted = ChatRequest.model_validate(body)
    asked = asked_in(wanted.messages, {"x-openwebui-chat-id": "c1"})
    assert asked is not None
    assert (asked.question, asked.conversation, asked.follows) == ("How many?", "c1", None)
    assert connection_of(wanted.model) == "shop"


def test_the_last_answer_of_ours_is_what_a_question_follows() -> None:
    messages = (
        Message(role="user", content="a"),
        Message(role="assistant", content=f"1. x\n\n[Details](http://h/v1/queries/{QUERY})"),
        Message(role="user", content="2"),
    )
    asked = asked_in(messages, {})
    assert asked is not None
    assert asked.follows == QUERY
    assert asked_in((Message(role="system", content="x"),), {}) is None


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("### Task:\nGenerate a concise, 3-5 word title with an emoji", "title"),
        ("### Task:\nGenerate 1-3 broad tags categorizing the main themes", "tags"),
        ("### Task:\nSuggest 3-5 relevant follow-up questions", "follow_ups"),
        ("### Task:\nAnalyze the chat history to determine the necessity of generating search queries", "queries"),
        ("Provide a concise, 5-word-or-less title for the conversation", "title"),
        ("How many tasks are there?", None),
        ("What is the title of the newest book?", None),
    ],
)
def test_housekeeping_is_no_question(text: str, task: str | None) -> None:
    assert task_of(text) == task


def test_a_title_is_the_persons_own_words() -> None:
    text = "### Task:\nGenerate a title\n<chat_history>\nUSER: How many customers?\nASSISTANT: 3\n</chat_history>"
    assert task_reply("title", text) == {"title": "How many customers?"}


def test_an_answer_is_markdown_in_which_no_value_is_markup() -> None:
    text = markdown({"id": QUERY, "answer": ANSWER}, "http://h/")
    assert "| Name \\| of it | Count |" in text
    assert "a\\|b&lt;script>" in text
    assert "28 more rows" in text
    assert f"[Details](http://h/v1/queries/{QUERY})" in text
    assert query_in(text) == QUERY
    assert "".join(pieces(text)) == text


def test_options_are_numbered_and_an_unfinished_query_leads_to_where_it_stands() -> None:
    asked_back = {**ANSWER, "outcome": "clarification", "rows": [], "options": [{"text": "A?"}, {"text": "B?"}]}
    assert "1. A?\n2. B?" in markdown({"id": QUERY, "answer": asked_back}, "http://h")
    assert QUERY in markdown({"id": QUERY, "answer": None}, "http://h")


def test_a_problem_has_the_shape_that_clients_raise() -> None:
    body = error_body(Problem(ProblemCode.QUESTION_EMPTY, "say something"))
    assert body["error"]["type"] == "invalid_request_error"
    assert body["error"]["message"] == "say something"
    assert json.dumps(body)


def test_only_a_trusted_front_end_names_the_person_that_it_asks_for() -> None:
    plain = Credential(name="chat", tenant="acme", user="chat")
    trusted = plain.model_copy(update={"is_trusted_proxy": True})
    headers = {"x-openwebui-user-id": "ann", "x-openwebui-user-role": "admin"}
    assert acting(plain, headers) == plain
    assert acting(trusted, {}) == trusted
    ann = acting(trusted, headers)
    assert (ann.user, ann.tenant, ann.audience) == ("chat/ann", "acme", "business")
    assert acting(trusted, {"x-user-email": "bob@example.com"}).user != ann.user
