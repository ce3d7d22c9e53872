"""The alerts and recording rules are what promtool accepts, each fires and is silent, and each has its chapter."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from querybus.core.subjects import StageName
from querybus.core.topology import topology
from querybus.ops.metrics import TABLE

pytestmark = pytest.mark.servers

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy/prometheus"
TESTS = ("tests.yaml", "tests_week.yaml")


def promtool() -> str:
    result = shutil.which("promtool")
    if result is None:
        if os.environ.get("CI") == "true":
            pytest.fail("promtool is missing: install the Debian package prometheus")
        pytest.skip("promtool is missing: install the Debian package prometheus")
    return result


def rules(file: str) -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load((FOLDER / file).read_text())["groups"] for rule in group["rules"]]


def test_promtool_accepts_rules_and_configuration() -> None:
    for arguments in (("check", "rules", "recording.yaml", "alerts.yaml"), ("check", "config", "prometheus.yaml")):
        done = subprocess.run([promtool(), *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", TESTS)
def test_each_alert_fires_and_is_silent(file: str) -> None:
    done = subprocess.run([promtool(), "test", "rules", file], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_threshold_fails_the_cases(tmp_path: Path) -> None:
    for file in FOLDER.glob("*.yaml"):
        (tmp_path / file.name).write_text(
            file.read_text().replace("oldest_seconds:max > 60", "oldest_seconds:max > 6e9")
        )
    done = subprocess.run(
        [promtool(), "test", "rules", "tests.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "QuerybusOldestMessage" in done.stdout + done.stderr


def test_every_alert_has_a_case_that_fires_and_one_that_is_silent() -> None:
    expected: dict[str, set[bool]] = {}
    for file in TESTS:
        for case in yaml.safe_load((FOLDER / file).read_text())["tests"]:
            for check in case["promql_expr_test"]:
                match = re.search(r'alertname="(\w+)"', check["expr"])
                assert match is not None, case["name"]
                expected.setdefault(match[1], set()).add(bool(check["exp_samples"]))
    assert expected == {rule["alert"]: {True, False} for rule in rules("alerts.yaml")}


def test_every_alert_has_a_chapter_in_the_handbook_and_a_severity() -> None:
    headings = {
        line.removeprefix("### ").strip()
        for line in (ROOT / "docs/operations.md").read_text().splitlines()
        if line.startswith("### ")
    }
    for rule in rules("alerts.yaml"):
        assert rule["alert"] in headings
        assert rule["annotations"]["runbook"] == f"docs/operations.md#{rule['alert'].lower()}"
        assert rule["labels"]["severity"] in ("page", "ticket")


def test_rules_name_only_metrics_that_exist() -> None:
    known = {"up"}
    for row in TABLE:
        known |= {
            row.name,
            *((f"{row.name}_{name}" for name in ("bucket", "count", "sum")) if row.kind == "histogram" else ()),
        }
    recorded = {rule["record"] for rule in rules("recording.yaml")}
    for rule in rules("recording.yaml") + rules("alerts.yaml"):
        used = set(re.findall(r"\b[a-z_]*:?querybus[a-z_]*(?::\w+)*", rule["expr"])) - {"querybus"}
        assert used <= known | recorded, rule


def test_the_streams_that_may_fill_up_are_those_that_refuse_when_full() -> None:
    (rule,) = (rule for rule in rules("alerts.yaml") if rule["alert"] == "QuerybusStreamNearlyFull")
    match = re.search(r'stream=~"([^"]+)"', rule["expr"])
    assert match is not None
    assert set(match[1].split("|")) == {stream.name for stream in topology().streams if stream.discard == "new"}


def test_a_service_that_is_gone_is_noticed_whichever_it_is() -> None:
    (rule,) = (rule for rule in rules("alerts.yaml") if rule["alert"] == "QuerybusServiceGone")
    assert set(re.findall(r'service="(\w+)"', rule["expr"])) == set(StageName)
    targets = yaml.safe_load((FOLDER / "prometheus.yaml").read_text())["scrape_configs"][0]["static_configs"][0][
        "targets"
    ]
    assert {target.partition(":")[0] for target in targets} == set(StageName)
