"""A real Prometheus on really running services under a mixed load: every expression gives the series it should."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import yaml

from querybus.bus.connection import connect
from querybus.core.ids import time_ordered_id
from querybus.ops.clock import system_clock
from tests.journeys.test_up import Running, free_port, until
from tests.support.scripted_model import ScriptedModel, Seen, Step, fail, in_order, say

pytestmark = [pytest.mark.connected, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
RIGHT = "SELECT COUNT(name) FROM customers"
WINDOWS = {"$__rate_interval": "30s", "$__range": "60s", "$tenant": ".*"}
ROUNDS = 3
SETTLE_SECONDS = 8.0


class Context:
    """A model whose answers follow from the kind of the question."""

    def __init__(self) -> None:
        self.scripts: dict[str, Any] = {}

    def question(self, *steps: Step) -> str:
        text = f"How many customers are there, case {len(self.scripts):03}?"
        self.scripts[text] = in_order(steps)
        return text

    def __call__(self, seen: Seen) -> Step:
        for text, script in self.scripts.items():
            if text in seen.text:
                return script(seen)
        return fail(400)


class Prometheus:
    """A Prometheus that scrapes every second and evaluates the committed rules every second."""

    def __init__(self, directory: Path, targets: list[str]) -> None:
        self.port = free_port()
        directory.mkdir()
        for file in ("recording.yaml", "alerts.yaml"):
            text = (ROOT / "deploy/prometheus" / file).read_text()
            (directory / file).write_text(re.sub(r"interval: \w+", "interval: 1s", text))
        configuration = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["recording.yaml", "alerts.yaml"],
            "scrape_configs": [{"job_name": "querybus", "static_configs": [{"targets": targets}]}],
        }
        (directory / "prometheus.yaml").write_text(yaml.safe_dump(configuration))
        self.log = (directory / "log").open("wb")
        self.process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={directory / 'prometheus.yaml'}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
            ],
            stdout=self.log,
            stderr=self.log,
        )

    def get(self, path: str, **parameters: str) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=10) as response:
            return json.loads(response.read())

    def is_up(self) -> bool:
        try:
            targets = self.get("/api/v1/targets")["data"]["activeTargets"]
        except OSError:
            return False
        return bool(targets) and all(target["health"] == "up" for target in targets)

    def series(self, expression: str) -> list[Any]:
        """Return the result of an expression; AssertionError if Prometheus does not evaluate it."""
        for name, value in WINDOWS.items():
            expression = expression.replace(name, value)
        answer = self.get("/api/v1/query", query=expression)
        assert answer["status"] == "success", (expression, answer)
        return answer["data"]["result"]

    def value(self, expression: str) -> float:
        (one,) = self.series(expression)
        return float(one["value"][1])

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=20)
        self.log.close()


def panel_expressions() -> list[tuple[str, str]]:
    return [
        (f"{file.stem}: {panel['title']}", target["expr"])
        for file in sorted((ROOT / "deploy/grafana/dashboards").glob("*.json"))
        for panel in json.loads(file.read_text())["panels"]
        for target in panel["targets"]
    ]


def rule_expressions(file: str, kind: str) -> list[tuple[str, str]]:
    groups = yaml.safe_load((ROOT / "deploy/prometheus" / file).read_text())["groups"]
    return [(rule[kind], rule["expr"]) for group in groups for rule in group["rules"]]


def selectors(expression: str) -> set[str]:
    """Return the selectors of an expression: what a healthy alert's comparison would hide."""
    return {match[0] for match in re.finditer(r"\b(?:\w+:)*(?:querybus[\w:]*|up)\b(?:\{[^}]*\})?", expression)}


