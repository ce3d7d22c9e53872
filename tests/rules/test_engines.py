"""A fact of an engine stands in its record: no other file decides by the name of a dialect, and none has a silent default."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
RECORDS: Final = frozenset(
    f"libs/common/src/querybus/engines/{name}.py"
    for name in ("sqlite", "duckdb", "postgres", "mysql", "clickhouse", "oracle", "snowflake", "bigquery")
)
TABLES: Final = {
    "libs/common/src/querybus/engines/__init__.py": "the record of each dialect",
    "libs/semantic/src/querybus_semantic/compiling/forms.py": "the forms of dates of each dialect",
    "services/executor/src/querybus_executor/engines/registry.py": "the edge of each dialect",
    "services/executor/src/querybus_executor/connections/access_report.py": "what each engine tells of a user",
    "services/executor/src/querybus_executor/connections/database_url.py": "the schemes of addresses",
    "services/executor/src/querybus_executor/connections/writers.py": "the writer of each dialect",
}
"""Each has one line for every dialect: a match that ends in assert_never, or a table of all."""
OWN: Final = {
    "cli/src/querybus_cli/evaluation/asking.py": "the databases of evaluations are SQLite's",
    "cli/src/querybus_cli/evaluation/linking.py": "the databases of evaluations are SQLite's",
    "cli/src/querybus_cli/terminal/words.py": "a catalog of which only the words are read",
    "services/executor/src/querybus_executor/engines/duckdb/edge.py": "the engine's own edge",
    "services/executor/src/querybus_executor/engines/mysql/write.py": "the engine's own writer",
    "services/executor/src/querybus_executor/engines/sqlite/edge.py": "the engine's own edge",
    "services/executor/src/querybus_executor/engines/sqlite/introspect.py": "the engine's own catalog",
    "services/generator/src/querybus_generator/prompts/general_examples.py": "the examples are written in SQLite's dialect",
    "services/generator/src/querybus_generator/prompts/texts.py": "a catalog with which every text is tried",
}
"""Files that say which dialect something of their own is in, and decide nothing by it. This list only gets shorter."""


def sources() -> list[Path]:
    found = [path for folder in ("libs", "services", "cli") for path in (ROOT / folder).glob("**/src/**/*.py")]
    assert len(found) > 100
    return sorted(path for path in found if not path.is_relative_to(ROOT / "libs/client"))


def is_member(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "Dialect"
        and node.attr.isupper()
    )


def is_dialect(node: ast.AST) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name == "dialect" or is_member(node)


def parts_of(key: ast.expr) -> list[ast.expr]:
    """Return a key, the members of a key that is a tuple, and what a `.value` is of."""
    parts = key.elts if isinstance(key, ast.Tuple) else [key]
    return [part.value if isinstance(part, ast.Attribute) and part.attr == "value" else part for part in parts]


def ends_in_assert_never(node: ast.Match) -> bool:
    calls = [item.value for item in node.cases[-1].body if isinstance(item, ast.Expr)]
    return any(isinstance(call, ast.Call) and ast.unparse(call.func) == "assert_never" for call in calls)


def breaches(tree: ast.AST) -> Iterator[str]:
    """Yield the places where a dialect decides something, or falls into a default."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            is_membership = isinstance(node.ops[0], ast.In | ast.NotIn) and is_dialect(node.left)
            if is_membership or any(is_member(side) for side in sides):
                yield ast.unparse(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            if any(is_dialect(part) for item in node.args[:1] for part in parts_of(item)):
                yield ast.unparse(node)
        elif isinstance(node, ast.Set | ast.Tuple | ast.List):
            if sum(is_member(item) for item in node.elts) > 0:
                yield ast.unparse(node)
        elif isinstance(node, ast.Dict):
            if any(key is not None and is_member(key) for key in node.keys):
                yield ast.unparse(node)
        elif isinstance(node, ast.Match) and is_dialect(node.subject) and not ends_in_assert_never(node):
            yield f"match {ast.unparse(node.subject)} without assert_never"


def test_no_file_decides_by_a_dialect_and_none_has_a_silent_default() -> None:
    found = {str(path.relative_to(ROOT)): list(breaches(ast.parse(path.read_text()))) for path in sources()}
    assert len(found) > 100
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_only_records_and_tables_of_all_engines_name_dialects(capsys: pytest.CaptureFixture[str]) -> None:
    naming = {
        str(path.relative_to(ROOT))
        for path in sources()
        if any(is_member(node) for node in ast.walk(ast.parse(path.read_text())))
    }
    with capsys.disabled():
        decide = len(naming & (RECORDS | set(TABLES)))
        print(
            f"\n{len(naming)} files name a dialect: {decide} hold facts of engines, {len(naming) - decide} name their own"
        )
    assert naming == RECORDS | set(TABLES) | set(OWN)


@pytest.mark.parametrize(
    "code",
    [
        "x = NAMES.get(dialect)",
        "x = NAMES.get((self.dialect, name), ())",
        "x = dialect in _SETS",
        "x = catalog.dialect is Dialect.SQLITE",
        "x = dialect != Dialect.ORACLE",
        "x = frozenset({Dialect.SQLITE})",
        "x = {Dialect.SQLITE: 1}",
        "match dialect:\n    case Dialect.SQLITE:\n        x = 1\n    case _:\n        x = 2",
    ],
)
def test_the_rule_finds_every_form(code: str) -> None:
    assert list(breaches(ast.parse(code)))
