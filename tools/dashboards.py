"""Writes the dashboards of deploy/grafana/dashboards, and the PrometheusRule that holds deploy/prometheus's rules.

The JSON is committed; a test makes it again and compares. Plain dicts in Grafana's own format (schema version 39), no
SDK. No Grafana server has been run with them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import yaml

DEPLOY: Final = Path(__file__).parents[1] / "deploy"
DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
WIDTH: Final = 24

Kind = Literal["stat", "timeseries", "heatmap", "table", "bargauge"]


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel. `queries` are (expression, legend); `unit` is Grafana's name of it."""

    title: str
    description: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    kind: Kind = "timeseries"
    width: int = 12
    height: int = 8
    stacked: bool = False
    floor: float | None = 0.0
    red_below: float | None = None
    red_above: float | None = None


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One dashboard; panels flow from left to right."""

    name: str
    title: str
    description: str
    panels: tuple[Panel, ...]
    with_tenant: bool = False


def ratio(above: str, below: str, window: str = "$__rate_interval", how: str = "rate") -> str:
    """Return the share of one selector of querybus_queries_total in another."""
    return f"sum({how}(querybus_queries_total{{{above}}}[{window}])) / sum({how}(querybus_queries_total{{{below}}}[{window}]))"


def quantile(q: float, histogram: str, by: str = "", selector: str = "") -> str:
    """Return a quantile of a histogram over the panel's interval."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({q}, sum by ({labels}) (rate({histogram}_bucket{selector}[$__rate_interval])))"


def rate(metric: str, by: str, selector: str = "") -> str:
    """Return a counter's rate by labels."""
    return f"sum by ({by}) (rate({metric}{selector}[$__rate_interval]))"


FIRST: Final = ('pass="first",outcome="answered"', 'pass=~"first|retry"')
RETRY: Final = ('pass="retry",outcome="answered"', 'pass="retry"')
BAD: Final = ('outcome=~"failed|expired"', "")

OVERVIEW: Final = Dashboard(
    "overview",
    "QueryBus / Overview",
    "How often the first SQL is right, how often the retry saves it, and whether the objectives hold.",
    (
        Panel(
            "First-pass success",
            "Share of queries with SQL whose first draft gave the answer. Chat, clarifications, refusals, expired and "
            "cancelled queries stand outside.",
            "percentunit",
            ((ratio(*FIRST, "$__range", "increase"), "first pass"),),
            "stat",
            6,
            5,
            red_below=0.6,
        ),
        Panel(
            "Retry success",
            "Of the queries whose first draft failed, the share that a later draft answered.",
            "percentunit",
            ((ratio(*RETRY, "$__range", "increase"), "retry"),),
            "stat",
            6,
            5,
            red_below=0.3,
        ),
        Panel(
            "Failed or expired",
            "Share of all queries that failed or expired; the objective is below 5 %.",
            "percentunit",
            ((ratio(*BAD, "$__range", "increase"), "failed or expired"),),
            "stat",
            6,
            5,
            red_above=0.05,
        ),
        Panel(
            "Queries",
            "Queries that ended in the chosen time.",
            "short",
            (("sum(increase(querybus_queries_total[$__range]))", "queries"),),
            "stat",
            6,
            5,
        ),
        Panel(
            "First-pass and retry success",
            "The two success rates over time; each has its own denominator.",
            "percentunit",
            ((ratio(*FIRST), "first pass"), (ratio(*RETRY), "retry")),
        ),
        Panel(
            "Outcomes",
            "How queries end, each second.",
            "reqps",
            ((rate("querybus_queries_total", "outcome"), "{{outcome}}"),),
            stacked=True,
        ),
        Panel(
            "Time to the answer",
            "From the question to the stored end, over all outcomes; the objective is 95 % within 10 seconds.",
            "s",
            tuple((quantile(q, "querybus_query_seconds"), f"p{int(q * 100)}") for q in (0.5, 0.95, 0.99)),
        ),
        Panel(
            "Budget burn",
            "How many times too fast the error budget (5 %) is used, over one and six hours. Above 14.4 somebody is paged.",
            "none",
            (
                ("querybus:query_errors:ratio_rate1h / 0.05", "errors, 1 h"),
                ("querybus:query_errors:ratio_rate6h / 0.05", "errors, 6 h"),
                ("querybus:query_slow:ratio_rate1h / 0.05", "slow, 1 h"),
                ("querybus:query_slow:ratio_rate6h / 0.05", "slow, 6 h"),
            ),
            red_above=14.4,
        ),
        Panel(
            "Asked back and refused",
            "Share of queries that ended with a question back, a confirmation or a refusal.",
            "percentunit",
            tuple(
                (ratio(f'outcome="{outcome}"', ""), outcome) for outcome in ("clarification", "confirmation", "refused")
            ),
        ),
        Panel(
            "Database calls per query",
            "What one question costs the database, by purpose.",
            "none",
            (("purpose:querybus_database_calls_per_query:ratio_rate5m", "{{purpose}}"),),
            stacked=True,
        ),
        Panel(
            "Tokens per query",
            "What one question costs at the model; empty without a model.",
            "none",
            (
                (
                    "sum by (kind) (rate(querybus_model_tokens_total[$__rate_interval])) / on () group_left () "
                    "sum(rate(querybus_queries_total[$__rate_interval]))",
                    "{{kind}}",
                ),
            ),
        ),
        Panel(
            "Replicas",
            "Running processes by service and version; two versions are a rolling upgrade.",
            "short",
            (("count by (service, version) (querybus_build_info)", "{{service}} {{version}}"),),
        ),
        Panel(
            "Requests by API",
            "What comes in at each API; refused is the caller's fault, failed is ours.",
            "reqps",
            (("sum by (api, outcome) (rate(querybus_api_requests_total[$__rate_interval]))", "{{api}} {{outcome}}"),),
        ),
    ),
)

