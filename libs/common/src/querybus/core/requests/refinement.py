"""A change to how an answer was read: a filter or group less, another value, period, unit of time, group or length."""

from __future__ import annotations

from datetime import date
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

PARTS_MAX: Final = 30
LABEL_LENGTH_MAX: Final = 100
VALUE_LENGTH_MAX: Final = 500
LINES_MAX: Final = 100_000
PERIOD: Final = "period"

UnitName = Literal["day", "week", "month", "quarter", "year"]


class _Part(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class NewPeriod(_Part):
    """From the first day to the last, both included; open where one is missing."""

    first: date | None = None
    last: date | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if self.first is None and self.last is None:
            raise ValueError("give `first`, `last` or both; `without: [period]` takes the period away")
        if self.first is not None and self.last is not None and self.first > self.last:
            raise ValueError("`first` comes after `last`")
        return self


class Change(_Part):
    """What shall be different; at least one of these."""

    without: tuple[str, ...] = Field(
        default=(), max_length=PARTS_MAX, description="ids of the reading's filters and groups; `period` for its period"
    )
    values: dict[str, str] = Field(
        default_factory=dict, max_length=PARTS_MAX, description="another value for a filter, by the filter's id"
    )
    period: NewPeriod | None = Field(default=None, description="the days that count instead")
    unit: UnitName | None = Field(default=None, description="the time that a line stands for, of what is shown by time")
    by: str = Field(default="", max_length=LABEL_LENGTH_MAX, description="one more group, by its label or name")
    lines: int | None = Field(default=None, ge=1, le=LINES_MAX, description="only so many lines")

    @model_validator(mode="after")
    def _is_something(self) -> Self:
        if self == Change.model_construct():
            raise ValueError("say what to change: `without`, `values`, `period`, `unit`, `by` or `lines`")
        if any(len(value) > VALUE_LENGTH_MAX for value in self.values.values()):
            raise ValueError(f"a value has at most {VALUE_LENGTH_MAX} characters")
        return self


class Refinement(_Part):
    """An answer that shall be read otherwise, and how."""

    query_id: str = Field(max_length=64)
    change: Change
