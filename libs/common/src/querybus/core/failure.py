"""A failure is data: a closed set of codes, and what follows from each stands in one table.

Nothing outside this module decides by matching on a message's text. Source of the classes: docs/runbook.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.stored.models import ModelUse, is_nothing_used

DETAIL_LENGTH_MAX: Final = 2_000


class FailureCode(StrEnum):
    """The closed set of failure codes; each has a row in TRAITS and one in the runbook."""

    SYNTAX_ERROR = "syntax_error"
    MULTI_STATEMENT = "multi_statement"
    TABLE_NOT_FOUND = "table_not_found"
    COLUMN_NOT_FOUND = "column_not_found"
    MISSING_ALIAS = "missing_alias"
    AMBIGUOUS_COLUMN = "ambiguous_column"
    TYPE_MISMATCH = "type_mismatch"
    GROUPING_ERROR = "grouping_error"
    AGGREGATE_MISUSE = "aggregate_misuse"
    JOIN_ERROR = "join_error"
    FUNCTION_NOT_FOUND = "function_not_found"
    DIVISION_BY_ZERO = "division_by_zero"
    NUMBER_TOO_LARGE = "number_too_large"
    CARDINALITY = "cardinality"
    TOO_COMPLEX = "too_complex"
    SAFETY = "safety"
    PERMISSION = "permission"
    NOT_VERIFIED = "not_verified"
    COST = "cost"
    TIMEOUT = "timeout"
    RESOURCE_LIMIT = "resource_limit"
    LOCK = "lock"
    CONNECTION = "connection"
    SETUP = "setup"
    MODEL_UNAVAILABLE = "model_unavailable"
    MISSING_DATABASE_INFO = "missing_database_info"
    AMBIGUOUS_QUESTION = "ambiguous_question"
    LLM_EXPLANATION = "llm_explanation"
    UNKNOWN_GENERATION_FAILURE = "unknown_generation_failure"
    SAME_SQL = "same_sql"
    WRITE_OUTCOME_UNKNOWN = "write_outcome_unknown"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    INTERNAL = "internal"


class ModelTrouble(StrEnum):
    """Why a chat model gave no statement: the closed set of causes; each has its words in both languages."""

    SET_UP = "set_up"
    QUOTA = "quota"
    CONTENT_POLICY = "content_policy"
    CUT = "cut"
    EMPTY = "empty"
    UNREACHABLE = "unreachable"
    TOO_SLOW = "too_slow"


class Ending(StrEnum):
    """How recovery concludes a query whose last failure has this code."""

    FAILED = "failed"
    REFUSED = "refused"
    CLARIFICATION = "clarification"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Traits:
    """What follows from a code. `to_model`: a new draft may help. `by_rule`: a rule may repair the draft."""

    to_model: bool
    by_rule: bool
    ending: Ending


_SQL = Traits(to_model=True, by_rule=True, ending=Ending.FAILED)
_SQL_MODEL_ONLY = Traits(to_model=True, by_rule=False, ending=Ending.FAILED)
_END_FAILED = Traits(to_model=False, by_rule=False, ending=Ending.FAILED)
_ASK = Traits(to_model=False, by_rule=False, ending=Ending.CLARIFICATION)

TRAITS: Final[dict[FailureCode, Traits]] = {
    FailureCode.SYNTAX_ERROR: _SQL,
    FailureCode.MULTI_STATEMENT: _SQL,
    FailureCode.TABLE_NOT_FOUND: _SQL,
    FailureCode.COLUMN_NOT_FOUND: _SQL,
    FailureCode.MISSING_ALIAS: _SQL,
    FailureCode.AMBIGUOUS_COLUMN: _SQL,
    FailureCode.TYPE_MISMATCH: _SQL,
    FailureCode.GROUPING_ERROR: _SQL,
    FailureCode.AGGREGATE_MISUSE: _SQL,
    FailureCode.JOIN_ERROR: _SQL,
    FailureCode.FUNCTION_NOT_FOUND: _SQL,
    FailureCode.DIVISION_BY_ZERO: _SQL_MODEL_ONLY,
    FailureCode.NUMBER_TOO_LARGE: _SQL_MODEL_ONLY,
    FailureCode.CARDINALITY: _SQL_MODEL_ONLY,
    FailureCode.TOO_COMPLEX: _SQL_MODEL_ONLY,
    FailureCode.SAFETY: Traits(to_model=False, by_rule=False, ending=Ending.REFUSED),
    FailureCode.PERMISSION: Traits(to_model=False, by_rule=False, ending=Ending.REFUSED),
    FailureCode.NOT_VERIFIED: Traits(to_model=False, by_rule=False, ending=Ending.REFUSED),
    FailureCode.COST: Traits(to_model=False, by_rule=False, ending=Ending.REFUSED),
    FailureCode.TIMEOUT: _END_FAILED,
    FailureCode.RESOURCE_LIMIT: _END_FAILED,
    FailureCode.LOCK: _END_FAILED,
    FailureCode.CONNECTION: _END_FAILED,
    FailureCode.SETUP: _END_FAILED,
    FailureCode.MODEL_UNAVAILABLE: _END_FAILED,
    FailureCode.MISSING_DATABASE_INFO: _ASK,
    FailureCode.AMBIGUOUS_QUESTION: _ASK,
    FailureCode.LLM_EXPLANATION: _ASK,
    FailureCode.UNKNOWN_GENERATION_FAILURE: _SQL_MODEL_ONLY,
    FailureCode.SAME_SQL: _END_FAILED,
    FailureCode.WRITE_OUTCOME_UNKNOWN: _END_FAILED,
    FailureCode.EXPIRED: Traits(to_model=False, by_rule=False, ending=Ending.EXPIRED),
    FailureCode.CANCELLED: Traits(to_model=False, by_rule=False, ending=Ending.CANCELLED),
    FailureCode.INTERNAL: _END_FAILED,
}


def is_unset(value: object) -> bool:
    """Whether a newer optional field holds nothing: it is left out then, so that older readers see what they know."""
    return value is None or value in ("", ())


class Facts(BaseModel):
    """Typed facts for repair; every field is optional because each code knows only some of them."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow")

    name: str | None = Field(default=None, description="the unknown, ambiguous or refused name, as written")
    qualifier: str | None = Field(default=None, description="the alias or table that stood before the name")
    candidates: tuple[str, ...] = Field(default=(), description="closest known names, best first, at most 8")
    owners: tuple[str, ...] = Field(default=(), description="tables that own a column of this name, at most 8")
    tables: tuple[str, ...] = Field(default=(), description="tables in scope of the name")
    line: int | None = None
    column: int | None = None
    rule: str | None = Field(default=None, description="the guard's rule that refused, for the metric")
    native_code: str | None = Field(default=None, description="the engine's own code, e.g. a SQLSTATE")
    probed: bool = Field(default=False, description="the query's one probe was spent on this draft")
    duration_ms: float | None = Field(default=None, description="of the run that failed; None: nothing was run")
    model_trouble: ModelTrouble | None = Field(
        default=None, exclude_if=is_unset, description="why a chat model gave no statement"
    )
    tokens_in: int | None = Field(
        default=None, exclude_if=is_unset, description="of model calls that gave no statement"
    )
    tokens_out: int | None = Field(
        default=None, exclude_if=is_unset, description="of model calls that gave no statement"
    )
    model_use: ModelUse | None = Field(
        default=None, exclude_if=is_nothing_used, description="what all calls took of the stage that failed"
    )


_AnalysisT = TypeVar("_AnalysisT", bound=BaseModel)


class Failure(BaseModel):
    """An expected failure, returned by a verb and never raised.

    `detail` is for engineers: bounded, without secrets, never shown to the business audience.
    """

    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow")

    code: FailureCode
    detail: str = Field(default="", max_length=DETAIL_LENGTH_MAX)
    facts: Facts = Facts()

    @classmethod
    def of(cls, code: FailureCode, detail: str = "", facts: Facts | None = None) -> Failure:
        """Return a failure whose detail is cut to the limit."""
        return cls(code=code, detail=detail[:DETAIL_LENGTH_MAX], facts=facts or Facts())

    def on(self, analysis: _AnalysisT) -> _AnalysisT:
        """Return the analysis with why a model gave no statement and what its calls took, if that is what failed."""
        facts = self.facts
        if facts.model_trouble is None:
            return analysis
        used = {"tokens_in": facts.tokens_in or 0, "tokens_out": facts.tokens_out or 0}
        counted = {name: getattr(analysis, name) + count for name, count in used.items()}
        return analysis.model_copy(
            update={"model_trouble": facts.model_trouble, "model_detail": self.detail, **counted}
        )
