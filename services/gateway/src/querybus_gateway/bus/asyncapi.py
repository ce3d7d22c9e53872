"""The bus as outside programs see it, as an AsyncAPI 3.0 document: made of the verbs and the types of their answers.

It names no credential and no server: subjects have places for tenant, credential, user and query.
"""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel

from querybus.core.stored.preferences import Preferences
from querybus.core.subjects import ROOT
from querybus_gateway.admit import AskCall
from querybus_gateway.bus.api import VERBS
from querybus_gateway.public.answer import PageView, ProgressView
from querybus_gateway.public.documents import (
    ChartCallView,
    DeletedThreadView,
    FinishedCallView,
    ProblemCallView,
    RunningCallView,
)
from querybus_gateway.public.options import RequestOptionsView
from querybus_gateway.public.redaction import Json
from querybus_gateway.public.resources import (
    BatchItemsView,
    BatchView,
    CatalogView,
    ConnectionsView,
    DefinitionsView,
    FeedbackView,
    HitsView,
    KnowledgeView,
    MeView,
    QueriesView,
    SuggestionsView,
    TaughtView,
    ThreadEventsView,
    ThreadStateView,
    ThreadsView,
    ThreadView,
    TurnsView,
)
from querybus_gateway.use_cases.followups.learnt_choices import ChoicesView

REFERENCE: Final = "#/components/schemas/{model}"
_QUERY: Final = (FinishedCallView, RunningCallView)
_REPLIES: Final[dict[str, tuple[type[BaseModel], ...]]] = {
    "ask": _QUERY,
    "answer": _QUERY,
    "cancel": _QUERY,
    "confirm": _QUERY,
    "clarify": _QUERY,
    "refine": _QUERY,
    "page": (PageView,),
    "chart": (ChartCallView,),
    "me": (MeView,),
    "connections": (ConnectionsView,),
    "catalog": (CatalogView,),
    "definitions": (DefinitionsView,),
    "suggestions": (SuggestionsView,),
    "batch": (BatchItemsView, BatchView),
    "feedback": (FeedbackView,),
    "knowledge": (KnowledgeView, HitsView, TaughtView),
    "preferences": (Preferences,),
    "choices": (ChoicesView,),
    "options": (RequestOptionsView,),
    "queries": (QueriesView,),
    "threads": (ThreadsView,),
    "turns": (TurnsView,),
    "state": (ThreadStateView,),
    "thread-events": (ThreadEventsView,),
    "fork": (ThreadView,),
    "delete-thread": (DeletedThreadView,),
}
"""What a verb answers besides a problem."""


_PLACES: Final = {
    "tenant": "token of the tenant",
    "credential": "token of the credential",
    "user": "token of the user",
    "audience": "whom the credential is for: `business` or `analyst`",
    "query": "id of the query",
}


def _first_line(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").strip().partition("\n")[0]


class _Document:
    """The parts of the document, gathered while it is written."""

    def __init__(self) -> None:
        self.schemas: Json = {}
        self.messages: Json = {}
        self.channels: Json = {}
        self.operations: Json = {}

    def message(self, name: str, *models: type[BaseModel], summary: str) -> Json:
        for model in models:
            schema = model.model_json_schema(ref_template=REFERENCE)
            self.schemas.update(schema.pop("$defs", {}))
            self.schemas[model.__name__] = schema
        references = [{"$ref": REFERENCE.format(model=model.__name__)} for model in models]
        payload: Json = references[0] if len(references) == 1 else {"anyOf": references}
        self.messages[name] = {"name": name, "contentType": "application/json", "summary": summary, "payload": payload}
        return {"$ref": f"#/components/messages/{name}"}

    def channel(self, name: str, address: str, description: str, **carried: Json) -> Json:
        places = [part[1:-1] for part in address.split(".") if part.startswith("{")]
        self.channels[name] = {
            "address": address,
            "description": description,
            "parameters": {place: {"description": _PLACES[place]} for place in places},
            "messages": carried,
        }
        return {"$ref": f"#/channels/{name}"}

    def call(self, verb: str, takes: type[BaseModel]) -> None:
        """Add a request with its reply."""
        asked = self.message(f"{verb}.request", takes, summary=_first_line(takes))
        answers = self.message(f"{verb}.reply", *_REPLIES[verb], ProblemCallView, summary="the answer, or a problem")
        name = f"call.{verb}"
        call = self.channel(name, f"{ROOT}.call.{{tenant}}.{{credential}}.{verb}", "request and reply", request=asked)
        back = f"{name}.reply"
        self.channels[back] = {
            "address": None,
            "description": "the inbox of the caller",
            "messages": {"reply": answers},
        }
        self.operations[name] = {
            "action": "send",
            "channel": call,
            "messages": _messages_of(name, "request"),
            "reply": {
                "channel": {"$ref": f"#/channels/{back}"},
                "messages": _messages_of(back, "reply"),
                "address": {"location": "$message.header#/reply"},
            },
        }

    def submit(self) -> None:
        """Add the queue of durable questions."""
        submitted = self.message("submit", AskCall, summary="a durable question; `Idempotency-Key` is a header of it")
        self.operations["submit"] = {
            "action": "send",
            "channel": self.channel(
                "submit", f"{ROOT}.submit.{{tenant}}.{{credential}}", "durable", question=submitted
            ),
            "messages": _messages_of("submit", "question"),
        }

    def receive(self, name: str, model: type[BaseModel], description: str) -> None:
        """Add what a user's programs receive without asking."""
        received = self.message(name, model, summary=description)
        address = f"{ROOT}.{name}.{{tenant}}.{{user}}.{{audience}}.{{query}}"
        self.operations[name] = {
            "action": "receive",
            "channel": self.channel(name, address, description, received=received),
            "messages": _messages_of(name, "received"),
        }


def _messages_of(channel: str, *keys: str) -> list[Json]:
    return [{"$ref": f"#/channels/{channel}/messages/{key}"} for key in keys]


def asyncapi() -> Json:
    """Return the document."""
    document = _Document()
    for verb, taken in VERBS.items():
        document.call(verb, taken.takes)
    document.submit()
    document.receive(
        "answer",
        FinishedCallView,
        "final answers of the user for that audience, each at least once; read later by the verb `answer`",
    )
    document.receive("progress", ProgressView, "stages of the user's queries as they start; lossy")
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "QueryBus on the bus",
            "version": "1",
            "description": "Connect as `<tenant>.<credential>` with the key as password and the inbox prefix "
            "`_INBOX.out.<tenant>.<credential>`. A request may have `traceparent` as a header.",
        },
        "defaultContentType": "application/json",
        "channels": document.channels,
        "operations": document.operations,
        "components": {"messages": document.messages, "schemas": document.schemas},
    }
