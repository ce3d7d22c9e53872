"""What was ordered, row by row, which tests show it, and the page that is made of both.

A row is a claim in our own words. A test that shows it carries `@pytest.mark.requirement("002.14")`. A row that is met otherwise,
or not wholly, says why. `make docs` writes docs/requirements.md; a rule test holds that no row is without a test or a reason.
"""

from __future__ import annotations

import ast
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
LATER: Final = frozenset(("slow", "servers"))
"""Marks of tests that `make test` leaves out."""
ELSEWHERE: Final = frozenset(("data", "skipif"))
"""Marks of tests that are skipped where shared data or a program is absent."""
_MARK: Final = "requirement"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One demand: the claim in our words and the page that describes what meets it.

    `otherwise` says why it is met in another way, `short` what is missing and why. `needs` names the server or program without
    which no test can show it.
    """

    key: str
    claim: str
    page: str
    otherwise: str = ""
    short: str = ""
    needs: str = ""

    @property
    def document(self) -> str:
        """The document that demands it."""
        return self.key.partition(".")[0]


@dataclass(frozen=True, slots=True)
class MarkedTest:
    """A test that shows requirements; `marks` are the names of all its marks."""

    path: str
    name: str
    keys: tuple[str, ...]
    marks: frozenset[str]

    @property
    def runs_everywhere(self) -> bool:
        """Whether `make test` runs it on any machine."""
        return not self.marks & (LATER | ELSEWHERE)


def marked_tests() -> list[MarkedTest]:
    """Return the tests of the repository that carry the mark, in the order of their files."""
    listed = subprocess.run(
        ["git", "grep", "-l", "--untracked", f"mark.{_MARK}(", "--", "*.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    return [test for path in sorted(listed) if "test_" in Path(path).name for test in _tests_of(path)]


def _tests_of(path: str) -> Iterator[MarkedTest]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    of_file: list[tuple[str, tuple[str, ...]]] = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(name, ast.Name) and name.id == "pytestmark" for name in node.targets
        ):
            of_file = _marks(node.value.elts if isinstance(node.value, ast.List) else [node.value])
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                yield from _test_of(path, inner, [*of_file, *_marks(node.decorator_list)], f"{node.name}::")
        else:
            yield from _test_of(path, node, of_file, "")


def _test_of(
    path: str, node: ast.AST, outer: Sequence[tuple[str, tuple[str, ...]]], prefix: str
) -> Iterator[MarkedTest]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.name.startswith("test_"):
        return
    marks = [*outer, *_marks(node.decorator_list)]
    keys = tuple(key for name, found in marks if name == _MARK for key in found)
    if keys:
        yield MarkedTest(path, prefix + node.name, keys, frozenset(name for name, _ in marks))


def _marks(nodes: Sequence[ast.expr]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the names of marks and the texts that they are called with."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for node in nodes:
        call = node.func if isinstance(node, ast.Call) else node
        if isinstance(call, ast.Attribute) and isinstance(call.value, ast.Attribute) and call.value.attr == "mark":
            texts = (
                [arg.value for arg in node.args if isinstance(arg, ast.Constant)] if isinstance(node, ast.Call) else []
            )
            found.append((call.attr, tuple(str(text) for text in texts)))
    return found


def shown_by(tests: Sequence[MarkedTest]) -> dict[str, list[MarkedTest]]:
    """Return the tests of each row's key."""
    found: defaultdict[str, list[MarkedTest]] = defaultdict(list)
    for test in tests:
        for key in test.keys:
            found[key].append(test)
    return dict(found)


def requirements_text() -> str:
    """Return docs/requirements.md without the note about how it is made."""
    from tests.requirements.rows import DOCUMENTS, ROWS

    tests = shown_by(marked_tests())
    otherwise = sum(bool(row.otherwise) for row in ROWS)
    short = sum(bool(row.short) for row in ROWS)
    text = (
        "QueryBus was built to five design documents and a card. Each of their demands is a row here, in our words, with the page that\n"
        "describes what meets it and the tests that show it. `pytest -m requirement` runs these tests.\n\n"
        f"{len(ROWS)} rows: {len(ROWS) - otherwise - short} are met as they were ordered, {otherwise} otherwise for the reason given,\n"
        f"{short} not wholly. A test marked * needs what `make test` does not have.\n"
    )
    for name, title in DOCUMENTS.items():
        text += f"\n## {name}: {title}\n| row | requirement | where | shown by | otherwise, or what is missing |\n|---|---|---|---|---|\n"
        for row in ROWS:
            if row.document == name:
                text += _line(row, tests.get(row.key, ()))
    return text


def _line(row: Requirement, tests: Sequence[MarkedTest]) -> str:
    page = row.page.removeprefix("docs/") if row.page.startswith("docs/") else f"../{row.page}"
    title = Path(row.page.partition("#")[0]).name
    shown = "<br>".join(f"`{test.path}::{test.name}`{'' if test.runs_everywhere else ' *'}" for test in tests)
    reason = f"Otherwise: {row.otherwise}" if row.otherwise else f"Missing: {row.short}" if row.short else ""
    return f"| {row.key} | {row.claim} | [{title}]({page}) | {shown} | {reason} |\n"
