"""A Chinese question over a catalog that is named in English: words by a general dictionary, and the grammar of both ends."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, ColumnProfile, Dialect, ForeignKey, Language, Table
from querybus_translator import NotRead, Translated, translate
from querybus_translator.language.chinese_words import chinese_words
from querybus_translator.rewording.plain_forms import rewrite_plain_chinese

TODAY = date(2026, 6, 1)


def key(name: str) -> Column:
    return Column(name=name, type="INTEGER", kind=ColumnKind.INTEGER, nullable=False)


def column(name: str, kind: ColumnKind = ColumnKind.TEXT) -> Column:
    return Column(name=name, type=kind.value, kind=kind, nullable=False)


def refers(to: str, name: str) -> ForeignKey:
    return ForeignKey(columns=(name,), referred_table=to, referred_columns=(name,))


def catalog(names: Mapping[Language, str] | None = None) -> Catalog:
    """Lighthouses, their keepers, and repairs of them."""
    lighthouses = Table(
        name="lighthouse",
        columns=(
            key("lighthouse_id"),
            column("name"),
            column("height", ColumnKind.NUMBER),
            column("total_visitors", ColumnKind.INTEGER),
        ),
        primary_key=("lighthouse_id",),
        display_names=names or {},
    )
    sailors = Table(
        name="sailor",
        columns=(key("sailor_id"), column("name"), column("age", ColumnKind.INTEGER), key("lighthouse_id")),
        primary_key=("sailor_id",),
        foreign_keys=(refers("lighthouse", "lighthouse_id"),),
    )
    weddings = Table(
        name="wedding",
        columns=(key("wedding_id"), key("lighthouse_id"), column("held_on", ColumnKind.DATE)),
        primary_key=("wedding_id",),
        foreign_keys=(refers("lighthouse", "lighthouse_id"),),
    )
    return Catalog(connection="coast", dialect=Dialect.SQLITE, tables=(lighthouses, sailors, weddings))


def sql(question: str) -> str:
    result = translate(question, catalog(), today=TODAY)
    assert isinstance(result, Translated), (question, result)
    return result.sql


def test_words_of_no_list_of_ours_are_found_in_the_dictionary():
    assert "灯塔" in chinese_words(frozenset({"lighthouse"}))
    assert sql("一共有多少座灯塔？") == 'SELECT COUNT(*) FROM "lighthouse"'
    assert sql("水手的平均年龄是多少？") == 'SELECT AVG("age") FROM "sailor"'


def test_traditional_characters_are_read_as_well():
    assert sql("有多少燈塔？") == 'SELECT COUNT(*) FROM "lighthouse"'


def test_words_with_a_meaning_in_a_question_stand_for_no_name():
    assert not {"最多", "去年", "平均", "没有"} & set(chinese_words(frozenset({"most", "maximum", "average", "year"})))


@pytest.mark.parametrize("unit", ["个", "座", "所", "家"])
def test_a_measure_word_belongs_to_what_counts_or_asks(unit: str):
    grouped = sql(f"每{unit}灯塔有多少位水手？")
    assert 'GROUP BY t1."lighthouse_id"' in grouped
    assert "COUNT(*)" in grouped
    assert sql(f"哪{unit}灯塔的高度最高？").endswith('ORDER BY "height" DESC LIMIT 1')


def test_a_verb_that_the_tables_imply_says_nothing():
    assert sql("每座灯塔举办了多少场婚礼？") == sql("每座灯塔有多少场婚礼？")


def test_what_is_asked_for_stands_behind_which_and_what_it_lacks_behind_not():
    without = sql("哪些灯塔没有举办过婚礼？")
    assert without.startswith('SELECT "name" FROM "lighthouse" WHERE NOT "lighthouse_id" IN')
    assert 'FROM "wedding"' in without
    assert sql("没有婚礼的灯塔有哪些？") == without


def test_a_period_dates_what_stands_behind_it():
    dated = sql("哪些灯塔举办过2025年的婚礼？")
    assert dated.startswith('SELECT "name" FROM "lighthouse"')
    assert "'2025-01-01'" in dated


@pytest.mark.parametrize("said", ["最近30天", "近30天", "过去30天"])
def test_the_latest_days_are_a_period_and_no_ranking(said: str):
    assert sql(f"{said}举行了多少场婚礼？") == sql("2026年5月2日到2026年6月1日有多少场婚礼？")


@pytest.mark.parametrize(
    ("said", "first", "behind"),
    [
        ("2026年5月3日到2026年6月1日", "2026-05-03", "2026-06-02"),
        ("从2026年5月3日至2026年6月1日", "2026-05-03", "2026-06-02"),
        ("2024年到2025年", "2024-01-01", "2026-01-01"),
        ("5月3日到6月1日", "2026-05-03", "2026-06-02"),
        ("2025年3月至5月", "2025-03-01", "2025-06-01"),
        ("5月3日到2025年6月1日", "2025-05-03", "2025-06-02"),
        ("11月到2月", "2025-11-01", "2026-03-01"),
        ("2025年第二季度到第三季度", "2025-04-01", "2025-10-01"),
        ("5月", "2026-05-01", "2026-06-01"),
    ],
)
def test_a_range_of_days_is_everything_between_its_ends(said: str, first: str, behind: str):
    where = f"""WHERE "held_on" >= '{first}' AND "held_on" < '{behind}'"""
    assert sql(f"{said}有多少场婚礼？") == f'SELECT COUNT(*) FROM "wedding" {where}'


@pytest.mark.parametrize(("said", "condition"), [("一个", "> 1"), ("两个", ">= 2"), ("3个", ">= 3")])
def test_so_many_and_more_of_something_counts_it(said: str, condition: str):
    assert f"HAVING COUNT(*) {condition}" in sql(f"哪些灯塔有{said}以上的水手？")


def test_the_total_of_a_column_that_counts_is_its_sum():
    assert sql("所有灯塔的游客总数") == 'SELECT SUM("total_visitors") FROM "lighthouse"'


def test_a_sum_of_each_is_not_the_sum_of_all():
    assert "GROUP BY" in sql("total height of each lighthouse")


@pytest.mark.parametrize(
    "question", ["2000年到2005年之间有多少座桥梁建成？", "How many bridges were built from 2000 to 2005?"]
)
def test_a_range_of_years_is_held_against_years_where_a_column_has_no_days(question: str):
    bridges = Table(
        name="bridge",
        columns=(key("bridge_id"), column("name"), column("built_year", ColumnKind.INTEGER)),
        primary_key=("bridge_id",),
    )
    result = translate(question, Catalog(connection="b", dialect=Dialect.SQLITE, tables=(bridges,)), today=TODAY)
    assert isinstance(result, Translated), result
    assert result.sql == 'SELECT COUNT(*) FROM "bridge" WHERE "built_year" >= 2000 AND "built_year" <= 2005'


def test_months_of_a_column_of_years_are_asked_back():
    bridges = Table(
        name="bridge",
        columns=(key("bridge_id"), column("name"), column("built_year", ColumnKind.INTEGER)),
        primary_key=("bridge_id",),
    )
    catalog_of_bridges = Catalog(connection="b", dialect=Dialect.SQLITE, tables=(bridges,))
    assert isinstance(translate("How many bridges were built in May 2005?", catalog_of_bridges, today=TODAY), NotRead)


def test_rows_that_are_listed_by_a_column_stand_in_its_order():
    assert sql("按高度列出所有灯塔的名称") == 'SELECT "name" FROM "lighthouse" ORDER BY "height" ASC'


def test_a_list_by_how_many_there_are_counts_them_for_each_the_most_first():
    listed = sql("按水手人数列出各灯塔")
    assert 'GROUP BY t1."lighthouse_id"' in listed
    assert listed.endswith("ORDER BY COUNT(*) DESC")


def test_two_figures_over_all_rows_order_none_of_them():
    read = translate("灯塔的最大高度和平均高度是多少？", catalog(), today=TODAY)
    assert isinstance(read, Translated)
    assert read.sql == 'SELECT MAX("height"), AVG("height") FROM "lighthouse"'


def test_what_the_owner_calls_in_chinese_is_called_nothing_else():
    named = translate("一共有多少座灯塔？", catalog({"zh": "航标站"}), today=TODAY)
    assert isinstance(named, NotRead)


def ports() -> Catalog:
    """Ports of towns, with what their cargo is."""
    return Catalog(
        connection="ports",
        dialect=Dialect.SQLITE,
        tables=(
            Table(
                name="port",
                columns=(
                    key("port_id"),
                    column("name"),
                    Column(name="country", type="TEXT", kind=ColumnKind.TEXT, values=("Germany", "New Zealand")),
                    Column(name="cargo_type", type="TEXT", kind=ColumnKind.TEXT, values=("coal", "fruit")),
                    column("crane_price", ColumnKind.NUMBER),
                ),
                primary_key=("port_id",),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("德国有多少个港口？", """SELECT COUNT(*) FROM "port" WHERE "country" = 'Germany'"""),
        ("新西兰的港口有哪些？", """SELECT "name" FROM "port" WHERE "country" = 'New Zealand'"""),
        ("类型是煤炭的港口", """SELECT "name" FROM "port" WHERE "cargo_type" = 'coal'"""),
    ],
)
def test_values_that_are_stored_in_english_are_found_by_their_chinese_words(question: str, statement: str):
    result = translate(question, ports(), today=TODAY)
    assert isinstance(result, Translated), result
    assert result.sql == statement


def test_a_word_of_the_data_that_is_part_of_what_a_word_means_is_offered():
    repairs = Table(
        name="repair",
        columns=(key("repair_id"), column("is_emergency", ColumnKind.BOOLEAN)),
        primary_key=("repair_id",),
    )
    plain = Catalog(connection="coast", dialect=Dialect.SQLITE, tables=(repairs,))
    result = translate("急诊有多少次？", plain, today=TODAY)
    assert isinstance(result, NotRead)
    assert result.options[0] == "emergency有多少次？"
    offered = translate(result.options[0], plain, today=TODAY)
    assert isinstance(offered, Translated)
    assert 'WHERE "is_emergency" = TRUE' in offered.sql


def test_words_of_work_that_dictionaries_lack_or_call_otherwise_are_found_in_their_own_list():
    assert chinese_words(frozenset({"satisfaction"}))["满意度"] == {"satisfaction"}
    assert chinese_words(frozenset({"ticket", "job"}), partly=True)["工单"] == {"ticket"}


def bills() -> Catalog:
    """Invoices with an amount, that are paid or not."""
    paid = Column(
        name="paid",
        type="INTEGER",
        kind=ColumnKind.INTEGER,
        nullable=False,
        profile=ColumnProfile(value_min="0", value_max="1"),
    )
    invoices = Table(
        name="invoices",
        columns=(key("invoice_id"), column("amount", ColumnKind.NUMBER), paid),
        primary_key=("invoice_id",),
    )
    return Catalog(connection="bills", dialect=Dialect.SQLITE, tables=(invoices,))


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("已付款的发票有多少张？", 'SELECT COUNT(*) FROM "invoices" WHERE "paid" = 1'),
    ],
)
def test_the_total_of_a_thing_is_of_its_amount_and_what_is_done_already_is_done(question: str, statement: str):
    result = translate(question, bills(), today=TODAY)
    assert isinstance(result, Translated), result
    assert result.sql == statement


def test_a_total_of_what_has_no_amount_is_not_that_of_another_table():
    sales = Table(
        name="sale", columns=(key("sale_id"), column("total_price", ColumnKind.NUMBER)), primary_key=("sale_id",)
    )
    payments = Table(
        name="payments",
        columns=(key("payment_id"), key("sale_id"), column("amount", ColumnKind.NUMBER)),
        primary_key=("payment_id",),
        foreign_keys=(refers("sale", "sale_id"),),
    )
    shop = Catalog(connection="sales", dialect=Dialect.SQLITE, tables=(sales, payments))
    result = translate("销售总额", shop, today=TODAY)
    assert isinstance(result, NotRead) or "amount" not in result.sql, result


@pytest.mark.parametrize(
    ("asked", "plainer"),
    [
        ("每座灯塔各有多少位水手？", "每座灯塔有多少位水手？"),
        ("按日期从晚到早列出婚礼。", "按日期降序列出婚礼。"),
        ("按日期先后列出婚礼。", "按日期升序列出婚礼。"),
        ("哪些灯塔一个水手都没有？", "哪些灯塔没有水手？"),
        ("哪种年龄出现次数最多？", "最常见的年龄是什么？"),
        ("高度最高的灯塔叫什么，高度是多少？", "高度最高的灯塔的名称和高度是什么？"),
        ("水手最多的灯塔编号是多少？", "水手最多的灯塔的编号是多少？"),
        ("哪些灯塔有不止两位水手？", "哪些灯塔有超过两位水手？"),
    ],
)
def test_what_is_said_in_more_words_is_read_in_fewer(asked: str, plainer: str) -> None:
    assert rewrite_plain_chinese(asked) == plainer
    assert translate(asked, catalog(), today=TODAY) == translate(plainer, catalog(), today=TODAY)


def test_who_does_something_is_called_by_the_verb() -> None:
    assert chinese_words(frozenset({"builder", "investor"})).keys() >= {"建造商", "建造者", "投资人"}


def test_a_number_of_each_is_no_number_of_all() -> None:
    for question in ("每位水手有多少条记录？", "How many records does each sailor have?"):
        read = translate(question, catalog(), today=TODAY)
        assert not isinstance(read, Translated) or "GROUP BY" in read.sql


def test_rows_are_listed_by_several_columns() -> None:
    for question in ("按年龄和名称列出水手。", "列出水手，按年龄、名称排序。"):
        assert sql(question).endswith('ORDER BY "age" ASC, "name" ASC'), question


def test_kinds_of_a_figure_are_counted_and_not_added() -> None:
    assert sql("水手一共有多少种年龄？") == 'SELECT COUNT(DISTINCT "age") FROM "sailor"'
