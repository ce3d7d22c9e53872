"""Claims about the built-in translator, on a small library that no benchmark knows: each answer is run and its rows compared."""

from __future__ import annotations

import sqlite3
from datetime import date

import pytest

from querybus.core.asking_back import Trigger
from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus_translator import NotRead, Translated, translate

TODAY = date(2026, 6, 30)
_KINDS = {"INTEGER": ColumnKind.INTEGER, "REAL": ColumnKind.NUMBER, "TEXT": ColumnKind.TEXT, "DATE": ColumnKind.DATE}

SCHEMA = """
CREATE TABLE reading_rooms (room_id INTEGER PRIMARY KEY, roomTitle TEXT, floor INTEGER);
CREATE TABLE readers (reader_id INTEGER PRIMARY KEY, full_name TEXT, home_town TEXT, age INTEGER, joined DATE,
    room_id INTEGER REFERENCES reading_rooms (room_id));
CREATE TABLE volumes (volume_id INTEGER PRIMARY KEY, title TEXT, genre TEXT, shelf_price REAL, printed_year INTEGER);
CREATE TABLE lendings (lending_id INTEGER PRIMARY KEY, reader_id INTEGER REFERENCES readers (reader_id),
    volume_id INTEGER REFERENCES volumes (volume_id), lent_on DATE, fine_amount REAL);
INSERT INTO reading_rooms VALUES (1, 'North Hall', 1), (2, 'South Hall', 2);
INSERT INTO readers VALUES (1, 'Ada Stone', 'Lyon', 31, '2025-11-02', 1), (2, 'Bo Reed', 'Lyon', 45, '2024-02-01', 1),
    (3, 'Cy Marsh', 'Porto', 19, '2026-05-20', 2), (4, 'Di Frost', 'Turin', 62, '2023-07-07', 2);
INSERT INTO volumes VALUES (1, 'Deep Water', 'Novel', 12.5, 1999), (2, 'Red Clay', 'History', 30.0, 2010),
    (3, 'Tall Grass', 'Novel', 8.0, 2015), (4, 'Old Maps', 'History', 55.0, 1987);
INSERT INTO lendings VALUES (1, 1, 1, '2026-05-03', 0.0), (2, 1, 2, '2026-05-09', 1.5), (3, 2, 1, '2025-12-01', 2.0),
    (4, 3, 3, '2026-06-11', 0.5), (5, 1, 3, '2026-06-12', 0.0);
"""
ZH = {
    "reading_rooms": "阅览室", "reading_rooms.roomTitle": "阅览室名称", "readers": "读者", "readers.full_name": "姓名",
    "readers.home_town": "城市", "readers.age": "年龄", "volumes": "图书", "volumes.title": "书名",
    "volumes.genre": "类别", "volumes.shelf_price": "价格", "volumes.printed_year": "出版年份", "lendings": "借阅记录",
    "lendings.lent_on": "借阅日期", "lendings.fine_amount": "罚款金额",
}  # fmt: skip


def library() -> tuple[Catalog, sqlite3.Connection]:
    rows = sqlite3.connect(":memory:")
    rows.executescript(SCHEMA)
    tables: list[Table] = []
    for (name,) in rows.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = [
            Column(
                name=column,
                type=kind,
                kind=_KINDS[kind],
                display_names={"zh": ZH[f"{name}.{column}"]} if f"{name}.{column}" in ZH else {},
                values=tuple(item for (item,) in rows.execute(f'SELECT DISTINCT "{column}" FROM "{name}"'))
                if kind == "TEXT"
                else (),
            )
            for _, column, kind, *_ in rows.execute(f'PRAGMA table_info("{name}")').fetchall()
        ]
        keys = tuple(
            ForeignKey(columns=(own,), referred_table=table, referred_columns=(theirs,))
            for _, _, table, own, theirs, *_ in rows.execute(f'PRAGMA foreign_key_list("{name}")').fetchall()
        )
        tables.append(
            Table(
                name=name,
                columns=tuple(columns),
                primary_key=(columns[0].name,),
                foreign_keys=keys,
                display_names={"zh": ZH[name]},
                row_estimate=5,
            )
        )
    glossary = {"夜猫子": "年龄小于20的读者"}
    return Catalog(connection="library", dialect=Dialect.SQLITE, tables=tuple(tables), glossary=glossary), rows


def answer(question: str) -> list[tuple[object, ...]]:
    catalog, rows = library()
    read = translate(question, catalog, today=TODAY)
    assert isinstance(read, Translated), read
    return rows.execute(read.sql).fetchall()


