"""The form that was ordered: packages that are declared and used, folders that hold what they are called after."""

from __future__ import annotations

import ast
import importlib
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

from querybus.ops.settings import ServiceSettings

ROOT = Path(__file__).parents[2]
COMMON, EXECUTOR = "libs/common", "services/executor"
ORDERED_SERVICES = ("generator", "validator", "executor", "recovery")


@cache
def declared(member: str) -> frozenset[str]:
    """Return the names of the packages that a member declares, its extras included."""
    project = tomllib.loads((ROOT / member / "pyproject.toml").read_text())["project"]
    entries = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    return frozenset(entry.partition("==")[0].partition("[")[0] for entry in entries)


@cache
def imported(member: str) -> frozenset[str]:
    """Return the first names of the modules that a member's sources import."""
    found: set[str] = set()
    for file in (ROOT / member / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return frozenset(found)


def is_used(package: str, member: str, module: str = "") -> bool:
    """Return whether a member declares a package and imports it."""
    return package in declared(member) and (module or package) in imported(member)


@pytest.mark.requirement("card.2")
def test_services_are_applications_of_faststream() -> None:
    assert is_used("faststream", COMMON)


@pytest.mark.requirement("card.3")
def test_the_bus_is_spoken_to_by_nats_py() -> None:
    assert is_used("nats-py", COMMON, "nats")


@pytest.mark.requirement("card.4")
def test_every_service_reads_its_settings_by_pydantic_settings() -> None:
    assert is_used("pydantic-settings", COMMON, "pydantic_settings")
    for name in (*ORDERED_SERVICES, "gateway", "presenter"):
        module = importlib.import_module(f"querybus_{name}.settings")
        assert issubclass(module.Settings, ServiceSettings)


@pytest.mark.requirement("card.5")
def test_databases_are_reached_over_sqlalchemy() -> None:
    assert is_used("sqlalchemy", EXECUTOR)


@pytest.mark.requirement("card.6")
def test_models_are_called_by_langchain_openai_where_replies_are_streamed() -> None:
    assert is_used("langchain-openai", COMMON, "langchain_openai")


@pytest.mark.requirement("card.7")
def test_statements_are_parsed_by_sqlglot() -> None:
    assert is_used("sqlglot", COMMON)


@pytest.mark.requirement("card.8")
def test_metrics_are_exposed_by_prometheus_client() -> None:
    assert is_used("prometheus-client", COMMON, "prometheus_client")


@pytest.mark.requirement("card.9")
def test_traces_are_made_by_opentelemetry() -> None:
    assert is_used("opentelemetry-sdk", COMMON, "opentelemetry")


@pytest.mark.requirement("card.10", "002.10")
@pytest.mark.parametrize("name", ORDERED_SERVICES)
def test_an_ordered_service_has_a_folder_with_its_verb_its_wiring_and_its_tests(name: str) -> None:
    folder = ROOT / "services" / name
    module = importlib.import_module(f"querybus_{name}.app")
    assert Path(str(module.__file__)).is_relative_to(folder / "src")
    assert callable(module.build)
    assert list((folder / "tests").rglob("test_*.py"))


@pytest.mark.requirement("card.11")
def test_what_services_share_is_one_library_and_no_service_imports_another() -> None:
    assert (ROOT / COMMON / "src/querybus").is_dir()
    for name in ORDERED_SERVICES:
        others = {f"querybus_{other}" for other in (*ORDERED_SERVICES, "gateway", "presenter") if other != name}
        used = imported(f"services/{name}")
        assert "querybus" in used
        assert not used & others


@pytest.mark.requirement("card.13", "002.68")
def test_make_has_the_verbs_that_try_and_show_everything() -> None:
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    verbs = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("  make ")}
    assert {"setup", "demo", "up", "ask", "test", "test-unit", "test-all", "check", "bench"} <= verbs
