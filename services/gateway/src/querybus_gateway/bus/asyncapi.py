"""The bus as outside programs see it, as an AsyncAPI 3.0 document: made of the verbs and the types of their answers.

It names no credential and no server: subjects have places for tenant, credential, user and query.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

from querybus.core.stored.preferences import Preferences
from querybus.core.subjects import ROOT
from querybus.text.public import Json
from querybus_gateway.admit import AskCall
from querybus_gateway.bus.api import VERBS
from querybus_gateway.views import (
    BatchItemsView,
    BatchView,
    CatalogView,
    ChartCallView,
    ConnectionsView,
    DeletedThreadView,
    FeedbackView,
    FinishedCallView,
    HitsView,
    KnowledgeView,
    PageView,
    ProblemCallView,
    ProgressView,
    RunningCallView,
    SuggestionsView,
    TaughtView,
    ThreadEventsView,
    ThreadStateView,
    ThreadsView,
    ThreadView,
    TurnsView,
)

REFERENCE: Final = "#/components/schemas/{model}"
_QUERY: Final = (FinishedCallView, RunningCallView)
_REPLIES: Final[dict[str, tuple[type[BaseModel], ...]]] = {
    "ask": _QUERY,
    "answer": _QUERY,
    "cancel": _QUERY,
    "confirm": _QUERY,
    "clarify": _QUERY,
    "page": (PageView,),
    "chart": (ChartCallView,),
    "connections": (ConnectionsView,),
    "catalog": (CatalogView,),
    "suggestions": (SuggestionsView,),
    "batch": (BatchItemsView, BatchView),
    "feedback": (FeedbackView,),
    "knowledge": (KnowledgeView, HitsView, TaughtView),
    "preferences": (Preferences,),
    "threads": (ThreadsView,),
    "turns": (TurnsView,),
    "state": (ThreadStateView,),
    "thread-events": (ThreadEventsView,),
    "fork": (ThreadView,),
    "delete-thread": (DeletedThreadView,),
}
"""What a verb answers besides a problem."""


def asyncapi() -> Json:
    """Return the document."""
    schemas: Json = {}
    messages: Json = {}
    channels: Json = {}
    operations: Json = {}

    def message(name: str, *models: type[BaseModel], summary: str) -> Json:
        for model in models:
            schema = model.model_json_schema(ref_template=REFERENCE)
            schemas.update(schema.pop("$defs", {}))
            schemas[model.__name__] = schema
        references = [{"$ref": REFERENCE.format(model=model.__name__)} for model in models]
        payload: Json = references[0] if len(references) == 1 else {"anyOf": references}
        messages[name] = {"name": name, "contentType": "application/json", "summary": summary, "payload": payload}
        return {"$ref": f"#/components/messages/{name}"}

    def channel(name: str, address: str, description: str, **carried: Json) -> Json:
        places = [part[1:-1] for part in address.split(".") if part.startswith("{")]
        channels[name] = {
            "address": address,
            "description": description,
            "parameters": {place: {"description": _PLACES[place]} for place in places},
            "messages": carried,
        }
        return {"$ref": f"#/channels/{name}"}

    def messages_of(name: str, *keys: str) -> list[Json]:
        return [{"$ref": f"#/channels/{name}/messages/{key}"} for key in keys]

    for verb, taken in VERBS.items():
        asked = message(f"{verb}.request", taken.takes, summary=_first_line(taken.takes))
        answers = message(f"{verb}.reply", *_REPLIES[verb], ProblemCallView, summary="the answer, or a problem")
        name = f"call.{verb}"
        call = channel(name, f"{ROOT}.call.{{tenant}}.{{credential}}.{verb}", "request and reply", request=asked)
        back = f"{name}.reply"
        channels[back] = {"address": None, "description": "the inbox of the caller", "messages": {"reply": answers}}
        operations[name] = {
            "action": "send",
            "channel": call,
            "messages": messages_of(name, "request"),
            "reply": {
                "channel": {"$ref": f"#/channels/{back}"},
                "messages": messages_of(back, "reply"),
                "address": {"location": "$message.header#/reply"},
            },
        }
    submitted = message("submit", AskCall, summary="a durable question; `Idempotency-Key` is a header of it")
    operations["submit"] = {
        "action": "send",
        "channel": channel("submit", f"{ROOT}.submit.{{tenant}}.{{credential}}", "durable", question=submitted),
        "messages": messages_of("submit", "question"),
    }
    for name, model, description in (
        ("answer", FinishedCallView, "final answers of the user; kept for 24 hours, read later by the verb `answer`"),
        ("progress", ProgressView, "stages of the user's queries as they start; lossy"),
    ):
        received = message(name, model, summary=description)
        operations[name] = {
            "action": "receive",
            "channel": channel(name, f"{ROOT}.{name}.{{tenant}}.{{user}}.{{query}}", description, received=received),
            "messages": messages_of(name, "received"),
        }
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "QueryBus on the bus",
            "version": "1",
            "description": "Connect to the tenant's account as `<tenant>.<credential>`, with the inbox prefix "
            "`_INBOX.out.<tenant>.<credential>`. A request may have `traceparent` as a header.",
        },
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "schemas": schemas},
    }


_PLACES: Final = {
    "tenant": "token of the tenant",
    "credential": "token of the credential",
    "user": "token of the user",
    "query": "id of the query",
}


def _first_line(model: type[Any]) -> str:
    return (model.__doc__ or "").strip().partition("\n")[0]
