"""One question is one trace, from the API to the end, over every service, a repair, the model and the database."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

from benchmarks import bench_traces
from querybus.core.subjects import StageName
from querybus.ops.log import configure_logging
from querybus.ops.trace import Tracing
from querybus_cli.commands.ask import ask
from querybus_cli.local.demo_database import demo_connection, write_demo
from querybus_cli.local.local_stack import TENANT, Stack, StackPlan
from tests.support.scripted_model import ScriptedModel, say
from tests.support.trace_collector import Span, TraceCollector

pytestmark = [pytest.mark.connected, pytest.mark.slow]

WRONG = "SELECT nam FROM customer LIMIT 3"
QUESTION = "Which names do three customers have, as planted-question?"


@pytest.fixture
def collector() -> Iterator[TraceCollector]:
    with TraceCollector() as result:
        yield result


async def spans_of(
    tmp_path: Path, collector: TraceCollector, *, ratio: float, content: bool = False
) -> tuple[dict[str, Any], list[Span]]:
    """Ask one question whose first SQL has to be repaired; return the answer and what was exported by the end."""
    file = tmp_path / "shop.sqlite"
    write_demo(file)
    traced = {"otlp_endpoint": collector.endpoint, "trace_ratio": ratio, "trace_content": content}
    extra: dict[StageName, dict[str, Any]] = {stage: dict(traced) for stage in StageName}
    with ScriptedModel(lambda _: say(f"```sql\n{WRONG}\n```")) as model:
        for item in (StageName.GENERATOR, StageName.RECOVERY):
            extra[item]["llm_base_url"] = model.base_url
        connections = tmp_path / "connections.yaml"
        connections.write_text(json.dumps({"connections": [demo_connection(file) | {"name": "shop"}]}))
        plan = StackPlan(connections_file=connections, sync="2m", extra=extra)
        async with Stack(plan) as stack, stack.client("analyst") as client:
            # SQLite is asked for EXPLAIN before a run only where failures of the two are treated differently.
            options = {"repair_policy": "rules_first", "on_execution_failure": "clarify_first"}
            request = {"question": QUESTION, "connection": "shop", "options": options}
            answer = await ask(client, request, lambda _: None)
    return answer, collector.spans


class Kept(SpanProcessor):
    """Keeps the names of the spans that ended."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.names.append(span.name)


@pytest.fixture
def log_lines(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """The lines of the log so far, as a service writes them."""
    before, root = structlog.get_config(), logging.getLogger()
    handlers, level = root.handlers, root.level
    configure_logging("info", as_json=True)
    yield lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    structlog.configure(**before)
    root.handlers = handlers
    root.setLevel(level)


async def test_a_repaired_question_is_one_trace_over_all_services(
    tmp_path: Path, collector: TraceCollector, log_lines: Callable[[], list[dict[str, Any]]]
) -> None:
    answer, spans = await spans_of(tmp_path, collector, ratio=1.0)
    assert answer["outcome"] == "answered", answer
    (trace,) = {span.trace for span in spans if span.attributes.get("querybus.query_id") == answer["query_id"]}
    mine = [span for span in spans if span.trace == trace]
    assert {item.service for item in mine} == {f"querybus-{name}" for name in StageName}
    # Every span hangs below another of the same trace, all below the API.
    ids = {item.id for item in mine}
    assert [node.service for node in mine if node.parent not in ids] == ["querybus-gateway"]
    failed = [item for item in mine if item.is_error]
    assert {(item.service, item.attributes["error.type"]) for item in failed} == {
        ("querybus-validator", "table_not_found")
    }
    (chat,) = [item for item in mine if item.attributes.get("gen_ai.operation.name") == "chat"]
    assert chat.attributes["gen_ai.usage.output_tokens"] > 0
    purposes = {item.attributes["db.operation.name"] for item in mine if "db.system.name" in item.attributes}
    assert purposes >= {"explain", "execute"}
    stages = [item for item in mine if item.attributes.get("messaging.system") == "nats"]
    assert all("{tenant}" in str(stage.attributes["messaging.destination.template"]) for stage in stages)
    # Nothing that a person or a model wrote, unless it is asked for.
    reported = repr([item.attributes for item in mine])
    assert "planted-question" not in reported
    assert "SELECT" not in reported

    # The log's line of each stage leads to the trace.
    lines = [log_line for log_line in log_lines() if log_line["event"] == "stage.settled"]
    assert {line["stage"] for line in lines} == set(StageName) - {StageName.GATEWAY}
    assert {(line["query_id"], line["tenant"], line["trace_id"]) for line in lines} == {
        (answer["query_id"], TENANT, trace)
    }

    # What the benchmark does to the tracers for such a question is what the stack did.
    kept = {stage: Kept() for stage in StageName}
    bench_traces.ask(
        {stage: Tracing(stage, ratio=1.0, processor=kept[stage]) for stage in StageName}, bench_traces.REPAIRED
    )
    replayed = Counter((service.value, name.split()[0]) for service, result in kept.items() for name in result.names)
    reported_by_stack = Counter((path.service.removeprefix("querybus-"), path.name.split()[0]) for path in mine)
    again = any(item.attributes.get("querybus.deliveries", 1) > 1 for item in mine)
    assert reported_by_stack == replayed or (again and set(reported_by_stack) == set(replayed))


async def test_prompts_and_statements_are_reported_only_when_switched_on(
    tmp_path: Path, collector: TraceCollector
) -> None:
    _, spans = await spans_of(tmp_path, collector, ratio=1.0, content=True)
    reported = repr([span.attributes for span in spans])
    assert "planted-question" in reported
    assert any("SELECT" in str(span.attributes.get("db.query.text")) for span in spans)


async def test_what_failed_is_traced_from_there_on_though_nothing_is_sampled(
    tmp_path: Path, collector: TraceCollector
) -> None:
    answer, spans = await spans_of(tmp_path, collector, ratio=0.0)
    assert answer["outcome"] == "answered", answer
    mine = [span for span in spans if span.name in set(StageName)]
    assert len({item.trace for item in mine}) == 1
    services = [item.service.removeprefix("querybus-") for item in mine]
    assert set(services) == {"validator", "recovery", "executor", "presenter"}
    assert "generator" not in services, "what was before the failure was not sampled"
