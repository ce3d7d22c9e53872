"""`querybus.v1.ConnectionService`: connections, catalogs, knowledge, preferences; it only translates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeVar, cast

from google.protobuf.message import Message
from pydantic import BaseModel, ConfigDict, Field

from querybus.core.stored.preferences import Preferences
from querybus.text.knowledge import KEY_LENGTH_MAX, EntryKind
from querybus_gateway.admit import read
from querybus_gateway.grpc.call import GrpcCall, Method
from querybus_gateway.grpc.messages import message_of, word
from querybus_gateway.problems import Problem
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.followups.learnt_choices import ForgetChoices
from querybus_gateway.use_cases.knowledge import FOUND_MAX, ReviewRequest, TeachRequest
from querybus_gateway.v1 import connection_service_pb2 as v1

RequestT = TypeVar("RequestT", bound=BaseModel)


class _InLanguage(BaseModel):
    """What is read in a language."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: Literal["en", "zh"] = "en"


class _Searched(BaseModel):
    """A search, with the limits that it has over HTTP."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: EntryKind | None = None
    query: str = Field(default="", max_length=KEY_LENGTH_MAX)
    k: int = Field(default=5, ge=1, le=FOUND_MAX)


async def list_connections(_: v1.ListConnectionsRequest, call: GrpcCall) -> Message | Problem:
    """List the caller's connections."""
    result = await call.use_cases.catalogs.connections(call.credential)
    return result if isinstance(result, Problem) else message_of(v1.ListConnectionsResponse, result)


async def get_catalog(request: v1.GetCatalogRequest, call: GrpcCall) -> Message | Problem:
    """Read what stands in a connection."""
    wanted = _checked(_InLanguage, {"language": request.language})
    if isinstance(wanted, Problem):
        return wanted
    result = await call.use_cases.catalogs.catalog(request.connection, call.credential, wanted.language)
    if isinstance(result, Problem):
        return result
    response = v1.GetCatalogResponse()
    response.catalog.update(result)
    return response


async def list_definitions(request: v1.ListDefinitionsRequest, call: GrpcCall) -> Message | Problem:
    """List what the owner's words mean."""
    wanted = _checked(_InLanguage, {"language": request.language})
    if isinstance(wanted, Problem):
        return wanted
    result = await call.use_cases.definitions.listed(request.connection, call.credential, wanted.language)
    return result if isinstance(result, Problem) else message_of(v1.ListDefinitionsResponse, result)


async def suggest_questions(request: v1.SuggestQuestionsRequest, call: GrpcCall) -> Message | Problem:
    """Suggest questions."""
    wanted = _checked(_InLanguage, {"language": request.language})
    if isinstance(wanted, Problem):
        return wanted
    result = await call.use_cases.definitions.suggestions(request.connection, call.credential, wanted.language)
    return result if isinstance(result, Problem) else v1.SuggestQuestionsResponse(questions=result["questions"])


async def list_knowledge(request: v1.ListKnowledgeRequest, call: GrpcCall) -> Message | Problem:
    """List what was taught."""
    wanted = _checked(_Searched, {"kind": _kind(request.kind)})
    if isinstance(wanted, Problem):
        return wanted
    result = await call.use_cases.teaching.listed(request.connection, call.credential, wanted.kind)
    return result if isinstance(result, Problem) else message_of(v1.ListKnowledgeResponse, result)


async def search_knowledge(request: v1.SearchKnowledgeRequest, call: GrpcCall) -> Message | Problem:
    """Find what was taught."""
    body = {"kind": _kind(request.kind), "query": request.query, "k": request.page_size or None}
    wanted = _checked(_Searched, body)
    if isinstance(wanted, Problem):
        return wanted
    result = await call.use_cases.teaching.search(
        request.connection, call.credential, wanted.query, kind=wanted.kind or EntryKind.PAIR, k=wanted.k
    )
    return result if isinstance(result, Problem) else message_of(v1.SearchKnowledgeResponse, result)


async def teach_knowledge(request: v1.TeachKnowledgeRequest, call: GrpcCall) -> Message | Problem:
    """Teach."""
    wanted = _checked(
        TeachRequest,
        {
            "pairs": [{"question": pair.question, "sql": pair.sql} for pair in request.pairs],
            "instructions": list(request.instructions),
            "terms": dict(request.terms),
            "synonyms": {name: list(synonym.words) for name, synonym in request.synonyms.items()},
        },
    )
    if isinstance(wanted, Problem):
        return wanted
    result = await call.use_cases.teaching.teach(request.connection, call.credential, wanted)
    if isinstance(result, Problem):
        return result
    return v1.TeachKnowledgeResponse(taught=result["taught"], entries=result["entries"])


