"""What chat front ends send is read as far as it means something, and housekeeping never becomes a query."""

from __future__ import annotations

import json
from typing import Any

import pytest

from querybus.core.credential import Credential
from querybus_gateway.http.compatible.openai.conversation import acting, asked_in
from querybus_gateway.http.compatible.openai.housekeeping import question_in, task_of, task_reply, values_of
from querybus_gateway.http.compatible.openai.replies import error_body, pieces, query_in
from querybus_gateway.http.compatible.openai.requests import ChatRequest, Message, connection_of
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
        ('### Task:\nPredict what comes next.\n### Output:\n{ "follow_ups": ["..."] }\n<chat_history>', "follow_ups"),
        ('### Task:\nContinue the text.\n### Output:\n{ "text": "..." }\n<chat_history>{ "tags": 1 }', "text"),
        ('### Task:\nDescribe a picture.\n{ "prompt": "..." }', "prompt"),
        ("### Task:\nSummarize what leaves the active context.\n### Messages:\nuser: what is a title?", "summary"),
        ("Provide a concise, 5-word-or-less title for the conversation", "title"),
        ("Analyze this conversation and provide:\n1. Its language\n2. A concise title", "title"),
        ("Your task is to reflect the speaker's likely facial expression", "emoji"),
        ("You have been provided with a set of responses from various models to the latest query", "merge"),
        ("### Task:\nRespond to the user query using the provided context\n<context>x</context>\nHow many?", None),
        ("Please generate a table of films by title", None),
        ("How many tasks are there?", None),
        ("What is the title of the newest book?", None),
    ],
)
def test_housekeeping_is_no_question(text: str, task: str | None) -> None:
    assert task_of(text) == task


def test_a_title_is_the_persons_own_words() -> None:
    text = "### Task:\nGenerate a title\n<chat_history>\nUSER: How many customers?\nASSISTANT: 3\n</chat_history>"
    assert json.loads(task_reply("title", text)) == {"title": "How many customers?"}
    # What asks for the title itself gets no object, what demands an object gets one.
    plain = "Provide a concise title for the conversation.\n\nConversation:\nUser: 有多少客户？\nAI: 3"
    assert task_reply("title", plain) == "有多少客户？"
    assert json.loads(task_reply("title", plain, as_json=True)) == {"title": "有多少客户？"}
    both = plain.replace("Provide a concise title for", "Analyze this conversation and provide a title:")
    assert values_of("title", both) == {"language": "Chinese", "title": "有多少客户？"}


@pytest.mark.parametrize(
    "task", ["title", "tags", "follow_ups", "queries", "text", "prompt", "emoji", "summary", "merge"]
)
def test_every_kind_of_housekeeping_has_a_reply(task: Any) -> None:
    reply = task_reply(task, "### Task:\nsomething")
    assert reply
    assert (reply[0] == "{") == bool(values_of(task, ""))


def test_a_question_among_found_passages_is_the_persons_own_words() -> None:
    passages = "### Task:\nRespond to the user query using the context\n<context>\nold </context> text\n</context>\n"
    assert question_in(f"{passages}How many customers?") == "How many customers?"
    assert question_in("### Task:\nRespond to the user query\n<user_query>\nHow many?\n</user_query>") == "How many?"
    assert question_in("How many?") == "How many?"


def test_an_answer_is_markdown_in_which_no_value_is_markup() -> None:
    text = markdown({"id": QUERY, "answer": ANSWER}, "http://h/")
    assert "| Name \\| of it | Count |" in text
    assert "a\\|b&lt;script>" in text
    assert "28 more rows" in text
    assert f"[Details](http://h/v1/queries/{QUERY}) · [Chart](http://h/v1/queries/{QUERY}/chart?format=png)" in text
    assert query_in(text) == QUERY
    card = markdown(
        {"id": QUERY, "answer": ANSWER}, "http://h/", link=f"http://h/#thread=t&answer={QUERY}", picture="http://p"
    )
    assert card.endswith(f"![Chart](http://p)\n\n[Details](http://h/#thread=t&answer={QUERY})")
    assert query_in(card.replace("http://p", "")) == QUERY
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


def test_a_field_that_is_null_is_one_that_is_left_out() -> None:
    given = {"model": None, "stream": None, "messages": [{"role": "user", "content": "hi"}], "response_format": None}
    assert ChatRequest.model_validate(given) == ChatRequest.model_validate({"messages": given["messages"]})
