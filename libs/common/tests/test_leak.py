"""Claims on the leak check, as labelled sentences: what gives a name or a statement away, and what is plain speech."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querybus.core.catalog import Catalog, Column, Dialect, Language, Table
from querybus.text.disclosure import TEXT_LENGTH_MAX, is_plain_word, leaks
from querybus.text.words import plural

TABLES = {
    "customers": ("customer_id", "name", "city", "custno", "qty"),
    "orders": ("OrderID", "orderdate", "total", "id", "weight_kg"),
    "tbl_x7": ("fname", "client_since", "Birth Year", "Reading (%)"),
    "singer": ("name", "age", "song_name"),
    "客户_表1": ("城市", "金额_总"),
}
CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=tuple(
        Table(name=name, columns=tuple(Column(name=column, type="TEXT") for column in columns))
        for name, columns in TABLES.items()
    ),
)

LEAKS = [
    "The value customer_id is missing.",
    "Please check CUSTOMER_ID.",
    "没有找到customer_id，请调整。",
    "I looked into tbl_x7 for you.",
    "Sorted by OrderID.",
    "按orderdate排序。",
    "The qty is 5.",
    "fname was empty",
    "The weight_kg is 5.",
    "The weightkg is 5.",
    "The sum of reading (%) is 12.",
    "金额_总为空",
    "客户_表1里没有数据",
    "Look at orders.city for that.",
    "o.total was used",
    "The column city is unknown.",
    "column 'name2' of table \"orders\"",
    "字段 city 不存在",
    "表orders不存在",
    "`city` is not there",
    "SELECT name FROM customers",
    "select name, city from customers",
    "select name from customers where city = 'Bern'",
    "I ran: select count(*) from orders",
    "It was grouped with GROUP BY city",
    "ORDER BY total DESC",
    "a left join was needed",
    "LIMIT 10",
    "COUNT(*) gave 3",
    "where city = 'Bern'",
    "city <> 'Bern'",
    "DROP TABLE x",
    "delete from orders",
    "This SQL could not be run.",
    "SQL语句有误",
    "sqlite3.OperationalError: no such column",
    "psycopg said no",
    "MySQL server has gone away",
    "OperationalError while reading",
    "ORA-00942 was reported",
    "数据库中没有相关信息",
    "该字段不存在",
    "The database is down.",
    "Traceback (most recent call last)",
    "see /var/lib/data/shop.sqlite",
    "C:\\data\\shop.mdb could not be read",
    "cannot reach 10.1.2.3:5432",
    "could not connect to db.internal",
    "localhost refused",
    "postgresql://bob@db/shop",
    "connect to warehouse-01.prod.example.com failed",
    "shop.sqlite is locked",
    "The city column is unknown.",
    "The orders table holds them.",
    "使用了orders.city。",
    "在customers表中没有找到",
    "使用了GROUP BY city进行分组",
    "无法连接10.1.2.3:5432",
    "order by total desc",
    "the value is not null",
    'relation "orders" does not exist',
    "The host shop-db:5432 is away.",
]

PLAIN = [
    "There are 12 customers in the city of Bern.",
    "12 orders, total 1,234.50.",
    "The name of the singer is Ann; the highest age is 42.",
    "Highest: Bern (5). Lowest: Lyon (1). Total: 12.",
    "Select the customers from Bern.",
    "Please select a city from the list.",
    "Where is the order from?",
    "Group by group, the totals grow.",
    "You have no permission to see this data.",
    "That is a lot of data; narrow the range or add a period.",
    "The way the question was turned into a query needs adjusting",
    "This operation is not allowed: deleting data. Only questions that read data are supported.",
    "The table below shows 3 columns.",
    "Rows in the answer: 3.",
    "The count (12) is higher than last year.",
    "Customers who joined on 5 March 2024",
    "It rose by 3.5% in Q1.",
    "At 10:30 there were 5 visits per day/week/month.",
    "and/or, i.e. both, e.g. Bern.",
    "The U.S.A. and the U.K.",
    "2024/01/02 to 2024-03-04",
    "Update your question and try again.",
    "No order has an id of its own.",
    "The birth year is not known.",
    "The order id is printed on the receipt.",
    "结果共有 3 行。",
    "伯尔尼有12位客户。",
    "查询的数据维度可能不存在，需要调整查询内容",
    "查询语句的结构需要调整",
    "报表显示代表人数最多的城市是北京。",
    "下面的列表按城市排列。",
    "最高：北京（5）；最低：上海（1）。",
    "不允许的操作: 删除数据。本系统只支持查询操作。",
    "城市不明确，请补充。",
    "2024年3月5日的订单共12笔。",
    "Weight (kg): 8,992.8.",
    "The weight is 5 kg.",
    "The names of all singers are shown.",
    "Her name is Ann.",
    "The time table is shown below.",
    "The order of the cities is by name.",
    "It is sorted by total, from the highest down.",
    "Only where city is Bern or total is above 10.",
]


@pytest.mark.parametrize("text", LEAKS)
def test_what_gives_something_away_is_found(text: str) -> None:
    assert leaks(text, CATALOG, "en")


@pytest.mark.parametrize("text", PLAIN)
def test_plain_speech_does_not_trip(text: str) -> None:
    assert leaks(text, CATALOG, "en") == ()


WAREHOUSE = {
    "cust_mstr": ("cust_id", "cust_nm", "email_addr", "regDate"),
    "order_lines": ("line_no", "unitPrice", "qty", "order_id"),
    "ShipmentEvents": ("EventID", "shippedAt", "depot_cd"),
    "products": ("product_name", "category", "list_price"),
    "tblStaff": ("fname", "lname", "hire_dt"),
    "客户_主表": ("客户编号_pk", "金额_合计"),
}
SENTENCES = Path(__file__).parent / "leaks"


def sentences(kind: str, language: str) -> list[str]:
    lines = (SENTENCES / f"{kind}.{language}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("# ")]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_of_three_hundred_sentences_a_language_nearly_every_leak_is_found_and_plain_speech_passes(
    language: Language,
) -> None:
    tables = tuple(
        Table(name=name, columns=tuple(Column(name=column, type="TEXT") for column in columns))
        for name, columns in WAREHOUSE.items()
    )
    catalog = Catalog(connection="w", dialect=Dialect.SQLITE, tables=tables)
    leaking, plain = sentences("leaking", language), sentences("plain", language)
    assert len(leaking) + len(plain) >= 300
    missed = [text for text in leaking if not leaks(text, catalog, language)]
    alarms = [text for text in plain if leaks(text, catalog, language)]
    assert len(missed) <= 0.05 * len(leaking), missed
    assert len(alarms) <= 0.02 * len(plain), alarms


@pytest.mark.parametrize("name", ["zorblat", "stuid", "bdate", "airportcode", "empname", "kehu", "qty", "firstname"])
def test_a_name_that_is_no_word_is_found_even_if_it_can_be_spoken(name: str) -> None:
    table = Table(name="t", columns=(Column(name=name, type="TEXT"),))
    assert leaks(f"There is no {name}.", Catalog(connection="c", dialect=Dialect.SQLITE, tables=(table,)), "en")


@pytest.mark.parametrize("word", ["cities", "running", "hired", "Salaries", "biggest", "categories", "companies"])
def test_a_regular_form_of_a_word_is_a_word(word: str) -> None:
    assert is_plain_word(word)


@pytest.mark.parametrize("name", ["qfmvz", "crmhdx", "wrksch", "bldgss", "t_ccngz"])
def test_the_plural_that_a_sentence_makes_of_a_name_is_found(name: str) -> None:
    catalog = Catalog(connection="shop", dialect=Dialect.SQLITE, tables=(Table(name=name, columns=()),))
    assert leaks(f"How many {plural(name)} are there?", catalog, "en")


def test_what_the_reader_said_first_gives_nothing_away() -> None:
    assert leaks("customer_id 7 was not found", CATALOG, "en", said="Who has CUSTOMER_ID 7?") == ()
    assert leaks("customer_id of tbl_x7", CATALOG, "en", said="Who has customer_id 7?") == ("tbl_x7",)


def test_without_a_catalog_only_what_is_technical_by_itself_is_found() -> None:
    assert leaks("customer_id was not found", None, "en") == ()
    assert leaks("SELECT 1 FROM t", None, "en") != ()


def test_a_text_too_long_for_a_sentence_is_a_leak() -> None:
    assert leaks("a" * (TEXT_LENGTH_MAX + 1), CATALOG, "en")


@given(st.from_regex(r"[a-z]{2,8}_[a-z0-9]{1,8}|[a-z]{1,8}[0-9]{1,6}|[a-z]{2,6}[A-Z][a-z]{2,6}", fullmatch=True))
def test_a_technical_name_is_found_wherever_it_stands(name: str) -> None:
    catalog = Catalog(
        connection="c", dialect=Dialect.SQLITE, tables=(Table(name=name, columns=(Column(name="b", type="T"),)),)
    )
    if is_plain_word(name):
        return
    for text in (f"There is no {name}.", f"没有{name}数据", f"({name})", name.upper()):
        assert leaks(text, catalog, "en")


@given(st.text(max_size=200))
def test_any_text_can_be_checked(text: str) -> None:
    assert isinstance(leaks(text, CATALOG, "zh"), tuple)
