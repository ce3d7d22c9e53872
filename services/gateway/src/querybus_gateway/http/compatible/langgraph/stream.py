"""A query's events as LangGraph streams them, in the modes that were asked for, resumed at any gateway.

A frame's id is `<sequence>-<place>`: the event it was made of, and its place among the frames of that event. Progress has
no id. So a resumed stream goes on behind exactly the frame that was seen last.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from querybus_gateway.http.compatible.langgraph.objects import (
    GRAPH,
    LAST_NODE,
    Assistant,
    ai_message,
    answer_id,
    human_message,
    interrupts_of,
    run_status,
    text_of,
    values_of,
)
from querybus_gateway.http.compatible.langgraph.state_fields import state_fields
from querybus_gateway.problems import Problem
from querybus_gateway.use_cases.resources import Frame

Json = dict[str, Any]
NODES: Final = {"drafted": "generator", "approved": "validator", "returned": "recovery", "confirmed": "validator"}
_FIRST_ID: Final = (0, 0)
_ENDING: Final = ("outcome", "code", "pagination")


@dataclass(frozen=True, slots=True)
class Run:
    """A run to be streamed: its query, its thread's earlier turns, and how it is wanted."""

    query: str
    thread: str
    assistant: Assistant
    modes: Sequence[str]
    earlier: Sequence[Mapping[str, Any]]
    base_url: str
    is_plain: bool = False
    """Only the frames of its modes: no `metadata` before them, no `end` behind them."""


def resume_point(last_event_id: str) -> tuple[int, int] | None:
    """Return the event and the place of the frame that a client has seen last, None for an id that is none of ours.

    >>> resume_point("17-2"), resume_point(""), resume_point("x")
    ((17, 2), (-1, -1), None)
    """
    if not last_event_id:
        return -1, -1
    sequence, _, place = last_event_id.partition("-")
    if not (sequence.isascii() and sequence.isdigit() and len(sequence) < 19):
        return None
    if not (place.isascii() and place.isdigit() and len(place) < 4):
        return None
    return int(sequence), int(place)


async def frames(
    run: Run,
    events_behind: Callable[[int], AsyncGenerator[Frame]],
    end_of: Callable[[Json], Awaitable[Json | Problem]],
    seen: tuple[int, int],
) -> AsyncGenerator[str]:
    """Yield the run's frames behind the one that was seen last; ends with `end` or `error`.

    `events_behind` streams the query's events behind a sequence, `end_of` makes the finished turn of an answer.
    """
    if seen < _FIRST_ID and not run.is_plain:
        yield frame("metadata", {"run_id": run.query, "attempt": 1}, "0-0")
    finished = False
    async with aclosing(events_behind(max(0, seen[0] - 1))) as events:
        async for event in events:
            if event.sequence is None:
                for name, data in _of_progress(run, event.data):
                    yield frame(name, data)
                continue
            finished = event.event == "finished"
            made = _of_end(run, event.data, await end_of(event.data["answer"])) if finished else _of_event(run, event)
            for place, (name, data) in enumerate(made):
                if (event.sequence, place) > seen:
                    yield frame(name, data, f"{event.sequence}-{place}")
    if not finished:
        yield frame("error", {"error": "timeout", "message": "the run did not end in time"})


def frame(event: str, data: Any, frame_id: str = "") -> str:
    """Return one server-sent event."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {event}\ndata: {text}\n{f'id: {frame_id}' + chr(10) if frame_id else ''}\n"


def error_of(answer: Mapping[str, Any]) -> Json:
    """Return how a run failed."""
    return {"error": str(answer.get("code") or answer["outcome"]), "message": answer["message"]}


def refusal_of(problem: Problem) -> Json:
    """Return why a run's end cannot be shown."""
    return {"error": str(problem.code), "message": problem.detail or str(problem.code)}