ANSWERS: dict[str, list[tuple[object, ...]]] = {
    "readers per home town": [("Lyon", 2), ("Porto", 1), ("Turin", 1)],
    "readers for each home town": [("Lyon", 2), ("Porto", 1), ("Turin", 1)],
    "How many volumes per genre?": [("History", 2), ("Novel", 2)],
    "average age per home town": [("Lyon", 38.0), ("Porto", 19.0), ("Turin", 62.0)],
    "How many readers are in each home town, top 1?": [("Lyon", 2)],
    # Of lendings per reader in a month the month is that of the lending, not that in which the reader joined.
    "2026年5月每个读者的借阅记录数": [("Ada Stone", 2)],
    "每个城市的读者": [("Lyon", 2), ("Porto", 1), ("Turin", 1)],
    "各城市读者数量": [("Lyon", 2), ("Porto", 1), ("Turin", 1)],
    "读者城市": [("Lyon",), ("Lyon",), ("Porto",), ("Turin",)],
    "How many readers are there?": [(4,)],
    "有多少个读者？": [(4,)],
    "读者有多少": [(4,)],
    "List the titles of all volumes": [("Deep Water",), ("Red Clay",), ("Tall Grass",), ("Old Maps",)],
    "What is the average age of readers from Lyon?": [(38.0,)],
    "读者的平均年龄是多少？": [(39.25,)],
    "Show the title and shelf price of volumes printed after 2005": [("Red Clay", 30.0), ("Tall Grass", 8.0)],
    "Which volumes have a shelf price between 10 and 40?": [("Deep Water",), ("Red Clay",)],
    "价格在10到40之间的图书": [("Deep Water",), ("Red Clay",)],
    "Names of readers who are not from Lyon": [("Cy Marsh",), ("Di Frost",)],
    "readers older than 40": [("Bo Reed",), ("Di Frost",)],
    "年龄大于40岁的读者": [("Bo Reed",), ("Di Frost",)],
    "Who is the oldest reader?": [("Di Frost",)],
    "top 2 volumes by shelf price": [("Old Maps",), ("Red Clay",)],
    "价格最高的2本图书": [("Old Maps",), ("Red Clay",)],
    "What is the highest shelf price?": [(55.0,)],
    "How many volumes are there for each genre?": [("History", 2), ("Novel", 2)],
    "每个类别有多少图书？": [("History", 2), ("Novel", 2)],
    "Which readers have never made a lending?": [("Di Frost",)],
    "没有借阅记录的读者": [("Di Frost",)],
    "Titles of volumes that have no lendings": [("Old Maps",)],
    "names of readers with more than 2 lendings": [("Ada Stone",)],
    "Which reader has the most lendings?": [("Ada Stone",)],
    "借阅记录最多的读者": [("Ada Stone",)],
    "How many lendings were there last month?": [(2,)],
    "上个月的借阅记录有多少": [(2,)],
    "total fine amount in 2026": [(2.0,)],
    "2026年的罚款金额总和": [(2.0,)],
    "volumes with a shelf price above the average": [("Red Clay",), ("Old Maps",)],
    "价格高于平均价格的图书": [("Red Clay",), ("Old Maps",)],
    'Titles of volumes that contain "Gr"': [("Tall Grass",)],
    "titles of volumes in ascending order of shelf price": [
        ("Tall Grass",), ("Deep Water",), ("Red Clay",), ("Old Maps",)
    ],
    "按价格降序列出图书": [("Old Maps",), ("Red Clay",), ("Deep Water",), ("Tall Grass",)],
    "How many different home towns do readers have?": [(3,)],
    "readers from Lyon or Porto": [("Ada Stone",), ("Bo Reed",), ("Cy Marsh",)],
    "Names of readers in the North Hall": [("Ada Stone",), ("Bo Reed",)],
    "夜猫子有哪些": [("Cy Marsh",)],
    "最近三个月加入的读者": [("Cy Marsh",)],
}  # fmt: skip


@pytest.mark.parametrize("question", ANSWERS)
def test_a_plain_question_about_a_database_never_seen_is_answered_right(question: str) -> None:
    ordered = any(word in question for word in ("order", "top", "按", "最高"))
    got, expected = answer(question), ANSWERS[question]
    assert got == expected if ordered else sorted(map(repr, got)) == sorted(map(repr, expected))


def test_an_average_is_taken_over_rows_and_not_over_their_joins() -> None:
    # Ada has three lendings, Bo and Cy one each: a plain join would count her age three times.
    assert answer("What is the average age of readers who have a lending?") == [((31 + 45 + 19) / 3,)]


def test_a_count_over_a_join_that_fans_out_counts_each_row_once() -> None:
    assert answer("How many readers have lendings?") == [(3,)]


