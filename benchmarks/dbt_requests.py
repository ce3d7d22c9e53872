"""MetricFlow's own check queries as requests to a layer: dbt's `entity__field` names become fields and the ways to them.

What MetricFlow can be asked and a request of ours cannot (parts of dates, grains of a calendar of its own, conditions
on metrics per entity, the span of a dimension) raises NoCounterpart with the kind of thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final

from querybus_semantic.layer.definitions import Grain, Layer, Relation
from querybus_semantic.layer.request import OWN_DATE, Dimension, Order, Period, Request

Json = Mapping[str, Any]
_CALL: Final = re.compile(
    r"\{\{\s*(Dimension|TimeDimension|Entity|Metric)\(\s*'([^']+)'\s*(?:,\s*(?:'([a-z_]+)'|\[[^\]]*\]))?\s*\)\s*\}\}"
)
_GRAINS: Final = frozenset(grain.value for grain in Grain)


class NoCounterpart(Exception):
    """A request of ours cannot ask this; the text is the kind."""


def request(layer: Layer, item: Json) -> Request:
    """Return a check query as a request. NoCounterpart."""
    if item["min_max_only"]:
        raise NoCounterpart("span of a dimension")
    if any(layer.metric(name) is None for name in item["metrics"]):
        raise NoCounterpart("metric that the import has listed as left out")
    homes = [home for name in item["metrics"] for home in _homes(layer, name)]
    names = [(name, "") for name in item["group_by"]]
    for one in item["group_by_objects"]:
        if "date_part" in one:
            raise NoCounterpart("part of a date")
        names.append((one["name"], one.get("grain", "")))
    dimensions = tuple(_dimension(layer, homes, name, grain) for name, grain in names)
    period = _period(*item["time_constraint"]) if item["time_constraint"] else None
    order = tuple(_order(name, item["metrics"], names, dimensions) for name in item["order_by"])
    where = _condition(layer, homes, item["where"]) if item["where"] else None
    conditions = (where,) if where else ()
    return Request(
        tuple(item["metrics"]),
        dimensions,
        period=period,
        order=order,
        limit=item["limit"],
        conditions=conditions,
    )


def _period(start: str, end: str) -> Period:
    if len(start) > len("2020-01-01"):
        raise NoCounterpart("period of hours")
    return Period(OWN_DATE, date.fromisoformat(start), date.fromisoformat(end) + timedelta(days=1))


def _homes(layer: Layer, name: str) -> Iterator[str]:
    """Yield the datasets that a metric counts."""
    metric = layer.metric(name)
    if metric is None:
        return
    for part in metric.inputs:
        yield from _homes(layer, part.metric)
    if metric.dataset:
        yield metric.dataset
    for dataset in layer.datasets:
        if re.search(rf"\b{dataset}\.", metric.expression):
            yield dataset


def _dimension(layer: Layer, homes: Sequence[str], name: str, grain: str = "") -> Dimension:
    *way, field = name.split("__")
    if way and field in _GRAINS:
        *way, field, grain = *way, field
    if field == "alien_day" or grain == "alien_day":
        raise NoCounterpart("grain of a calendar of its own")
    if not way and field == "metric_time":
        return Dimension(OWN_DATE, Grain(grain or "day"))
    found = _place(layer, homes, way, field)
    if found is None:
        raise NoCounterpart("name of an entity or field that is not in the layer")
    dataset, key, via = found
    is_time = layer.datasets[dataset].fields[key].is_time
    return Dimension(f"{dataset}.{key}", Grain(grain or "day") if is_time else None, via)


def _place(
    layer: Layer, homes: Sequence[str], way: Sequence[str], field: str
) -> tuple[str, str, tuple[str, ...]] | None:
    """Return dataset, field and the roles that lead there, from what is counted or else from anywhere."""
    for home in homes or tuple(layer.datasets):
        if not way:
            relation = next((item for item in layer.relations if (item.many, item.role) == (home, field)), None)
            column = relation.many_columns[0] if relation is not None else field
            if column in layer.datasets[home].fields:
                return home, column, ()
            continue
        # Its own entity leads nowhere: listing__country of a metric that counts listings.
        is_own = any(item.one == home and item.role == way[0] for item in layer.relations) or way[0] in home
        if len(way) == 1 and is_own and field in layer.datasets[home].fields:
            return home, field, ()
        ends = _followed(layer, home, way)
        reached = next((end for end in ends if field in layer.datasets[end].fields), None)
        if reached is not None and homes:
            return reached, field, tuple(way)
        if homes and len(way) == 1 and field in layer.datasets[home].fields:
            return home, field, ()
    return None


def _followed(layer: Layer, home: str, way: Sequence[str]) -> list[str]:
    ends = [home]
    for role in way:
        relations: list[Relation] = [item for item in layer.relations if item.role == role and item.many in ends]
        ends = [item.one for item in relations]
    return ends


def _condition(layer: Layer, homes: Sequence[str], text: str) -> str:
    def named(found: re.Match[str]) -> str:
        kind, name, grain = found.group(1), found.group(2), found.group(3) or ""
        if kind == "Metric":
            raise NoCounterpart("condition on a metric per entity")
        if name.split("__")[0] == "metric_time":
            raise NoCounterpart("condition on the metric's own date")
        dimension = _dimension(layer, homes, name, grain)
        place = ".".join((*dimension.via, dimension.field))
        return f"DATE_TRUNC('{grain}', {place})" if grain and grain != "day" else place

    return _CALL.sub(named, text)


def _order(
    name: str, metrics: Sequence[str], names: Sequence[tuple[str, str]], dimensions: Sequence[Dimension]
) -> Order:
    plain = name.removeprefix("-")
    if plain in metrics:
        return Order(plain, name != plain)
    place = [given for given, _ in names].index(plain)
    dimension = dimensions[place]
    own = (
        dimension.grain.value if dimension.field == OWN_DATE and dimension.grain else dimension.field.rpartition(".")[2]
    )
    return Order(own, name != plain)