async def review_knowledge(request: v1.ReviewKnowledgeRequest, call: GrpcCall) -> Message | Problem:
    """Approve or reject what was suggested."""
    wanted = _checked(ReviewRequest, {"verdict": word(v1.ReviewVerdict, request.verdict) if request.verdict else None})
    if isinstance(wanted, Problem):
        return wanted
    result = await call.use_cases.teaching.review(request.connection, call.credential, request.entry_id, wanted)
    return result if isinstance(result, Problem) else v1.ReviewKnowledgeResponse(entries=result["entries"])


async def forget_knowledge(request: v1.ForgetKnowledgeRequest, call: GrpcCall) -> Message | Problem:
    """Forget one entry."""
    result = await call.use_cases.teaching.forget(request.connection, call.credential, request.entry_id)
    return result if isinstance(result, Problem) else v1.ForgetKnowledgeResponse(entries=result["entries"])


async def get_preferences(_: v1.GetPreferencesRequest, call: GrpcCall) -> Message | Problem:
    """Read the caller's preferences."""
    result = await call.use_cases.teaching.preferences(call.credential)
    return (
        result
        if isinstance(result, Problem)
        else v1.GetPreferencesResponse(preferences=message_of(v1.Preferences, result))
    )


async def set_preferences(request: v1.SetPreferencesRequest, call: GrpcCall) -> Message | Problem:
    """Replace the caller's preferences."""
    said = cast("list[tuple[Any, Any]]", request.preferences.ListFields())
    wanted = _checked(Preferences, {field.name: value for field, value in said})
    if isinstance(wanted, Problem):
        return wanted
    result = await call.use_cases.teaching.prefer(call.credential, wanted)
    return (
        result
        if isinstance(result, Problem)
        else v1.SetPreferencesResponse(preferences=message_of(v1.Preferences, result))
    )


async def list_choices(_: v1.ListChoicesRequest, call: GrpcCall) -> Message | Problem:
    """List what the caller chose."""
    result = await call.use_cases.choices.listed(call.credential)
    return result if isinstance(result, Problem) else message_of(v1.ListChoicesResponse, result)


async def forget_choices(request: v1.ForgetChoicesRequest, call: GrpcCall) -> Message | Problem:
    """Forget what the caller chose."""
    wanted = _checked(ForgetChoices, {"kind": request.kind})
    if isinstance(wanted, Problem):
        return wanted
    result = await call.use_cases.choices.forget(call.credential, wanted.kind)
    return result if isinstance(result, Problem) else message_of(v1.ForgetChoicesResponse, result)


async def list_options(_: v1.ListOptionsRequest, call: GrpcCall) -> Message | Problem:
    """List the options of a question."""
    result = await call.use_cases.queries.options(call.credential)
    return result if isinstance(result, Problem) else message_of(v1.ListOptionsResponse, result)


CONNECTION_METHODS: Final[Mapping[str, Method]] = {
    "ListConnections": Method(v1.ListConnectionsRequest, list_connections),
    "GetCatalog": Method(v1.GetCatalogRequest, get_catalog),
    "ListDefinitions": Method(v1.ListDefinitionsRequest, list_definitions),
    "SuggestQuestions": Method(v1.SuggestQuestionsRequest, suggest_questions),
    "ListKnowledge": Method(v1.ListKnowledgeRequest, list_knowledge),
    "SearchKnowledge": Method(v1.SearchKnowledgeRequest, search_knowledge),
    "TeachKnowledge": Method(v1.TeachKnowledgeRequest, teach_knowledge),
    "ReviewKnowledge": Method(v1.ReviewKnowledgeRequest, review_knowledge),
    "ForgetKnowledge": Method(v1.ForgetKnowledgeRequest, forget_knowledge),
    "GetPreferences": Method(v1.GetPreferencesRequest, get_preferences),
    "SetPreferences": Method(v1.SetPreferencesRequest, set_preferences),
    "ListChoices": Method(v1.ListChoicesRequest, list_choices),
    "ForgetChoices": Method(v1.ForgetChoicesRequest, forget_choices),
    "ListOptions": Method(v1.ListOptionsRequest, list_options),
}


def _checked(model: type[RequestT], body: Json) -> RequestT | Problem:
    """Return the request that is set, under the rules of the other APIs."""
    return read(json.dumps({name: value for name, value in body.items() if value not in (None, "")}).encode(), model)


def _kind(number: int) -> str | None:
    return word(v1.KnowledgeKind, number) if number else None
