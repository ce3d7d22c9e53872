"""`/v1/connections/{name}/knowledge`, `/v1/queries/{id}/feedback`, `/v1/preferences` and `/v1/options`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from querybus.core.stored.preferences import Preferences
from querybus.text.knowledge import KEY_LENGTH_MAX, EntryKind
from querybus_gateway.http.request import Caller, UseCasesOf, answered, body_of, gives, takes
from querybus_gateway.public.options import RequestOptionsView
from querybus_gateway.public.resources import FeedbackView, HitsView, KnowledgeView, TaughtView
from querybus_gateway.use_cases.followups.learnt_choices import ChoicesView
from querybus_gateway.use_cases.knowledge import FOUND_MAX, FeedbackRequest, ReviewRequest, TeachRequest

router = APIRouter(prefix="/v1", tags=["knowledge"])


@router.get("/connections/{name}/knowledge", responses=gives(KnowledgeView))
async def listed(
    request: Request, use_cases: UseCasesOf, name: str, credential: Caller, kind: EntryKind | None = None
) -> JSONResponse:
    """Return what was taught about a connection; entries that no longer fit its schema are flagged."""
    return answered(request, await use_cases.teaching.listed(name, credential, kind))


@router.get("/connections/{name}/knowledge/search", responses=gives(HitsView))
async def search(
    request: Request,
    use_cases: UseCasesOf,
    name: str,
    credential: Caller,
    q: Annotated[str, Query(max_length=KEY_LENGTH_MAX)],
    kind: EntryKind = EntryKind.PAIR,
    k: Annotated[int, Query(ge=1, le=FOUND_MAX)] = 5,
) -> JSONResponse:
    """Return the entries that come closest to a question, best first."""
    return answered(request, await use_cases.teaching.search(name, credential, q, kind=kind, k=k))


@router.post("/connections/{name}/knowledge", responses=gives(TaughtView), openapi_extra=takes(TeachRequest))
async def teach(request: Request, use_cases: UseCasesOf, name: str, credential: Caller) -> JSONResponse:
    """Teach: an entry about the same takes the place of the one before. For analysts."""
    return answered(request, await use_cases.teaching.teach(name, credential, await body_of(request, TeachRequest)))


@router.post(
    "/connections/{name}/knowledge/{entry_id}/review",
    responses=gives(TaughtView),
    openapi_extra=takes(ReviewRequest),
)
async def review(request: Request, use_cases: UseCasesOf, name: str, entry_id: str, credential: Caller) -> JSONResponse:
    """Approve or reject what a reader suggested: only what is approved answers others. For analysts."""
    wanted = await body_of(request, ReviewRequest)
    return answered(request, await use_cases.teaching.review(name, credential, entry_id, wanted))


@router.delete("/connections/{name}/knowledge/{entry_id}", responses=gives(TaughtView))
async def forget(request: Request, use_cases: UseCasesOf, name: str, entry_id: str, credential: Caller) -> JSONResponse:
    """Remove one entry. For analysts."""
    return answered(request, await use_cases.teaching.forget(name, credential, entry_id))


@router.post("/queries/{query_id}/feedback", responses=gives(FeedbackView), openapi_extra=takes(FeedbackRequest))
async def feedback(request: Request, use_cases: UseCasesOf, query_id: str, credential: Caller) -> JSONResponse:
    """Say whether an answer was right: a right one answers the same question from now on."""
    return answered(
        request, await use_cases.teaching.feedback(query_id, credential, await body_of(request, FeedbackRequest))
    )


@router.get("/preferences", responses=gives(Preferences))
async def preferences(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Return what the caller prefers where a request says nothing."""
    return answered(request, await use_cases.teaching.preferences(credential))


@router.put("/preferences", responses=gives(Preferences), openapi_extra=takes(Preferences))
async def prefer(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Replace the caller's preferences."""
    return answered(request, await use_cases.teaching.prefer(credential, await body_of(request, Preferences)))


@router.get("/options", responses=gives(RequestOptionsView))
async def options(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Return every option of a question: kind, range, and what holds where a request says nothing."""
    return answered(request, await use_cases.queries.options(credential))


@router.get("/preferences/choices", responses=gives(ChoicesView))
async def choices(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Return which of the options that were offered the caller chose, and how often."""
    return answered(request, await use_cases.choices.listed(credential))


@router.delete("/preferences/choices", responses=gives(ChoicesView))
async def forget_choices(
    request: Request,
    use_cases: UseCasesOf,
    credential: Caller,
    kind: Annotated[str | None, Query(max_length=32)] = None,
) -> JSONResponse:
    """Forget what the caller chose, of one kind of question or of all."""
    return answered(request, await use_cases.choices.forget(credential, kind))
