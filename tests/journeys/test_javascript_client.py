"""The client in JavaScript, in Node: every operation, every event once over a cut connection, and its types."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from querybus.core.credential import key_text
from querybus_cli.local.local_stack import Stack, StackPlan
from tests.support.cutting_proxy import cutting

ROOT = Path(__file__).parents[2]
ASSETS = ROOT / "services/gateway/src/querybus_gateway/http/browser/assets"
SCRIPTS = Path(__file__).parent / "node"
MODULES = ROOT / "build" / "environments" / "node" / "node_modules"
KEY = key_text("local", "analyst", "secret-of-analyst")
IN_CI = os.environ.get("CI") == "true"
pytestmark = [
    pytest.mark.connected,
    pytest.mark.slow,
    pytest.mark.servers,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(shutil.which("node") is None and not IN_CI, reason="needs Debian's nodejs"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Stack]:
    directory = tmp_path_factory.mktemp("javascript")
    shop = directory / "shop.sqlite"
    with sqlite3.connect(shop) as connection:
        connection.executescript("CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT NOT NULL);")
        connection.executemany("INSERT INTO orders (city) VALUES (?)", [("Bern",), ("Lyon",), ("Bern",)])
    file: Path = directory / "connections.yaml"
    file.write_text(json.dumps({"connections": [{"name": "shop", "url": f"sqlite:///{shop}"}]}))
    async with Stack(StackPlan(connections_file=file, sync="2m"), keys={"analyst": KEY}) as made:
        yield made


async def test_the_javascript_client_keeps_whole_numbers_that_its_numbers_cannot_hold(tmp_path: Path) -> None:
    client = tmp_path / "client.mjs"
    client.write_text((ASSETS / "client.js").read_text())
    given = '[9007199254740993, -9007199254740993, 9007199254740991, 0.1234567890123456789, "a\\"9007199254740993", {"n": 18446744073709551615}]'
    program = f"import {{ parseExactly }} from {json.dumps(str(client))}; console.log(JSON.stringify(parseExactly({json.dumps(given)})));"
    process = await asyncio.create_subprocess_exec("node", "--input-type=module", "-e", program, stdout=-1, stderr=-1)
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    assert json.loads(out) == [
        "9007199254740993", "-9007199254740993", 9007199254740991, 0.12345678901234568, 'a"9007199254740993',
        {"n": "18446744073709551615"},
    ]  # fmt: skip


async def said_by(folder: Path, address: str) -> dict[str, Any]:
    client = folder / "client.mjs"
    client.write_text((ASSETS / "client.js").read_text())
    process = await asyncio.create_subprocess_exec(
        *("node", str(SCRIPTS / "client.mjs"), address, KEY, str(client)), stdout=-1, stderr=-1
    )
    async with asyncio.timeout(90):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return json.loads(out)


async def test_every_operation_works_in_node(stack: Stack, tmp_path: Path) -> None:
    said = await said_by(tmp_path, stack.http_address)
    assert [name for name, _ in said["events"]] == ["asked", "drafted", "approved", "concluded", "finished"]
    assert sorted(map(tuple, said["rows"])) == [("Bern", 2), ("Lyon", 1)]
    assert (said["changed"], said["page"], said["csv"], said["verdict"]) == (1, [1, False], 3, "right")
    assert (said["turns"], said["threads"], said["isSame"]) == (2, True, True)
    assert said["chosen"] in {"answered", ""}
    assert said["me"] == ["analyst", "analyst", True]
    assert said["board"] == ["daily", 1, 2, 1, "blorb"]
    not_owner = [403, "scope", 32]
    assert said["refusals"] == {
        "review": [404, "not_found", 32],
        **dict.fromkeys(("owner", "keys", "evaluations", "personal"), not_owner),
        "unknown": [404, "not_found", 32],
        "nobody": [401, "unauthenticated", 32],
        "empty": [422, "question_empty", 32],
        "part": [422, "unknown_part", 32],
        "unreachable": True,
    }


@pytest.mark.parametrize("cut_after", [1, 2, 3, 4])
async def test_a_cut_connection_shows_every_event_once(stack: Stack, tmp_path: Path, cut_after: int) -> None:
    async with cutting(stack.http_address, cut_after) as address:
        said = await said_by(tmp_path, address)
    assert [name for name, _ in said["events"]] == ["asked", "drafted", "approved", "concluded", "finished"]
    assert len({number for _, number in said["events"]}) == 5


@pytest.mark.skipif(not MODULES.is_dir() and not IN_CI, reason="needs `make node-clients` (node and npm)")
async def test_a_users_program_passes_the_compiler(tmp_path: Path) -> None:
    shutil.copy(ASSETS / "client.js", tmp_path)
    shutil.copy(ASSETS / "client.d.ts", tmp_path)
    shutil.copy(SCRIPTS / "program.ts", tmp_path)
    process = await asyncio.create_subprocess_exec(
        *(str(MODULES / ".bin" / "tsc"), "--strict", "--noEmit", "--target", "es2022", "--module", "nodenext"),
        *("--moduleResolution", "nodenext", "--lib", "es2022,dom", str(tmp_path / "program.ts")),
        stdout=-1,
        stderr=-1,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, out.decode() + err.decode()
