"""Threads, runs, states and assistants as LangGraph's clients read them, made from a thread's turns."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from querybus_gateway.http.compatible.langgraph.checkpoints import checkpoint_id
from querybus_gateway.http.compatible.langgraph.state_fields import state_fields
from querybus_gateway.public.markdown import markdown

Json = dict[str, Any]
GRAPH: Final = "text2sql_agent"
AUTO_NAMES: Final = frozenset((GRAPH, "text2sql_stream", "querybus", "auto"))
"""Names of the assistant that finds the connection by itself."""
FIRST_NODE: Final = "generator"
LAST_NODE: Final = "presenter"
INTERRUPTS: Final = frozenset(("clarification", "confirmation"))
_STATUS: Final = {
    "answered": "success",
    "replied": "success",
    "prepared": "success",
    "clarification": "interrupted",
    "confirmation": "interrupted",
    "cancelled": "interrupted",
    "expired": "timeout",
}
_ALWAYS: Final = "2026-01-01T00:00:00+00:00"
_ANSWER: Final = (
    "outcome",
    "code",
    "message",
    "summary",
    "columns",
    "rows",
    "row_count",
    "total_count",
    "sql",
    "chart",
    "pagination",
)


@dataclass(frozen=True, slots=True)
class Assistant:
    """A connection, or with none the one that finds it."""

    connection: str | None = None

    @property
    def id(self) -> str:
        """The same in every gateway."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"urn:querybus:assistant:{self.connection or ''}"))

    @property
    def view(self) -> Json:
        """The assistant as it is listed."""
        return {
            "assistant_id": self.id,
            "graph_id": GRAPH,
            "config": {},
            "context": {},
            "metadata": {"created_by": "system", **({"connection": self.connection} if self.connection else {})},
            "name": self.connection or GRAPH,
            "created_at": _ALWAYS,
            "updated_at": _ALWAYS,
            "version": 1,
            "description": None,
        }


def time_of(ms: int) -> str:
    """Return a time as ISO 8601."""
    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="microseconds")


def run_status(turn: Mapping[str, Any]) -> str:
    """Return a run's status: pending, running, success, interrupted, timeout or error."""
    if turn["status"] != "finished":
        return "pending" if turn["status"] == "queued" else "running"
    return _STATUS.get(str(turn["outcome"]), "error")


def human_message(query: str, question: str) -> Json:
    return {
        "content": question,
        "additional_kwargs": {},
        "response_metadata": {},
        "type": "human",
        "name": None,
        "id": query,
    }


def ai_message(query: str, text: str) -> Json:
    return {
        "content": text,
        "additional_kwargs": {},
        "response_metadata": {},
        "type": "ai",
        "name": None,
        "id": answer_id(query),
        "tool_calls": [],
        "invalid_tool_calls": [],
        "usage_metadata": None,
    }


def answer_id(query: str) -> str:
    """Return the id of the message that answers a query."""
    return f"run-{query}"


def messages_of(turns: Sequence[Mapping[str, Any]], base_url: str) -> list[Json]:
    """Return the messages of turns, each with its `answer` where it has finished."""
    messages: list[Json] = []
    for turn in turns:
        messages.append(human_message(turn["query_id"], turn["question"]))
        if turn["status"] == "finished":
            messages.append(ai_message(turn["query_id"], text_of(turn, base_url)))
    return messages


def text_of(turn: Mapping[str, Any], base_url: str) -> str:
    """Return the words of a finished turn as Markdown."""
    answer = turn.get("answer") or {"summary": turn["summary"], "message": turn["message"], "outcome": turn["outcome"]}
    return markdown({"id": turn["query_id"], "answer": answer}, base_url)


def values_of(turns: Sequence[Mapping[str, Any]], base_url: str) -> Json:
    """Return the state's values: every message, and of the last turn its answer and how it came about."""
    values: Json = {"messages": messages_of(turns, base_url)}
    if not turns:
        return values
    last = turns[-1]
    values["query_id"] = last["query_id"]
    if answer := last.get("answer"):
        values |= {name: answer[name] for name in _ANSWER if name in answer}
    return values | state_fields(last)


def interrupts_of(turn: Mapping[str, Any]) -> list[Json]:
    """Return what a turn asks a person, none for a turn that asks nothing or waits for a second person."""
    answer = turn.get("answer") or {}
    is_asked = turn["status"] == "finished" and turn["outcome"] in INTERRUPTS
    if not is_asked or (answer.get("confirmation") or {}).get("needs_second_person"):
        return []
    value: Json = {"kind": turn["outcome"], "question": answer.get("message") or turn["message"]}
    if turn["outcome"] == "clarification":
        value["options"] = answer.get("options") or []
    else:
        value["confirmation"] = answer.get("confirmation")
    return [{"value": value, "id": turn["query_id"].replace("-", "")}]


