"""Every rule on every broken text over every catalog, its own or another database's, returns and raises nothing."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from querybus.core.catalog import Catalog, Column, Dialect, ForeignKey, Table
from querybus.core.failure import TRAITS, Facts, Failure, FailureCode
from querybus.core.messages import Draft, Origin
from querybus_recovery.rules.pipeline import RULES

DATA = Path(os.environ.get("QUERYBUS_DATA", Path(__file__).resolve().parents[4] / "shared" / "data")) / "spider"
PAIRS: Final = 100_000 if os.environ.get("QUERYBUS_WHOLE_CORPORA") else 25_000
PIECES: Final = "AS ( ) , T1. T2 JOIN GROUP_BY x \" ' `` ON COUNT(*) . SELECT WITH UNION = FROM , LIMIT".split()  # noqa: SIM905
CODES: Final = [code for code in FailureCode if TRAITS[code].by_rule]


def mutated(sql: str, dice: random.Random) -> str:
    words = sql.split(" ")
    for _ in range(dice.randint(0, 3)):
        place, other, chance = dice.randrange(len(words)), dice.randrange(len(words)), dice.random()
        if chance < 0.3 and len(words) > 1:
            words.pop(place)
        elif chance < 0.6:
            words.insert(place, dice.choice(PIECES).replace("_", " "))
        elif chance < 0.85:
            words[place], words[other] = words[other], words[place]
        else:
            words[place] = words[other]
    return " ".join(words)


def catalog_of(path: Path) -> Catalog:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        tables: list[Table] = []
        for name in names:
            rows = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
            links = connection.execute(f'PRAGMA foreign_key_list("{name}")').fetchall()
            tables.append(
                Table(
                    name=name,
                    columns=tuple(Column(name=row[1], type=row[2]) for row in rows),
                    primary_key=tuple(row[1] for row in rows if row[5]),
                    foreign_keys=tuple(
                        ForeignKey(columns=(link[3],), referred_table=link[2], referred_columns=(link[4] or link[3],))
                        for link in links
                    ),
                )
            )
    return Catalog(connection=path.stem, dialect=Dialect.SQLITE, tables=tuple(tables))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a.city FROM customers AS a JOIN orders AS a ON a.id = a.customer_id",
        "SELECT AVG(x) FROM MIN(x), MAX(x), customers WHERE y >= 2011",
        "SELECT c FROM (SELECT id, COUNT(*) AS n FROM customers id, BY id) AS m",
    ],
)
def test_a_name_for_two_sources_raises_nothing(sql: str) -> None:
    catalog = Catalog(
        connection="shop",
        dialect=Dialect.SQLITE,
        tables=tuple(
            Table(name=name, columns=(Column(name="id", type="INTEGER"), Column(name="city", type="TEXT")))
            for name in ("customers", "orders")
        ),
    )
    for code in CODES:
        for name in (None, "a.id", "customers", "x"):
            for rule in RULES:
                rule(
                    Draft(sql=sql, dialect=Dialect.SQLITE, origin=Origin.MODEL),
                    Failure.of(code, facts=Facts(name=name)),
                    catalog,
                )


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason=f"no shared data in {DATA}; set QUERYBUS_DATA")
def test_no_broken_text_over_any_catalog_makes_a_rule_raise() -> None:
    dice = random.Random(20_261_122)
    catalogs = [catalog_of(path) for path in sorted((DATA / "databases").glob("*.sqlite"))]
    catalogs += [catalog_of(path) for path in sorted((DATA / "train_databases").glob("*.sqlite"))[::4]]
    texts = [item["gold"] for item in json.loads((DATA / "questions_dev.json").read_text())]
    for file in sorted((DATA / "replay").glob("*.jsonl")):
        texts += [row["pred"] for row in map(json.loads, file.read_text().splitlines()) if row.get("error")]
    raised: list[str] = []
    for _ in range(PAIRS):
        sql, catalog = mutated(dice.choice(texts), dice), dice.choice(catalogs)
        table = dice.choice(catalog.tables)
        name = dice.choice([None, dice.choice(sql.split() or ["x"]), table.name, f"T1.{table.columns[0].name}"])
        draft = Draft(sql=sql, dialect=dice.choice([Dialect.SQLITE, *Dialect]), origin=Origin.MODEL)
        failure = Failure.of(dice.choice(CODES), facts=Facts(name=name))
        for rule in RULES:
            try:
                rule(draft, failure, catalog)
            except Exception as error:  # noqa: BLE001 - each is one to put right, so all are listed
                raised.append(f"{rule.__name__} {type(error).__name__} {error}: {sql}")
    assert raised == []
