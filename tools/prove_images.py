"""Carries out the build steps of the Dockerfile in a folder instead of a container, word for word.

`python tools/prove_images.py [IMAGE...]` builds what /opt/querybus of each image would hold (a service, `cli`, `all`, or
`executor-<driver>`), from the one Dockerfile: its COPY and RUN instructions up to the last stage, with /opt, /tmp and /src
below a folder. Then the image's own start command is run there, in a Python that has nothing but that. What the
container itself adds (user, read-only root, base image) is not shown. Python 3.11, as in the images; about half a minute each.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.admin.migrate import ADVICE
from querybus_cli.local.ports import free_ports

ROOT: Final = Path(__file__).resolve().parents[1]
DOCKERFILE: Final = ROOT / "deploy/docker/Dockerfile"
IMAGES: Final = ("gateway", "generator", "validator", "executor", "recovery", "presenter", "cli", "all")
DRIVERS: Final = {
    "clickhouse": "clickhouse_connect",
    "oracle": "oracledb",
    "bigquery": "google.cloud.bigquery",
    "snowflake": "snowflake.connector",
}
"""The module of each driver that an executor's image may hold."""
_IGNORED: Final = shutil.ignore_patterns("__pycache__", "*.egg-info", "tests", "build", "dist")
# What the build makes for the image's sake: a cache spares the network here.
_LEFT_OUT: Final = frozenset({"PIP_NO_CACHE_DIR"})


START_SECONDS_MAX: Final = 120.0


class NotBuilt(Exception):
    """A step failed; the text shows it and its last words."""


