"""Claims on the words of the code and the docs: the field's own, never a private one that a reader has to learn.

Names on the wire stay as they are (`mend`, `mended`, `mending`), and so do texts for people and data about databases.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STRUCK = [
    "house",
    "houses",
    "door",
    "doors",
    "room",
    "rooms",
    "desk",
    "mend",
    "mends",
    "mending",
    "mended",
    "bury",
    "buries",
    "buried",
    "graveyard",
    "ear",
    "ears",
    "hear",
    "hears",
    "heard",
    "unheard",
    "wake",
    "wakes",
    "woken",
    "tongue",
    "worded",
    "unworded",
    "tell",
    "tells",
    "told",
    "telling",
    "teller",
    "keeper",
    "eraser",
    "mighty",
]
_STRUCK = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(STRUCK)})(?![a-z])", re.IGNORECASE)
WIRE = re.compile(r"`[^`\n]*`|\bretries\.mend\b|\bmend(ed|ing)?\b(?=[`\"'])|-house,|bench[-_]house|\bhouse\.json\b")
DATA = {
    "libs/common/src/querybus/core/stored/batch.py",
    "libs/common/src/querybus/text/vocabulary.py",
    "libs/common/src/querybus/text/synonyms.py",
    "services/gateway/tests/servers/test_grpc_api.py",
    "tests/rules/test_words.py",
}
"""Word lists, which are about databases, the text of the owner for batches, and this file."""
WIRE_NAMES = {"mend", "mended", "mending", "Mending"}


def tracked(*patterns: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if "/v1/" not in name and (ROOT / name).exists()]


def words_of(source: str) -> list[tuple[int, str]]:
    """Every name, comment and docstring of a module, with its line."""
    spoken: list[tuple[int, str]] = []
    docstrings = {
        (node.body[0].lineno, node.body[0].col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body
    }
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_name = token.type == tokenize.NAME and token.string not in WIRE_NAMES
        is_prose = token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.start in docstrings)
        if is_name or is_prose:
            spoken.append((token.start[0], token.string if is_name else WIRE.sub("", token.string)))
    return spoken


@pytest.mark.parametrize("file", tracked("*.py"))
def test_no_name_comment_or_docstring_uses_a_struck_word(file: str) -> None:
    if file in DATA:
        return
    source = (ROOT / file).read_text()
    struck = [(line, text) for line, text in words_of(source) if _STRUCK.search(text.replace("_", " "))]
    assert struck == []


@pytest.mark.parametrize("file", tracked("*.md", "Makefile", "deploy/*.yaml", "proto/*.proto", "*/pyproject.toml"))
def test_no_page_uses_a_struck_word(file: str) -> None:
    if "/prompts/" in file or file == "CHANGELOG.md":
        return
    lines = (ROOT / file).read_text().splitlines()
    struck = [
        (number, line)
        for number, line in enumerate(lines, 1)
        if _STRUCK.search(WIRE.sub("", line)) and not re.search(r"\b(mend|mended|mending|Mending) ?[=;]|Mending ", line)
    ]
    assert struck == []


@pytest.mark.parametrize("file", tracked("*.py"))
def test_a_loop_variable_is_named_after_what_it_holds(file: str) -> None:
    tree = ast.parse((ROOT / file).read_text())
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assert "each" not in names
