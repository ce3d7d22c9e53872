"""Whatever is sent to a path of the OpenAPI document, with a key, its answer is one that the document promises.

No server error, no undocumented status or media type, no body that breaks its schema. Requests are generated from
the document itself; half of those that name a query name one that there is. The bus API takes the same treatment.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import CHECKS

from querybus.bus.connection import Held
from querybus.bus.stores.catalogs import CatalogStore
from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.core.messages import Result, ResultColumn
from querybus_gateway.bus.api import VERBS
from querybus_gateway.problems import ProblemCode

from .stack_of_tests import ApiStack, api_stack, key_of

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

CHECKED = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")
CALL_SECONDS = 20
CONFIGURATION = Path(__file__).with_name("schemathesis.toml")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack() -> AsyncGenerator[ApiStack]:
    async with api_stack(rate_per_second=10_000, in_flight_max=10_000) as made:
        executor = await made.bus.connect("executor")
        columns = (Column(name="city", type="text", kind=ColumnKind.TEXT, comment="City"),)
        table = Table(name="t", comment="Shops", columns=columns)
        await CatalogStore(Held(executor)).write(Catalog(connection="shop", dialect=Dialect.SQLITE, tables=(table,)))
        await executor.close()
        yield made


CHART: dict[str, Any] = {
    "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
    "data": {"values": [{"n": 1, "t": "上海"}]},
    "mark": {"type": "bar"},
    "encoding": {"x": {"field": "t", "type": "nominal"}, "y": {"field": "n", "type": "quantitative"}},
}


async def finished(stack: ApiStack, credential: str) -> tuple[str, str]:
    """Return a query that has rows and a chart, which is its thread too, and a batch; both have ended."""
    async with stack.http("acme", credential) as http:
        async with stack.stages(), asyncio.timeout(CALL_SECONDS):
            items = [{"id": "a", "question": "How many?", "connection": "shop"}]
            batch = (await http.post("/v1/batches", json={"items": items})).json()["id"]
            while (await http.get(f"/v1/batches/{batch}")).json()["status"] != "finished":
                await asyncio.sleep(0.1)
        query = (await http.post("/v1/queries", json={"question": "How many?", "connection": "shop"})).json()["id"]
    columns = (ResultColumn(name="n", kind=ColumnKind.INTEGER), ResultColumn(name="t", kind=ColumnKind.TEXT))
    await stack.conclude(query, result=Result(columns=columns, rows=((1, "上海"), (None, None)), row_count=2))
    await stack.finish(query, chart=CHART)
    return query, batch


def make_real(case: Any, query: str, batch: str) -> None:
    """Let a generated request name what there is; what it would delete is left to others."""
    known = {"query_id": query, "thread_id": query, "batch_id": batch, "name": "shop"}
    for name in set(known) & set(case.path_parameters or ()):
        if case.method.upper() != "DELETE":
            case.path_parameters[name] = known[name]
    if isinstance(case.body, dict) and "connection" in case.body:
        case.body["connection"] = "shop"
        case.body.pop("thread_id", None)


def fuzz(address: str, credential: str, query: str, batch: str, examples: int) -> list[str]:
    """Send `examples` requests to each operation; return the operations."""
    schema = schemathesis.openapi.from_url(f"{address}/v1/openapi.json")
    checks: Any = [CHECKS.get_one(item) for item in CHECKED]
    headers = {"Authorization": f"Bearer {key_of('acme', credential)}"}
    dice = random.Random(7)
    seen: list[str] = []
    operations: Any = schema.get_all_operations()
    for result in operations:
        operation = result.ok()
        seen.append(operation.label)

        @seed(20_250_131)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=(Phase.generate,),
            suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large),
        )
        @given(case=operation.as_strategy())
        def send(case: Any) -> None:
            if dice.random() < 0.5:
                make_real(case, query, batch)
            case.call_and_validate(headers=headers, checks=checks, timeout=CALL_SECONDS)

        send()
    return seen


@pytest.mark.slow
async def test_no_answer_breaks_the_document(stack: ApiStack) -> None:
    for credential in ("web", "lab"):
        query, batch = await finished(stack, credential)
        seen = await asyncio.to_thread(fuzz, stack.address, credential, query, batch, 12)
        assert {
            "POST /v1/queries",
            "GET /v1/queries/{query_id}/export",
            "GET /v1/threads",
            "GET /v1/batches/{batch_id}",
        } <= set(seen)


@pytest.mark.slow
async def test_every_check_of_the_fuzzer_holds_with_requests_that_follow_from_each_other(stack: ApiStack) -> None:
    """All its checks but one, over single requests and chains of them; `make fuzz-apis` sends more than 10,000.

    Left out: that what fits its schema is taken. Whether a name, a token or a question means something stands in no schema.
    """
    examples, phases = os.environ.get("QUERYBUS_FUZZ", "8:fuzzing,stateful").split(":")
    counts: list[int] = []
    async with stack.stages():
        for credential in ("web", "lab"):
            process = await asyncio.create_subprocess_exec(
                *(str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(CONFIGURATION)),
                *(
                    "run",
                    f"{stack.address}/v1/openapi.json",
                    "-H",
                    f"Authorization: Bearer {key_of('acme', credential)}",
                ),
                *("--checks", "all", "--exclude-checks", "positive_data_acceptance", "--continue-on-failure"),
                *("--max-examples", examples, "--phases", phases, "--seed", "7", "--workers", "2", "--no-color"),
                *("--request-timeout", str(CALL_SECONDS)),
                stdout=-1,
                stderr=-1,
                cwd=CONFIGURATION.parent,
            )
            out, err = await process.communicate()
            assert process.returncode == 0, out.decode()[-8_000:] + err.decode()[-2_000:]
            (generated,) = re.findall(r"(\d+) generated", out.decode())
            counts.append(int(generated))
    print(f"{sum(counts)} requests, no finding")
    assert min(counts) > 100


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
async def test_whatever_is_called_over_the_bus_is_answered_with_json(stack: ApiStack) -> None:
    query, _ = await finished(stack, "web")
    made: list[bytes] = []

    @seed(20_250_131)
    @settings(max_examples=30 * len(VERBS), deadline=None, database=None, phases=(Phase.generate,))
    @given(
        fields=st.dictionaries(
            st.sampled_from(
                sorted({name for verb in VERBS.values() for name in verb.takes.model_fields} - {"wait_seconds"})
            ),
            json_values,
            max_size=5,
        ),
        noise=st.binary(max_size=60),
        cut=st.integers(0, 3),
    )
    def make(fields: dict[str, Any], noise: bytes, cut: int) -> None:
        if cut == 0:
            made.append(noise)
        else:
            named = fields | ({"query_id": query, "thread_id": query} if cut == 1 else {})
            made.append(json.dumps(named).encode())

    make()
    known = {item.value for item in ProblemCode}
    async with stack.outside() as connection:
        for n, data in enumerate(made):
            verb = list(VERBS)[n % len(VERBS)]
            reply = await connection.request(f"querybus.v1.call.acme.web.{verb}", data, timeout=CALL_SECONDS)
            answer = json.loads(reply.data)
            assert isinstance(answer, dict)
            assert answer.get("code") != "internal", (verb, data)
            if "status" not in answer and "detail" in answer:
                assert answer["code"] in known
