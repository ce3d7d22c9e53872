"""A request for numbers: metrics by dimensions, filtered, of a period, in an order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final

from querybus.core.requests.metrics_query import DIMENSIONS_MAX, FILTERS_MAX, METRICS_MAX, MetricsQuery
from querybus_semantic.layer.definitions import Grain

# The date of each metric itself: its own `time`, whatever table that is in.
OWN_DATE: Final = "default"

LIMIT_MAX: Final = 100_000

__all__ = ["DIMENSIONS_MAX", "FILTERS_MAX", "LIMIT_MAX", "METRICS_MAX", "Request", "request_of"]

Value = str | int | float | bool | None


class Op(StrEnum):
    """How a field is compared. `some` and `none` speak of rows on the many side; `is not` keeps rows without a value."""

    EQUAL = "="
    NOT_EQUAL = "!="
    IS = "is"
    IS_NOT = "is not"
    IN = "in"
    NOT_IN = "not in"
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    LIKE = "like"
    SOME = "some ="
    NONE = "no ="


@dataclass(frozen=True, slots=True)
class Dimension:
    """`field` is dataset.field or OWN_DATE; `via` names relations or roles to take where there are several paths.

    A hidden one groups and is not shown: two customers of one name stay two rows.
    """

    field: str
    grain: Grain | None = None
    via: tuple[str, ...] = ()
    name: str = ""
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on a field, on the whole metric (`field` names a metric), or on a metric per row of a dataset (`per`)."""

    field: str
    op: Op
    values: tuple[Value, ...]
    via: tuple[str, ...] = ()
    per: str = ""


@dataclass(frozen=True, slots=True)
class Period:
    """From included, until excluded; either may be open. `field` is dataset.field or OWN_DATE.

    `gap` are days within that are left out, from included, until excluded: two periods that are compared.
    """

    field: str
    start: date | None
    until: date | None
    gap: tuple[date, date] | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """`name` is a metric's or a dimension's output name."""

    name: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, and when: what `:user` and `:today` of a definition stand for."""

    today: date
    user: str


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a layer. `conditions` are SQL conditions over dataset.field; `named` are filters of the layer.

    `fill` shows periods without rows. Without a metric it lists the values of its dimensions.
    """

    metrics: tuple[str, ...]
    dimensions: tuple[Dimension, ...] = ()
    filters: tuple[Filter, ...] = ()
    named: tuple[str, ...] = ()
    period: Period | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    fill: bool = False
    conditions: tuple[str, ...] = ()


def request_of(query: MetricsQuery) -> Request:
    """Return a request as programs send it in the form that is compiled."""
    period = query.period
    return Request(
        metrics=query.metrics,
        dimensions=tuple(
            Dimension(item.field, Grain(item.grain) if item.grain else None, item.via, item.name)
            for item in query.group_by
        ),
        filters=tuple(
            Filter(
                item.field,
                Op(item.op),
                item.value if isinstance(item.value, tuple) else (item.value,),
                item.via,
                item.per,
            )
            for item in query.filters
        ),
        named=query.named_filters,
        period=Period(period.field, period.start, period.until) if period is not None else None,
        order=tuple(Order(item.name, item.descending) for item in query.order_by),
        limit=query.limit,
        fill=query.fill,
    )
