"""The bus API's verbs for what is taught and preferred: `knowledge`, `feedback`, `preferences`, `choices` and `options`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.credential import Credential
from querybus.core.stored.preferences import Preferences
from querybus.text.knowledge import KEY_LENGTH_MAX, EntryKind
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.followups.learnt_choices import ForgetChoices
from querybus_gateway.use_cases.knowledge import FOUND_MAX, FeedbackRequest, ReviewRequest, TeachRequest


class KnowledgeCall(BaseModel):
    """List, search, teach, review or forget; each needs the fields of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    action: Literal["list", "search", "teach", "review", "forget"] = "list"
    connection: str = Field(max_length=200)
    kind: EntryKind | None = None
    query: str = Field(default="", max_length=KEY_LENGTH_MAX)
    k: int = Field(default=5, ge=1, le=FOUND_MAX)
    entries: TeachRequest | None = None
    entry_id: str = Field(default="", max_length=64)
    verdict: Literal["approve", "reject"] | None = Field(default=None, description="of a review")


class FeedbackCall(FeedbackRequest):
    """What a person says of an answer."""

    query_id: str = Field(max_length=64)


class PreferencesCall(BaseModel):
    """The preferences to keep; without them those that are kept are read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    preferences: Preferences | None = None


class ChoicesCall(ForgetChoices):
    """List what the caller chose among offered options, or forget it."""

    action: Literal["list", "forget"] = "list"


class OptionsCall(BaseModel):
    """Every option of a question, with what holds where a request says nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")


async def knowledge(wanted: KnowledgeCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    """Do what the action says."""
    teaching = use_cases.teaching
    match wanted.action:
        case "list":
            return await teaching.listed(wanted.connection, credential, wanted.kind)
        case "search":
            kind = wanted.kind or EntryKind.PAIR
            return await teaching.search(wanted.connection, credential, wanted.query, kind=kind, k=wanted.k)
        case "forget":
            return await teaching.forget(wanted.connection, credential, wanted.entry_id)
        case "review":
            if wanted.verdict is None:
                return Problem(ProblemCode.INVALID, "/verdict: approve or reject is needed")
            review = ReviewRequest(verdict=wanted.verdict)
            return await teaching.review(wanted.connection, credential, wanted.entry_id, review)
        case "teach":
            if wanted.entries is None:
                return Problem(ProblemCode.INVALID, "/entries: what is taught is needed")
            return await teaching.teach(wanted.connection, credential, wanted.entries)


async def feedback(wanted: FeedbackCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    """Remember or take back an answer."""
    return await use_cases.teaching.feedback(wanted.query_id, credential, FeedbackRequest(verdict=wanted.verdict))


async def preferences(wanted: PreferencesCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    """Read or replace the caller's preferences."""
    if wanted.preferences is None:
        return await use_cases.teaching.preferences(credential)
    return await use_cases.teaching.prefer(credential, wanted.preferences)


async def options(_: OptionsCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    """Read every option of a question."""
    return await use_cases.queries.options(credential)


async def choices(wanted: ChoicesCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    """Do what the action says."""
    if wanted.action == "forget":
        return await use_cases.choices.forget(credential, wanted.kind)
    return await use_cases.choices.listed(credential)