def turn_of(answer: Mapping[str, Any], known: Sequence[Mapping[str, Any]] = ()) -> Json:
    """Return a finished turn by its answer; how its draft came about is taken from the known turns of its thread."""
    names = ("query_id", "question", "outcome", "message", "summary", "asked_at")
    turn = {**{name: answer[name] for name in names}, "status": "finished", "answer": answer}
    analysis = next((one.get("analysis") for one in known if one["query_id"] == answer["query_id"]), None)
    return turn if analysis is None else {**turn, "analysis": analysis}


def _of_progress(run: Run, note: Json) -> list[tuple[str, Any]]:
    made: list[tuple[str, Any]] = []
    if "custom" in run.modes:
        made.append(("custom", {"event": "progress", **note}))
    if "messages-tuple" in run.modes and note.get("text"):
        made.append(("messages", [_chunk(f"draft-{run.query}", note["text"]), _chunk_metadata(run, note["stage"])]))
    return made


def _of_event(run: Run, event: Frame) -> list[tuple[str, Any]]:
    """Return the frames of a stored event, always the same for the same modes."""
    made: list[tuple[str, Any]] = []
    if event.event in ("asked", "confirmed") and "values" in run.modes:
        question = event.data.get("question")
        values = values_of(run.earlier, run.base_url)
        messages = [*values["messages"], *([human_message(run.query, question)] if question else [])]
        made.append(
            ("values", {"messages": messages, "query_id": run.query, **state_fields({"last_event": event.event})})
        )
    if "custom" in run.modes:
        made.append(("custom", event.data))
    node = NODES.get(event.event) or str(event.data.get("stage") or "executor")
    if event.event not in ("asked", "confirmed") and "updates" in run.modes:
        made.append(("updates", {node: event.data}))
    return made


def _of_end(run: Run, data: Json, turn: Json | Problem) -> list[tuple[str, Any]]:
    if isinstance(turn, Problem):
        return [("error", refusal_of(turn))]
    answer = turn["answer"]
    text, interrupts = text_of(turn, run.base_url), interrupts_of(turn)
    made: list[tuple[str, Any]] = []
    if "custom" in run.modes:
        made.append(("custom", data))
    if "messages-tuple" in run.modes:
        paragraphs = text.split("\n\n")
        for number, paragraph in enumerate(paragraphs):
            is_last = number == len(paragraphs) - 1
            chunk = _chunk(
                answer_id(run.query), paragraph if is_last else f"{paragraph}\n\n", answer if is_last else None
            )
            made.append(("messages", [chunk, _chunk_metadata(run, LAST_NODE)]))
    if "messages" in run.modes:
        made.append(("messages/complete", [ai_message(run.query, text)]))
    if "updates" in run.modes:
        made.append(("updates", {LAST_NODE: {"messages": [ai_message(run.query, text)], "outcome": answer["outcome"]}}))
        if interrupts:
            waiting = [{**item, "response_schema": None} for item in interrupts]
            made.append(("updates", {"__interrupt__": waiting}))
    if "values" in run.modes:
        values = values_of((*run.earlier, turn), run.base_url)
        made.append(("values", {**values, "__interrupt__": interrupts} if interrupts else values))
    status = run_status(turn)
    if run.is_plain:
        return made
    if status in ("error", "timeout"):
        made.append(("error", error_of(answer)))
    else:
        made.append(("end", {"run_id": run.query, "status": status}))
    return made


def _chunk(message: str, text: str, answer: Mapping[str, Any] | None = None) -> Json:
    """Return a part of a message; the last one, with its answer, says how the run ended."""
    return {
        "content": text,
        "additional_kwargs": {},
        "response_metadata": {name: answer[name] for name in _ENDING if name in answer} if answer else {},
        "type": "AIMessageChunk",
        "name": None,
        "id": message,
        "tool_calls": [],
        "invalid_tool_calls": [],
        "usage_metadata": None,
        "tool_call_chunks": [],
        "chunk_position": "last" if answer else None,
    }


def _chunk_metadata(run: Run, node: str) -> Json:
    return {
        "langgraph_node": node,
        "langgraph_step": 1,
        "run_id": run.query,
        "thread_id": run.thread,
        "graph_id": GRAPH,
        "assistant_id": run.assistant.id,
    }
