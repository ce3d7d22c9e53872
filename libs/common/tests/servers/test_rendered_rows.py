"""What QueryBus writes gives the rows of what was written: a seeded part of `make bench-render`, on each engine itself."""

from __future__ import annotations

import random

import pytest

from benchmarks.bench_render import ENGINES_HERE, compare
from benchmarks.render_statements import combined, each_part
from querybus.core.catalog import Dialect

STATEMENTS = 70


@pytest.mark.parametrize("dialect", ENGINES_HERE, ids=str)
def test_a_rendered_statement_gives_the_rows_of_the_written_one(dialect: Dialect) -> None:
    parts = random.Random(20_261).sample(list(each_part(dialect)), STATEMENTS)
    with ENGINES_HERE[dialect]() as run:
        outcome = compare(dialect, run, iter([*parts, *combined(dialect, 20, seed=7)]))
    assert outcome.different == []
    assert outcome.counts["equal"] > STATEMENTS // 2, outcome.counts


def test_a_difference_is_found() -> None:
    def run(sql: str) -> list[tuple[object, ...]]:
        return [("LIMIT" in sql,)]

    assert compare(Dialect.SQLITE, run, iter(["SELECT name FROM people"])).counts["different"] == 1
