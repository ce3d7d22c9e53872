"""A request for figures by name: metrics, dimensions, filters and a period, as programs send it and events carry it."""

from __future__ import annotations

from datetime import date
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

METRICS_MAX: Final = 20
DIMENSIONS_MAX: Final = 8
FILTERS_MAX: Final = 30
VALUES_MAX: Final = 500
NAME_LENGTH_MAX: Final = 300

GrainName = Literal["hour", "day", "week", "month", "quarter", "year", "fiscal_quarter", "fiscal_year"]
Comparison = Literal["=", "!=", "is", "is not", "in", "not in", "<", "<=", ">", ">=", "like", "some =", "no ="]
Scalar = str | int | float | bool | None


class _Part(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", populate_by_name=True)


class MetricsDimension(_Part):
    """One grouping: `field` is dataset.field, or `default` for each metric's own date."""

    field: str = Field(max_length=NAME_LENGTH_MAX)
    grain: GrainName | None = None
    via: tuple[str, ...] = Field(
        default=(), max_length=5, description="relations or roles to take where there are several ways"
    )
    name: str = Field(default="", alias="as", max_length=NAME_LENGTH_MAX, description="the column's name in the answer")


class MetricsFilter(_Part):
    """A condition on a field, on a metric's result, or on a metric per row of the dataset `per`."""

    field: str = Field(max_length=NAME_LENGTH_MAX)
    op: Comparison = "="
    value: Scalar | tuple[Scalar, ...] = None
    via: tuple[str, ...] = Field(default=(), max_length=5)
    per: str = Field(default="", max_length=NAME_LENGTH_MAX)


class MetricsPeriod(_Part):
    """From included, until excluded."""

    field: str = Field(default="default", max_length=NAME_LENGTH_MAX)
    start: date | None = Field(default=None, alias="from")
    until: date | None = None


class MetricsOrder(_Part):
    """Order by a column of the answer."""

    name: str = Field(max_length=NAME_LENGTH_MAX)
    descending: bool = False


class MetricsQuery(_Part):
    """What is asked of a connection's definitions."""

    metrics: tuple[str, ...] = Field(default=(), max_length=METRICS_MAX)
    group_by: tuple[MetricsDimension, ...] = Field(default=(), title="Groupings", max_length=DIMENSIONS_MAX)
    filters: tuple[MetricsFilter, ...] = Field(default=(), max_length=FILTERS_MAX)
    named_filters: tuple[str, ...] = Field(default=(), max_length=FILTERS_MAX)
    period: MetricsPeriod | None = None
    order_by: tuple[MetricsOrder, ...] = Field(default=(), title="Order", max_length=DIMENSIONS_MAX + METRICS_MAX)
    limit: int | None = Field(default=None, ge=1, le=100_000)
    fill: bool = Field(default=False, description="show periods without rows")
