"""Boards and the administration as the API shows them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from querybus.core.envelope import Audience
from querybus.core.stored.boards import Schedule
from querybus.core.stored.quality import Verdict
from querybus_gateway.public.answer import View


class PinView(View):
    """A pinned question, and the query that it was last asked as by the caller."""

    id: str
    question: str
    connection: str
    language: Literal["en", "zh"]
    query_id: str | None
    asked_at: int | None = Field(description="in ms since the epoch")


class BoardView(View):
    """A named list of pinned questions."""

    id: str
    name: str
    is_own: bool
    is_shared: bool
    schedule: Schedule
    made_at: int = Field(description="in ms since the epoch")
    pins: list[PinView]


class BoardsView(View):
    boards: list[BoardView]


class RemovedView(View):
    id: str


class AskedPinView(View):
    """The query that a pin is now asked as, or why it is not."""

    pin: str
    query_id: str | None
    code: str | None
    detail: str | None


class AskedBoardView(View):
    id: str
    is_own: bool
    asked: list[AskedPinView]


class AskedQuestionView(View):
    """Questions that are the same; what is shown is of the last one."""

    kind: Literal["wrong", "failed", "asked_back", "refused", "repaired"]
    question: str
    language: Literal["en", "zh"]
    connection: str
    count: int
    people: int
    last_at: int = Field(description="in ms since the epoch")
    query_id: str
    outcome: str
    code: str | None
    message: str
    sql: str | None


class AskedQuestionsView(View):
    """`is_partial`: more queries ended in that time than were read."""

    questions: list[AskedQuestionView]
    since: int = Field(description="in ms since the epoch")
    read: int
    is_partial: bool


class EvaluatedItemView(View):
    question: str
    verdict: Verdict
    query_id: str


class EvaluationView(View):
    """One run of questions with known statements."""

    id: str
    at: int = Field(description="in ms since the epoch")
    by: str
    right: int
    items: list[EvaluatedItemView]


class EvaluationsView(View):
    connection: str
    evaluations: list[EvaluationView] = Field(description="the newest first")


class PersonalColumnView(View):
    table: str
    column: str
    kind: Literal["person_name", "contact"]


class PersonalColumnsView(View):
    connection: str
    shown_to_business: bool
    columns: list[PersonalColumnView]


class KeyView(View):
    """A credential without its key."""

    name: str
    user: str
    audience: Audience
    connections: list[str] | None = Field(description="null: all of the tenant's")
    role: Literal["member", "owner"]
    is_trusted_proxy: bool
    may_share_boards: bool
    made_by: str
    valid_until: int | None = Field(description="when it ends, in ms since the epoch; null: no end")
    rows_max: int
    deadline_seconds_max: float
    has_key: bool
    group: str = Field(description="whose limits hold besides its own; empty: none")
    is_own: bool = Field(description="whether it is the caller's")


class KeysView(View):
    keys: list[KeyView]


class MadeKeyView(KeyView):
    key: str = Field(description="shown this once")


class RevokedView(View):
    name: str