STAGES: Final = Dashboard(
    "stages",
    "QueryBus / Stages",
    "Lag, time, redelivery and saturation of each stage. What all replicas report alike is shown as their maximum.",
    (
        Panel(
            "Waiting messages",
            "Messages of each durable that no worker holds, as its leader reports. It grows: add replicas.",
            "short",
            (("max by (consumer) (querybus_consumer_pending)", "{{consumer}}"),),
        ),
        Panel(
            "Age of the oldest message",
            "How long the oldest unsettled message has been waiting or worked on.",
            "s",
            (("max by (consumer) (querybus_consumer_oldest_seconds)", "{{consumer}}"),),
            red_above=60,
        ),
        Panel(
            "Messages in hand",
            "Messages that workers hold now.",
            "short",
            (("max by (consumer) (querybus_consumer_ack_pending)", "{{consumer}}"),),
        ),
        Panel(
            "Workers that wait",
            "Requests for work that wait at the bus. 0 while messages wait and none is in hand: nobody works.",
            "short",
            (("max by (consumer) (querybus_consumer_waiting)", "{{consumer}}"),),
        ),
        Panel(
            "Time in a stage, median",
            "From receipt to settlement of one message.",
            "s",
            ((quantile(0.5, "querybus_stage_seconds", "stage"), "{{stage}}"),),
        ),
        Panel(
            "Time in a stage, p95",
            "From receipt to settlement of one message.",
            "s",
            ((quantile(0.95, "querybus_stage_seconds", "stage"), "{{stage}}"),),
        ),
        Panel(
            "Messages",
            "Settled messages of each stage.",
            "reqps",
            ((rate("querybus_stage_messages_total", "stage"), "{{stage}}"),),
        ),
        Panel(
            "Settlements",
            "How messages are settled, over all stages.",
            "reqps",
            ((rate("querybus_stage_messages_total", "outcome"), "{{outcome}}"),),
            stacked=True,
        ),
        Panel(
            "Redeliveries",
            "Messages that came again: a worker died, was too slow or gave them back.",
            "reqps",
            ((rate("querybus_redeliveries_total", "stage"), "{{stage}}"),),
        ),
        Panel(
            "Dead letters",
            "Messages put into the dead-letter stream in the chosen time.",
            "short",
            (("sum by (stage) (increase(querybus_dead_letters_total[$__range]))", "{{stage}}"),),
            "bargauge",
            red_above=1,
        ),
        Panel(
            "Lost races",
            "Work dropped because another worker was first. A little is normal after a restart.",
            "reqps",
            ((rate("querybus_fence_lost_total", "stage"), "{{stage}}"),),
        ),
        Panel(
            "Streams: how full",
            "Bytes held of bytes allowed. QUERYBUS, _SUBMIT and _RESULTS refuse when full, the others forget the oldest.",
            "percentunit",
            (("stream:querybus_stream_fill:ratio", "{{stream}}"),),
            red_above=0.8,
        ),
        Panel(
            "Leaders",
            "1 while the leader of a stream or durable answers.",
            "bool_yes_no",
            (("max by (kind, name) (querybus_bus_leader)", "{{kind}} {{name}}"),),
        ),
        Panel(
            "Servers that can store",
            "1 while a server of the bus says that it can store. Once its disk was full it must be started again.",
            "bool_yes_no",
            (("min by (server) (querybus_bus_server_healthy)", "{{server}}"),),
        ),
        Panel(
            "Refused by the bus",
            "Permission violations: the permission file is older than the services, or a service does what it must not.",
            "short",
            (("sum(increase(querybus_permission_violations_total[$__range]))", "violations"),),
            "stat",
            red_above=1,
        ),
    ),
)

