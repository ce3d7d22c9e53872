"""The built-in translator knows no database by heart.

Names that at least three databases of the shared data use are ordinary language, and so are the phrases of ORDINARY. Beside
those, no phrase of several words in the translator's code or word lists equals the name of a database, table or column of the
shared data; case, underscores and spaces do not matter, docstrings are no constants. One plain word may be a name as
well ("age", "customer").
"""

from __future__ import annotations

import ast
import json
import os
import re
import sqlite3
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRANSLATOR = ROOT / "libs" / "translator" / "src" / "querybus_translator"
DATA = Path(os.environ.get("QUERYBUS_DATA", ROOT.parent / "shared" / "data")) / "spider"
LETTERS_MIN = 2
MODULES_MIN, LISTS_MIN = 30, 10
DATABASES_MIN = 3
"""So many databases use a name that belongs to none of them."""
# How people call dates, names and addresses in any database.
ORDINARY = frozenset({
    "day of week", "time of day", "end date", "release date", "full name", "family name", "personal name", "zip code",
    "assigned to",
})  # fmt: skip


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
def rare_names() -> frozenset[str]:
    """Return the names that one or two databases of the shared data use, folded."""
    if not DATA.is_dir():
        pytest.skip(f"no shared data at {DATA}")
    users: Counter[str] = Counter()
    for folder in ("train_databases", "databases"):
        for path in sorted((DATA / folder).glob("*.sqlite")):
            users.update({folded(item) for item in names_of(path)})
    ordinary = {folded(item) for item in ORDINARY}
    return frozenset(
        name
        for name, used in users.items()
        if len(name) >= LETTERS_MIN and used < DATABASES_MIN and name not in ordinary
    )


def is_phrase(text: str) -> bool:
    """Whether a text is more than one plain word."""
    return re.fullmatch(r"[A-Za-z]+", text.strip(" _")) is None


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
def test_no_phrase_of_the_translators_code_is_a_name_of_the_shared_data(rare_names: frozenset[str]) -> None:
    paths = sorted(TRANSLATOR.rglob("*.py"))
    assert len(paths) > MODULES_MIN
    result = [
        f"{path.name}:{line}: {text!r}"
        for path in paths
        for line, text in code_constants(path)
        if folded(text) in rare_names and is_phrase(text)
    ]
    assert not result, "\n".join(result)


@pytest.mark.data
def test_no_phrase_of_the_word_lists_is_a_name_of_the_shared_data(rare_names: frozenset[str]) -> None:
    paths = sorted((TRANSLATOR / "words").glob("*.toml"))
    assert len(paths) > LISTS_MIN
    result = [
        f"{path.name}: {word!r}"
        for path in paths
        for word in list_words(tomllib.loads(path.read_text(encoding="utf-8")))
        if folded(word) in rare_names and is_phrase(word)
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
    paths = [path for path in TRANSLATOR.rglob("*") if path.suffix in {".py", ".toml"}]
    assert len(paths) > MODULES_MIN
    kept = [
        text
        for path in paths
        for text in re.findall(r'"([^"\n]{20,})"', path.read_text(encoding="utf-8"))
        if text.strip().lower() in questions
    ]
    assert not kept
