"""What the tools return: an answer as data, described to the client, beside the same as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from querybus.text.rows.shown_rows import shown_rows
from querybus_gateway.public.answer import Cell


class ColumnOut(BaseModel):
    label: str
    kind: str
    format: dict[str, Any] | None = Field(default=None, description="how cells are shown; null: as they are")


class OptionOut(BaseModel):
    """A way on: call `ask` with its number as the question and this answer's query_id as `answers_to`."""

    number: int
    text: str


class AnswerOut(BaseModel):
    """How a question ended."""

    status: str = Field(
        description="answered, replied, clarification, confirmation, refused, failed, expired, cancelled"
    )
    query_id: str
    thread_id: str = Field(description="give it as `thread` to go on from this question")
    connection: str = Field(default="", description="where it was asked")
    message: str = Field(description="the answer in a sentence, or what is asked back")
    next_step: str = ""
    columns: list[ColumnOut] = []
    rows: list[list[Cell]] = Field(default=[], description="the first rows")
    shown_rows: list[list[str]] = Field(default=[], description="the same as people read them")
    row_count: int = 0
    has_more: bool = Field(default=False, description="`more_rows` has the rest")
    options: list[OptionOut] = []
    notes: list[str] = []
    link: str = ""
    sql: str | None = Field(default=None, description="the statement that was run; for analysts")


class RowsOut(BaseModel):
    """One page of a result."""

    columns: list[ColumnOut]
    rows: list[list[Cell]]
    page: int
    has_next: bool
    total_count: int | None


class TopicOut(BaseModel):
    """A connection: what it is about, and questions that can be asked of it as they stand."""

    connection: str
    description: str
    tables: list[dict[str, Any]]
    questions: list[str]


class DescriptionOut(BaseModel):
    """What can be asked."""

    connections: list[TopicOut]


class ExplanationOut(BaseModel):
    """How an answer came about."""

    question: str
    sql: str | None
    explanation: str
    notes: list[str]
    attempts: list[dict[str, Any]]


class FeedbackOut(BaseModel):
    query_id: str
    verdict: str


def answer_of(resource: Mapping[str, Any], base_url: str, rows_max: int) -> AnswerOut:
    """Return a finished query as its tool's result."""
    answer = resource["answer"]
    columns = [
        ColumnOut(label=column["label"], kind=column["kind"], format=column.get("format"))
        for column in answer["columns"]
    ]
    rows = answer["rows"][:rows_max]
    return AnswerOut(
        status=answer["outcome"],
        query_id=resource["id"],
        thread_id=answer["thread_id"],
        connection=answer["connection"],
        message=answer["summary"] or answer["message"],
        next_step=answer["next_step"],
        columns=columns,
        rows=rows,
        shown_rows=shown_rows(answer["columns"], rows, answer["language"]),
        row_count=answer["row_count"],
        has_more=answer["row_count"] > len(rows),
        options=[OptionOut(number=number, text=one["text"]) for number, one in enumerate(answer["options"], 1)],
        notes=answer["notes"],
        link=f"{base_url}/v1/queries/{resource['id']}",
        sql=answer.get("sql"),
    )