SQL: Final = Dashboard(
    "sql",
    "QueryBus / SQL",
    "What is wrong with drafts, what repairs them, and what the databases do.",
    (
        Panel(
            "Failures by code",
            "Failures in the chosen time, before any repair or retry.",
            "short",
            (("sum by (code) (increase(querybus_failures_total[$__range])) > 0", "{{code}}"),),
            "bargauge",
        ),
        Panel(
            "Failures by stage",
            "Failures each second by the stage that noticed them.",
            "reqps",
            ((rate("querybus_failures_total", "stage"), "{{stage}}"),),
            stacked=True,
        ),
        Panel(
            "Second drafts by origin",
            "Who made the drafts after the first, rule or model, and whether they ran.",
            "reqps",
            ((rate("querybus_repairs_total", "origin, outcome"), "{{origin}} {{outcome}}"),),
        ),
        Panel(
            "Drafts",
            "First and later drafts of ended queries that ran or failed.",
            "reqps",
            ((rate("querybus_sql_attempts_total", "attempt, outcome"), "{{attempt}} {{outcome}}"),),
        ),
        Panel(
            "Execution time",
            "One statement in the database, median and p95 by dialect.",
            "s",
            (
                (quantile(0.5, "querybus_execution_seconds", "dialect"), "p50 {{dialect}}"),
                (quantile(0.95, "querybus_execution_seconds", "dialect"), "p95 {{dialect}}"),
            ),
        ),
        Panel(
            "Execution time, spread",
            "Statements by their time, over all dialects.",
            "s",
            (("sum by (le) (increase(querybus_execution_seconds_bucket[$__rate_interval]))", "{{le}}"),),
            "heatmap",
        ),
        Panel(
            "Refused by the guard",
            "Statements refused, by rule. Refusals are never repaired.",
            "reqps",
            ((rate("querybus_guard_refusals_total", "rule"), "{{rule}}"),),
        ),
        Panel(
            "Parts left out of answers",
            "Summaries and charts that the cells of a result did not allow; the answer went without.",
            "reqps",
            ((rate("querybus_answer_parts_left_out_total", "part"), "{{part}}"),),
        ),
        Panel(
            "Database calls",
            "Calls each second by connection and purpose.",
            "reqps",
            ((rate("querybus_database_calls_total", "connection, purpose"), "{{connection}} {{purpose}}"),),
        ),
        Panel(
            "Pool",
            "Open, idle and waited-for connections. Waiting above 0 for long: the pool is too small.",
            "short",
            (
                (
                    "sum by (connection, state) (querybus_database_pool_connections)",
                    "{{connection}} {{state}}",
                ),
            ),
        ),
        Panel(
            "Connections opened",
            "Sessions opened at database servers each second. Many: connections do not live long enough to be used again.",
            "cps",
            ((rate("querybus_database_connections_opened_total", "connection"), "{{connection}}"),),
        ),
        Panel(
            "Rows read",
            "Rows that came out of the databases each second.",
            "rowsps",
            ((rate("querybus_database_rows_total", "connection"), "{{connection}}"),),
        ),
        Panel(
            "Wait for a session",
            "How long statements waited for a free session or process before they ran, median and p95.",
            "s",
            (
                (quantile(0.5, "querybus_database_wait_seconds", "connection"), "p50 {{connection}}"),
                (quantile(0.95, "querybus_database_wait_seconds", "connection"), "p95 {{connection}}"),
            ),
        ),
        Panel(
            "Bytes of results",
            "Bytes of result pages, as they were kept, each second.",
            "Bps",
            ((rate("querybus_database_bytes_total", "connection"), "{{connection}}"),),
        ),
        Panel(
            "Tried on another session",
            "Statements that ran again because their session was lost or locked out. Many: the database or the way to it.",
            "reqps",
            ((rate("querybus_database_reconnects_total", "connection"), "{{connection}}"),),
        ),
        Panel(
            "Cache hits",
            "Share of looks into a cache that found something. `explain`: plans of statements that came before (SQLite is not asked for one).",
            "percentunit",
            (
                (
                    'sum by (cache) (rate(querybus_cache_requests_total{result="hit"}[$__rate_interval])) / '
                    "sum by (cache) (rate(querybus_cache_requests_total[$__rate_interval]))",
                    "{{cache}}",
                ),
            ),
        ),
        Panel(
            "Cut and cancelled",
            "Statements that were cut at their time limit or cancelled.",
            "reqps",
            (
                (rate("querybus_database_timeouts_total", "connection"), "{{connection}} cut"),
                (rate("querybus_database_cancels_total", "connection"), "{{connection}} cancelled"),
            ),
        ),
    ),
)

