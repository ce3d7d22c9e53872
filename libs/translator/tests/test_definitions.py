"""Questions in an owner's words are answered by definitions alone, or not at all: no word is passed over."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Language, Table
from querybus_semantic.formats.entries import pieces_of
from querybus_semantic.layer.definitions import Dataset, Field, Layer, Metric, Type, Words
from querybus_semantic.layer.request import Asker, Dimension, Filter, Op, Period
from querybus_translator.definitions.answer import (
    ByDefinition,
    Defined,
    NotByDefinition,
    answer_question,
    defined_of,
    without_unread,
)
from querybus_translator.definitions.outcome import Asked, Several, Unread
from querybus_translator.definitions.reader import read_request
from tests.support.semantic_shop import SHOP, shop_rows

TODAY = date(2025, 6, 15)
ASKER = Asker(TODAY, "ann")


def _table(name: str) -> Table:
    columns = [row[1:3] for row in shop_rows().execute(f"PRAGMA table_info({name})")]
    values = {"region": ("East", "West"), "club": ("chess", "golf"), "product": ("pen", "ink")}
    return Table(
        name=name,
        columns=tuple(
            Column(
                name=column,
                type=kind,
                kind=ColumnKind.DATE if kind == "DATE" else ColumnKind.OTHER,
                values=values.get(column, ()),
            )
            for column, kind in columns
        ),
    )


def shop() -> Defined:
    """Return the shop's definitions over its catalog."""
    catalog = Catalog(connection="shop", dialect=Dialect.SQLITE, tables=tuple(_table(name) for name in SHOP.datasets))
    found = defined_of(pieces_of(SHOP), catalog)
    assert found is not None
    return found


def read(question: str) -> Asked | Unread | Several:
    """Return how a question is read."""
    defined = shop()
    return read_request(question, defined.layer, TODAY, defined.places)


def answered(question: str, *earlier: str) -> list[tuple[object, ...]]:
    """Return the rows of an answer."""
    found = answer_question(question, earlier, shop(), ASKER, "en")
    assert isinstance(found, ByDefinition), found
    return shop_rows().execute(found.sql).fetchall()


@pytest.mark.parametrize(
    ("question", "metrics", "dimensions"),
    [
        ("Revenue and freight by region in the second quarter of 2025", ("revenue", "freight"), ("customers.region",)),
        ("What was our revenue?", ("revenue",), ()),
        ("sales by product", ("revenue",), ("lines.product",)),
        ("Show me the monthly freight", ("freight",), ("default",)),
        ("各region的收入", ("revenue",), ("customers.region",)),
        ("2025年1月至3月按月的退款", ("refunded",), ("default",)),
    ],
)
def test_figures_groupings_and_periods_are_read_in_both_languages(
    question: str, metrics: tuple[str, ...], dimensions: tuple[str, ...]
) -> None:
    found = read(question)
    assert isinstance(found, Asked), found
    assert found.request.metrics == metrics
    assert tuple(item.field for item in found.request.dimensions) == dimensions


@pytest.mark.parametrize(
    ("question", "start", "until"),
    [
        ("revenue in the second quarter of 2025", date(2025, 4, 1), date(2025, 7, 1)),
        ("revenue, January to June 2025", date(2025, 1, 1), date(2025, 7, 1)),
        ("revenue from 15 January 2025 to 10 March 2025", date(2025, 1, 15), date(2025, 3, 11)),
        ("revenue from 15 January to 10 March", date(2025, 1, 15), date(2025, 3, 11)),
        ("revenue between the 5th and the 20th of May 2025", date(2025, 5, 5), date(2025, 5, 21)),
        ("revenue, 5-20 May 2025", date(2025, 5, 5), date(2025, 5, 21)),
        ("revenue on 3 March 2025", date(2025, 3, 3), date(2025, 3, 4)),
        ("revenue since the 3rd of March", date(2025, 3, 3), None),
        ("revenue next year", date(2026, 1, 1), date(2027, 1, 1)),
        ("revenue in the next 30 days", date(2025, 6, 15), date(2025, 7, 15)),
        ("下个月的收入", date(2025, 7, 1), date(2025, 8, 1)),
        ("未来两周的收入", date(2025, 6, 15), date(2025, 6, 29)),
        ("revenue December 2024 to February 2025", date(2024, 12, 1), date(2025, 3, 1)),
        ("revenue last month", date(2025, 5, 1), date(2025, 6, 1)),
        ("revenue in 2025-03", date(2025, 3, 1), date(2025, 4, 1)),
        ("2025年1月至6月的收入", date(2025, 1, 1), date(2025, 7, 1)),
    ],
)
def test_a_period_is_half_open(question: str, start: date, until: date) -> None:
    found = read(question)
    assert isinstance(found, Asked), found
    assert found.request.period == Period("default", start, until)


