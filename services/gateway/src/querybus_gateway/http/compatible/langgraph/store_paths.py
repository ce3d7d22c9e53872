"""`/store/items/search`: what was taught, under the path where LangGraph's clients search their long-term memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field

from querybus.core.credential import Credential
from querybus.text.knowledge import KEY_LENGTH_MAX, EntryKind
from querybus_gateway.http.compatible.langgraph.objects import time_of
from querybus_gateway.http.compatible.langgraph.routes import given, router_of, wanted_of
from querybus_gateway.http.request import Caller, JsonResponse, UseCasesOf
from querybus_gateway.problems import Problem, ProblemCode, Refused
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.knowledge import FOUND_MAX

Json = dict[str, Any]
CONNECTIONS_MAX: Final = 50
"""Connections that one search goes through."""

router = router_of("/store")


class ItemsRequest(BaseModel):
    """Which entries are wanted: of a namespace `[connection, kind]`, its beginning or all, closest to a question."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore")

    namespace_prefix: tuple[str, ...] = Field(default=(), max_length=10)
    filter: dict[str, Any] | None = None
    limit: int = Field(default=10, ge=1, le=1_000)
    offset: int = Field(default=0, ge=0, le=1_000_000)
    query: str | None = Field(default=None, max_length=KEY_LENGTH_MAX)


@router.post("/items/search")
async def search(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Return what was taught about the caller's connections: the closest first, without a question the newest first."""
    wanted = await wanted_of(request, ItemsRequest)
    connection, kind, *deeper = (*wanted.namespace_prefix, None, None)
    if any(deeper):
        return JsonResponse({"items": []})
    kinds = list(EntryKind) if kind is None else [_kind_of(kind)]
    names = [connection] if connection else await _connections(use_cases, credential)
    found = [
        item
        for one in await asyncio.gather(
            *(_items_of(use_cases, credential, name, kinds, wanted.query) for name in names)
        )
        for item in one
        if _fits(item, wanted.filter)
    ]
    found.sort(key=lambda item: (item["score"] or 0, item["updated_at"]), reverse=True)
    return JsonResponse({"items": found[wanted.offset : wanted.offset + wanted.limit]})


@router.api_route("/items", methods=["GET", "PUT", "DELETE"])
async def refuse_item(credential: Caller) -> Response:
    """Refuse: entries are taught and removed where they are checked against the schema."""
    del credential
    detail = "the store is searched here; teach and forget at /v1/connections/{name}/knowledge"
    raise Refused(Problem(ProblemCode.INVALID, detail))


def _kind_of(named: str) -> EntryKind:
    try:
        return EntryKind(named)
    except ValueError:
        known = ", ".join(EntryKind)
        fault = Problem(ProblemCode.INVALID, f"namespace_prefix is [connection, kind]; the kinds are {known}")
        raise Refused(fault) from None


async def _connections(use_cases: UseCases, credential: Credential) -> list[str]:
    listed = given(await use_cases.catalogs.connections(credential))
    return [one["name"] for one in listed["connections"][:CONNECTIONS_MAX]]


async def _items_of(
    use_cases: UseCases, credential: Credential, connection: str, kinds: list[EntryKind], query: str | None
) -> list[Json]:
    """Return the entries of a connection as items, the closest to a question with their score."""
    if query is None:
        entries = given(await use_cases.teaching.listed(connection, credential))["entries"]
        return [_item(connection, entry) for entry in entries if entry["kind"] in kinds]
    found = await asyncio.gather(
        *(use_cases.teaching.search(connection, credential, query, kind=kind, k=FOUND_MAX) for kind in kinds)
    )
    return [_item(connection, hit) for one in found for hit in given(one)["hits"]]


def _item(connection: str, entry: Mapping[str, Any]) -> Json:
    at = time_of(entry["at"])
    value = {name: shown for name, shown in entry.items() if name not in ("id", "at", "score")}
    return {
        "namespace": [connection, entry["kind"]],
        "key": entry["id"],
        "value": value,
        "created_at": at,
        "updated_at": at,
        "score": entry.get("score"),
    }


def _fits(item: Json, wanted: Mapping[str, Any] | None) -> bool:
    return all(item["value"].get(name) == value for name, value in (wanted or {}).items())
