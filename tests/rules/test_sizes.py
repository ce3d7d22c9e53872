"""Claims on how much stands in one place: what a reader must hold in mind at once stays small."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES_MAX = 14
FILE_LINES_MAX = 499
FUNCTION_LINES_MAX = 60


MEMBERS = [*ROOT.glob("libs/*/src"), *ROOT.glob("services/*/src"), ROOT / "cli/src"]
SOURCES = [file for member in MEMBERS for file in sorted(member.rglob("*.py")) if "/v1/" not in str(file)]
FOLDERS = sorted({file.parent for file in SOURCES})


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_a_folder_is_read_at_one_glance(folder: Path) -> None:
    modules = [file for file in folder.glob("*.py") if file.name != "__init__.py"]
    packages = [path for path in folder.iterdir() if (path / "__init__.py").exists()]
    assert len(modules) + len(packages) <= FILES_MAX


@pytest.mark.parametrize("file", SOURCES, ids=named)
def test_a_file_has_one_subject_and_a_function_one_thought(file: Path) -> None:
    text = file.read_text()
    assert len(text.splitlines()) <= FILE_LINES_MAX
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            assert node.end_lineno - node.lineno + 1 <= FUNCTION_LINES_MAX, node.name


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_a_package_says_in_one_sentence_what_it_holds(folder: Path) -> None:
    init = folder / "__init__.py"
    if not init.exists():
        return
    assert ast.get_docstring(ast.parse(init.read_text())), f"{named(init)} has no docstring"
