"""Measures what traces cost a question: CPU of all services together, against the same steps without any trace.

Each service's own `Tracing` goes through what one question does to it, from the API over an EXPLAIN, the model and the
database to the end; a test holds these steps against the spans of a question that a running stack answered. Whatever is
sampled is sent at once and by each service alone, over HTTP to a collector in a process of its own: dearer than the
batches of a busy stack. The difference of two loops in one run, median of rounds; CPU of this process with its
exporting threads. Prints a table and writes build/bench/traces.json; fails above 0.3 ms per question at 1 %.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, TraceFlags

from querybus.core.catalog import Dialect
from querybus.core.failure import FailureCode
from querybus.core.subjects import EventName, StageName
from querybus.ops.trace import (
    Tracing,
    call_span,
    carried,
    database_attributes,
    describe,
    is_sampled,
    model_attributes,
    model_usage,
    parent_of,
    stage_attributes,
    statement_content,
)

ROOT = Path(__file__).resolve().parents[1]
REQUIRED = {"cpu_ms_at_1_percent": 0.3}
SEED = 7
MODEL, CONNECTION, SQL = "model", "shop", "SELECT COUNT(*) AS n FROM customers"

Headers = MutableMapping[str, str]
Services = Mapping[StageName, Tracing]
Way = Sequence[tuple[StageName, EventName]]
ANSWERED: Way = (
    (StageName.GENERATOR, EventName.ASKED),
    (StageName.VALIDATOR, EventName.DRAFTED),
    (StageName.EXECUTOR, EventName.APPROVED),
    (StageName.PRESENTER, EventName.CONCLUDED),
)
REPAIRED: Way = (
    (StageName.GENERATOR, EventName.ASKED),
    (StageName.VALIDATOR, EventName.DRAFTED),
    (StageName.RECOVERY, EventName.FAILED),
    (StageName.VALIDATOR, EventName.DRAFTED),
    (StageName.EXECUTOR, EventName.APPROVED),
    (StageName.PRESENTER, EventName.CONCLUDED),
)
"""The first draft fails in the validator before any EXPLAIN; recovery repairs it by rule."""


def ask(services: Services, path: Way) -> Headers:
    """Do to the tracers what one question does to them; return the headers of its last event."""
    headers: Headers = {}
    gateway = services[StageName.GATEWAY]
    with gateway.span("gateway", headers):
        gateway.inject(headers)
    for number, (stage, event) in enumerate(path):
        tracing = services[stage]
        with tracing.span(stage, headers, kind=SpanKind.CONSUMER):
            if is_sampled():
                reported = stage_attributes(stage, event, message_id="q:event:1", deliveries=1, query="q", thread="t")
                describe(reported)
            headers = {}
            if path[number + 1 : number + 2] == ((StageName.RECOVERY, EventName.FAILED),):
                with tracing.kept(stage, FailureCode.TABLE_NOT_FOUND):
                    tracing.inject(headers)
            else:
                _call(services, stage)
                tracing.inject(headers)
            # The line that the log gets of each stage names the trace.
            trace.get_current_span().get_span_context()
    return headers


def _call(services: Services, stage: StageName) -> None:
    """Do what a stage calls on its way."""
    match stage:
        case StageName.GENERATOR:
            with call_span(f"chat {MODEL}", model_attributes(MODEL)) as span:
                if span.is_recording():
                    span.set_attributes(dict(model_usage(MODEL, 900, 40)))
        case StageName.VALIDATOR:
            with services[StageName.EXECUTOR].span("executor", carried() or None):
                _database("explain")
        case StageName.EXECUTOR:
            _database("execute")
        case _:
            pass


def _database(purpose: str) -> None:
    attributes = database_attributes(Dialect.SQLITE, CONNECTION, purpose)
    with call_span(f"{purpose} {CONNECTION}", attributes, content=statement_content(SQL)):
        pass


def ask_untraced(path: Way) -> Headers:
    """Do the same steps of a service that was given no tracer."""
    headers: Headers = {}
    for _ in path:
        with nullcontext():
            headers = {}
    return headers


class Traced:
    """Six tracers with an exporter each; `alone`: what is sampled is sent at once, else in batches."""

    def __init__(self, endpoint: str, ratio: float, *, alone: bool) -> None:
        self._alone = alone
        self._processors = {stage: BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)) for stage in StageName}
        self._services = {
            name: Tracing(name, ratio=ratio, processor=processor) for name, processor in self._processors.items()
        }
        self.sent = 0

    def ask(self, path: Way) -> None:
        parent = parent_of(ask(self._services, path))
        if parent is not None and parent.trace_flags & TraceFlags.SAMPLED:
            self.sent += 1
            if self._alone:
                self.flush()

    def flush(self) -> None:
        for processor in self._processors.values():
            processor.force_flush()

    def close(self) -> None:
        for processor in self._processors.values():
            processor.shutdown()


def cpu_ms(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return (time.process_time() - begun) * 1_000


@dataclass(frozen=True)
class Case:
    """One line of the table: which share is sampled, what the questions go through, how many a round has."""

    title: str
    ratio: float
    path: Way
    questions: int
    alone: bool = True


CASES: Mapping[str, Case] = {
    "at_1_percent": Case("1 % sampled", 0.01, ANSWERED, 4_000),
    "sampled_never": Case("none sampled", 0.0, ANSWERED, 4_000),
    "sampled_always": Case("all sampled", 1.0, ANSWERED, 50),
    "first_draft_failed": Case("first draft failed, 1 % sampled", 0.01, REPAIRED, 50),
    "first_draft_failed_in_batches": Case("the same, sent in batches", 0.01, REPAIRED, 400, alone=False),
}
"""A question whose first draft failed is kept and sent whatever the share: the last two are the price of each such one."""


def cost(endpoint: str, case: Case, rounds: int) -> tuple[list[float], float]:
    """Return the CPU per question that traces add, in ms, round by round, and the share of questions that was sent."""
    random.seed(SEED)
    traced = Traced(endpoint, case.ratio, alone=case.alone)

    def ask_all() -> None:
        for _ in range(case.questions):
            traced.ask(case.path)
        traced.flush()

    def ask_all_untraced() -> None:
        for _ in range(case.questions):
            ask_untraced(case.path)

    try:
        traced.ask(case.path)
        traced.flush()
        traced.sent = 0
        added = [(cpu_ms(ask_all) - cpu_ms(ask_all_untraced)) / case.questions for _ in range(rounds)]
        return added, traced.sent / (rounds * case.questions)
    finally:
        traced.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=7, help="of which the median is taken")
    given = parser.parse_args()
    figures: dict[str, float] = {}
    command = [sys.executable, "-m", "tests.support.trace_collector"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as collector:
        try:
            assert collector.stdout is not None
            endpoint = collector.stdout.readline().strip()
            for name, case in CASES.items():
                added, share = cost(endpoint, case, given.rounds)
                value = statistics.median(added)
                figures |= {f"cpu_ms_{name}": round(value, 4), f"sent_share_{name}": round(share, 4)}
                limit = REQUIRED.get(f"cpu_ms_{name}")
                judged = "" if limit is None else f"   <= {limit:g}  {'met' if value <= limit else 'MISSED'}"
                spread = f"({min(added):.3f} to {max(added):.3f})"
                print(f"{case.title:34}{value:8.3f} ms per question {spread:20} {share:7.2%} sent{judged}", flush=True)
        finally:
            collector.terminate()
    met = all(figures[name] <= limit for name, limit in REQUIRED.items())
    report = {
        "name": "traces",
        "figures": figures,
        "required_at_most": REQUIRED,
        "met": met,
        "machine": {
            "cpus": os.cpu_count(),
            "system": platform.platform(),
            "python": platform.python_version(),
            "load_average": os.getloadavg(),
            "rounds": given.rounds,
            "seed": SEED,
        },
    }
    target = ROOT / "build" / "bench" / "traces.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report, indent=1) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
