"""How long one request takes to compile over a layer of DEFINITIONS metrics."""

from __future__ import annotations

import time
from statistics import quantiles

from querybus.core.catalog import Dialect
from querybus.core.requests.metrics_query import MetricsQuery
from querybus_semantic.compiling.compile import Compiled, compile_request
from querybus_semantic.layer.definitions import Dataset, Field, Layer, Metric, Relation
from querybus_semantic.layer.request import request_of

DEFINITIONS = 500
COMPILES = 2_000


def large_layer() -> Layer:
    """Return a layer of DEFINITIONS metrics over 20 facts that share ten dimension tables."""
    datasets: dict[str, Dataset] = {}
    relations: list[Relation] = []
    metrics: dict[str, Metric] = {}
    for number in range(10):
        fields = {name: Field(name, name) for name in ("id", "name", "kind")}
        datasets[f"d{number}"] = Dataset(f"d{number}", f"d{number}", ("id",), fields=fields)
    for number in range(20):
        fields = {
            name: Field(name, name, is_time=name == "day")
            for name in ("id", "day", *(f"v{place}" for place in range(25)))
        }
        datasets[f"f{number}"] = Dataset(f"f{number}", f"f{number}", ("id",), fields=fields)
        relations += [
            Relation(f"r{number}_{other}", f"f{number}", f"d{other}", (f"d{other}_id",), ("id",)) for other in range(10)
        ]
        for place in range(DEFINITIONS // 20):
            metrics[f"m{number}_{place}"] = Metric(f"m{number}_{place}", f"SUM(f{number}.v{place})")
    return Layer("large", datasets, tuple(relations), metrics)


def speed() -> tuple[float, float]:
    """Return the median and p99 of compiling one request over a large layer, in milliseconds."""
    layer = large_layer()
    taken: list[float] = []
    for number in range(COMPILES):
        metrics = tuple(f"m{(number + step) % 20}_{(number * 7 + step) % 25}" for step in range(1 + number % 3))
        request = request_of(
            MetricsQuery.model_validate(
                {
                    "metrics": metrics,
                    "group_by": [{"field": f"d{number % 10}.kind"}, {"field": "default", "grain": "month"}],
                    "filters": [{"field": f"d{(number + 1) % 10}.name", "value": "x"}],
                    "period": {"from": "2025-01-01", "until": "2026-01-01"},
                }
            )
        )
        begun = time.perf_counter()
        compiled = compile_request(layer, request, Dialect.POSTGRESQL)
        taken.append((time.perf_counter() - begun) * 1_000)
        assert isinstance(compiled, Compiled), compiled
    percentiles = quantiles(taken, n=100)
    return percentiles[49], percentiles[98]