@pytest.mark.parametrize(
    "question",
    [
        "delete all readers",
        "please drop the volumes",
        "Update the age of readers to 3",
        "请删除所有读者",
        "把所有图书的价格修改为0",
        "清空借阅记录",
    ],
)
def test_a_command_to_change_data_is_never_translated(question: str) -> None:
    catalog, _ = library()
    assert isinstance(translate(question, catalog, today=TODAY), NotRead)


@pytest.mark.parametrize("question", ["各类别图书数，降序", "各城市读者数，降序", "number of genres per genre"])
def test_a_figure_of_what_its_rows_are_grouped_by_is_no_answer(question: str) -> None:
    read = translate(question, library()[0], today=TODAY)
    assert isinstance(read, NotRead) or "DISTINCT" not in read.sql


def test_a_word_that_cannot_be_read_is_named() -> None:
    catalog, _ = library()
    read = translate("How many zebras are in the readers?", catalog, today=TODAY)
    assert isinstance(read, NotRead)
    assert "zebras" in read.about


def test_a_question_about_something_else_misses_the_database() -> None:
    catalog, _ = library()
    read = translate("What will the weather be?", catalog, today=TODAY)
    assert isinstance(read, NotRead)
    assert read.trigger is Trigger.MISSING_DATABASE_INFO


def test_a_word_without_an_exact_meaning_is_asked_about() -> None:
    catalog, _ = library()
    read = translate("重要读者有哪些", catalog, today=TODAY)
    assert isinstance(read, NotRead)
    assert read.about == "重要"


@pytest.mark.parametrize("question", ["What will the weather be?", "重要读者有哪些", "flurb"])
def test_every_option_can_be_asked_as_it_stands(question: str) -> None:
    catalog, _ = library()
    read = translate(question, catalog, today=TODAY)
    assert isinstance(read, NotRead)
    assert 1 <= len(read.options) <= 2
    for option in read.options:
        assert isinstance(translate(option, catalog, today=TODAY), Translated), option


def test_the_same_question_gives_the_same_answer() -> None:
    catalog, _ = library()
    one = translate("How many volumes are there for each genre?", catalog, today=TODAY)
    assert one == translate("How many volumes are there for each genre?", library()[0], today=TODAY)


@pytest.mark.parametrize(
    "question", ["", "   ", "?", "x" * 20_000, "'", '"""', "。。。", "count count count of of the"]
)
def test_odd_input_is_not_read_and_raises_nothing(question: str) -> None:
    catalog, _ = library()
    assert isinstance(translate(question, catalog, today=TODAY), NotRead)


def test_an_empty_catalog_is_not_read() -> None:
    assert isinstance(translate("How many?", Catalog(connection="none", dialect=Dialect.SQLITE), today=TODAY), NotRead)


@pytest.mark.parametrize("dialect", list(Dialect))
def test_sql_is_written_in_the_catalogs_dialect(dialect: Dialect) -> None:
    catalog, _ = library()
    read = translate("top 2 volumes by shelf price", catalog.model_copy(update={"dialect": dialect}), today=TODAY)
    assert isinstance(read, Translated)
    assert ("`volumes`" in read.sql) == (dialect in {Dialect.MYSQL, Dialect.BIGQUERY})


def test_the_reading_and_the_links_say_how_each_word_was_read() -> None:
    catalog, _ = library()
    read = translate("What is the average age of readers from Lyon?", catalog, today=TODAY)
    assert isinstance(read, Translated)
    assert (
        read.reading == "average of readers.age | of readers | where readers.home_town = 'Lyon'"
        or "Lyon" in read.reading
    )
    assert {(link.text, link.column, link.value) for link in read.links} >= {("Lyon", "home_town", "Lyon")}
    assert 0 <= read.confidence <= 1


def test_a_term_that_prose_explains_replaces_no_word_of_the_question() -> None:
    known, _ = library()
    prose = {"夜猫子": "凡是经常在深夜才出没的那些人", "Lyon readers": "whoever frequents the branch most evenings"}
    catalog = Catalog.model_validate(
        {name: getattr(known, name) for name in Catalog.model_fields} | {"glossary": prose}
    )
    asked = translate("夜猫子有哪些", catalog, today=TODAY)
    assert isinstance(asked, NotRead)
    assert "深夜" not in asked.about
    read = translate("How many Lyon readers are there?", catalog, today=TODAY)
    assert not isinstance(read, NotRead) or "evenings" not in read.about


def test_a_defined_term_is_replaced_by_its_meaning_and_said_so() -> None:
    catalog, _ = library()
    read = translate("夜猫子有哪些", catalog, today=TODAY)
    assert isinstance(read, Translated)
    assert read.notes == ("夜猫子: 年龄小于20的读者",)