@pytest.mark.parametrize(
    "question",
    [
        "revenue without returns",
        "revenue of large customers",
        "revenue by colour",
        "average revenue",
        "revenue above 10 by region",
        "revenue that is not East",
        "how happy are our customers",
        "what percentage of freight is colourful",
        "orders count revenue",
        "退款收入",
        "收入最好的客户",
    ],
)
def test_a_word_that_no_definition_covers_leaves_the_whole_question_unread(question: str) -> None:
    found = read(question)
    assert not isinstance(found, Asked)
    assert answer_question(question, (), shop(), ASKER, "en") is None or isinstance(found, Several)


@pytest.mark.parametrize(
    "question",
    ["How many customers have an id above 7?", "Which customer has the id 3?", "Show all orders", "customers by id"],
)
def test_a_question_about_no_figure_is_left_to_others_whatever_its_words_may_stand_for(question: str) -> None:
    assert read(question) == Unread(()) or isinstance(read(question), Unread)
    assert answer_question(question, (), shop(), ASKER, "en") is None


def test_a_stored_value_is_a_condition_and_several_are_one_list() -> None:
    found = read("revenue in East and West")
    assert isinstance(found, Asked)
    assert found.request.filters == (Filter("customers.region", Op.IN, ("East", "West")),)


def test_whose_figure_it_is_is_no_second_figure() -> None:
    found = read("revenue of our customers by region")
    assert isinstance(found, Asked)
    assert found.request.metrics == ("revenue",)


def test_the_year_before_is_a_second_column() -> None:
    found = read("revenue by region in 2025 compared with the year before")
    assert isinstance(found, Asked)
    assert found.request.metrics == ("revenue", "revenue_year_before")
    assert answered("freight by month compared with the month before")[0] == ("2025-01-01", 10, None)


def test_a_part_of_the_whole_is_what_has_the_value() -> None:
    assert answered("what percentage of freight is East") == [(30 / 42,)]
    assert answered("revenue by region above 10") == [("East", 40)]


def test_a_share_is_of_the_whole() -> None:
    assert min(answered("share of revenue by region in 2025"), key=str)[0] == "East"


def test_the_top_names_what_is_ranked_and_keeps_equal_names_apart() -> None:
    found = read("top 2 regions by revenue")
    assert isinstance(found, Asked)
    assert found.request.limit == 2
    assert found.request.dimensions[:1] == (Dimension("customers.region"),)
    assert answered("top 1 customers by freight") == [(1, 30)]


def test_a_ranking_of_what_many_rows_share_adds_them_up() -> None:
    regions = sorted(answered("revenue by region"), key=lambda row: -float(str(row[1])))
    assert answered("top 2 regions by revenue") == answered("top two regions by revenue") == regions[:2]


def test_a_follow_up_keeps_the_figure_and_changes_what_it_names() -> None:
    assert sorted(answered("and by product?", "revenue in 2025"), key=str) == [("ink", 12), ("pen", 35)]
    assert answered("only East", "revenue by region", "and in 2025?") == [("East", 40)]
    assert answer_question("and by colour?", ("revenue",), shop(), ASKER, "en") is None
    # A complete question is about other rows, and takes no period over.
    complete = "How many customers are there per region?"
    assert answered(complete, "revenue in 2025") == answered(complete)
    assert answer_question("How many customers have an id above 7?", ("revenue",), shop(), ASKER, "en") is None