def set_prices(running: Running, base_url: str) -> None:
    """Make the scripted model one that costs something."""
    priced = {"name": "priced", "base_url": base_url, "model": "scripted", "price_in": 0.2, "price_out": 0.6}
    file = running.directory / "models.yaml"
    file.write_text(json.dumps({"models": [priced], "default": "priced"}))
    command = [str(Path(sys.executable).parent / "querybus"), "models", "set", str(file), "--store", str(running.store)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


async def dead_letter_one(running: Running) -> None:
    """Put something that is no envelope into the log, as a broken publisher would."""
    environ = (Path("/proc") / str(running.children()["querybus_gateway"]) / "environ").read_bytes().decode()
    settings = {name: value for name, _, value in (text.partition("=") for text in environ.split("\0"))}
    connection = await connect(settings["QUERYBUS_NATS_URL"], "gateway", settings["QUERYBUS_NATS_PASSWORD"])
    try:
        number = time_ordered_id(system_clock(), 1)
        await connection.publish(f"querybus.v1.event.local.{number}.{number}.asked", b"no envelope")
        await connection.flush()
    finally:
        await connection.close()


def load(running: Running, context: Context) -> dict[str, int]:
    """Ask a mix of questions; return how many of each kind."""
    counted = {"first": 0, "retry": 0, "refused": 0, "failed": 0}
    for number in range(ROUNDS):
        for _ in range(2):
            assert running.ask(context.question(say(RIGHT)))["outcome"] == "answered"
            counted["first"] += 1
        wrong = say(f"SELECT COUNT(surname_of_somebody_{number}) FROM customers")
        assert running.ask(context.question(wrong, say(RIGHT)))["outcome"] == "answered"
        counted["retry"] += 1
        assert running.ask(context.question(say("DROP TABLE customers")))["outcome"] == "refused"
        counted["refused"] += 1
        nonsense = [say(f"SELECT COUNT(nonsense_{number}_{item}) FROM customers") for item in range(2)]
        assert running.ask(context.question(*nonsense), retries_max=1)["outcome"] == "failed"
        counted["failed"] += 1
        # The model breaks down: counted there, answered by the built-in translator or ended in some typed way.
        if number == 0:
            running.ask(context.question(fail(500)), retries_max=0, deadline_seconds=8)
        time.sleep(1.5)
    return counted


@pytest.fixture
def running(tmp_path: Path) -> Generator[tuple[Running, Context]]:
    import duckdb

    if shutil.which("prometheus") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("prometheus is missing: install the Debian package prometheus")
        pytest.skip("prometheus is missing: install the Debian package prometheus")
    # Not SQLite: its statements are not explained before a run, so no plan would be found in the cache.
    file = tmp_path / "shop.duckdb"
    with contextlib.closing(duckdb.connect(str(file))) as connection:
        connection.execute(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
            "INSERT INTO customers VALUES (1,'Ann'),(2,'Bob'),(3,'Cid');"
        )
    (tmp_path / "connections.yaml").write_text(
        json.dumps({"connections": [{"name": "shop", "url": f"duckdb:///{file}"}]})
    )
    context = Context()
    with ScriptedModel(context) as model:
        # A budget, whose use is a panel of its own.
        stack = Running(tmp_path, QUERYBUS_LLM_BASE_URL=model.base_url, QUERYBUS_TOKENS_PER_DAY="1000000")
        try:
            stack.wait_ready()
            set_prices(stack, model.base_url)
            yield stack, context
        finally:
            stack.stop()


@pytest.mark.timeout(240)
async def test_every_panel_rule_and_alert_finds_its_series(running: tuple[Running, Context], tmp_path: Path) -> None:
    stack, context = running
    addresses = json.loads((stack.store / "processes.json").read_text()).values()
    prometheus = Prometheus(tmp_path / "prometheus", [address.removeprefix("http://") for address in addresses])
    try:
        assert selectors('a > 1 and up{job="x"} / querybus:b:max') == {'up{job="x"}', "querybus:b:max"}
        until(prometheus.is_up, 30, "every target is scraped")
        counted = load(stack, context)
        await dead_letter_one(stack)
        time.sleep(SETTLE_SECONDS)

        empty = [name for name, expression in panel_expressions() if not prometheus.series(expression)]
        assert empty == [], "these panels show nothing"
        empty = [name for name, _ in rule_expressions("recording.yaml", "record") if not prometheus.series(name)]
        assert empty == [], "these rules record nothing"
        for name, expression in rule_expressions("alerts.yaml", "alert"):
            prometheus.series(expression)
            missing = [selector for selector in selectors(expression) if not prometheus.series(selector)]
            assert missing == [], f"{name} looks at nothing"
        rules = [rule for group in prometheus.get("/api/v1/rules")["data"]["groups"] for rule in group["rules"]]
        assert len(rules) == sum(
            len(rule_expressions(*item)) for item in (("recording.yaml", "record"), ("alerts.yaml", "alert"))
        )
        assert {rule["name"]: rule.get("lastError") for rule in rules if rule["health"] != "ok"} == {}

        # What was done is what is counted.
        assert prometheus.value('sum(querybus_queries_total{pass="retry",outcome="answered"})') == counted["retry"]
        assert prometheus.value('sum(querybus_queries_total{pass="first",outcome="answered"})') >= counted["first"]
        assert prometheus.value('sum(querybus_queries_total{outcome="refused"})') == counted["refused"]
        assert prometheus.value('sum(querybus_model_cost_total{model="priced"})') > 0
        assert prometheus.value('sum(querybus_cache_requests_total{cache="explain",result="hit"})') > 0
        assert prometheus.value("sum(querybus_database_wait_seconds_count)") >= counted["first"] + counted["retry"]
        assert prometheus.value("sum(querybus_database_bytes_total)") > 0
        assert prometheus.value('sum(querybus_dead_letters_total{stage="generator"})') == 1
        assert prometheus.series('ALERTS{alertname="QuerybusDeadLetters",alertstate="firing",stage="generator"}')
        assert not prometheus.series('ALERTS{alertname="QuerybusServiceGone"}')

        # Negative control: a metric that is misspelt, or a label value that never occurs, shows as no series.
        for _, expression in panel_expressions():
            assert not prometheus.series(re.sub(r"\bquerybus(?=[_:])", "querybuss", expression)), expression
        assert not prometheus.series('querybus_queries_total{outcome="answerd"}')
    finally:
        prometheus.stop()
