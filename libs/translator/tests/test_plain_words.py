"""What people ask of a plain database in their own words: each is answered with the right rows, or asked back, never wrong."""

from __future__ import annotations

import sqlite3
from datetime import date
from functools import lru_cache

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, ColumnProfile, Dialect, ForeignKey, Table
from querybus_translator import NotRead, Translated, translate

_TODAY = date(2026, 6, 30)
_ROWS = """
CREATE TABLE cabin_types (type_id INTEGER PRIMARY KEY, name TEXT, price_per_night REAL, max_guests INTEGER);
CREATE TABLE cabins (cabin_id INTEGER PRIMARY KEY, deck INTEGER, type_id INTEGER, has_balcony INTEGER);
CREATE TABLE guests (guest_id INTEGER PRIMARY KEY, full_name TEXT, country TEXT, birth_date DATE, vip INTEGER, joined_on DATE);
CREATE TABLE bookings (booking_id INTEGER PRIMARY KEY, guest_id INTEGER, cabin_id INTEGER, check_in DATE, check_out DATE,
  status TEXT, channel TEXT, insured TEXT);
CREATE TABLE staff (staff_id INTEGER PRIMARY KEY, full_name TEXT, role TEXT, salary INTEGER, manager_id INTEGER);
CREATE TABLE reviews (review_id INTEGER PRIMARY KEY, booking_id INTEGER, rating INTEGER, written_on DATE);
CREATE TABLE repairs (repair_id INTEGER PRIMARY KEY, cabin_id INTEGER, repaired_on DATE, minutes INTEGER, workshop TEXT);
INSERT INTO repairs VALUES (1, 1, '2025-01-01', 100, 'Nord'), (2, 2, '2025-02-01', 50, 'Nord'), (3, 2, '2025-03-01', 70, 'Sud');
INSERT INTO cabin_types VALUES (1, 'single', 80, 1), (2, 'suite', 300, 4);
INSERT INTO cabins VALUES (1, 1, 1, 1), (2, 1, 2, 0), (3, 2, 2, 0);
INSERT INTO guests VALUES (1, 'Ann', 'Germany', '1990-01-01', 1, '2024-01-01'), (2, 'Bob', 'France', '1980-01-01', 0, '2025-06-01'),
  (3, 'Cid', 'Spain', '2000-01-01', 0, '2023-01-01');
INSERT INTO bookings VALUES (1, 1, 1, '2025-07-01', '2025-08-02', 'completed', 'phone', 'Y'),
  (2, 1, 2, '2025-06-20', '2025-07-02', 'cancelled', 'phone', 'N'), (3, 2, 3, '2025-07-10', '2025-07-12', 'completed', 'web', 'N'),
  (4, 1, 3, '2025-09-10', '2025-09-12', 'completed', 'web', 'N');
INSERT INTO staff VALUES (1, 'Mia', 'manager', 5000, NULL), (2, 'Noa', 'cook', 3000, 1), (3, 'Ole', 'cook', 4000, 1);
INSERT INTO reviews VALUES (1, 1, 5, '2025-08-05'), (2, 3, 2, '2025-07-20');
"""
_KINDS = {"INTEGER": ColumnKind.INTEGER, "REAL": ColumnKind.NUMBER, "TEXT": ColumnKind.TEXT, "DATE": ColumnKind.DATE}
_REFERENCES = {
    "cabins": (("type_id", "cabin_types"),),
    "bookings": (("guest_id", "guests"), ("cabin_id", "cabins")),
    "staff": (("manager_id", "staff"),),
    "reviews": (("booking_id", "bookings"),),
    "repairs": (("cabin_id", "cabins"),),
}
_KEYS = {
    "cabin_types": "type_id", "cabins": "cabin_id", "guests": "guest_id", "bookings": "booking_id", "staff": "staff_id",
    "reviews": "review_id", "repairs": "repair_id",
}  # fmt: skip
_HELD = frozenset({"name", "country", "status", "channel", "role", "insured", "workshop"})


def _rows() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    database.executescript(_ROWS)
    return database


