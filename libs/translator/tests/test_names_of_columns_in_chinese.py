"""Chinese words for what columns of ordinary databases hold, verbs by which rows relate, orders and names by what they say."""

from __future__ import annotations

from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus_translator import NotRead, Translated, translate
from querybus_translator.language.chinese_words import business_words, chinese_words, column_words

TODAY = date(2026, 6, 1)


def column(name: str, kind: ColumnKind = ColumnKind.TEXT) -> Column:
    return Column(name=name, type=kind.value, kind=kind, nullable=False)


def number(name: str) -> Column:
    return column(name, ColumnKind.INTEGER)


def refers(name: str, to: str) -> ForeignKey:
    return ForeignKey(columns=(name,), referred_table=to, referred_columns=(name,))


def college() -> Catalog:
    """Students, the matches that they took part in, and the buildings of the college."""
    student = Table(
        name="student",
        columns=(
            number("student_id"),
            column("first_name"),
            column("last_name"),
            column("hometown"),
            number("weight"),
            number("age"),
        ),
        primary_key=("student_id",),
    )
    match = Table(
        name="match",
        columns=(number("match_id"), column("title"), column("registration_date", ColumnKind.DATE)),
        primary_key=("match_id",),
    )
    entry = Table(
        name="student_match",
        columns=(number("student_id"), number("match_id")),
        primary_key=("student_id", "match_id"),
        foreign_keys=(refers("student_id", "student"), refers("match_id", "match")),
    )
    building = Table(
        name="building",
        columns=(number("building_id"), column("name"), number("floors"), number("height"), number("quantity")),
        primary_key=("building_id",),
    )
    return Catalog(connection="college", dialect=Dialect.SQLITE, tables=(student, match, entry, building))


def sql(question: str) -> str:
    result = translate(question, college(), today=TODAY)
    assert isinstance(result, Translated), (question, result)
    return result.sql


@pytest.mark.parametrize(
    ("chinese", "english"),
    [
        ("学号", "student number"),
        ("票房", "gross"),
        ("军衔", "rank"),
        ("积分", "point"),
        ("湿度", "humidity"),
        ("骑师", "jockey"),
    ],
)
def test_what_a_column_is_called_is_known_where_dictionaries_have_other_words(chinese: str, english: str) -> None:
    assert english in chinese_words(frozenset(english.split()))[chinese]


def test_a_word_of_columns_stands_beside_what_the_dictionary_says() -> None:
    assert {"sell", "sales volume"} <= chinese_words(frozenset({"sales", "volume", "sell"}))["销量"]


def test_a_word_of_columns_says_nothing_that_words_of_work_say_already() -> None:
    for chinese, names in column_words().items():
        assert names
        assert not set(names) & set(business_words().get(chinese, ())), chinese


@pytest.mark.parametrize("verb", ["参加", "报名", "赞助", "评论", "观看", "执教", "收养"])
def test_a_verb_between_two_kinds_says_no_more_than_their_rows_do(verb: str) -> None:
    took_part = sql(f"{verb}过比赛的学生有哪些？")
    assert took_part.startswith('SELECT "first_name", "last_name" FROM "student" WHERE "student_id" IN')
    assert sql(f"哪些学生{verb}了比赛？") == took_part


@pytest.mark.parametrize("verb", ["取消", "退出", "反对", "击败", "拒绝", "完成"])
def test_a_verb_that_says_how_it_ended_is_asked_about(verb: str) -> None:
    assert isinstance(translate(f"哪些学生{verb}了比赛？", college(), today=TODAY), NotRead)


def test_a_verb_before_a_column_is_part_of_its_name() -> None:
    assert isinstance(translate("各场比赛的赞助日期是什么？", college(), today=TODAY), NotRead)


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("按高度由矮到高列出建筑的名称。", '"height" ASC'),
        ("按字母倒序列出所有建筑的名称。", '"name" DESC'),
    ],
)
def test_an_order_is_read_by_what_its_ends_are_called(question: str, order: str) -> None:
    assert sql(question).endswith(f"ORDER BY {order}")


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("列出建筑的名称和楼层数。", 'SELECT "name", "floors" FROM "building"'),
        ("建筑的平均数量是多少？", 'SELECT AVG("quantity") FROM "building"'),
        ("最大的和最小的年龄分别是多少？", 'SELECT MAX("age"), MIN("age") FROM "student"'),
        ("学生的最大年龄和最小年龄分别是多少？", 'SELECT MAX("age"), MIN("age") FROM "student"'),
    ],
)
def test_figures_and_names_are_read_as_they_are_said(question: str, statement: str) -> None:
    assert sql(question) == statement


def test_so_many_or_more_is_at_least_so_many() -> None:
    assert sql("参加过三场或更多比赛的学生叫什么？") == sql("参加过至少三场比赛的学生叫什么？")


def test_how_many_rows_there_are_is_still_counted() -> None:
    assert sql("建筑的数量是多少？") == 'SELECT COUNT(*) FROM "building"'
    assert sql("学生数是多少？") == 'SELECT COUNT(*) FROM "student"'


def test_whoever_lives_in_a_place_is_not_called_so() -> None:
    named = translate("住在Hartford的学生有哪些？", college(), today=TODAY)
    assert isinstance(named, NotRead) or "hometown" in named.sql


def test_what_took_part_and_what_is_in_the_list_of_who_took_part_are_no_rivals() -> None:
    english = translate("Which students took part in matches?", college(), today=TODAY)
    chinese = translate("参加过比赛的学生有哪些？", college(), today=TODAY)
    assert isinstance(english, Translated)
    assert isinstance(chinese, Translated)
    assert english.sql == chinese.sql
