"""What a caller may ask for, with defaults, ranges and units; `docs/options.md` is generated from here.

Every value of a request is capped by server policy before it reaches an event (`cap`).
"""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Mode(StrEnum):
    """What a question is taken for; `database_direct` and `chat_direct` are read as the plain names."""

    HYBRID = "hybrid"
    DATABASE = "database"
    CHAT = "chat"

    @classmethod
    def _missing_(cls, value: object) -> Mode | None:
        plain = str(value).removesuffix("_direct")
        return cls(plain) if plain != value and plain in ("database", "chat") else None


class ExecutionMode(StrEnum):
    STATIC_ONLY = "static_only"
    ALLOW_EXECUTION = "allow_execution"


class OnExecutionFailure(StrEnum):
    REPAIR_FIRST = "repair_first"
    CLARIFY_FIRST = "clarify_first"


class RepairPolicy(StrEnum):
    """Who repairs a failed statement. What can mean only one thing is repaired by rule under all but `off`."""

    RULES_FIRST = "rules_first"
    MODEL_FIRST = "model_first"
    RULES_ONLY = "rules_only"
    OFF = "off"


class Effort(StrEnum):
    """What a model may be asked for one answer, from least to most."""

    QUICK = "quick"
    STANDARD = "standard"
    THOROUGH = "thorough"

    @property
    def drafts_max(self) -> int:
        """Return how many drafts of a model may be compared: a further one is asked for where those before disagree."""
        return list(Effort).index(self) + 1


class Agreement(StrEnum):
    """How the results of two drafts of one question stand to each other."""

    SAME_STATEMENT = "same_statement"
    EQUAL = "equal"
    DIFFERENT = "different"
    REPLACED = "replaced"
    NOT_COMPARED = "not_compared"


class Options(BaseModel):
    """The options of one query, after capping."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow")

    mode: Mode = Field(default=Mode.HYBRID, description="database question, chat, or find out which")
    execution_mode: ExecutionMode = Field(
        default=ExecutionMode.STATIC_ONLY,
        description="static_only: nothing runs before approval; allow_execution: a corrected statement is tried once for at most ten rows",
    )
    enable_syntax_validation: bool = Field(default=True, description="EXPLAIN by the engine before approval")
    enable_forbidden_check: bool = Field(default=True, description="limits on a text's cost; analysts may do without")
    enable_auto_repair: bool = Field(default=True, description="recovery may repair or ask for a new draft")
    on_execution_failure: OnExecutionFailure = Field(
        default=OnExecutionFailure.REPAIR_FIRST, description="repair first, or ask the person first"
    )
    repair_policy: RepairPolicy | None = Field(
        default=None,
        description="rules_first: a rule's assumption before a model's retry; model_first: the other way round, rules "
        "where no model wrote the statement; rules_only: no retry; off: neither; by default the tenant's, else "
        "model_first",
    )
    allow_llm_to_see_data: bool = Field(default=True, description="cell values may be sent to a model")
    retries_max: int = Field(default=2, ge=0, le=5, description="new drafts after the first, not counting it")
    rows_max: int = Field(default=10_000, ge=1, le=1_000_000, description="rows of a result, at most")
    page_size: int = Field(default=100, ge=1, le=1_000, description="rows of a page")
    count_total: bool = Field(
        default=False, description="of a result that is cut, count all rows within 3 s, else estimate them"
    )
    effort: Effort = Field(
        default=Effort.STANDARD,
        exclude_if=lambda value: value is Effort.STANDARD,
        description="drafts of a model, at most: quick 1, standard 2, thorough 3; another only where those before, the "
        "translator's reading among them, disagree or are doubtful; the result of most is shown",
    )
    cross_check: bool = Field(
        default=True,
        description="compare a model's every draft with the translator's reading, for some 12 ms of CPU and a second run; "
        "false: only doubtful ones",
    )
    only_verified: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="answer by verified questions and definitions alone, refuse everything else",
    )
    summary: bool = Field(default=True, description="a summary in words")
    chart: Literal["auto", "none"] = Field(default="auto", description="a chart where one fits")
    dry_run: bool = Field(default=False, description="conclude with the SQL, do not run it")
    deadline_seconds: float = Field(
        default=60.0, gt=0, le=600, description="seconds until the query ends, at the latest"
    )
    model: str | None = Field(default=None, max_length=200, description="a model's name, or `builtin` for none")
    language: Literal["auto", "en", "zh"] = Field(default="auto", description="language of the answer")
    today: dt.date | None = Field(default=None, description="the day that counts as today")
    stream_tokens: bool = Field(default=False, description="a model's words as progress while it writes; for analysts")

    @property
    def drafts_max(self) -> int:
        """How many drafts of a model may be compared; one where an older gateway passed on `second_draft: false`."""
        return 1 if (self.model_extra or {}).get("second_draft") is False else self.effort.drafts_max


class OptionCaps(BaseModel):
    """The server's upper limits; a request above one is lowered to it, never refused for it."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    retries_max: int = Field(default=5, ge=0, le=5)
    rows_max: int = Field(default=100_000, ge=1)
    page_size: int = Field(default=1_000, ge=1, le=1_000)
    deadline_seconds: float = Field(default=300.0, gt=0, le=600)
    allow_llm_to_see_data: bool = True
    allow_execution: bool = True
    count_total: bool = True
    stream_tokens: bool = True
    syntax_validation_always: bool = Field(default=False, description="whether nobody may do without EXPLAIN")
    forbidden_check_always: bool = Field(default=False, description="whether analysts may not do without either")
    effort_max: Effort = Effort.THOROUGH
    cross_check_always: bool = Field(default=False, description="whether every draft is compared, asked for or not")
    only_verified_always: bool = Field(
        default=False, description="whether only verified questions and definitions are answered"
    )
    repair_policy: RepairPolicy | None = Field(default=None, description="a policy that holds whatever is asked for")


def cap(options: Options, caps: OptionCaps) -> Options:
    """Return the options lowered to the server's limits.

    >>> cap(Options(retries_max=5), OptionCaps(retries_max=1)).retries_max
    1
    """
    return options.model_copy(
        update={
            "retries_max": min(options.retries_max, caps.retries_max),
            "rows_max": min(options.rows_max, caps.rows_max),
            "page_size": min(options.page_size, caps.page_size),
            "deadline_seconds": min(options.deadline_seconds, caps.deadline_seconds),
            "allow_llm_to_see_data": options.allow_llm_to_see_data and caps.allow_llm_to_see_data,
            "count_total": options.count_total and caps.count_total,
            "stream_tokens": options.stream_tokens and caps.stream_tokens,
            "enable_syntax_validation": options.enable_syntax_validation or caps.syntax_validation_always,
            "enable_forbidden_check": options.enable_forbidden_check or caps.forbidden_check_always,
            "cross_check": options.cross_check or caps.cross_check_always,
            "effort": min(options.effort, caps.effort_max, key=lambda effort: effort.drafts_max),
            "only_verified": options.only_verified or caps.only_verified_always,
            "execution_mode": options.execution_mode if caps.allow_execution else ExecutionMode.STATIC_ONLY,
            "repair_policy": caps.repair_policy or options.repair_policy,
        }
    )
