"""Figures by name are one request at every API: what gRPC sends as JSON is what HTTP takes, and nonsense is refused."""

from __future__ import annotations

import json

import pytest

from querybus.core.messages import Operation
from querybus_gateway.admit import AskRequest, read
from querybus_gateway.grpc.messages import question_json
from querybus_gateway.http.metrics import MetricsRequest
from querybus_gateway.problems import Problem
from querybus_gateway.v1 import query_service_pb2 as v1

WANTED = {
    "metrics": ["revenue"],
    "group_by": [{"field": "customers.region", "as": "region"}, {"field": "default", "grain": "month"}],
    "filters": [{"field": "customers.region", "op": "in", "value": ["East", "West"]}],
    "period": {"from": "2025-01-01", "until": "2025-04-01"},
    "order_by": [{"name": "revenue", "descending": True}],
    "limit": 5,
}


def test_grpc_and_http_ask_for_the_same() -> None:
    over_grpc = read(
        json.dumps(question_json(v1.Question(connection="shop", metrics_json=json.dumps(WANTED)))).encode(), AskRequest
    )
    over_http = read(json.dumps(WANTED | {"connection": "shop"}).encode(), MetricsRequest)
    assert isinstance(over_grpc, AskRequest), over_grpc
    assert isinstance(over_http, MetricsRequest), over_http
    assert over_grpc.metrics == over_http.request().metrics
    assert over_grpc.operation is Operation.ASK


@pytest.mark.parametrize("text", ["{", "[]", '"revenue"', '{"metrics": [1]}', '{"metrics": [], "surprise": 1}'])
def test_what_is_no_request_is_a_problem_and_nothing_else(text: str) -> None:
    asked = read(json.dumps(question_json(v1.Question(metrics_json=text))).encode(), AskRequest)
    assert isinstance(asked, Problem)
