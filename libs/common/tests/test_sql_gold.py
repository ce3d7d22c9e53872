"""Claims on the shared data: no attack passes, nothing honest is refused, and our text returns the reference's rows."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.sql import resolve
from querybus.sql.check import Checked, check, check_in_doubt
from querybus_cli.evaluation.check_statements import catalog_of

DATA = Path(os.environ.get("QUERYBUS_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
POLICY = ConnectionPolicy()
ROWS_MAX = 10_000
EVERY = 12
"""Of the reference statements, each twelfth is also run."""

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not (DATA / "guard").is_dir(), reason=f"no shared data in {DATA}; set QUERYBUS_DATA"),
]


STEPS = pytest.mark.parametrize(
    "step", [pytest.param(10, id="each tenth"), pytest.param(1, id="all", marks=pytest.mark.slow)]
)
"""A tenth of a large corpus where time is short."""


@STEPS
def test_the_guards_corpus_is_judged_as_expected(step: int) -> None:
    document = json.loads((DATA / "guard" / "catalog.json").read_text())
    wrong: list[str] = []
    for line in (DATA / "guard" / "statements.jsonl").read_text().splitlines()[::step]:
        statement = json.loads(line)
        dialect = Dialect(statement["dialect"])
        decision = check(
            statement["sql"], dialect=dialect, catalog=catalog_of(document, dialect), policy=POLICY, row_limit=ROWS_MAX
        )
        if isinstance(decision, Checked) != (statement["expect"] == "allow"):
            wrong.append(f"{statement['id']} {decision}")
    assert wrong == []


@cache
def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    connection.text_factory = lambda data: data.decode(errors="replace")
    return connection


@cache
def catalog(path: Path) -> Catalog:
    names = connect(path).execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')").fetchall()
    return Catalog(
        connection=path.stem,
        dialect=Dialect.SQLITE,
        tables=tuple(
            Table(
                name=name,
                columns=tuple(
                    Column(name=row[1], type=row[2]) for row in connect(path).execute(f'PRAGMA table_info("{name}")')
                ),
            )
            for (name,) in names
        ),
    )


def rows(path: Path, sql: str) -> list[Any]:
    with closing(connect(path).execute(sql)) as cursor:
        return cursor.fetchmany(ROWS_MAX + 1)


@STEPS
@pytest.mark.parametrize(("questions", "folder"), [("dev", "databases"), ("train", "train_databases")])
def test_every_reference_statement_is_allowed_and_returns_the_same_rows(questions: str, folder: str, step: int) -> None:
    refused: list[str] = []
    different: list[str] = []
    items = json.loads((DATA / "spider" / f"questions_{questions}.json").read_text())
    for number, item in enumerate(items[::step]):
        path = DATA / "spider" / folder / f"{item['db_id']}.sqlite"
        decision = check(item["gold"], dialect=Dialect.SQLITE, catalog=catalog(path), policy=POLICY, row_limit=ROWS_MAX)
        if isinstance(decision, Failure):
            refused.append(f"{item['gold']}: {decision.detail}")
        elif number % EVERY == 0 and rows(path, item["gold"]) != rows(path, decision.sql):
            different.append(f"{item['gold']} -> {decision.sql}")
    assert (refused, different) == ([], [])


COMPARED_EVERY = 10
"""Of reference statements and models' answers, each tenth is resolved both ways."""


@pytest.mark.parametrize("dialect", [Dialect.SQLITE, Dialect.DUCKDB, Dialect.MYSQL, Dialect.POSTGRESQL])
def test_names_that_are_plain_resolve_as_the_parser_would_have_it(
    dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = [
        (item["db_id"], item["gold"]) for item in json.loads((DATA / "spider/questions_dev.json").read_text())
    ]
    for file in sorted((DATA / "spider" / "replay").glob("*.jsonl")):
        statements += [(line["db_id"], line["pred"]) for line in map(json.loads, file.read_text().splitlines())]
    different: list[str] = []
    plain = 0

    def judged(sql: str, known: Catalog) -> str:
        return repr(check_in_doubt(sql, dialect=dialect, catalog=known, policy=POLICY, row_limit=ROWS_MAX))

    quick = resolve.plainly_named
    for database, sql in statements[::COMPARED_EVERY]:
        known = catalog(DATA / "spider" / "databases" / f"{database}.sqlite")
        known = Catalog(connection=database, dialect=dialect, tables=known.tables)
        taken: list[bool] = []

        def noting(*given: Any, taken: list[bool] = taken) -> Any:
            result = quick(*given)
            taken.append(result is not None)
            return result

        monkeypatch.setattr(resolve, "plainly_named", noting)
        both = [judged(sql, known)]
        monkeypatch.setattr(resolve, "plainly_named", lambda *_: None)
        both.append(judged(sql, known))
        plain += any(taken)
        if both[0] != both[1]:
            different.append(f"{sql}: {both}")
    assert different == []
    assert plain
