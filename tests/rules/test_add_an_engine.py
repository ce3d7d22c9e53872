"""A made-up engine is added by the list in CONTRIBUTING: the type checker finds each table, and then everything speaks it.

Trino stands for it, which sqlglot reads. Its facts are PostgreSQL's: what is tried is the list of files, not Trino.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
ENGINES: Final = "libs/common/src/querybus/engines"
PROMPTS: Final = "services/generator/src/querybus_generator/prompts/markdown/dialects"
EXECUTOR: Final = "services/executor/src/querybus_executor"
FORMS: Final = "libs/semantic/src/querybus_semantic/compiling/forms.py"
MEMBERS: Final = ("libs/common", "libs/semantic", "services/generator", "services/executor")
FILES_MAX: Final = 15

# What is added to each file, in pairs: the text that stands before it, or the file that a new one is copied from.
ADDED: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    f"{ENGINES}/dialect.py": (('    BIGQUERY = "bigquery"\n', '    TRINO = "trino"\n'),),
    f"{ENGINES}/__init__.py": (
        (
            "            return BIGQUERY\n",
            "        case Dialect.TRINO:\n            return TRINO\n",
        ),
    ),
    FORMS: (("            return _BIGQUERY\n", "        case Dialect.TRINO:\n            return _POSTGRESQL\n"),),
    f"{EXECUTOR}/engines/registry.py": (
        (
            "                return self._bigquery(config, metrics)\n",
            "            case Dialect.TRINO:\n                return self._postgres(config, metrics)\n",
        ),
    ),
    f"{EXECUTOR}/connections/writers.py": (
        (
            "            case Dialect.CLICKHOUSE | Dialect.ORACLE | Dialect.SNOWFLAKE | Dialect.BIGQUERY:\n                return None\n",
            "            case Dialect.TRINO:\n                return None\n",
        ),
    ),
    f"{EXECUTOR}/connections/access_report.py": (
        (
            "            reader = ORACLE_READER\n",
            "        case Dialect.TRINO:\n            reader = ()\n",
        ),
    ),
    f"{EXECUTOR}/connections/database_url.py": (
        ('    "bigquery": Dialect.BIGQUERY,\n', '    "trino": Dialect.TRINO,\n'),
        (
            '            return frozenset({"location", "credentials_file", "bytes_billed_max", "endpoint"})\n',
            "        case Dialect.TRINO:\n            return frozenset()\n",
        ),
    ),
}
COPIED: Final = {
    f"{ENGINES}/trino.py": f"{ENGINES}/postgres.py",
    f"{PROMPTS}/trino.en.md": f"{PROMPTS}/postgres.en.md",
    f"{PROMPTS}/trino.zh.md": f"{PROMPTS}/postgres.zh.md",
}
TABLES: Final = ADDED.keys() - {f"{ENGINES}/dialect.py"}
"""Where a dialect without a line is a type error."""


def named_files() -> list[str]:
    """Return the files that CONTRIBUTING names for an engine, with <engine> as it is written there."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text[text.index("## How to add an engine") : text.index("## How to add a repair rule")]
    return list(dict.fromkeys(path for path in re.findall(r"`([^`\s]+)`", section) if "/" in path))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of the sources that an engine is in."""
    for member in MEMBERS:
        shutil.copytree(ROOT / member / "src", tmp_path / member / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def add_member(tree: Path, name: str) -> None:
    text = (tree / name).read_text()
    for before, line in ADDED[name]:
        assert text.count(before) == 1, (name, before)
        text = text.replace(before, before + line)
    (tree / name).write_text(text)


def add_engine(tree: Path) -> None:
    for name in ADDED:
        add_member(tree, name)
    for name, other in COPIED.items():
        (tree / name).write_text((tree / other).read_text().replace("POSTGRESQL", "TRINO"))
    init = tree / ENGINES / "__init__.py"
    line = "from querybus.engines.sqlite import SQLITE\n"
    init.write_text(init.read_text().replace(line, f"{line}from querybus.engines.trino import TRINO\n"))


def errors(tree: Path) -> set[str]:
    """Return the files in which the type checker finds an error."""
    settings = {
        "include": [*TABLES, f"{ENGINES}/*.py"],
        "extraPaths": [f"{member}/src" for member in MEMBERS],
        "venvPath": str(ROOT),
        "venv": ".venv",
        "typeCheckingMode": "basic",
    }
    (tree / "pyrightconfig.json").write_text(json.dumps(settings))
    run = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--outputjson", "--level", "error"],
        cwd=tree,
        capture_output=True,
        check=False,
        text=True,
        timeout=300,
    )
    report = json.loads(run.stdout)
    assert report["summary"]["filesAnalyzed"] >= len(TABLES)
    return {str(Path(item["file"]).resolve().relative_to(tree.resolve())) for item in report["generalDiagnostics"]}


def run(tree: Path, code: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(str(tree / member / "src") for member in MEMBERS)
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path},
    )


def test_the_list_is_short_and_names_files_that_exist() -> None:
    files = named_files()
    sources = [ROOT, *(ROOT.glob("*/*/src/querybus*")), ROOT / PROMPTS.removesuffix("/dialects")]
    assert 0 < len(files) <= FILES_MAX
    for file in files:
        written = file.replace("<engine>", "postgres")
        assert any((source / written).exists() for source in sources), file


def test_the_list_names_every_file_that_is_touched() -> None:
    files = [file.replace("<engine>", "trino") for file in named_files()]
    assert {
        name for name in (*ADDED, *COPIED) if not any(name.endswith(f"/{file}") or name == file for file in files)
    } == set()


def test_a_dialect_without_its_records_does_not_even_load(tree: Path) -> None:
    add_member(tree, f"{ENGINES}/dialect.py")
    result = run(tree, "import querybus.engines")
    assert result.returncode == 1
    assert "trino" in result.stderr


CODE: Final = """
import datetime
from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import Checked, check
from querybus.sql.conditions.today import with_today
from querybus.sql.names.quoting import quoted_name
from querybus_semantic.compiling.dates import literal
from querybus_semantic.compiling.forms import FORMS
from querybus_semantic.layer.definitions import Type
from querybus_generator.prompts.texts import load_texts
from querybus_executor.connections.database_url import DIALECTS, read_url
import querybus_executor.connections.access_report, querybus_executor.connections.writers, querybus_executor.engines.registry

