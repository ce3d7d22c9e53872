"""Answers that are right by themselves stay right on their way through every stage, however a model lays them out."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import aclosing
from itertools import cycle
from pathlib import Path

import pytest

from querybus.core.catalog import Dialect
from querybus.core.policy import ConnectionPolicy
from querybus.sql.conditions.missing_value import as_held
from querybus_cli.evaluation.asking import Judged
from querybus_cli.evaluation.evaluate import REPLAY, evaluate
from querybus_cli.evaluation.items import Item
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from tests.support.corpora import draw
from tests.support.wrappings import WRAPPINGS

DATA = Path(os.environ.get("QUERYBUS_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")) / "spider"

pytestmark = [
    pytest.mark.data,
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"no shared data in {DATA}; set QUERYBUS_DATA"),
]


async def judged_of(items: Sequence[Item], databases: Path) -> list[Judged]:
    async with aclosing(evaluate([(item,) for item in items], databases, REPLAY, cross_check=True)) as results:
        return [judged async for judged in results]


def names_what_is_not_there(item: Item, databases: Path) -> bool:
    """Whether a reference compares with a text that its column has in another form, so that it finds nothing for it."""
    catalog = open_sqlite_catalog(databases / f"{item.database}.sqlite")
    return bool(as_held(item.gold or "", Dialect.SQLITE, catalog, ConnectionPolicy()).changed)


# Thousands of statements: no claim here depends on the time that a busy machine takes for them.
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("questions", "databases"), [("questions_dev.json", "databases"), ("questions_train.json", "train_databases")]
)
async def test_no_reference_statement_is_changed_refused_or_lost(questions: str, databases: str) -> None:
    rows = json.loads((DATA / questions).read_text("utf-8"))
    every = [
        Item(
            id=f"{number} {name}",
            database=row["db_id"],
            question=row["question"],
            gold=row["gold"],
            pred=WRAPPINGS[name](row["gold"]),
        )
        for number, (row, name) in enumerate(zip(rows, cycle(WRAPPINGS), strict=False))
    ]
    items = draw(every)
    judged = await judged_of(items, DATA / databases)
    by_id = {item.id: item for item in items}
    assert all(item.first_right for item in judged)
    lost = [by_id[item.id] for item in judged if not item.final_right]
    assert len(lost) <= 0.01 * len(items)
    assert [item.id for item in lost if not names_what_is_not_there(item, DATA / databases)] == []


async def test_no_right_answer_of_a_published_model_is_lost() -> None:
    items = [
        Item(
            id=f"{file.stem} {number}",
            database=row["db_id"],
            question=row["question"],
            gold=row["gold"],
            pred=row["pred"],
        )
        for file in sorted((DATA / "replay").glob("*.jsonl"))
        for number, row in enumerate(map(json.loads, file.read_text("utf-8").splitlines()))
    ]
    drawn = draw(items)
    judged = await judged_of(drawn, DATA / "databases")
    # Most of the published answers are right, so that the claim is about many.
    assert sum(item.first_right for item in judged) > len(drawn) / 3
    assert [item.id for item in judged if item.is_broken] == []
