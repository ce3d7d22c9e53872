"""At the APIs of other people's clients no query, row or thread reaches another tenant, person or audience."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from querybus.core.catalog import ColumnKind
from querybus.core.envelope import concluded
from querybus.core.messages import Concluded, Outcome, Result, ResultColumn
from querybus.core.subjects import StageName
from querybus.text.plain_answer import plain_finished

from .compatible_paths import answer_of, compatible_paths
from .stack_of_tests import ApiStack, api_stack

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

QUESTION = "How many zebra4711 are there?"
ROW = "quagga0815"
SQL = "SELECT okapi9034 FROM tapir2207"
FOREIGNERS = (("other", "web"), ("acme", "web"), ("acme", "desk"))
"""Another tenant's credential, another person of the same tenant, and the same person's credential as a business reader."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack() -> AsyncGenerator[ApiStack]:
    async with api_stack(
        rate_per_second=10_000, apis=("openai", "langgraph", "mcp", "mcp-sql", "antvis", "page")
    ) as made:
        yield made


async def answered(stack: ApiStack) -> str:
    """Ask as an analyst of a tenant, and answer."""
    async with stack.http("acme", "lab") as http:
        query = (await http.post("/v1/queries", json={"question": QUESTION, "connection": "shop"})).json()["id"]
    await stack.draft(query)
    result = Result(columns=(ResultColumn(name="n", kind=ColumnKind.TEXT),), rows=((ROW,),), row_count=1)
    last = (await stack.log(query))[-1]
    body = Concluded(outcome=Outcome.ANSWERED, stage=StageName.GENERATOR, result=result, sql=SQL)
    await stack.publish(StageName.GENERATOR, concluded(last.envelope(), body), last)
    last = (await stack.log(query))[-1]
    await stack.publish(StageName.PRESENTER, plain_finished(last.envelope()), last)
    return query


async def test_who_asked_finds_the_answer_at_every_api(stack: ApiStack) -> None:
    query = await answered(stack)
    found: dict[str, bytes] = {}
    async with stack.http("acme", "lab") as http:
        for wanted in compatible_paths(query, query, "shop"):
            if wanted.path.endswith("/copy"):
                continue
            status, data = await answer_of(http, wanted)
            assert status < 500, (wanted, data)
            found[f"{wanted.path} {wanted.body}"] = data
    # Else the claim about strangers would be one about paths that show nothing to anybody.
    assert sum(ROW.encode() in data for data in found.values()) >= 12, [
        name for name, data in found.items() if ROW.encode() in data
    ]


@pytest.mark.parametrize(("tenant", "credential"), FOREIGNERS)
async def test_no_stranger_sees_a_question_a_row_or_a_thread(stack: ApiStack, tenant: str, credential: str) -> None:
    query = await answered(stack)
    async with stack.http(tenant, credential) as http:
        for wanted in compatible_paths(query, query, "shop"):
            status, data = await answer_of(http, wanted)
            assert status < 500, (wanted, data)
            for secret in (QUESTION, ROW, *SQL.split()[1::2]):
                assert secret.encode() not in data, (wanted, data)
    async with stack.http("acme", "lab") as http:
        # Nor does a stranger's cancel or feedback change anything.
        assert (await http.get(f"/v1/queries/{query}")).json()["answer"]["outcome"] == "answered"