@lru_cache(maxsize=1)
def _ship() -> Catalog:
    database = _rows()

    def column(table: str, name: str, kind: str) -> Column:
        held = [row[0] for row in database.execute(f"SELECT DISTINCT {name} FROM {table}")] if name in _HELD else []
        least, most = database.execute(f"SELECT MIN({name}), MAX({name}) FROM {table}").fetchone()
        profile = ColumnProfile(value_min=str(least), value_max=str(most)) if kind == "INTEGER" else None
        return Column(name=name, type=kind, kind=_KINDS[kind], values=tuple(held), profile=profile)

    tables = tuple(
        Table(
            name=table,
            columns=tuple(column(table, row[1], row[2]) for row in database.execute(f"PRAGMA table_info({table})")),
            primary_key=(key,),
            foreign_keys=tuple(
                ForeignKey(columns=(own,), referred_table=other, referred_columns=(_KEYS[other],))
                for own, other in _REFERENCES.get(table, ())
            ),
        )
        for table, key in _KEYS.items()
    )
    return Catalog(connection="ship", dialect=Dialect.SQLITE, tables=tables)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many VIP guests do we have?", [(1,)]),
        ("VIP guests", [("Ann",)]),
        ("Which guests are VIP?", [("Ann",)]),
        ("non-VIP guests", [("Bob",), ("Cid",)]),
        ("How many cabins have a balcony?", [(1,)]),
        ("How many cabins have no balcony?", [(2,)]),
        ("有多少VIP客人？", [(1,)]),
        ("Cabins per deck", [(1, 2), (2, 1)]),
        ("cabins by deck", [(1, 2), (2, 1)]),
        ("How many guests have more than 1 booking?", [(1,)]),
        ("Guests from Germany and France", [("Ann",), ("Bob",)]),
        ("How many bookings have a check-out in July 2025?", [(2,)]),
        ("How many bookings have check_in in July 2025?", [(2,)]),
        ("Average number of bookings per guest", [(2.0,)]),
        ("Which month had the most bookings?", [("2025-07",)]),
        ("Which cabin types cost more than 100 per night?", [("suite",)]),
        ("How many single cabins are there?", [(1,)]),
        ("the newest guest", [("Bob",)]),
        ("How many bookings are insured?", [(1,)]),
        ("How many bookings were not insured?", [(3,)]),
        ("share of insured bookings", [(25.0,)]),
        (
            "Bookings by status and channel",
            [("cancelled", "phone", 1), ("completed", "phone", 1), ("completed", "web", 2)],
        ),
        ("Completed bookings per channel", [("phone", 1), ("web", 2)]),
        ("How many bookings were completed?", [(3,)]),
        ("Repair minutes by workshop", [("Nord", 150), ("Sud", 70)]),
        ("Guests and their number of bookings", [("Ann", 3), ("Bob", 1)]),
    ],
)
def test_plain_words_are_answered_right(question: str, answer: list[tuple[object, ...]]) -> None:
    found = translate(question, _ship(), today=_TODAY)
    assert not isinstance(found, NotRead), found
    assert sorted(_rows().execute(found.sql).fetchall(), key=str) == answer


def test_the_latest_of_a_thing_is_the_row_that_came_last() -> None:
    found = translate("Latest review", _ship(), today=_TODAY)
    assert not isinstance(found, NotRead)
    assert found.sql.endswith('ORDER BY "written_on" DESC LIMIT 1')


def test_over_2000_of_what_adds_up_is_no_year() -> None:
    found = translate("Repairs over 2000", _ship(), today=_TODAY)
    assert not isinstance(found, NotRead)
    assert found.sql.endswith('WHERE "minutes" > 2000')


def _projects() -> tuple[sqlite3.Connection, Catalog]:
    database = sqlite3.connect(":memory:")
    database.executescript(
        """CREATE TABLE 项目 (编号 INTEGER PRIMARY KEY, 项目名称 TEXT, 开始日期 DATE, 状态 TEXT, 是否延期 INTEGER);
        INSERT INTO 项目 VALUES (1, '甲', '2025-01-01', '进行中', 1), (2, '乙', '2025-01-01', '已完成', 0),
          (3, '丙', '2026-02-01', '进行中', 0);"""
    )
    columns = (
        Column(name="编号", type="INTEGER", kind=ColumnKind.INTEGER),
        Column(name="项目名称", type="TEXT", kind=ColumnKind.TEXT),
        Column(name="开始日期", type="DATE", kind=ColumnKind.DATE),
        Column(name="状态", type="TEXT", kind=ColumnKind.TEXT, values=("进行中", "已完成")),
        Column(
            name="是否延期",
            type="INTEGER",
            kind=ColumnKind.INTEGER,
            profile=ColumnProfile(value_min="0", value_max="1"),
        ),
    )
    table = Table(name="项目", columns=columns, primary_key=("编号",))
    return database, Catalog(connection="projects", dialect=Dialect.SQLITE, tables=(table,))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("进行中的项目有几个？", [(2,)]),
        ("延期的项目有几个？", [(1,)]),
        ("2025年开始了多少项目？", [(2,)]),
    ],
)
def test_chinese_values_and_flags_are_read_whole(question: str, answer: list[tuple[object, ...]]) -> None:
    database, catalog = _projects()
    found = translate(question, catalog, today=_TODAY)
    assert not isinstance(found, NotRead), found
    assert database.execute(found.sql).fetchall() == answer


@pytest.mark.parametrize(
    "question",
    [
        "How much did each guest spend?",
        "Top 5 guests by total spending",
        "oldest booking",
        "Guests born in May",
    ],
)
def test_what_would_be_answered_wrong_is_asked_back(question: str) -> None:
    assert isinstance(translate(question, _ship(), today=_TODAY), NotRead)


def test_an_ordinal_before_a_superlative_asks_for_the_figure_itself() -> None:
    found = translate("Second highest salary", _ship(), today=_TODAY)
    assert isinstance(found, Translated), found
    assert found.sql.startswith('SELECT "salary" FROM "staff" WHERE "salary" < (SELECT MAX("salary")')


def test_a_kind_of_persons_beside_a_figure_of_theirs_is_listed_by_name() -> None:
    found = translate("Managers and their salaries", _ship(), today=_TODAY)
    assert isinstance(found, Translated), found
    assert found.sql == """SELECT "full_name", "salary" FROM "staff" WHERE "role" = 'manager'"""
