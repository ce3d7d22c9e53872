"""What an owner asks of the executor about connections: the wire types of testing, adding, changing and removing one.

A request may hold a password. It travels by request and reply only, is kept in no stream, and its secrets are in no repr.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from querybus.core.value import Value

StepState = Literal["ok", "warning", "failed", "not_reached"]


class SetUpOperation(StrEnum):
    """What is to be done with a connection."""

    TEST = "test"
    ADD = "add"
    RENAME = "rename"
    SET_PASSWORD = "set_password"  # noqa: S105 - an operation's name
    REMOVE = "remove"


class SetUpRequest(Value):
    """`name` is the connection's; TEST and ADD have an `url`, or name a file by it."""

    operation: SetUpOperation
    name: str = ""
    url: str = Field(default="", repr=False)
    password: str | None = Field(default=None, repr=False)
    new_name: str = ""
    hidden: tuple[str, ...] = Field(default=(), description="`table.column` that is personal by its owner's word")
    shown: tuple[str, ...] = Field(default=(), description="`table.column` that looks personal and is not")


class ExaminedStep(Value):
    """One step of a test: address, port, tls, password, database, version, tables, rights."""

    name: str
    state: StepState
    detail: str = ""


class PersonalLook(Value):
    """A column that looks personal: `column` is `table.column`, `reason` how it was recognised."""

    column: str
    kind: Literal["person_name", "contact"]
    reason: str


class ExaminedDatabase(Value):
    """What a test found. `works`: questions can be answered; else `cause`, `setting` and the statements that help."""

    name: str
    works: bool
    dialect: str = ""
    tables: int = 0
    steps: tuple[ExaminedStep, ...] = ()
    cause: str = ""
    setting: str = ""
    statements: tuple[str, ...] = Field(default=(), description="for an administrator of that very database")
    warnings: tuple[str, ...] = ()
    personal: tuple[PersonalLook, ...] = ()
    readable_share: float | None = Field(default=None, description="of the names of tables and columns")
    question: str = Field(default="", description="a first question, whose answer is `question_rows`")
    question_rows: int | None = None


class OwnerReply(Value):
    """`problem` None: it was done. `detail` says what is in the way, without secrets."""

    problem: Literal["not_allowed", "invalid", "away"] | None = None
    detail: str = ""
    name: str = ""


class SetUpReply(OwnerReply):
    """The executor's reply; `tested` where a database was tested."""

    tested: ExaminedDatabase | None = None
