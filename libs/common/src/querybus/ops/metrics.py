"""The one list of metric names and label values; `docs/metrics.md` and the dashboards follow it.

Labels are closed enums or names from configuration: never a question, a query id, a raw subject, a table or a
user. Every combination of closed enums exists from the start, so that a ratio is never empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from querybus import __version__
from querybus.core.catalog import Dialect
from querybus.core.envelope import Attempt, Envelope
from querybus.core.failure import FailureCode, ModelTrouble
from querybus.core.messages import Finished, Origin, Outcome, RuleName
from querybus.core.subjects import StageName

PASSES: Final = ("first", "retry", "none")
REPAIR_OUTCOMES: Final = ("success", "failure", "contradicted")
NO_RULE: Final = "none"
"""The rule of a second draft that no rule made."""
ANSWER_PARTS: Final = ("shape", "summary", "chart", "doubts", "reading", "next_step")
APIS: Final = ("http", "openai", "langgraph", "mcp", "antvis", "grpc", "bus")
REQUEST_OUTCOMES: Final = ("taken", "refused", "failed")
STAGE_OUTCOMES: Final = ("published", "failed", "expired", "fence_lost", "cancelled", "dead", "nak")

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)

TENANTS_LABELLED_MAX: Final = 200
"""Tenants with a label of their own in the one metric that has it; the rest are counted as `other`."""
_RULES: Final = frozenset(rule.value for rule in RuleName)

Pass = Literal["first", "retry", "none"]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric as the table of docs/metrics.md shows it."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    meaning: str


TABLE: Final[tuple[MetricRow, ...]] = (
    MetricRow(
        "querybus_queries_total",
        "counter",
        ("outcome", "pass"),
        "queries by outcome, counted once when `finished` is stored",
    ),
    MetricRow("querybus_tenant_queries_total", "counter", ("tenant", "outcome"), "the only metric with a tenant"),
    MetricRow("querybus_query_seconds", "histogram", ("outcome",), "from `asked` to `finished`"),
    MetricRow(
        "querybus_sql_attempts_total",
        "counter",
        ("attempt", "outcome"),
        "drafts of finished queries: first or retry, success or failure",
    ),
    MetricRow(
        "querybus_api_requests_total", "counter", ("api", "outcome"), "requests by API; refused: 4xx, failed: 5xx"
    ),
    MetricRow("querybus_failures_total", "counter", ("stage", "code"), "failures by stage and code"),
    MetricRow(
        "querybus_repairs_total",
        "counter",
        ("origin", "rule", "outcome"),
        "second drafts of finished queries, by each rule that repaired them; contradicted: an answer was called wrong",
    ),
    MetricRow(
        "querybus_stage_seconds", "histogram", ("stage",), "one message in one stage, from receipt to settlement"
    ),
    MetricRow("querybus_stage_messages_total", "counter", ("stage", "outcome"), "how each message was settled"),
    MetricRow("querybus_execution_seconds", "histogram", ("dialect",), "one statement in the database"),
    MetricRow(
        "querybus_database_calls_total", "counter", ("connection", "purpose"), "calls to the database by purpose"
    ),
    MetricRow("querybus_database_connections_opened_total", "counter", ("connection",), "sessions opened at a server"),
    MetricRow("querybus_database_rows_total", "counter", ("connection",), "rows read"),
    MetricRow("querybus_database_bytes_total", "counter", ("connection",), "bytes of results, as they were kept"),
    MetricRow(
        "querybus_database_reconnects_total", "counter", ("connection",), "statements tried again on another session"
    ),
    MetricRow("querybus_database_wait_seconds", "histogram", ("connection",), "waiting for a free session or process"),
    MetricRow("querybus_database_cancels_total", "counter", ("connection",), "statements cancelled"),
    MetricRow("querybus_database_timeouts_total", "counter", ("connection",), "statements cut at their time limit"),
    MetricRow("querybus_database_pool_connections", "gauge", ("connection", "state"), "open, idle and waiting"),
    MetricRow("querybus_redeliveries_total", "counter", ("stage",), "messages that came a second time or later"),
    MetricRow("querybus_dead_letters_total", "counter", ("stage",), "messages put into the dead-letter stream"),
    MetricRow(
        "querybus_consumer_pending",
        "gauge",
        ("consumer",),
        "messages of a durable that nobody holds yet; every replica of the stage reports it, take the max",
    ),
    MetricRow("querybus_consumer_ack_pending", "gauge", ("consumer",), "messages of a durable that a worker holds"),
    MetricRow(
        "querybus_consumer_oldest_seconds", "gauge", ("consumer",), "age of the oldest message that is not settled"
    ),
    MetricRow(
        "querybus_consumer_waiting",
        "gauge",
        ("consumer",),
        "requests of workers that wait for a message; 0: nobody asks",
    ),
    MetricRow("querybus_stream_bytes", "gauge", ("stream",), "bytes in a stream, reported by the gateway"),
    MetricRow("querybus_stream_bytes_limit", "gauge", ("stream",), "bytes that a stream may hold"),
    MetricRow(
        "querybus_stream_oldest_seconds", "gauge", ("stream",), "age of a stream's oldest message; 0: it is empty"
    ),
    MetricRow(
        "querybus_bus_leader", "gauge", ("kind", "name"), "1 while the leader of a stream or consumer answers, else 0"
    ),
    MetricRow(
        "querybus_bus_server_healthy",
        "gauge",
        ("server",),
        "1 while a server of the bus can store, 0 while its health check fails; reported by the gateway",
    ),
    MetricRow("querybus_fence_lost_total", "counter", ("stage",), "work dropped because another worker was first"),
    MetricRow("querybus_answer_parts_left_out_total", "counter", ("part",), "parts that an answer went without"),
    MetricRow(
        "querybus_prompts_refused",
        "gauge",
        ("service",),
        "1 while changed prompts are refused and those before are used",
    ),
    MetricRow("querybus_guard_refusals_total", "counter", ("rule",), "statements refused by the guard, by rule"),
    MetricRow("querybus_model_tokens_total", "counter", ("model", "kind"), "tokens in and out"),
    MetricRow("querybus_model_cost_total", "counter", ("model",), "what calls cost, in the unit of the models' prices"),
    MetricRow(
        "querybus_tenant_tokens_total", "counter", ("tenant", "model"), "a model's tokens, in and out, by tenant"
    ),
    MetricRow("querybus_tenant_cost_total", "counter", ("tenant", "model"), "what a tenant's model calls cost"),
    MetricRow(
        "querybus_tenant_budget_share",
        "gauge",
        ("tenant",),
        "of a tenant's tokens or cost of the day: the larger share spent",
    ),
    MetricRow("querybus_model_seconds", "histogram", ("model",), "one model call"),
    MetricRow(
        "querybus_model_errors_total", "counter", ("model", "code"), "model calls without a usable reply, by cause"
    ),
    MetricRow("querybus_breaker_open", "gauge", ("kind", "name"), "1 while a breaker is open"),
    MetricRow("querybus_cache_requests_total", "counter", ("cache", "result"), "hits and misses"),
    MetricRow("querybus_permission_violations_total", "counter", (), "what the bus refused this service"),
    MetricRow("querybus_build_info", "gauge", ("service", "version"), "always 1"),
)


def pass_of(envelope: Envelope[Finished]) -> Pass:
    """Return which success denominator a finished query belongs to.

    `first`: exactly one attempt; `retry`: any second draft, whoever made it; `none`: chat, clarification before
    SQL, refusals, expiry and cancelled queries, which stand outside both.
    """
    outcome = envelope.body.answer.outcome
    if outcome not in (Outcome.ANSWERED, Outcome.FAILED) or not envelope.attempts:
        return "none"
    return "first" if len(envelope.attempts) == 1 else "retry"


class Metrics:
    """One registry for one process."""

    def __init__(self, service: str, version: str = __version__) -> None:
        self.registry = CollectorRegistry()
        kinds: dict[str, type[Counter] | type[Gauge]] = {"counter": Counter, "gauge": Gauge}
        self._metrics: dict[str, Any] = {}
        self._tenants: set[str] = set()
        self._stream_fills: dict[str, tuple[float, float]] = {}
        self._series: dict[tuple[str, tuple[str, ...]], Any] = {}
        for row in TABLE:
            if row.kind == "histogram":
                self._metrics[row.name] = Histogram(
                    row.name, row.meaning, row.labels, buckets=_SECONDS, registry=self.registry
                )
            else:
                self._metrics[row.name] = kinds[row.kind](row.name, row.meaning, row.labels, registry=self.registry)
        for outcome in Outcome:
            self._metrics["querybus_query_seconds"].labels(outcome)
            for item in PASSES:
                self._metrics["querybus_queries_total"].labels(outcome, item)
        for attempt in ("first", "retry"):
            for result in ("success", "failure"):
                self._metrics["querybus_sql_attempts_total"].labels(attempt, result)
        for stage in StageName:
            for name in (
                "querybus_redeliveries_total",
                "querybus_dead_letters_total",
                "querybus_fence_lost_total",
                "querybus_stage_seconds",
            ):
                self._metrics[name].labels(stage)
            for settled in STAGE_OUTCOMES:
                self._metrics["querybus_stage_messages_total"].labels(stage, settled)
            for code in FailureCode:
                self._metrics["querybus_failures_total"].labels(stage, code)
        for api in APIS:
            for outcome in REQUEST_OUTCOMES:
                self._metrics["querybus_api_requests_total"].labels(api, outcome)
        for part in ANSWER_PARTS:
            self._metrics["querybus_answer_parts_left_out_total"].labels(part)
        for dialect in Dialect:
            self._metrics["querybus_execution_seconds"].labels(dialect)
        for origin in Origin:
            for rule in RuleName if origin is Origin.RULE else (NO_RULE,):
                for result in REPAIR_OUTCOMES:
                    self._metrics["querybus_repairs_total"].labels(origin, rule, result)
        self._metrics["querybus_build_info"].labels(service, version).set(1)

    def query_finished(self, envelope: Envelope[Finished], now_ms: int) -> None:
        """Count a query, not a shadow; called once, by the publisher of `finished`, if that publish was stored now."""
        if envelope.shadow_of is not None:
            return
        outcome = envelope.body.answer.outcome
        self._at("querybus_queries_total", outcome, pass_of(envelope)).inc()
        self._at("querybus_tenant_queries_total", self._tenant_label(envelope.tenant), outcome).inc()
        self._at("querybus_query_seconds", outcome).observe(max(0, now_ms - envelope.asked_at) / 1_000)
        for number, attempt in enumerate(envelope.attempts):
            result = "success" if attempt.executed else "failure"
            self._at("querybus_sql_attempts_total", "retry" if number else "first", result).inc()
            if number:
                self._repair(attempt, result)

    def _tenant_label(self, tenant: str) -> str:
        """Return the tenant while there are few: a label per tenant that tokens name would grow without an end."""
        if tenant in self._tenants or len(self._tenants) < TENANTS_LABELLED_MAX:
            self._tenants.add(tenant)
            return tenant
        return "other"

    def contradicted(self, envelope: Envelope[Finished]) -> None:
        """Count that an answer which came of a second draft was called wrong by its reader."""
        if len(envelope.attempts) > 1 and envelope.attempts[-1].executed:
            self._repair(envelope.attempts[-1], "contradicted")

    def _repair(self, attempt: Attempt, outcome: str) -> None:
        known = (
            [item for item in dict.fromkeys(attempt.rules) if item in _RULES] if attempt.origin is Origin.RULE else []
        )
        for rule in known or [NO_RULE]:
            self._at("querybus_repairs_total", attempt.origin, rule, outcome).inc()

    def _at(self, name: str, *labels: str) -> Any:
        """Return the series of a metric; the library looks each up under a lock, which several dozen a question pay for."""
        series = self._series.get((name, labels))
        if series is None:
            series = self._series[name, labels] = self._metrics[name].labels(*labels)
        return series

    def api_request(self, api: str, status: int) -> None:
        """Count one request at an API of APIS by the HTTP status that it was answered with, or would have been."""
        outcome = REQUEST_OUTCOMES[(status >= 400) + (status >= 500)]
        self._at("querybus_api_requests_total", api, outcome).inc()

    def failure(self, stage: StageName, code: FailureCode) -> None:
        """Count one failure."""
        self._at("querybus_failures_total", stage, code).inc()

    def stage_settled(self, stage: StageName, outcome: str, seconds: float) -> None:
        """Count one settled message; the outcome is one of STAGE_OUTCOMES."""
        if outcome not in STAGE_OUTCOMES:
            raise ValueError(f"unknown settlement {outcome!r}")
        self._at("querybus_stage_messages_total", stage, outcome).inc()
        self._at("querybus_stage_seconds", stage).observe(seconds)

    def redelivery(self, stage: StageName) -> None:
        """Count a message that came again."""
        self._at("querybus_redeliveries_total", stage).inc()

    def dead_letter(self, stage: StageName) -> None:
        """Count a message that was dead-lettered."""
        self._at("querybus_dead_letters_total", stage).inc()

    def consumer(self, name: str, *, pending: int, ack_pending: int, oldest_seconds: float, waiting: int) -> None:
        """Set what the leader of a durable says of it."""
        self._metrics["querybus_consumer_pending"].labels(name).set(pending)
        self._metrics["querybus_consumer_ack_pending"].labels(name).set(ack_pending)
        self._metrics["querybus_consumer_oldest_seconds"].labels(name).set(oldest_seconds)
        self._metrics["querybus_consumer_waiting"].labels(name).set(waiting)
        self._metrics["querybus_bus_leader"].labels("consumer", name).set(1)

    def consumer_unknown(self, name: str) -> None:
        """Forget what a durable's leader said before it fell silent: unknown is not the last value."""
        for text in ("pending", "ack_pending", "oldest_seconds", "waiting"):
            self._metrics[f"querybus_consumer_{text}"].remove_by_labels({"consumer": name})
        self._metrics["querybus_bus_leader"].labels("consumer", name).set(0)

    def stream(self, name: str, *, bytes_held: int, bytes_max: int, oldest_seconds: float) -> None:
        """Set what the leader of a stream says of it; `oldest_seconds` is the age of its first message."""
        self._stream_fills[name] = (bytes_held / bytes_max if bytes_max else 0.0, oldest_seconds)
        self._at("querybus_stream_oldest_seconds", name).set(oldest_seconds)
        self._at("querybus_stream_bytes", name).set(bytes_held)
        self._at("querybus_stream_bytes_limit", name).set(bytes_max)
        self._metrics["querybus_bus_leader"].labels("stream", name).set(1)

    def stream_turns_over(self, name: str, share: float, seconds: float) -> bool:
        """Return whether a share of a stream was filled within so many seconds, when its leader was last asked."""
        used, oldest_seconds = self._stream_fills.get(name, (0.0, 0.0))
        return used >= share and oldest_seconds < seconds

    def stream_unknown(self, name: str) -> None:
        """Say that a stream's leader is silent; its size is kept, it changes slowly."""
        self._metrics["querybus_bus_leader"].labels("stream", name).set(0)

    def bus_server_healthy(self, server: str, *, healthy: bool) -> None:
        """Set whether a server of the bus says that it can store."""
        self._at("querybus_bus_server_healthy", server).set(int(healthy))

    def fence_lost(self, stage: StageName) -> None:
        """Count work that was dropped because the log had moved on."""
        self._at("querybus_fence_lost_total", stage).inc()

    def answer_part_left_out(self, part: str) -> None:
        """Count a part that an answer went without, because its cells were not what their kinds promise."""
        self._at("querybus_answer_parts_left_out_total", part).inc()

    def prompts_refused(self, service: str, refused: int) -> None:
        """Say whether the prompts that an operator changed last are refused, 1 or 0."""
        self._at("querybus_prompts_refused", service).set(refused)

    def guard_refusal(self, rule: str) -> None:
        """Count a refusal; the rule is one of the guard's closed set."""
        self._at("querybus_guard_refusals_total", rule).inc()

    def execution_seconds(self, dialect: Dialect, seconds: float) -> None:
        """Observe one statement's time in the database."""
        self._at("querybus_execution_seconds", dialect).observe(seconds)

    def database_call(self, connection: str, purpose: Literal["explain", "probe", "introspect", "execute"]) -> None:
        """Count one call to a database."""
        self._at("querybus_database_calls_total", connection, purpose).inc()

    def database_opened(self, connection: str) -> None:
        """Count one connection opened."""
        self._at("querybus_database_connections_opened_total", connection).inc()

    def database_rows(self, connection: str, rows: int, size: int = 0) -> None:
        """Count rows read, and their bytes."""
        self._at("querybus_database_rows_total", connection).inc(rows)
        self._at("querybus_database_bytes_total", connection).inc(size)

    def database_reconnected(self, connection: str) -> None:
        """Count one statement that was tried again because its session was lost or locked out."""
        self._at("querybus_database_reconnects_total", connection).inc()

    def database_waited(self, connection: str, seconds: float) -> None:
        """Observe how long a statement waited for its session or process."""
        self._at("querybus_database_wait_seconds", connection).observe(seconds)

    def database_cancelled(self, connection: str) -> None:
        """Count one cancelled statement."""
        self._at("querybus_database_cancels_total", connection).inc()

    def database_timed_out(self, connection: str) -> None:
        """Count one statement cut at its limit."""
        self._at("querybus_database_timeouts_total", connection).inc()

    def database_pool(self, connection: str, *, open_: int, idle: int, waiting: int) -> None:
        """Set the state of a connection's pool; the connection's rare counters exist from then on."""
        for name in ("cancels", "timeouts", "rows", "bytes", "reconnects", "connections_opened"):
            self._at(f"querybus_database_{name}_total", connection)
        for state, count in (("open", open_), ("idle", idle), ("waiting", waiting)):
            self._at("querybus_database_pool_connections", connection, state).set(count)

    def model_call(self, model: str, seconds: float) -> None:
        """Count one model call that gave an answer."""
        self._at("querybus_model_seconds", model).observe(seconds)

    def model_tokens(self, model: str, tokens_in: int, tokens_out: int) -> None:
        """Count the tokens of one model call, one without a usable reply included."""
        self._at("querybus_model_tokens_total", model, "in").inc(tokens_in)
        self._at("querybus_model_tokens_total", model, "out").inc(tokens_out)

    def model_cost(self, model: str, cost: float) -> None:
        """Count what one model call cost."""
        self._at("querybus_model_cost_total", model).inc(cost)

    def tenant_model(self, tenant: str, model: str, tokens: int, cost: float) -> None:
        """Count what one model call took for a tenant, one without a statement included."""
        self._at("querybus_tenant_tokens_total", tenant, model).inc(tokens)
        self._at("querybus_tenant_cost_total", tenant, model).inc(cost)

    def tenant_budget(self, tenant: str, share: float) -> None:
        """Set which share of its budget of the day a tenant has spent."""
        self._at("querybus_tenant_budget_share", tenant).set(share)

    def model_error(self, model: str, trouble: ModelTrouble) -> None:
        """Count one model call that gave no statement, by its cause."""
        self._at("querybus_model_errors_total", model, trouble).inc()

    def breaker(self, kind: Literal["database", "model"], name: str, *, is_open: bool) -> None:
        """Set a breaker's state."""
        self._at("querybus_breaker_open", kind, name).set(int(is_open))

    def cache(self, cache: str, *, hit: bool) -> None:
        """Count one look into a cache."""
        self._at("querybus_cache_requests_total", cache, "hit" if hit else "miss").inc()

    def permission_violation(self) -> None:
        """Count one thing that the bus refused."""
        self._metrics["querybus_permission_violations_total"].inc()

    def value(self, name: str, /, **labels: str) -> float:
        """Return a sample's value, 0 if it does not exist; for tests and `querybus` itself."""
        return self.registry.get_sample_value(name, labels) or 0.0

    def exposition(self) -> bytes:
        """Return the Prometheus text format."""
        return generate_latest(self.registry)
