"""Answers that are right by themselves stay right on their way through every stage, however a model lays them out."""

from __future__ import annotations

import json
import os
from contextlib import aclosing
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from querybus_cli.evaluation.evaluate import REPLAY, evaluate, totals
from querybus_cli.evaluation.items import Item
from tests.support.wrappings import WRAPPINGS

DATA = Path(os.environ.get("QUERYBUS_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")) / "spider"

pytestmark = [
    pytest.mark.data,
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"no shared data in {DATA}; set QUERYBUS_DATA"),
]


async def figures_of(items: list[Item], databases: Path) -> dict[str, Any]:
    async with aclosing(evaluate([(item,) for item in items], databases, REPLAY)) as results:
        return totals([judged async for judged in results])


@pytest.mark.parametrize(
    ("questions", "databases"), [("questions_dev.json", "databases"), ("questions_train.json", "train_databases")]
)
async def test_no_reference_statement_is_changed_refused_or_lost(questions: str, databases: str) -> None:
    rows = json.loads((DATA / questions).read_text("utf-8"))
    items = [
        Item(
            id=f"{number} {name}",
            database=row["db_id"],
            question=row["question"],
            gold=row["gold"],
            pred=WRAPPINGS[name](row["gold"]),
        )
        for number, (row, name) in enumerate(zip(rows, cycle(WRAPPINGS), strict=False))
    ]
    figures = await figures_of(items, DATA / databases)
    assert figures["first_right"] == figures["final_right"] == len(items)
    assert figures["broken_items"] == figures["crashed_items"] == []


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
    figures = await figures_of(items, DATA / "databases")
    assert figures["first_right"] > 1_000
    assert figures["broken_items"] == figures["crashed_items"] == []