def test_what_a_follow_up_takes_over_is_marked_in_its_reading() -> None:
    found = answer_question("only East", ("revenue by region in 2025",), shop(), ASKER, "en")
    assert isinstance(found, ByDefinition)
    assert found.read_as.period is not None
    assert found.read_as.period.carried
    assert [item.carried for item in found.read_as.filters] == [False]
    alone = answer_question("revenue in 2025", ("revenue by region in 2025",), shop(), ASKER, "en")
    assert isinstance(alone, ByDefinition)
    assert alone.read_as.period is not None
    assert not alone.read_as.period.carried


def test_what_is_covered_and_still_has_no_number_says_why_and_what_is_possible() -> None:
    found = answer_question("freight by product", (), shop(), ASKER, "en")
    assert isinstance(found, NotByDefinition)
    assert "orders cannot be split by lines" in found.detail
    assert found.options == ("Freight",)


def test_an_answer_says_what_was_read_and_whose_definition_it_is() -> None:
    found = answer_question("revenue by region last month", (), shop(), ASKER, "en")
    assert isinstance(found, ByDefinition)
    assert found.read_as.text.startswith("Revenue, by region, in May 2025.")
    assert "revenue = line amounts (definition" in found.read_as.text
    chinese = answer_question("上个月各region的收入", (), shop(), ASKER, "zh")
    assert isinstance(chinese, ByDefinition)
    assert chinese.read_as.text.startswith("收入，按")


def test_drafts_and_hidden_tables_are_not_offered() -> None:
    assert not isinstance(read("draft one"), Asked)
    catalog = Catalog(connection="shop", dialect=Dialect.SQLITE, tables=(_table("customers"),))
    defined = defined_of(pieces_of(SHOP), catalog)
    assert defined is not None
    assert answer_question("revenue by region", (), defined, ASKER, "en") is None


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("freight outside East", [(12,)]),
        ("freight except West", [(37,)]),
        ("East以外的freight", [(12,)]),
        ("除了East和West以外的freight", [(7,)]),
        ("number of orders with pen", [(2,)]),
        ("number of orders with pen and ink", [(1,)]),
        ("number of orders with pen or ink", [(3,)]),
        ("freight of orders without any pen", [(12,)]),
        ("不含pen的orders数量", [(2,)]),
        ("有多少orders？", [(4,)]),
    ],
)
def test_what_is_left_out_and_what_something_holds_are_conditions(
    question: str, rows: list[tuple[object, ...]]
) -> None:
    assert answered(question) == rows


@pytest.mark.parametrize(
    ("question", "language", "reading"),
    [
        ("freight outside East", "en", "Freight, without region East."),
        ("number of orders with pen", "en", "Orders count, with product pen."),
        ("East以外的freight", "zh", "Freight，不含地区 East。"),
    ],
)
def test_a_condition_on_what_is_missing_is_read_back_in_words(question: str, language: Language, reading: str) -> None:
    found = answer_question(question, (), shop(), ASKER, language)
    assert isinstance(found, ByDefinition)
    assert found.read_as.text == reading


@pytest.mark.parametrize(
    "question",
    [
        "freight outside",
        "freight without",
        "freight except last month",
        "含pen的orders和数量",
        "freight with love",
        "freight没有",
        "East的freight以外",
    ],
)
def test_a_word_of_exclusion_without_a_value_behind_it_is_not_passed_over(question: str) -> None:
    assert answer_question(question, (), shop(), ASKER, "en") is None


def test_rows_of_a_noun_by_a_grouping_are_counted_and_a_list_is_not() -> None:
    assert sorted(answered("orders by region"), key=str) == sorted([("East", 2), ("West", 1), (None, 1)], key=str)
    assert answer_question("list orders by region", (), shop(), ASKER, "en") is None


@pytest.mark.parametrize("question", ["按region的退款率", "各region的refund率"])
def test_chinese_words_beside_english_names_are_one_figure(question: str) -> None:
    found = read(question)
    assert isinstance(found, Asked), found
    assert found.request.metrics == ("refund_rate",)