def instructions() -> list[tuple[str, str]]:
    """Return (instruction, rest) of the Dockerfile, continued lines joined, comments left out."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1].strip()) for line in text.splitlines() if line.strip()]


def build(image: str, folder: Path) -> Path:
    """Do what the build stage does for an image below a folder; return its /opt/querybus. NotBuilt names the step."""
    service, _, driver = image.partition("-")
    environment = {"SERVICE": service, "DRIVER": driver, "PATH": f"{_python(folder)}{os.pathsep}{os.environ['PATH']}"}
    for name in ("opt", "tmp", "src"):
        (folder / name).mkdir(parents=True)
    here, stages = folder, 0
    for instruction, rest in instructions():
        match instruction:
            case "FROM":
                stages += 1
                if stages > 1:
                    break
            case "ENV":
                reported = dict(part.split("=", 1) for part in shlex.split(rest))
                environment |= {name: value for name, value in reported.items() if name not in _LEFT_OUT}
            case "WORKDIR":
                here = folder / rest.lstrip("/")
            case "COPY":
                source, target = shlex.split(rest)
                _copy(ROOT / source, here / target)
            case "RUN":
                _run(["sh", "-ec", re.sub(r"(?<![\w.])/(opt|tmp)/", rf"{folder}/\1/", rest)], here, environment)
            case _:
                pass
    return folder / "opt/querybus"


def start(image: str, prefix: Path) -> str:
    """Run what the image's ENTRYPOINT runs, of a service on a bus that has nothing yet; return its words.

    A service then says what to type and ends; the command is asked for its help. NotBuilt if the program is not as it
    must be: something of it is missing, or more is there than it needs.
    """
    service, _, driver = image.partition("-")
    home, database = prefix / "home", prefix / "home/shop.sqlite"
    home.mkdir(exist_ok=True)
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS customers (id INTEGER PRIMARY KEY, name TEXT)")
    connection.close()
    (home / "connections.yaml").write_text(f"connections: [{{name: shop, url: 'sqlite:///{database}'}}]\n")
    isolated = {"PATH": os.defpath, "HOME": str(home), "PYTHONNOUSERSITE": "1"}
    paths = "import sys; print(*[each for each in sys.path if 'site-packages' in each], sep=chr(10))"
    asked = _reported([prefix / "bin/python", "-c", paths], isolated)
    if any(not line.startswith(str(prefix)) for line in asked.stdout.split()):
        raise NotBuilt(f"{image}: packages from outside are seen: {asked.stdout}")
    if _reported([prefix / "bin/python", "-m", "pip"], isolated).returncode == 0:
        raise NotBuilt(f"{image}: it holds pip")
    if (
        driver
        and (result := _reported([prefix / "bin/python", "-c", f"import {DRIVERS[driver]}"], isolated)).returncode
    ):
        raise NotBuilt(f"{image}: its driver is not there: {result.stderr[-1_500:]}")
    if service == "all":
        said, expected = _page_of(prefix, isolated), "<title>"
    elif service == "cli":
        said, expected = _said([prefix / "bin/start", "--help"], isolated), "Usage: "
    else:
        said, expected = asyncio.run(_on_an_empty_bus(service, prefix, isolated)), ADVICE
    if expected not in said:
        raise NotBuilt(f"{image} does not start: {said[-1_500:]}")
    return said


def _page_of(prefix: Path, isolated: Mapping[str, str]) -> str:
    """Start all of QueryBus over the database of the proof; return the page that it serves, or its words if it ends."""
    port = str(free_ports(1)[0])
    given = {**isolated, "PORT": port, "DATABASE_URL": f"sqlite:///{prefix / 'home/shop.sqlite'}", "TERM": "dumb"}
    log = prefix / "home/start.log"
    with log.open("wb") as output:
        process = subprocess.Popen([prefix / "bin/start"], cwd=prefix / "home", env=given, stdout=output, stderr=output)
    until = time.monotonic() + START_SECONDS_MAX
    try:
        while process.poll() is None and time.monotonic() < until:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as page:
                return page.read().decode()
            time.sleep(0.2)
        return log.read_text()
    finally:
        process.terminate()
        process.wait(START_SECONDS_MAX)


async def _on_an_empty_bus(service: str, prefix: Path, isolated: dict[str, str]) -> str:
    async with EmbeddedNats(sync="2m") as bus:
        reported = {
            **isolated,
            "QUERYBUS_NATS_URL": bus.url,
            "QUERYBUS_NATS_PASSWORD": bus.password(service),
            "QUERYBUS_SIGNING_KEY": bus.signing_key,
            "QUERYBUS_VERIFY_KEY": bus.verify_key,
            "QUERYBUS_CONNECTIONS_FILE": str(prefix / "home/connections.yaml"),
        }
        return await asyncio.to_thread(_said, [prefix / "bin/start"], reported)


def _reported(command: Sequence[str | Path], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=START_SECONDS_MAX, check=False
    )


def _said(command: Sequence[str | Path], environment: dict[str, str]) -> str:
    done = _reported(command, environment)
    return done.stdout + done.stderr


def _python(folder: Path) -> Path:
    """Return a folder for PATH in which `python` is the interpreter that this one is of, without its packages."""
    place = folder / "base"
    place.mkdir(parents=True)
    (place / "python").symlink_to(Path(sys.base_prefix) / f"bin/python{sys.version_info[0]}.{sys.version_info[1]}")
    return place


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=_IGNORED)
    else:
        shutil.copy(source, target)


def _run(command: Sequence[str], folder: Path, reported: dict[str, str]) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("VIRTUAL_ENV", "PYTHON"))}
    done = subprocess.run(command, cwd=folder, env=clean | reported, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotBuilt(f"{command[-1]}\n{(done.stdout + done.stderr)[-2_000:]}")


def main(images: Sequence[str]) -> None:
    """Build and start the images, or all; SystemExit with the step that failed."""
    if sys.version_info[:2] != (3, 11):
        sys.exit("the images run Python 3.11: their locks are of that version")
    for image in images or (*IMAGES, *(f"executor-{driver}" for driver in DRIVERS)):
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="querybus-image-") as folder:
            try:
                prefix = build(image, Path(folder))
                start(image, prefix)
            except NotBuilt as error:
                sys.exit(f"{image}: NOT BUILT\n{error}")
            size = sum(path.stat().st_size for path in prefix.rglob("*") if path.is_file() and not path.is_symlink())
            sys.stdout.write(f"{image:20} built and started; {size / 1e6:6.0f} MB; {time.monotonic() - begun:4.0f} s\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