MODELS: Final = Dashboard(
    "models",
    "QueryBus / Models",
    "The chat models: time, tokens, errors and breakers. Empty where no model is configured.",
    (
        Panel(
            "Calls",
            "Calls each second that gave an answer.",
            "reqps",
            ((rate("querybus_model_seconds_count", "model"), "{{model}}"),),
        ),
        Panel(
            "Time of a call",
            "Median and p95 of calls that gave an answer.",
            "s",
            (
                (quantile(0.5, "querybus_model_seconds", "model"), "p50 {{model}}"),
                (quantile(0.95, "querybus_model_seconds", "model"), "p95 {{model}}"),
            ),
        ),
        Panel(
            "Time of a call, spread",
            "Calls by their time, over all models.",
            "s",
            (("sum by (le) (increase(querybus_model_seconds_bucket[$__rate_interval]))", "{{le}}"),),
            "heatmap",
        ),
        Panel(
            "Tokens",
            "Tokens each second, in and out.",
            "short",
            ((rate("querybus_model_tokens_total", "model, kind"), "{{model}} {{kind}}"),),
        ),
        Panel(
            "Cost",
            "What calls cost each hour, in the unit of the prices that are set; empty without prices.",
            "short",
            (("sum by (model) (increase(querybus_model_cost_total[1h]))", "{{model}}"),),
        ),
        Panel(
            "Budget used",
            "The share of a day's tokens that a tenant has used; a warning is logged from 80 % on.",
            "percentunit",
            (("topk(10, max by (tenant) (querybus_tenant_budget_share))", "{{tenant}}"),),
        ),
        Panel(
            "Tokens by tenant",
            "Tokens each hour, in and out, of the tenants with the most.",
            "short",
            (
                (
                    "topk(10, sum by (tenant, model) (increase(querybus_tenant_tokens_total[1h])))",
                    "{{tenant}} {{model}}",
                ),
            ),
        ),
        Panel(
            "Cost by tenant",
            "What the calls of a tenant cost each hour, of the tenants with the most; empty without prices.",
            "short",
            (("topk(10, sum by (tenant, model) (increase(querybus_tenant_cost_total[1h])))", "{{tenant}} {{model}}"),),
        ),
        Panel(
            "Tokens per call",
            "Mean tokens of one call, in and out.",
            "short",
            (
                (
                    "sum by (model, kind) (rate(querybus_model_tokens_total[$__rate_interval])) / on (model) group_left () "
                    "sum by (model) (rate(querybus_model_seconds_count[$__rate_interval]))",
                    "{{model}} {{kind}}",
                ),
            ),
        ),
        Panel(
            "Errors",
            "Failed calls each second by code.",
            "reqps",
            ((rate("querybus_model_errors_total", "model, code"), "{{model}} {{code}}"),),
        ),
        Panel(
            "Breakers",
            "1 while a breaker is open: calls fail at once, and the built-in translator answers what it can.",
            "bool_yes_no",
            (("max by (kind, name) (querybus_breaker_open)", "{{kind}} {{name}}"),),
            red_above=1,
        ),
        Panel(
            "Refused prompts",
            "1 while a service refuses the prompts that were changed last: it goes on with those before, and its log names file and line.",
            "bool_yes_no",
            (("max by (service) (querybus_prompts_refused)", "{{service}}"),),
            red_above=1,
        ),
    ),
)