trino = Dialect("trino")
shop = Catalog(connection="c", dialect=trino, tables=(Table(name="orders", columns=(Column(name="city", type="TEXT"),)),))
checked = check("SELECT count(*) FROM orders", dialect=trino, catalog=shop, policy=ConnectionPolicy(), row_limit=9)
assert isinstance(checked, Checked), checked
print(checked.sql)
print(quoted_name("Unit Price", trino), with_today("SELECT :today", trino, datetime.date(2026, 5, 1)))
print(literal(datetime.date(2026, 5, 1), Type.DATE, trino).sql("trino"), FORMS[trino].monday)
assert all(texts.prompt.dialects["trino"] for texts in load_texts().values())
print(DIALECTS["trino"], read_url("trino://reader:secret@warehouse/sales", {}, {}).url.host)
"""


def test_an_engine_that_is_added_by_the_list_is_spoken_everywhere(tree: Path) -> None:
    add_engine(tree)
    result = run(tree, CODE)
    assert result.stdout.splitlines() == [
        "SELECT COUNT(*) FROM orders LIMIT 10",
        "\"Unit Price\" SELECT DATE '2026-05-01'",
        "CAST('2026-05-01' AS DATE) 1",
        "trino warehouse",
    ], result.stderr


@pytest.mark.slow
def test_the_type_checker_names_each_table_that_a_dialect_lacks_and_nothing_else(tree: Path) -> None:
    add_member(tree, f"{ENGINES}/dialect.py")
    assert errors(tree) == TABLES
    shutil.copy(ROOT / ENGINES / "dialect.py", tree / ENGINES / "dialect.py")
    add_engine(tree)
    assert errors(tree) == set()