def run_of(turn: Mapping[str, Any], thread: str, assistant: Assistant) -> Json:
    """Return a run, by its turn."""
    return {
        "run_id": turn["query_id"],
        "thread_id": thread,
        "assistant_id": assistant.id,
        "metadata": {"created_by": "system", "graph_id": GRAPH, "assistant_id": assistant.id},
        "status": run_status(turn),
        "kwargs": {"input": {"messages": [{"role": "human", "content": turn["question"]}]}, "command": None},
        "multitask_strategy": "enqueue",
        "created_at": time_of(turn["asked_at"]),
        "updated_at": time_of(_ended_at(turn)),
    }


def thread_of(record: Mapping[str, Any], turns: Sequence[Mapping[str, Any]], base_url: str) -> Json:
    """Return a thread, by its record and its newest turns."""
    last = turns[-1] if turns else None
    updated = record["created_at"] if last is None else _ended_at(last)
    interrupts = {} if last is None or not interrupts_of(last) else {last["query_id"]: interrupts_of(last)}
    return {
        "thread_id": record["thread_id"],
        "created_at": time_of(record["created_at"]),
        "updated_at": time_of(updated),
        "state_updated_at": time_of(updated),
        "metadata": {**({"graph_id": GRAPH} if turns else {}), **record["metadata"]},
        "status": _thread_status(last),
        "config": {},
        "values": values_of(turns, base_url) if turns else None,
        "interrupts": interrupts,
    }


def _thread_status(last: Mapping[str, Any] | None) -> str:
    if last is None:
        return "idle"
    status = run_status(last)
    if status in ("pending", "running"):
        return "busy"
    if status == "interrupted":
        return "interrupted" if interrupts_of(last) else "idle"
    return "idle" if status == "success" else "error"


def states_of(
    thread: str, turns: Sequence[Mapping[str, Any]], base_url: str, *, before: int | None = None
) -> list[Json]:
    """Return the states of a thread, newest first: behind the end of every turn, and behind its question.

    `turns` are oldest first; `before` is the event that the first of them stands behind.
    """
    states: list[Json] = []
    parent = before
    for place, turn in enumerate(turns):
        known = turns[:place]
        asked = {**turn, "status": "running", "outcome": None, "answer": None, "last_event": "asked"}
        states.append(_state(thread, (*known, asked), turn["sequence"], parent, base_url, step=2 * place))
        parent = turn["sequence"]
        if turn["last_sequence"] != turn["sequence"]:
            behind = turn["last_sequence"]
            states.append(_state(thread, (*known, turn), behind, parent, base_url, step=2 * place + 1))
            parent = behind
    return states[::-1]


def empty_state(thread: str) -> Json:
    """Return the state of a thread in which nothing was asked yet."""
    return {
        "values": {},
        "next": [],
        "tasks": [],
        "metadata": {},
        "created_at": None,
        "checkpoint": {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": None},
        "parent_checkpoint": None,
        "interrupts": [],
        "checkpoint_id": None,
        "parent_checkpoint_id": None,
    }


def _state(
    thread: str,
    turns: Sequence[Mapping[str, Any]],
    sequence: int,
    parent: int | None,
    base_url: str,
    *,
    step: int,
) -> Json:
    last = turns[-1]
    interrupts = interrupts_of(last)
    is_open = last["status"] != "finished" or bool(interrupts)
    task = {
        "id": last["query_id"],
        "name": FIRST_NODE,
        "path": ["__pregel_pull", FIRST_NODE],
        "error": None,
        "interrupts": interrupts,
        "checkpoint": None,
        "state": None,
        "result": None,
    }
    here = _checkpoint(thread, sequence)
    before = None if parent is None else _checkpoint(thread, parent)
    return {
        "values": values_of(turns, base_url),
        "next": [FIRST_NODE] if is_open else [],
        "tasks": [task] if is_open else [],
        "metadata": {
            "graph_id": GRAPH,
            "run_id": last["query_id"],
            "thread_id": thread,
            "source": "input" if last["status"] != "finished" else "loop",
            "step": step,
            "parents": {},
            "created_by": "system",
        },
        "created_at": time_of(_ended_at(last)),
        "checkpoint": here,
        "parent_checkpoint": before,
        "interrupts": interrupts,
        "checkpoint_id": here["checkpoint_id"],
        "parent_checkpoint_id": None if before is None else before["checkpoint_id"],
    }


def _checkpoint(thread: str, sequence: int) -> Json:
    return {"checkpoint_id": checkpoint_id(sequence), "thread_id": thread, "checkpoint_ns": ""}


def _ended_at(turn: Mapping[str, Any]) -> int:
    path = (turn.get("answer") or {}).get("path") or ()
    return path[-1]["ended_at"] if path else turn["asked_at"]