TENANTS: Final = Dashboard(
    "tenants",
    "QueryBus / Tenants",
    "Volume and outcomes by tenant; the only metric with a tenant is this one counter.",
    (
        Panel(
            "Queries by tenant",
            "Queries each second.",
            "reqps",
            ((rate("querybus_tenant_queries_total", "tenant", '{tenant=~"$tenant"}'), "{{tenant}}"),),
            stacked=True,
        ),
        Panel(
            "Outcomes",
            "How the queries of the chosen tenants end.",
            "reqps",
            ((rate("querybus_tenant_queries_total", "outcome", '{tenant=~"$tenant"}'), "{{outcome}}"),),
            stacked=True,
        ),
        Panel(
            "Failed or expired",
            "Share of a tenant's queries that failed or expired.",
            "percentunit",
            (
                (
                    '(sum by (tenant) (rate(querybus_tenant_queries_total{tenant=~"$tenant",outcome=~"failed|expired"}'
                    '[$__rate_interval])) or 0 * sum by (tenant) (rate(querybus_tenant_queries_total{tenant=~"$tenant"}'
                    "[$__rate_interval]))) / sum by (tenant) (rate(querybus_tenant_queries_total"
                    '{tenant=~"$tenant"}[$__rate_interval]))',
                    "{{tenant}}",
                ),
            ),
        ),
        Panel(
            "Busiest tenants",
            "The ten tenants with most queries in the chosen time.",
            "short",
            (
                (
                    'topk(10, sum by (tenant) (increase(querybus_tenant_queries_total{tenant=~"$tenant"}[$__range])))',
                    "{{tenant}}",
                ),
            ),
            "bargauge",
        ),
    ),
    with_tenant=True,
)

DASHBOARDS: Final = (OVERVIEW, STAGES, SQL, MODELS, TENANTS)


def document(dashboard: Dashboard) -> dict[str, Any]:
    """Return a dashboard in Grafana's format."""
    panels: list[dict[str, Any]] = []
    left, top, row = 0, 0, 0
    for number, panel in enumerate(dashboard.panels, 1):
        if left + panel.width > WIDTH:
            left, top, row = 0, top + row, 0
        panels.append(_panel(panel, number, {"h": panel.height, "w": panel.width, "x": left, "y": top}))
        left, row = left + panel.width, max(row, panel.height)
    variables = [_variable("datasource", "datasource", "prometheus")]
    if dashboard.with_tenant:
        variables.append(_variable("tenant", "query", "label_values(querybus_tenant_queries_total, tenant)"))
    return {
        "uid": f"querybus-{dashboard.name}",
        "title": dashboard.title,
        "description": dashboard.description,
        "tags": ["querybus"],
        "schemaVersion": 39,
        "version": 1,
        "editable": False,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "graphTooltip": 1,
        "links": [
            {"type": "dashboards", "tags": ["querybus"], "title": "QueryBus", "asDropdown": True, "includeVars": False}
        ],
        "templating": {"list": variables},
        "panels": panels,
    }


