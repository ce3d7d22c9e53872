"""Claims on the docs: what follows from code is what the code says, and the verbs that are named exist."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

from querybus.core.failure import FailureCode

ROOT = Path(__file__).parents[2]
PAGES = [
    line
    for line in subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    if "/src/" not in line
]


def tables() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("docs_tables", ROOT / "docs" / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: page() for name, page in module.PAGES.items()}


@pytest.mark.parametrize(("name", "page"), tables().items())
def test_a_table_that_follows_from_code_is_current(name: str, page: str) -> None:
    assert (ROOT / "docs" / name).read_text() == page, "run `make docs` and commit what changed"


@pytest.mark.parametrize("page", PAGES)
def test_every_make_verb_that_a_page_names_exists(page: str) -> None:
    verbs = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    verbs |= {
        f"bench-{path.stem.removeprefix('bench_').replace('_', '-')}"
        for path in (ROOT / "benchmarks").glob("bench_*.py")
    }
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / page).read_text(), re.MULTILINE))
    assert named <= verbs


@pytest.mark.parametrize("page", PAGES)
def test_every_link_inside_the_repository_leads_somewhere(page: str) -> None:
    file = ROOT / page
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)[^)]*\)", file.read_text())
    assert [link for link in links if not (file.parent / link).exists()] == []


def test_the_first_screen_of_the_readme_shows_the_page_and_the_first_commands() -> None:
    text = (ROOT / "README.md").read_text()
    screen = "\n".join(text.splitlines()[:40])
    for words in ("make demo", "make test", "querybus connect", "pip install", "PostgreSQL", "Ollama"):
        assert words in screen
    (picture,) = re.findall(r"!\[[^\]]+\]\((docs/images/[^)]+)\)", screen)
    assert 10_000 < (ROOT / picture).stat().st_size < 200_000
    assert "──▶" in text


def test_every_failure_code_has_a_row_in_the_runbook() -> None:
    rows = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "runbook.md").read_text(), re.MULTILINE))
    assert rows == set(FailureCode)


def test_every_path_in_where_do_i_change_x_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text[text.index("## Where do I change X?") : text.index("## What was built otherwise")]
    sources = [ROOT, *(path for path in ROOT.glob("**/src/querybus*") if path.is_dir() and ".venv" not in path.parts)]
    paths = [path for path in re.findall(r"`([^`\s]+)`", table) if "/" in path or path.endswith((".py", ".md"))]
    assert len(paths) > 80
    assert [path for path in paths if not any((source / path).exists() for source in sources)] == []


def test_every_path_in_the_translators_page_exists() -> None:
    folder = ROOT / "libs" / "translator" / "src" / "querybus_translator"
    paths = re.findall(r"`([\w/]+(?:/|\.py|\.toml))`", (ROOT / "docs" / "translator.md").read_text())
    assert len(paths) > 40
    assert [path for path in paths if not (folder / path).exists()] == []