def test_one_chinese_word_may_stand_for_a_name_of_two_english_ones() -> None:
    fields = {name: Field(name, name) for name in ("id", "area", "pieces")}
    layer = Layer(
        "volumes",
        {"deals": Dataset("deals", "deals", ("id",), fields=fields)},
        (),
        {"sales_volume": Metric("sales_volume", "SUM(deals.pieces)")},
    )
    found = read_request("按area的销量", layer, TODAY)
    assert isinstance(found, Asked), found
    assert found.request.metrics == ("sales_volume",)


@pytest.mark.parametrize(
    ("question", "language", "said"),
    [
        (
            "number of customers by club",
            "en",
            "One customer can count in several groups: they do not add up to the total.",
        ),
        ("按club的customer数量", "zh", "同一客户可能计入多个分组，各组之和不等于总数。"),
        (
            "freight by month from 15 January 2025 to 10 March 2025",
            "en",
            "The first month counts only from 15 January 2025 on.",
        ),
        (
            "freight by month from 15 January 2025 to 10 March 2025",
            "en",
            "The last month counts only up to 10 March 2025.",
        ),
    ],
)
def test_what_numbers_would_be_misread_without_stands_behind_the_reading(
    question: str, language: Language, said: str
) -> None:
    found = answer_question(question, (), shop(), ASKER, language)
    assert isinstance(found, ByDefinition), found
    assert said in found.read_as.text


def test_codes_are_asked_for_and_read_back_by_what_they_mean_in_both_languages() -> None:
    orders = SHOP.datasets["orders"]
    kind = Field("kind", "freight", Type.INTEGER, values={"10": ("express", "加急"), "20": ("bulk", "大宗")})
    layer = replace(SHOP, datasets={**SHOP.datasets, "orders": replace(orders, fields={**orders.fields, "kind": kind})})
    catalog = shop().catalog
    defined = defined_of(pieces_of(layer), catalog)
    assert defined is not None
    cases: tuple[tuple[str, Language, str], ...] = (
        ("freight of express orders", "en", "Freight, kind express."),
        ("加急的freight", "zh", "Freight，类别为加急。"),
    )
    for question, language, said in cases:
        found = answer_question(question, (), defined, ASKER, language)
        assert isinstance(found, ByDefinition), found
        assert found.read_as.text.startswith(said)
        assert shop_rows().execute(found.sql).fetchall() == [(10,)]


@pytest.mark.parametrize(
    ("question", "language", "about", "offered"),
    [
        ("revenue in Atlantis", "en", "Atlantis", "revenue"),
        ("what was the gross revenue in January 2025?", "en", "gross", "what was the revenue in January 2025?"),
        ("revenue by moon phase", "en", "moon, phase", "revenue"),
        ("新品收入", "zh", "新品", "收入"),
        ("亚特兰蒂斯的收入", "zh", "亚特兰蒂斯", "收入"),
    ],
)
def test_a_reading_is_offered_without_the_few_words_that_nothing_defines(
    question: str, language: Language, about: str, offered: str
) -> None:
    found = without_unread(question, (), shop(), ASKER, language)
    assert found is not None
    assert (found[0], found[1][0]) == (about, offered)
    assert all(isinstance(answer_question(one, (), shop(), ASKER, language), ByDefinition) for one in found[1])


@pytest.mark.parametrize(
    "question",
    [
        "revenue of returning customers",
        "revenue without gizmos",
        "revenue of 7 gizmos",
        "revenue of the best gizmos of all our dear friends",
        "未付款的收入",
        "revenue by region",
        "gizmos in Atlantis",
    ],
)
def test_what_would_change_a_figure_is_never_left_out_of_what_is_offered(question: str) -> None:
    assert without_unread(question, (), shop(), ASKER, "zh" if not question.isascii() else "en") is None


def test_what_the_owner_calls_a_table_in_chinese_is_no_other_figure_that_a_dictionary_has_for_it() -> None:
    customers = replace(SHOP.datasets["customers"], words=Words(synonyms=("客户",)))
    layer = replace(SHOP, datasets={**SHOP.datasets, "customers": customers})
    layer = replace(layer, metrics={name: one for name, one in layer.metrics.items() if name != "customer_count"})
    defined = defined_of(pieces_of(layer), shop().catalog)
    assert defined is not None
    assert answer_question("我们一共有多少客户？", (), defined, ASKER, "zh") is None