def _panel(panel: Panel, number: int, position: dict[str, int]) -> dict[str, Any]:
    is_instant = panel.kind in ("stat", "bargauge", "table")
    targets = [
        {
            "refId": chr(ord("A") + index),
            "datasource": DATASOURCE,
            "expr": expression,
            "legendFormat": legend,
            "instant": is_instant,
            "range": not is_instant,
            **({"format": "heatmap"} if panel.kind == "heatmap" else {}),
        }
        for index, (expression, legend) in enumerate(panel.queries)
    ]
    return {
        "id": number,
        "title": panel.title,
        "description": panel.description,
        "type": panel.kind,
        "datasource": DATASOURCE,
        "gridPos": position,
        "targets": targets,
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _options(panel),
    }


def _defaults(panel: Panel) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit, "thresholds": {"mode": "absolute", "steps": _steps(panel)}}
    if panel.unit == "percentunit":
        defaults["max"] = 1
    if panel.floor is not None:
        defaults["min"] = panel.floor
    if panel.kind == "timeseries":
        defaults["custom"] = {
            "lineWidth": 1,
            "fillOpacity": 20 if panel.stacked else 0,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
            "thresholdsStyle": {"mode": "off" if panel.red_above is None else "dashed"},
        }
    return defaults


def _steps(panel: Panel) -> list[dict[str, Any]]:
    if panel.red_below is not None:
        return [{"color": "red", "value": None}, {"color": "green", "value": panel.red_below}]
    if panel.red_above is not None:
        return [{"color": "green", "value": None}, {"color": "red", "value": panel.red_above}]
    return [{"color": "green", "value": None}]


def _options(panel: Panel) -> dict[str, Any]:
    match panel.kind:
        case "timeseries":
            return {
                "legend": {
                    "displayMode": "table",
                    "placement": "right",
                    "calcs": ["lastNotNull", "max"],
                    "showLegend": True,
                },
                "tooltip": {"mode": "multi", "sort": "desc"},
            }
        case "heatmap":
            return {
                "calculate": False,
                "cellGap": 1,
                "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64},
                "legend": {"show": True},
                "yAxis": {"unit": panel.unit},
            }
        case _:
            return {
                "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
                "orientation": "auto",
                "legend": {"showLegend": False},
            }


def _variable(name: str, kind: str, query: str) -> dict[str, Any]:
    common = {"name": name, "type": kind, "label": name.capitalize(), "query": query, "hide": 0, "refresh": 1}
    if kind == "datasource":
        return common
    return common | {
        "datasource": DATASOURCE,
        "definition": query,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def rule_resource() -> dict[str, Any]:
    """Return the rules of deploy/prometheus as the resource that the Prometheus operator reads."""
    groups = [
        group
        for file in ("recording.yaml", "alerts.yaml")
        for group in yaml.safe_load((DEPLOY / "prometheus" / file).read_text())["groups"]
    ]
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "querybus"},
        "spec": {"groups": groups},
    }


def files() -> dict[Path, str]:
    """Return every file that is made, with its text."""
    made = {
        DEPLOY / "grafana/dashboards" / f"{dashboard.name}.json": json.dumps(
            document(dashboard), indent=1, ensure_ascii=False
        )
        + "\n"
        for dashboard in DASHBOARDS
    }
    note = "# made by tools/dashboards.py from deploy/prometheus; change the rules there\n"
    resource = yaml.safe_dump(rule_resource(), sort_keys=False, width=110, allow_unicode=True)
    made[DEPLOY / "k8s/components/prometheus-rules/prometheusrule.yaml"] = note + resource
    return made


def main() -> None:
    """Write every file."""
    for file, text in files().items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


if __name__ == "__main__":
    main()
