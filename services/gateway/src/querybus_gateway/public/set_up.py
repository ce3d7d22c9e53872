"""Tested and changed connections as the API shows them to an owner."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from querybus_gateway.public.answer import View


class ExaminedStepView(View):
    """One step of a test: address, port, tls, password, database, version, tables, rights."""

    name: str
    state: Literal["ok", "warning", "failed", "not_reached"]
    detail: str


class PersonalLookView(View):
    """A column that looks personal: `column` is `table.column`."""

    column: str
    kind: Literal["person_name", "contact"]
    reason: str


class ExaminedDatabaseView(View):
    """What a test found. `works` false: `cause`, `setting` and `statements` say what helps."""

    name: str
    works: bool
    dialect: str
    tables: int
    steps: list[ExaminedStepView]
    cause: str
    setting: str
    statements: list[str] = Field(description="for an administrator of that very database")
    warnings: list[str]
    personal: list[PersonalLookView]
    readable_share: float | None = Field(description="of the names of tables and columns")
    question: str = Field(description="a first question, whose answer is `question_rows`")
    question_rows: int | None


class ChangedConnectionView(View):
    name: str
