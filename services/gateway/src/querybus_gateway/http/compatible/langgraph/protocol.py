"""A thread's events as the thread protocol (v3) numbers and names them.

One stored event becomes several of the protocol's; `seq` is the stored sequence times SEQ_STEP plus the place among them,
so that it only rises, is the same at every gateway, and says where a stream goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from querybus_gateway.http.compatible.langgraph.checkpoints import checkpoint_id
from querybus_gateway.http.compatible.langgraph.objects import (
    GRAPH,
    LAST_NODE,
    ai_message,
    answer_id,
    human_message,
    interrupts_of,
    run_status,
    text_of,
    values_of,
)
from querybus_gateway.http.compatible.langgraph.state_fields import state_fields
from querybus_gateway.http.compatible.langgraph.stream import NODES, error_of, turn_of

SEQ_STEP: Final = 64
PARTS_MAX: Final = 32
"""Parts that the words of an answer come in; what is more comes with the last."""
Json = dict[str, Any]


def seq_behind(sequence: int) -> int:
    """Return the number behind everything that is made of a stored event."""
    return sequence * SEQ_STEP + SEQ_STEP - 1


def protocol_events(
    event: Json, turns: Sequence[Mapping[str, Any]], base_url: str, known: Sequence[Mapping[str, Any]] = ()
) -> list[Json]:
    """Return what a stored event is in the protocol.

    `turns` are those of the thread before its question, `known` all that are known of it.
    """
    if event["event"] == "finished":
        made = _of_end(event, turn_of(event["answer"], known), turns, base_url)
    elif event["event"] in ("asked", "confirmed"):
        made = _of_start(event, turns, base_url)
    else:
        node = NODES.get(event["event"]) or str(event.get("stage") or "executor")
        made = [("updates", {node: event}), ("custom", {"name": event["event"], "payload": event})]
    return [_numbered(event, place, method, data) for place, (method, data) in enumerate(made)]


def is_wanted(made: Json, channels: Sequence[str]) -> bool:
    """Return whether a subscription to these channels covers an event.

    >>> is_wanted({"method": "custom", "params": {"data": {"name": "drafted"}}}, ["custom:drafted"])
    True
    """
    method = made["method"]
    if method == "input.requested":
        return "input" in channels
    named = f"custom:{made['params']['data'].get('name')}" if method == "custom" else method
    return method in channels or named in channels


def _numbered(event: Json, place: int, method: str, data: Any) -> Json:
    sequence = event["sequence"]
    return {
        "type": "event",
        "event_id": f"{sequence}-{place}",
        "seq": sequence * SEQ_STEP + place,
        "method": method,
        "params": {"namespace": [], "timestamp": event["at"], "data": data},
    }


def _of_start(event: Json, turns: Sequence[Mapping[str, Any]], base_url: str) -> list[tuple[str, Any]]:
    query, question = event["query_id"], event.get("question")
    values = values_of(turns, base_url)
    messages = [*values["messages"], *([human_message(query, question)] if question else [])]
    return [
        ("lifecycle", {"event": "started", "graph_name": GRAPH}),
        ("lifecycle", {"event": "running", "graph_name": GRAPH}),
        ("values", {"messages": messages, "query_id": query, **state_fields({"last_event": event["event"]})}),
        ("custom", {"name": event["event"], "payload": event}),
    ]


def _of_end(
    event: Json, turn: Mapping[str, Any], turns: Sequence[Mapping[str, Any]], base_url: str
) -> list[tuple[str, Any]]:
    answer, query = event["answer"], event["query_id"]
    text, interrupts = text_of(turn, base_url), interrupts_of(turn)
    node = {"langgraph_node": LAST_NODE, "run_id": query}
    block = {"type": "text", "text": ""}
    made: list[tuple[str, Any]] = [
        ("custom", {"name": "finished", "payload": event}),
        ("messages", {"event": "message-start", "role": "ai", "id": answer_id(query), "metadata": node}),
        ("messages", {"event": "content-block-start", "index": 0, "content": block}),
        *(
            ("messages", {"event": "content-block-delta", "index": 0, "delta": {"type": "text-delta", "text": part}})
            for part in _parts(text)
        ),
        ("messages", {"event": "content-block-finish", "index": 0, "content": {**block, "text": text}}),
        ("messages", {"event": "message-finish", "reason": "stop"}),
        ("updates", {LAST_NODE: {"messages": [ai_message(query, text)], "outcome": answer["outcome"]}}),
        ("values", values_of((*turns, turn), base_url)),
        ("checkpoints", _checkpoint(event, turns)),
    ]
    for one in interrupts:
        # The JavaScript client reads `payload`, the Python client `value`.
        waiting = {"interrupt_id": one["id"], "value": one["value"], "payload": one["value"]}
        made.append(("input.requested", waiting))
    return [*made, ("lifecycle", _ending(turn, answer, bool(interrupts)))]


def _ending(turn: Mapping[str, Any], answer: Json, is_interrupted: bool) -> Json:
    if is_interrupted:
        return {"event": "interrupted", "graph_name": GRAPH}
    if run_status(turn) in ("error", "timeout"):
        return {"event": "failed", "graph_name": GRAPH, "error": error_of(answer)["message"]}
    return {"event": "completed", "graph_name": GRAPH}


def _checkpoint(event: Json, turns: Sequence[Mapping[str, Any]]) -> Json:
    parent = checkpoint_id(turns[-1]["last_sequence"]) if turns else None
    step = 2 * len(turns) + 1
    return {"id": checkpoint_id(event["sequence"]), "parent_id": parent, "step": step, "source": "loop"}


def _parts(text: str) -> list[str]:
    paragraphs = text.split("\n\n")
    shown = (
        [*paragraphs[: PARTS_MAX - 1], "\n\n".join(paragraphs[PARTS_MAX - 1 :])]
        if len(paragraphs) > PARTS_MAX
        else paragraphs
    )
    return [*(f"{part}\n\n" for part in shown[:-1]), shown[-1]]
