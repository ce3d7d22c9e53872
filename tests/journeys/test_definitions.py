"""An owner teaches what words mean, and a running stack answers with it: by words, by name, for each reader's own rows."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
import yaml

from querybus_semantic.formats.ossie_writer import document_of
from tests.journeys.test_up import Running
from tests.support.semantic_shop import SHOP, shop_rows

BIN = Path(sys.executable).parent
pytestmark = [pytest.mark.connected, pytest.mark.slow]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("definitions")
    with sqlite3.connect(made / "shop.sqlite") as file:
        shop_rows().backup(file)
    (made / "shop.ossie.yaml").write_text(yaml.safe_dump(document_of(SHOP), allow_unicode=True))
    entry = {
        "name": "shop",
        "url": f"sqlite:///{made / 'shop.sqlite'}",
        "policy": {"row_filters": {"orders": "customer_id <> 9"}},
    }
    (made / "connections.yaml").write_text(json.dumps({"connections": [entry]}))
    return made


@pytest.fixture(scope="module")
def stack(folder: Path) -> Generator[Running]:
    running = Running(folder)
    try:
        running.wait_ready()
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()


def semantic(stack: Running, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `querybus definitions` on this stack."""
    return subprocess.run(
        [str(BIN / "querybus"), "semantic", *words, "--store", str(stack.store)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_definitions_are_brought_in_used_approved_and_exported(stack: Running, folder: Path) -> None:
    file = str(folder / "shop.ossie.yaml")
    brought = semantic(stack, "import", file, "--connection", "shop")
    assert brought.returncode == 0, brought.stderr
    assert "13 metrics" in brought.stdout
    answer = stack.ask("freight by region")
    # The order of a customer that the reader may not see is in no number: filters hold for compiled SQL as for any.
    assert sorted(answer["rows"]) == [["East", 30], ["West", 5]]
    assert "SUM(orders.freight)" in answer["sql"]
    status, query = stack.http(
        "POST",
        "/v1/metrics/query",
        {"connection": "shop", "metrics": ["revenue", "refunded"], "group_by": [{"field": "customers.region"}]},
        Prefer="wait=30",
    )
    assert status == 200, query
    assert sorted(query["answer"]["rows"], key=str) == [["East", 40, 4], ["West", 7, 1], [None, None, 2]]
    assert stack.ask("draft one")["outcome"] != "answered"
    approved = semantic(stack, "approve", "draft_one", "--connection", "shop", "--by", "ada")
    assert approved.stdout == "approved: draft_one\n"
    assert stack.ask("draft one")["rows"] == [[35]]
    exported = yaml.safe_load(semantic(stack, "export", "--connection", "shop").stdout)
    assert {one["name"] for one in exported["metrics"]} == set(SHOP.metrics)
    listed = semantic(stack, "list", "--connection", "shop", "--json").stdout.splitlines()
    assert {json.loads(line)["metric"]: json.loads(line)["state"] for line in listed}["draft_one"] == "approved"


def test_what_definitions_answered_is_read_otherwise_part_by_part(stack: Running) -> None:
    answer = stack.ask("freight by region")
    assert [group["text"] for group in answer["reading"]["groups"]] == ["region"]
    assert answer["reading"]["measures"] == ["freight"]
    for change, rows in (({"without": ["g1"]}, [[35]]), ({"by": "region"}, [["East", 30], ["West", 5]])):
        path = f"/v1/queries/{answer['query_id']}/refine"
        status, query = stack.http("POST", path, change, Prefer="wait=30")
        assert status == 200, query
        answer = query["answer"]
        assert sorted(answer["rows"]) == rows
        assert answer["reading"]["definitions"] == ["freight"]


def test_a_request_by_name_that_nothing_defines_ends_with_the_reason(stack: Running) -> None:
    status, query = stack.http(
        "POST", "/v1/metrics/query", {"connection": "shop", "metrics": ["profit"]}, Prefer="wait=30"
    )
    assert status == 200, query
    assert query["answer"]["outcome"] != "answered"
    assert stack.http("POST", "/v1/metrics/query", {"metrics": ["a"] * 50})[0] == 422


def test_a_definition_that_cannot_be_read_is_refused_by_name_over_http(stack: Running) -> None:
    bad = {
        "definitions": {"metric:x": {"name": "x", "expression": {"dialects": [{"dialect": "MDX", "expression": "x"}]}}}
    }
    status, problem = stack.http("POST", "/v1/connections/shop/knowledge", bad)
    assert status == 422
    assert "metric:x" in json.dumps(problem)
