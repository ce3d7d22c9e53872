"""Every command of README and of docs/*.md runs as it stands, or is listed here with the reason why it does not."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from querybus_cli.local.demo_database import write_demo
from tests.deploy.rendered import ROOT
from tests.deploy.test_handbook import wrong_in

PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
SECONDS_MAX = 600
BLOCKS = 25
BLOCKS_RUN = 10

LISTED = {
    ("README.md", "make wheels"): "builds and installs into this Python; tests/deploy/test_wheels.py does it elsewhere",
    (
        "README.md",
        'querybus connect "postgres://reader:secret@db.example.com:5432/sales?sslmode=require"',
    ): "needs a PostgreSQL",
    ("README.md", "querybus connect ./trips"): "needs a folder of files; test_connect.py connects one",
    ("README.md", "export OPENAI_API_KEY=sk-proj-1234567890"): "needs a key; test_readme_models.py reads its settings",
    ("README.md", "export AZURE_OPENAI_ENDPOINT="): "needs a key; test_readme_models.py reads its settings",
    (
        "README.md",
        'pip install -f dist "querybus[anthropic]"',
    ): "needs a key; test_readme_models.py reads its settings",
    (
        "README.md",
        "OLLAMA_CONTEXT_LENGTH=16384 ollama serve &",
    ): "needs Ollama; test_readme_models.py reads its settings",
    ("CONTRIBUTING.md", "make setup"): "runs the tests themselves",
    (
        "connections.md",
        'querybus connect "postgres://reader:secret@db.example.com/sales?sslmode=require"',
    ): "needs a PostgreSQL",
    (
        "first-hour.md",
        'querybus connect "postgres://reader:secret@db.example.com:5432/sales?sslmode=require"',
    ): "needs a PostgreSQL",
    ("first-hour.md", "export QUERYBUS_LLM_BASE_URL=http://127.0.0.1:11434/v1"): "needs Ollama",
    ("operations.md", "umask 077"): "needs a cluster; test_handbook.py runs it with stand-ins for kubectl and helm",
    ("operations.md", "kubectl apply -f deploy/k8s/base/namespace.yaml"): "needs a cluster; test_handbook.py runs it",
    ("page.md", "querybus up --port 8080"): "runs until Ctrl-C; tests/journeys/test_up.py runs it",
    (
        "page.md",
        "curl -s https://querybus.example/v1/tokens",
    ): "needs a gateway; tests/journeys/test_tokens.py asks for tokens",
}
"""A block by its page and the beginning of its first line, and why it is not run here. Its commands are parsed."""

LINES = {
    "make demo": "is `querybus demo`, which connections.md runs",
    "make test": "runs the tests themselves",
}
WITHOUT_START = ("connect",)
"""What would run until Ctrl-C is run with `--yes --no-start`."""


def blocks_of(page: Path) -> list[list[str]]:
    """Return the page's blocks of shell commands, each as its logical lines without comments."""
    blocks: list[list[str]] = []
    for indent, text in re.findall(r"^( *)```sh\n(.*?)^ *```", page.read_text(), re.MULTILINE | re.DOTALL):
        whole = re.sub(f"^{indent}", "", text, flags=re.MULTILINE).replace("\\\n", " ")
        lines = [re.sub(r"\s+#\s.*$", "", line).strip() for line in whole.splitlines()]
        blocks.append([line for line in lines if line and not line.startswith("#")])
    return blocks


def reason_of(page: Path, block: list[str]) -> str | None:
    """Return why a block is not run here, None if it is."""
    return next(
        (reason for (name, first), reason in LISTED.items() if page.name == name and block[0].startswith(first)), None
    )


ALL = [(page, block) for page in PAGES for block in blocks_of(page)]


def querybus_words(line: str) -> list[str] | None:
    """Return the words behind `querybus` in a line, None where it is another command."""
    match = re.search(r"(?:^|\| )(?:\.venv/bin/)?querybus (.+?)(?:\s*[|>].*)?$", line)
    return shlex.split(match[1]) if match else None


def test_every_block_is_run_or_listed() -> None:
    run = [block for page, block in ALL if reason_of(page, block) is None]
    assert (len(ALL), len(run)) == (BLOCKS, BLOCKS_RUN)
    stale = [
        key for key in LISTED if not any(page.name == key[0] and block[0].startswith(key[1]) for page, block in ALL)
    ]
    assert stale == []


@pytest.mark.parametrize(("page", "block"), ALL, ids=[f"{page.name}: {block[0][:50]}" for page, block in ALL])
def test_every_command_of_a_block_exists(page: Path, block: list[str]) -> None:
    verbs = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in block:
        if words := querybus_words(line):
            assert wrong_in([word for word in words if word not in ("--help", "--version")]) == "", line
        if verb := re.match(r"make ([a-z-]+)", line):
            assert verb[1] in verbs, line
        for path in re.findall(r"(?<![\w/.])((?:deploy|docs|proto|tools)/[\w./-]+)", line):
            assert (ROOT / path).exists(), line


@pytest.mark.slow
@pytest.mark.connected
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(reason_of(page, block) is None for block in blocks_of(page))],
    ids=lambda page: page.name,
)
def test_the_commands_of_a_page_run_in_an_empty_folder_as_they_stand(page: Path, tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "folder"
    shop = home / ".cache" / "querybus" / _demo_name()
    shop.parent.mkdir(parents=True)
    folder.mkdir()
    write_demo(shop)
    (folder / ".venv").symlink_to(Path(sys.executable).parents[1])
    (folder / "proto").symlink_to(ROOT / "proto")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("QUERYBUS_", "OPENAI_", "XDG_"))
    }
    environment |= {"HOME": str(home), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for block in blocks_of(page):
        if reason_of(page, block) is not None:
            continue
        for line in block:
            if line in LINES:
                continue
            words = querybus_words(line)
            typed = f"{line} --yes --no-start" if words and words[0] in WITHOUT_START and "--yes" not in words else line
            done = subprocess.run(
                ["sh", "-eu", "-c", typed], cwd=folder, env=environment, capture_output=True, text=True,
                stdin=subprocess.DEVNULL, timeout=SECONDS_MAX, check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def _demo_name() -> str:
    from querybus_cli.local.answers import demo_file

    return demo_file().name
