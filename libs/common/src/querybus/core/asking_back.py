"""What a person is asked before a query goes on: a choice among options, or a yes to a statement."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from querybus.core.value import Value


class Trigger(StrEnum):
    """Why a person is asked how to go on: by a clarification, or by the options of any other ending."""

    AMBIGUOUS_QUESTION = "ambiguous_question"
    SQL_EXECUTION_ERROR = "sql_execution_error"
    MISSING_DATABASE_INFO = "missing_database_info"
    MISSING_VALUE = "missing_value"
    COST = "cost"
    NOT_ALLOWED = "not_allowed"
    UNAVAILABLE = "unavailable"
    INTERRUPTED = "interrupted"


class OptionAction(StrEnum):
    """What choosing an option does to the next query."""

    RETRY_AS_IS = "retry_as_is"
    NARROW_PERIOD = "narrow_period"
    ADD_FILTER = "add_filter"
    AGGREGATE = "aggregate"
    REPLACE_DIMENSION = "replace_dimension"
    CHOOSE_SOURCE = "choose_source"
    REQUEST_ACCESS = "request_access"


class Option(Value):
    """A way on that the person can choose; `question` can be asked as it stands."""

    id: str
    text: str
    question: str
    action: OptionAction
    connection: str | None = Field(default=None, description="where the question is asked, if not where this one was")
    key: str = Field(
        default="",
        exclude_if=lambda value: not value,
        description="`kind.option` of one that is offered for a kind of question, by which choices are counted",
    )


class Clarification(Value):
    """What has to be asked back. `about` names the matter in the person's own words."""

    trigger: Trigger
    about: str = ""
    read_as: str = Field(default="", description="the question as it was understood without what `about` names")
    options: tuple[Option, ...] = ()


class Confirmation(Value):
    """What a person is asked to say yes to; the statement itself is the conclusion's `sql`."""

    reason: Literal["write", "cost"]
    kind: str = Field(description="kind of the statement in one word: UPDATE, DELETE, SELECT, ...")
    sql_sha256: str = Field(description="hex, of the statement as it would run")
    table: str | None = Field(default=None, description="what is changed")
    columns: tuple[str, ...] = Field(default=(), description="which columns are changed")
    rows_affected: int | None = Field(default=None, description="rows changed, or for `cost` read; None: not known")
    rows_known: Literal["exact", "estimate", "unknown"] = "unknown"
    rows_affected_max: int = Field(default=0, ge=0, description="what is proposed to be confirmed; 0 for `cost`")

    needs_second_person: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="an analyst other than the asker has to say yes",
    )

    def without_names(self) -> Confirmation:
        """Return the same without names of the database."""
        return self.model_copy(update={"table": None, "columns": ()})
