"""Claims on which table is joined for a lacking column: never one that multiplies what is counted, the one that fits."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.messages import Draft, Origin, RuleName
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.pipeline import distinguished, repairs

SCHEMA = """
CREATE TABLE city (city_id INTEGER PRIMARY KEY, name TEXT, region TEXT);
CREATE TABLE label (label_id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE maker (maker_id INTEGER PRIMARY KEY, brand TEXT, city_id INTEGER REFERENCES city (city_id));
CREATE TABLE model (model_id INTEGER PRIMARY KEY, title TEXT, brand INTEGER REFERENCES maker (maker_id),
  price INTEGER, home_id INTEGER REFERENCES city (city_id), label_id INTEGER REFERENCES label (label_id));
CREATE TABLE sale (sale_id INTEGER PRIMARY KEY, model_id INTEGER REFERENCES model (model_id), sold_on TEXT,
  amount INTEGER, shop_id INTEGER REFERENCES shop (shop_id));
CREATE TABLE shop (shop_id INTEGER PRIMARY KEY, shop_name TEXT, floor TEXT);
CREATE TABLE game (game_id INTEGER PRIMARY KEY, home_team INTEGER REFERENCES team (team_id),
  away_team INTEGER REFERENCES team (team_id), score INTEGER);
CREATE TABLE team (team_id INTEGER PRIMARY KEY, team_name TEXT);
INSERT INTO city VALUES (1, 'Bern', 'north'), (2, 'Rome', 'south');
INSERT INTO label VALUES (1, 'eco'), (2, 'plain');
INSERT INTO maker VALUES (1, 'Volta', 1), (2, 'Ampere', 2);
INSERT INTO model VALUES (1, 'One', 1, 10, 2, 1), (2, 'Two', 1, 20, 1, 2), (3, 'Three', 2, 30, 1, 1);
INSERT INTO shop VALUES (1, 'Corner', 'first'), (2, 'Mall', 'second');
INSERT INTO sale VALUES (1, 1, '2024-01-01', 5, 1), (2, 1, '2024-02-01', 6, 2), (3, 2, '2024-02-02', 7, 2);
INSERT INTO game VALUES (1, 1, 2, 3), (2, 2, 1, 4);
INSERT INTO team VALUES (1, 'Reds'), (2, 'Blues');
"""
HELD = {
    ("maker", "brand"): ("Volta", "Ampere"),
    ("city", "name"): ("Bern", "Rome"),
    ("city", "region"): ("north", "south"),
    ("label", "name"): ("eco", "plain"),
}


def engine() -> sqlite3.Connection:
    opened = sqlite3.connect(":memory:")
    opened.executescript(SCHEMA)
    return opened


def catalog() -> Catalog:
    opened = engine()
    tables: list[Table] = []
    for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        rows = opened.execute(f"PRAGMA table_info({name})").fetchall()
        columns = tuple(
            Column(
                name=row[1],
                type=row[2],
                kind=ColumnKind.TEXT if row[2] == "TEXT" else ColumnKind.INTEGER,
                values=HELD.get((name, row[1]), ()),
                values_complete=(name, row[1]) in HELD,
            )
            for row in rows
        )
        keys = tuple(
            ForeignKey(columns=(row[3],), referred_table=row[2], referred_columns=(row[4],))
            for row in opened.execute(f"PRAGMA foreign_key_list({name})").fetchall()
        )
        tables.append(
            Table(name=name, columns=columns, primary_key=tuple(r[1] for r in rows if r[5]), foreign_keys=keys)
        )
    return Catalog(connection="cars", dialect=Dialect.SQLITE, tables=tuple(tables))


CATALOG = catalog()


def check(sql: str) -> Failure | None:
    try:
        engine().execute(f"EXPLAIN {sql}")
    except sqlite3.OperationalError as error:
        result = re.search(r"no such column: (?:(\w+)\.)?(.+)", str(error))
        facts = Facts(name=result[2], qualifier=result[1]) if result else Facts()
        return Failure.of(FailureCode.COLUMN_NOT_FOUND if result else FailureCode.SYNTAX_ERROR, str(error), facts)
    return None


def first(sql: str, question: str = "") -> tuple[str, list[tuple[Any, ...]]]:
    """Return the nearest repair of a broken statement and its rows."""
    failure = check(sql)
    assert failure is not None
    draft = Draft(sql=sql, dialect=Dialect.SQLITE, origin=Origin.MODEL)
    repair = repairs(draft, failure, CATALOG, check=check, question=question)[0]
    return repair.sql, engine().execute(repair.sql).fetchall()


@pytest.mark.parametrize(
    ("broken", "rows"),
    [
        # what is asked for are the rows of the table that refers to the named one
        ("SELECT title, sold_on FROM model", 3),
        ("SELECT title FROM model ORDER BY amount DESC LIMIT 1", 1),
        ("SELECT title, SUM(amount) FROM model GROUP BY title", 2),
        # over a table between
        ("SELECT title, shop_name FROM model", 3),
    ],
)
def test_a_column_of_the_referring_rows_brings_these_rows(broken: str, rows: int) -> None:
    assert len(first(broken)[1]) == rows


def test_what_is_aggregated_of_the_named_table_is_never_multiplied() -> None:
    assert first("SELECT SUM(price) FROM model WHERE sold_on > '2024-01-15'")[1] == [(30,)]
    assert first("SELECT COUNT(*) FROM model WHERE amount > 0")[1] == [(2,)]


def test_rows_counted_in_groups_of_a_key_are_those_that_refer_to_it() -> None:
    rows = first("SELECT title, COUNT(*) FROM model WHERE amount > 0 GROUP BY model_id")[1]
    assert sorted(rows) == [("One", 2), ("Two", 1)]


def test_of_two_owners_the_one_that_holds_the_value_is_joined() -> None:
    for value, table in (("Bern", "city"), ("eco", "label")):
        assert f"JOIN {table} " in first(f"SELECT title FROM model WHERE name = '{value}'")[0]


def test_a_text_is_not_compared_with_a_number_where_another_owner_has_texts() -> None:
    sql, rows = first("SELECT sale_id FROM sale WHERE brand = 'Volta'")
    assert rows == [(1,), (2,), (3,)], sql


def test_a_value_is_looked_for_beside_the_named_column_that_is_known_not_to_hold_it() -> None:
    sql, rows = first("SELECT title FROM model WHERE name = 'north'")
    assert (rows, "city.region = 'north'" in sql) == ([("Two",), ("Three",)], True), sql


def test_what_rows_are_grouped_by_says_which_table_names_them() -> None:
    for key, table in (("label_id", "label"), ("home_id", "city")):
        assert f"JOIN {table} " in first(f"SELECT name, COUNT(*) FROM model GROUP BY {key}")[0]


def test_the_question_says_which_of_several_owners_or_keys_is_meant() -> None:
    assert "JOIN label " in first("SELECT title, name FROM model", "Show each model with its label.")[0]
    assert "JOIN city " in first("SELECT title, name FROM model", "Show each model with its city.")[0]
    for side in ("home", "away"):
        sql = first("SELECT score, team_name FROM game", f"Scores of the {side} teams?")[0]
        assert f"game.{side}_team = team.team_id" in sql


def test_a_rename_that_would_say_nothing_gives_way_to_a_join() -> None:
    # The output would be the value that the rows are fixed to, and each group one row.
    assert "JOIN" in first("SELECT name FROM model WHERE title = 'One'")[0]


def test_two_names_never_become_one_column() -> None:
    failure = check("SELECT titel, titles FROM model")
    assert failure is not None
    draft = Draft(sql="SELECT titel, titles FROM model", dialect=Dialect.SQLITE, origin=Origin.MODEL)
    assert all("title, title" not in repair.sql for repair in repairs(draft, failure, CATALOG, check=check))


def test_rivals_count_only_where_the_question_reports_them_apart() -> None:
    def rival(table: str) -> Candidate:
        return Candidate(RuleName.JOIN_ALIAS, table, keeps_meaning=False, brings=(table,), is_rival=True)

    one, other = rival("city"), rival("label")
    assert distinguished((one, other), frozenset()) == ()
    assert [attempt.sql for attempt in distinguished((one, other), frozenset({"label"}))] == ["label"]
    assert distinguished((one, other), frozenset({"label", "city"})) == ()
    assert [attempt.sql for attempt in distinguished((one,), frozenset())] == ["city"]


def test_a_numbered_alias_was_joined_to_an_earlier_one() -> None:
    sql = "SELECT T2.name FROM model AS T1 JOIN maker AS T3 ON T1.brand = T3.maker_id WHERE T2.region = 'north'"
    assert "JOIN city AS T2 ON T1.home_id = T2.city_id" in first(sql)[0]


def test_of_two_columns_as_near_the_question_says_which_and_else_none_is_taken() -> None:
    sql = "SELECT team FROM game"
    assert "home_team" in first(sql, "Which teams played at home?")[0]
    assert "away_team" in first(sql, "Which teams played away?")[0]
    failure = check(sql)
    assert failure is not None
    assert repairs(Draft(sql=sql, dialect=Dialect.SQLITE, origin=Origin.MODEL), failure, CATALOG, check=check) == ()


def test_a_column_that_the_block_names_already_is_not_meant_by_another_name() -> None:
    assert "home_team, away_team" in first("SELECT home_team, team FROM game")[0]
