"""Claims on doubts: each kind is found however it is written, what is sound has none, and a reader is asked to look."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus.core.envelope import Envelope
from querybus.core.messages import (
    Analysis,
    Concluded,
    Outcome,
    Result,
    ResultColumn,
    Scalar,
)
from querybus.core.subjects import EventName, StageName
from querybus.text.rows.cells import cell
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_presenter.doubts import Doubt, doubts
from querybus_presenter.present import render
from querybus_presenter.wording.statement import read
from querybus_presenter.wording.texts import load_texts

INTEGER, NUMBER, TEXT, DATE = ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.TEXT, ColumnKind.DATE
SQLITE, POSTGRESQL, MYSQL, DUCKDB = Dialect.SQLITE, Dialect.POSTGRESQL, Dialect.MYSQL, Dialect.DUCKDB


def column(name: str, kind: ColumnKind = TEXT, *values: str) -> Column:
    return Column(name=name, type=kind.value, kind=kind, values=values, values_complete=bool(values))


TABLES = (
    Table(
        name="clubs",
        columns=(
            column("club_id", INTEGER),
            column("name"),
            column("budget", NUMBER),
            column("town", TEXT, "Bern", "Lyon"),
        ),
        primary_key=("club_id",),
        unique_keys=(("name",),),
    ),
    Table(
        name="players",
        columns=(
            column("player_id", INTEGER),
            column("club_id", INTEGER),
            column("name"),
            column("goals", INTEGER),
            column("games", INTEGER),
            column("weight", NUMBER),
            column("born", DATE),
            column("level", TEXT, "pro", "amateur"),
            column("shirt", TEXT, "7", "10", "23", "4"),
        ),
        primary_key=("player_id",),
        foreign_keys=(ForeignKey(columns=("club_id",), referred_table="clubs", referred_columns=("club_id",)),),
    ),
    Table(
        name="matches",
        columns=(column("match_id", INTEGER), column("club_id", INTEGER), column("income", NUMBER)),
        primary_key=("match_id",),
        foreign_keys=(ForeignKey(columns=("club_id",), referred_table="clubs", referred_columns=("club_id",)),),
    ),
)
JOINED = "clubs AS c JOIN players AS p ON p.club_id = c.club_id"


def found(sql: str, dialect: Dialect = SQLITE, *rows: tuple[Scalar, ...], question: str = "") -> tuple[Doubt, ...]:
    result = None
    if rows:
        names = [item.alias_or_name or "x" for item in (read(sql, dialect) or pytest.fail(sql)).expressions]
        columns = tuple(ResultColumn(name=name, kind=ColumnKind.OTHER) for name in names)
        result = Result(columns=columns, rows=rows, row_count=len(rows))
    return doubts(
        read(sql, dialect), Catalog(connection="c", dialect=dialect, tables=TABLES), result, question=question
    )


SEEDED: dict[Doubt, list[tuple[Any, ...]]] = {
    Doubt.WHOLE_DIVISION: [
        ("SELECT SUM(goals) / SUM(games) FROM players",),
        ("SELECT COUNT(CASE WHEN goals > 5 THEN 1 END) / COUNT(*) FROM players",),
        ("SELECT SUM(CASE WHEN level = 'pro' THEN 1 ELSE 0 END) * 100 / COUNT(*) AS share FROM players", POSTGRESQL),
        ("SELECT name, goals / games FROM players",),
        ("SELECT (SELECT COUNT(*) FROM players WHERE goals > 5) / (SELECT COUNT(*) FROM players) FROM clubs",),
        ("WITH t AS (SELECT COUNT(*) AS a, SUM(goals) AS b FROM players) SELECT a / NULLIF(b, 0) FROM t",),
        ("SELECT c.name, SUM(p.goals) / COUNT(p.player_id) FROM " + JOINED + " GROUP BY c.name", POSTGRESQL),
    ],
    Doubt.MULTIPLIED: [
        ("SELECT SUM(c.budget) FROM " + JOINED,),
        ("SELECT AVG(c.budget) FROM players AS p JOIN clubs AS c ON c.club_id = p.club_id WHERE p.goals > 5",),
        (
            "SELECT c.town, SUM(c.budget) FROM clubs c LEFT JOIN players p ON c.club_id = p.club_id GROUP BY c.town",
            MYSQL,
        ),
        ("SELECT SUM(budget) FROM clubs JOIN matches ON clubs.club_id = matches.club_id", DUCKDB),
        ("SELECT town, total FROM (SELECT c.town, SUM(c.budget) AS total FROM " + JOINED + " GROUP BY c.town) AS x",),
        ("SELECT SUM(c.budget * 2) FROM " + JOINED, POSTGRESQL),
    ],
    Doubt.BARE_YEAR: [
        ("SELECT name FROM players WHERE born > '2025'",),
        ("SELECT name FROM players WHERE born = 2001", MYSQL),
        ("SELECT COUNT(*) FROM players WHERE goals > 3 AND born >= 1999",),
        ("SELECT name FROM players WHERE born < '2000' OR goals = 1", DUCKDB),
    ],
    Doubt.UNGROUPED: [
        ("SELECT name, COUNT(*) FROM players",),
        ("SELECT level, name, SUM(goals) FROM players GROUP BY level", MYSQL),
        ("SELECT c.town, p.name, AVG(p.goals) FROM " + JOINED + " GROUP BY c.town",),
        ("SELECT shirt, level, COUNT(*) AS n FROM players GROUP BY 2 ORDER BY n DESC",),
    ],
    Doubt.NO_VALUES: [
        ("SELECT AVG(goals) FROM players WHERE level = 'pro'", SQLITE, (None,)),
        ("SELECT name, born FROM players", SQLITE, (None, None), (None, None)),
    ],
    Doubt.SHARE_ABOVE_ONE: [
        ("SELECT SUM(goals) * 1.0 / SUM(games) AS share FROM players", SQLITE, (3.5,)),
        ("SELECT 100.0 * SUM(goals) / SUM(games) AS percentage FROM players", SQLITE, (340.0,)),
        (
            "SELECT level, SUM(weight) / 70.0 AS proportion FROM players GROUP BY level",
            DUCKDB,
            ("pro", 0.2),
            ("x", 1.5),
        ),
        ("SELECT SUM(goals) * 1.0 / SUM(games) AS 占比 FROM players", DUCKDB, (2.0,)),
    ],
    Doubt.OTHER_COLUMN: [
        ("SELECT COUNT(*) FROM players WHERE level = '10'",),
        ("SELECT p.name FROM " + JOINED + " WHERE c.town = 'pro'", POSTGRESQL),
        ("SELECT p.name FROM " + JOINED + " WHERE p.level = 'lyon' AND p.goals > 2",),
    ],
    Doubt.TIE: [
        ("SELECT name, goals FROM players ORDER BY goals DESC LIMIT 3", SQLITE, ("a", 9), ("b", 7), ("c", 7)),
        ("SELECT level, COUNT(*) AS n FROM players GROUP BY 1 ORDER BY 2 DESC LIMIT 2", SQLITE, ("a", 7), ("c", 7)),
        ("SELECT level, COUNT(*) AS n FROM players GROUP BY 1 ORDER BY n LIMIT 2", SQLITE, ("a", 7), ("c", 7)),
    ],
    Doubt.NUMBERS_AS_TEXT: [
        ("SELECT name FROM players ORDER BY shirt",),
        ("SELECT MAX(shirt) FROM players",),
        ("SELECT name FROM players WHERE shirt > '9'",),
        ("SELECT name FROM players ORDER BY shirt DESC LIMIT 1", POSTGRESQL),
    ],
}
ASKED_FOR_ANOTHER = [
    ("How many clubs have a player over 30?", "SELECT COUNT(*) FROM players WHERE goals > 30"),
    ("how many different matches were there?", "SELECT COUNT(club_id) FROM clubs"),
    ("How many players are there?", "SELECT COUNT(*) FROM clubs"),
]
SOUND = [
    ("SELECT SUM(goals) * 1.0 / SUM(games) FROM players",),
    ("SELECT CAST(SUM(goals) AS REAL) / COUNT(*) FROM players",),
    ("SELECT SUM(goals) / SUM(games) FROM players", DUCKDB),
    ("SELECT goals / 10 * 10 AS decade, COUNT(*) FROM players GROUP BY 1",),
    ("SELECT SUM(p.goals) FROM " + JOINED,),
    ("SELECT c.name, SUM(p.weight) FROM " + JOINED + " GROUP BY c.name",),
    ("SELECT c.club_id, c.name, COUNT(*) FROM " + JOINED + " GROUP BY c.club_id",),
    ("SELECT c.name, c.town, COUNT(*) FROM " + JOINED + " GROUP BY p.club_id",),
    ("SELECT name, MAX(goals) FROM players",),
    ("SELECT name FROM players WHERE born >= '2025-01-01'",),
    ("SELECT COUNT(*) FROM players WHERE level = 'pro'", SQLITE, (3,)),
    ("SELECT name FROM players ORDER BY CAST(shirt AS INTEGER)",),
    ("SELECT name, goals FROM players ORDER BY goals DESC LIMIT 3", SQLITE, ("a", 9), ("b", 8), ("c", 7)),
    ("SELECT 100.0 * SUM(goals) / SUM(games) AS percentage FROM players", SQLITE, (40.0,)),
]


@pytest.mark.parametrize(
    ("doubt", "seed"),
    [(doubt, seed) for doubt, seeds in SEEDED.items() for seed in seeds],
    ids=lambda item: str(item)[:80],
)
def test_a_seeded_fault_is_found(doubt: Doubt, seed: tuple[Any, ...]) -> None:
    assert doubt in found(*seed)


@pytest.mark.parametrize(("question", "sql"), ASKED_FOR_ANOTHER)
def test_rows_of_another_table_than_the_one_that_is_asked_for_are_doubted(question: str, sql: str) -> None:
    assert found(sql, question=question) == (Doubt.OTHER_THING,)


@pytest.mark.parametrize("sound", SOUND, ids=lambda item: str(item)[:80])
def test_what_is_sound_has_no_doubt(sound: tuple[Any, ...]) -> None:
    assert found(*sound) == ()


def test_every_doubt_is_seeded_and_has_its_sentence() -> None:
    assert {*SEEDED, Doubt.OTHER_THING} == set(Doubt)
    for texts in load_texts().values():
        assert set(texts.doubts) == {doubt.value for doubt in Doubt}


def test_a_reader_is_asked_to_look_and_the_answer_is_no_longer_sure() -> None:
    body = Concluded(
        outcome=Outcome.ANSWERED,
        stage=StageName.EXECUTOR,
        sql="SELECT SUM(goals) / SUM(games) AS share FROM players",
        dialect=SQLITE,
        result=Result(columns=(ResultColumn(name="share", kind=INTEGER),), rows=((0,),), row_count=1),
        analysis=Analysis(confidence=0.95),
    )
    envelope = Envelope[Concluded](
        event=EventName.CONCLUDED,
        query_id="q",
        thread_id="t",
        tenant="acme",
        user="ann",
        audience="business",
        connection="c",
        question="share of goals per game",
        language="en",
        asked_at=0,
        deadline_at=60_000,
        body=body,
    )
    catalog = Catalog(connection="c", dialect=SQLITE, tables=TABLES)
    answer = render(envelope, catalog, load_texts()["en", "business"]).body.answer
    assert any("whole numbers are divided" in note for note in answer.notes)
    assert answer.confidence == 0.4
    # The doubt says what to check; that the reading may be another is not said beside it.
    assert "not certain" not in answer.explanation


SHARED = Path(os.environ.get("QUERYBUS_DATA", Path(__file__).parents[4] / "shared" / "data")) / "spider"


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason=f"no shared data in {SHARED}; set QUERYBUS_DATA")
def test_of_running_statements_that_people_wrote_at_most_two_in_a_hundred_are_doubted() -> None:
    counts: Counter[str] = Counter()
    catalogs: dict[str, Catalog] = {}
    for entry in json.loads((SHARED / "questions_train.json").read_text()):
        file = SHARED / "train_databases" / f"{entry['db_id']}.sqlite"
        if not file.exists():
            continue
        catalog = catalogs.setdefault(entry["db_id"], open_sqlite_catalog(file, entry["db_id"]))
        with sqlite3.connect(file) as connection:
            connection.text_factory = lambda data: data.decode(errors="replace")
            try:
                cursor = connection.execute(entry["gold"])
                rows = tuple(tuple(cell(value) for value in row) for row in cursor.fetchmany(200))
            except sqlite3.Error:
                continue
        columns = tuple(ResultColumn(name=item[0], kind=ColumnKind.OTHER) for item in cursor.description)
        result = Result(columns=columns, rows=rows, row_count=len(rows))
        counts["all"] += 1
        counts["doubted"] += bool(doubts(read(entry["gold"], SQLITE), catalog, result, question=entry["question"]))
    assert counts["all"] > 3_000
    assert counts["doubted"] / counts["all"] <= 0.02, counts
