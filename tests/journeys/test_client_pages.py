"""What docs/openai.md, docs/langgraph.md and docs/mcp.md say to copy works as it stands; only the key and the port differ."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.journeys.test_up import Running, started, with_shop

pytestmark = [pytest.mark.connected, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
MODULES = ROOT / "build" / "environments" / "node" / "node_modules"
PAGES = ("openai", "langgraph", "mcp")
HEADING = re.compile(r"^## ([^\n]+)$|^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str, str, str]]:
    """Return page, heading, language and text of every block of code."""
    found: list[tuple[str, str, str, str]] = []
    for page in PAGES:
        heading = ""
        for match in HEADING.finditer((ROOT / "docs" / f"{page}.md").read_text()):
            heading = match.group(1) or heading
            if match.group(2):
                found.append((page, heading, match.group(2), match.group(3)))
    return found


def of(language: str) -> list[Any]:
    return [pytest.param(text, id=f"{page}: {heading}") for page, heading, found, text in blocks() if found == language]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with started(with_shop(tmp_path_factory.mktemp("pages"))) as made:
        yield made


def here(text: str, stack: Running) -> str:
    return text.replace("127.0.0.1:8080", f"127.0.0.1:{stack.port}")


def ran(command: list[str], stack: Running, **more: str) -> str:
    process = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **more},
        cwd=stack.store.parent,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_every_page_sets_up_two_real_clients_and_every_block_has_a_claim_here() -> None:
    by_page = {page: [language for one, _, language, _ in blocks() if one == page] for page in PAGES}
    assert all(len(languages) >= 2 for languages in by_page.values()), by_page
    # What only another product can carry out is named; it is in no test.
    assert {(page, heading) for page, heading, language, _ in blocks() if language == "yaml"} == {
        ("openai", "LibreChat")
    }
    assert {language for languages in by_page.values() for language in languages} == {
        "python", "javascript", "json", "bash", "yaml",
    }  # fmt: skip


@pytest.mark.parametrize("text", of("python"))
def test_a_program_in_python_runs(stack: Running, text: str) -> None:
    body = here(text, stack)
    if "async with" in body:
        imports, _, rest = body.partition("\n\n")
        lines = "\n".join(f"    {line}" for line in rest.splitlines())
        body = f"import asyncio\n{imports}\n\nasync def main():\n{lines}\n\nasyncio.run(main())\n"
    said = ran([sys.executable, "-c", f"key = {stack.key()!r}\n{body}"], stack)
    assert "There are 3" in said


@pytest.mark.servers
@pytest.mark.skipif(
    not MODULES.is_dir() and os.environ.get("CI") != "true", reason="needs `make node-clients` (node and npm)"
)
@pytest.mark.parametrize("text", of("javascript"))
def test_a_program_in_javascript_runs(stack: Running, text: str) -> None:
    script = MODULES.parent / f"page_{abs(hash(text))}.mjs"
    script.write_text(f"const key = process.env.KEY;\n{here(text, stack)}")
    try:
        assert "There are 3" in ran(["node", str(script)], stack, KEY=stack.key())
    finally:
        script.unlink()


@pytest.mark.parametrize("text", [one for one in of("bash") if "curl" in one.values[0]])
def test_a_command_answers(stack: Running, text: str) -> None:
    assert json.loads(ran(["sh", "-c", here(text, stack)], stack, KEY=stack.key()))["rows"] == [[3]]


@pytest.mark.parametrize("text", of("json"))
def test_a_host_that_starts_commands_gets_the_tools(stack: Running, text: str) -> None:
    said = json.loads(here(text, stack))["mcpServers"]["querybus"]
    command = str(Path(sys.executable).parent / said["command"])

    async def ask() -> Any:
        server = StdioServerParameters(command=command, args=said["args"], env={"QUERYBUS_KEY": stack.key()})
        async with Client(server) as client:
            return (await client.call_tool("ask", {"question": "How many customers are there?"})).structured_content

    assert said["env"].keys() == {"QUERYBUS_KEY"}
    assert asyncio.run(ask())["rows"] == [[3]]
