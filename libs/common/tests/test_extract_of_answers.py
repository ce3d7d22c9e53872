"""Published answers of four models in every layout and wrapping: what a model wrote comes out, no line less."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import sqlglot
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure
from querybus.sql.reply.extract import extract
from querybus.sql.reply.typography import plain
from tests.support.corpora import draw
from tests.support.wrappings import FURTHER_WRAPPINGS, WRAPPINGS

DATA = Path(os.environ.get("QUERYBUS_DATA", Path(__file__).resolve().parents[4] / "shared" / "data")) / "spider"

pytestmark = [
    pytest.mark.data,
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"no shared data in {DATA}; set QUERYBUS_DATA"),
]

STATEMENTS_DRAWN = 250
"""Each of them is read in every layout and wrapping."""


@cache
def replayed() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the statements of models that run and those that fail."""
    runs: dict[str, None] = {}
    fails: dict[str, None] = {}
    for file in sorted((DATA / "replay").glob("*.jsonl")):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            if text := row["pred"].strip():
                (fails if row.get("error") else runs)[text] = None
    return tuple(runs), tuple(fails)


@cache
def answers() -> tuple[str, ...]:
    """Return the statements that run, those of the benchmark's authors included."""
    runs = dict.fromkeys(replayed()[0])
    for name in ("questions_dev.json", "questions_train.json"):
        runs |= dict.fromkeys(item["gold"].strip() for item in json.loads((DATA / name).read_text()))
    return tuple(runs)


def written(sql: str, dialect: Dialect, *, quoted: bool) -> str:
    try:
        return sqlglot.transpile(sql, read="sqlite", write=dialect, pretty=not quoted, identify=quoted, comments=False)[
            0
        ]
    except SqlglotError:
        return sql


LAYOUTS: dict[str, Callable[[str], str]] = {
    "as it is": lambda sql: sql,
    "a line for each clause": lambda sql: written(sql, Dialect.SQLITE, quoted=False),
    "an empty line before each clause": lambda sql: re.sub(
        r"\n(?=FROM|WHERE|GROUP|ORDER|LIMIT|JOIN|UNION)", "\n\n", written(sql, Dialect.SQLITE, quoted=False)
    ),
    "an empty line after SELECT": lambda sql: re.sub(r"^SELECT\s+", "SELECT\n\n  ", sql, count=1, flags=re.IGNORECASE),
    "lines that begin with a condition": lambda sql: re.sub(r"\s+(FROM\b|WHERE\b|AND\b|OR\b|\(|=)\s*", r"\n\1 ", sql),
    "names in backticks": lambda sql: written(sql, Dialect.MYSQL, quoted=True),
}


def squeezed(sql: str) -> str:
    return re.sub(r"\s+", "", sql.rstrip("; \n"))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_answer_that_runs_comes_out_whole_however_it_is_laid_out_and_wrapped(layout: str) -> None:
    dialect = Dialect.MYSQL if layout == "names in backticks" else Dialect.SQLITE
    lost: list[tuple[str, str, str | Failure]] = []
    for sql in draw(answers(), STATEMENTS_DRAWN):
        text = LAYOUTS[layout](sql)
        for name, wrap in WRAPPINGS.items():
            result = extract(wrap(text), dialect)
            if isinstance(result, Failure) or squeezed(result) != squeezed(text):
                lost.append((name, text, result))
    assert lost == []


@pytest.mark.parametrize("layout", ["as it is", "a line for each clause"])
def test_an_answer_of_a_model_comes_out_whole_of_whatever_its_server_lays_around_it(layout: str) -> None:
    lost: list[tuple[str, str, str | Failure]] = []
    for sql in draw(replayed()[0], STATEMENTS_DRAWN):
        text = LAYOUTS[layout](sql)
        for name, wrap in FURTHER_WRAPPINGS.items():
            result = extract(wrap(text), Dialect.SQLITE)
            if isinstance(result, Failure) or squeezed(result) != squeezed(text):
                lost.append((name, text, result))
    assert lost == []


def test_an_answer_that_fails_is_not_cut_until_it_reads_as_another() -> None:
    lost: list[tuple[str, str, str | Failure]] = []
    for sql in draw(replayed()[1], STATEMENTS_DRAWN):
        for name, wrap in (WRAPPINGS | FURTHER_WRAPPINGS).items():
            result = extract(wrap(sql), Dialect.SQLITE)
            if isinstance(result, str) and squeezed(result) != squeezed(plain(sql)):
                lost.append((name, sql, result))
    assert lost == []
