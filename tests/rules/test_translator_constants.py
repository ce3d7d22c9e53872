"""The built-in translator knows no database by heart.

Rule, strict for code: no string constant in the translator's modules equals a database, table or column name of the
shared data or of the demo shop; case, underscores and spaces do not matter, docstrings are no constants. Rule for its
word lists: a word that happens to be such a name too ("age", "customer") must be one plain dictionary word, lower case
letters only, no underscore, no digits, no two words; a phrase of several words must never equal one.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sqlite3
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRANSLATOR = ROOT / "services" / "generator" / "src" / "querybus_generator" / "translator"
DATA = Path(os.environ.get("QUERYBUS_DATA", ROOT.parent / "shared" / "data")) / "spider"
LETTERS_MIN = 2
# Python's own protocol: where a module lives, and how text is encoded.
PYTHON_WORDS = frozenset({"utf8", "words"})


def folded(name: str) -> str:
    return re.sub(r"[\s_\-]+", "", name).lower()


def names_of(path: Path) -> Iterator[str]:
    yield path.stem
    opened = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        for (table,) in opened.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall():
            yield table
            for row in opened.execute(f'PRAGMA table_info("{table}")').fetchall():
                yield row[1]
    finally:
        opened.close()


@pytest.fixture(scope="module")
def schema_names() -> frozenset[str]:
    if not DATA.is_dir():
        pytest.skip(f"no shared data at {DATA}")
    names: set[str] = set()
    for folder in ("train_databases", "databases"):
        for path in sorted((DATA / folder).glob("*.sqlite")):
            names.update(names_of(path))
    return frozenset(folded(item) for item in names if len(folded(item)) >= LETTERS_MIN)


def code_constants(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.lineno, node.value


def list_words(document: Any) -> Iterator[str]:
    if isinstance(document, dict):
        for key, value in document.items():
            if isinstance(value, str | int | float):
                yield key
            yield from list_words(value)
    elif isinstance(document, list):
        for item in document:
            yield from list_words(item)
    elif isinstance(document, str):
        yield document


@pytest.mark.data
def test_no_constant_of_the_translators_code_is_a_name_of_the_shared_data(schema_names: frozenset[str]) -> None:
    result = [
        f"{path.name}:{line}: {text!r}"
        for path in sorted(TRANSLATOR.glob("*.py"))
        for line, text in code_constants(path)
        if folded(text) in schema_names and folded(text) not in PYTHON_WORDS
    ]
    assert not result, "\n".join(result)


@pytest.mark.data
def test_words_of_the_lists_that_are_names_as_well_are_plain_dictionary_words(schema_names: frozenset[str]) -> None:
    result = [
        f"{path.name}: {word!r}"
        for path in sorted((TRANSLATOR / "words").glob("*.toml"))
        for word in list_words(tomllib.loads(path.read_text(encoding="utf-8")))
        if folded(word) in schema_names and not re.fullmatch(r"[a-z]+", word)
    ]
    assert not result, "\n".join(result)


@pytest.mark.data
def test_no_question_of_the_shared_data_is_kept_in_the_translator() -> None:
    if not DATA.is_dir():
        pytest.skip(f"no shared data at {DATA}")
    questions = {
        row["question"].strip().lower()
        for file in ("questions_train.json", "questions_dev.json")
        for row in json.loads((DATA / file).read_text(encoding="utf-8"))
    }
    kept = [
        text
        for path in TRANSLATOR.rglob("*")
        if path.suffix in {".py", ".toml"}
        for text in re.findall(r'"([^"\n]{20,})"', path.read_text(encoding="utf-8"))
        if text.strip().lower() in questions
    ]
    assert not kept
