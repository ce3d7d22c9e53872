"""Claims on summaries and charts: only what the rows say, written as people write it, never misleading."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from querybus.core.catalog import ColumnKind, Language
from querybus.core.messages import ColumnFormat, FormatKind, Reading, Result, ResultColumn, Scalar
from querybus.text.picture_words import picture_kind
from querybus_presenter.charts.chart import chart
from querybus_presenter.charts.kinds import BARS_KEPT, BARS_MAX, Kind
from querybus_presenter.charts.shape import shape_of
from querybus_presenter.summaries.summary import summary
from querybus_presenter.summaries.values import in_words, number
from querybus_presenter.wording.texts import load_texts

WORDS = load_texts()
INTEGER, NUMBER, TEXT = ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.TEXT
DATE, OTHER = ColumnKind.DATE, ColumnKind.OTHER


def reported(
    columns: list[tuple[str, str, ColumnKind]], *rows: tuple[Scalar, ...], language: Language = "en", **more: Any
) -> str:
    result = Result(
        columns=tuple(ResultColumn(name=name, kind=kind) for name, _, kind in columns),
        rows=rows,
        row_count=more.get("row_count", len(rows)),
        truncated=more.get("truncated", False),
    )
    labels = [column[1] for column in columns]
    measures = (more["measure"],) if "measure" in more else ()
    read_as = Reading(text="", measures=measures, limit=5 if more.get("is_top") else None)
    return summary(shape_of(result, labels), labels, WORDS[language, "business"], reading=read_as)


PLAIN_TEXT = ColumnFormat(kind=FormatKind.TEXT)
COUNTS = [("cty", "city", TEXT), ("COUNT(*)", "Count", INTEGER)]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Highest count: Bern (1,200). Lowest: Rome (5). Total: 1,235. Bern makes up 97.2% of it."),
        ("zh", "count最高：Bern（1,200）。最低：Rome（5）。合计：1,235。其中Bern占 97.2%。"),
    ],
)
def test_a_small_result_reports_extremes_and_total(language: Language, text: str) -> None:
    assert reported(COUNTS, ("Bern", 1200), ("Lyon", 30), ("Rome", 5), language=language) == text


def test_what_does_not_add_up_has_no_total() -> None:
    columns = [("cty", "city", TEXT), ("AVG(amount)", "Average", NUMBER)]
    assert "Total" not in reported(columns, ("Bern", 1.5), ("Lyon", 2.5))
    assert reported([("id", "number", INTEGER), ("age", "age", INTEGER)], (1, 30), (2, 40)) == (
        "Highest age: 2 (40). Lowest: 1 (30)."
    )


def test_no_one_is_called_the_highest_where_several_are() -> None:
    assert reported(COUNTS, ("Bern", 5), ("Lyon", 5), ("Rome", 1)) == "Lowest: Rome (1). Total: 11."
    equal = (("Bern", 5), ("Lyon", 5))
    assert reported(COUNTS, *equal) == "Count: Bern (5) and Lyon (5). Total: 10."
    assert reported(COUNTS, *equal, language="zh") == "Count：Bern（5）、Lyon（5）。合计：10。"


def test_quarters_are_called_quarters() -> None:
    columns = [("quarter", "Quarter", DATE), ("revenue", "Revenue", NUMBER)]
    rows = [(f"2025-{month:02}-01", 10.0 + month) for month in (1, 4, 7, 10)]
    assert "From Q1 2025 to Q4 2025" in reported(columns, *rows)
    assert "从2025年第1季度到2025年第4季度" in reported(columns, *rows, language="zh")
    months = [("month", "Month", DATE), columns[1]]
    assert "From January 2025 to October 2025" in reported(months, *rows)


def test_a_figure_with_a_year_in_its_name_is_no_year() -> None:
    columns = [("revenue", "Revenue", NUMBER), ("revenue_year_before", "Revenue year before", NUMBER)]
    assert reported(columns, (9.5, 18445281.60000146)) == "Revenue: 9.50; Revenue year before: 18,445,281.60."
    assert reported([("year", "Year", INTEGER)], (2026,)) == "The year is 2026."


def test_a_few_names_are_named_and_a_short_ranking_with_its_figures() -> None:
    names = [("name", "name", TEXT)]
    assert reported(names, ("Anna",), ("Ben",), ("Cleo",)) == "Name: Anna, Ben and Cleo."
    assert reported(names, ("Anna",), ("Ben",), language="zh") == "Name：Anna、Ben。"
    assert reported(names, *((name,) for name in "abcdef")) == "Name (6 results)."
    assert reported(names, ("Anna",), (None,)) == "Name (2 results)."
    assert reported(names, ("Anna",), ("x" * 100,)) == "Name (2 results)."
    ranked = reported(COUNTS, ("Bern", 9), ("Lyon", 5), is_top=True)
    assert ranked == "Count: Bern (9) and Lyon (5)."


def test_of_what_is_counted_it_is_said_who_has_the_most_and_the_fewest() -> None:
    rows = (("Bern", 12), ("Lyon", 6), ("Rome", 2))
    assert reported(COUNTS, *rows, measure="number of orders") == (
        "Bern has the most orders (12 of 20, 60%), Rome the fewest (2)."
    )
    assert reported(COUNTS, *rows, measure="订单的数量", language="zh") == (
        "订单最多的是Bern（12，占 60%），最少的是Rome（2），合计 20。"
    )
    tied = (("Bern", 6), ("Lyon", 6), ("Rome", 2))
    assert reported(COUNTS, *tied, measure="number of orders") == "Lowest: Rome (2). Total: 14."


def test_of_a_result_that_is_not_wholly_at_hand_it_is_said_what_it_shows_and_how_much() -> None:
    assert reported(COUNTS, ("Bern", 5), ("Lyon", 6), row_count=2_000) == "Count by city (2,000 results)."
    assert reported(COUNTS, ("Bern", 5), ("Lyon", 6), truncated=True) == (
        "Count by city (2 results). Only the first 2 are kept; there are more."
    )


@pytest.mark.parametrize(
    ("columns", "row", "english", "chinese"),
    [
        ([("x", "Number", INTEGER)], (1234567,), "The answer is 1,234,567.", None),
        ([("x", "数值", INTEGER)], (1234567,), None, "结果是 1,234,567。"),
        ([("x", "Count", INTEGER)], (42,), "The answer is 42.", "结果是 42。"),
        ([("x", "Count", INTEGER)], (None,), "There is no value for this.", "没有对应的数值。"),
        ([("birth_year", "birth year", INTEGER)], (1987,), "The birth year is 1987.", None),
        (
            [("a", "name", TEXT), ("b", "since", DATE)],
            ("Ann", "2024-03-05"),
            "name: Ann; since: 5 March 2024.",
            "name为 Ann；since为 2024年3月5日。",
        ),
    ],
)
def test_one_row_is_reported_whole(
    columns: list[tuple[str, str, ColumnKind]], row: tuple[Scalar, ...], english: str | None, chinese: str | None
) -> None:
    if english is not None:
        assert reported(columns, row) == english
    if chinese is not None:
        assert reported(columns, row, language="zh") == chinese


@pytest.mark.requirement("000.34")
def test_no_row_is_said_so() -> None:
    assert reported(COUNTS) == "Nothing matches this question."
    assert reported(COUNTS, language="zh") == "没有符合条件的结果。"


def test_one_figure_is_a_sentence_in_the_readers_language() -> None:
    def single(name: str, label: str, language: Language, value: Scalar = 4000, counted: str | None = None) -> str:
        result = Result(columns=(ResultColumn(name=name, kind=INTEGER),), rows=((value,),), row_count=1)
        return summary(shape_of(result, [name]), [label], WORDS[language, "analyst"], counted=counted)

    assert single("COUNT(*)", "COUNT(*)", "en") == "The answer is 4,000."
    assert single("COUNT(*)", "COUNT(*)", "zh", 3) == "结果是 3。"
    assert single("n", "数量", "zh", 3) == "结果是 3。"
    assert single("n", "平均金额", "zh", 3) == "平均金额是 3。"
    assert single("n", "avg age", "zh", 3) == "结果是 3。"
    assert single("n", "Average age", "en", 30) == "The average age is 30."
    assert single("n", "Number of visits", "en", 30) == "The answer is 30 (number of visits)."
    assert single("n", "Count", "en", counted="customers") == "There are 4,000 customers."
    assert single("n", "Count", "en", 1, counted="customers") == "The answer is 1."
    assert single("n", "数量", "zh", counted="条客户记录") == "共有 4,000 条客户记录。"


def test_a_large_result_is_described_by_ranges_middles_and_frequent_values() -> None:
    columns = [("cty", "city", TEXT), ("age", "age", INTEGER), ("d", "since", DATE)]
    rows = [(["Bern", "Bern", "Lyon", "Rome"][n % 4], n, f"2024-01-{n + 1:02d}") for n in range(24)]
    assert reported(columns, *rows) == (
        "Age by city and since (24 results). city: most often Bern (12), 3 in all. age: from 0 to 23, half of them at most 11. "
        "The middle half lies between 5 and 17. since: from 1 January 2024 to 24 January 2024."
    )
    assert reported(columns, *rows, row_count=2_000).startswith(
        "Age by city and since (2,000 results). What follows is about the first 24. city:"
    )
    assert reported(columns, *rows, language="zh").startswith(
        "按city、since的age（共 24 条结果）。city：共 3 种，最常见的是Bern（12 次）。"
    )


def test_a_course_over_time_is_reported_from_its_first_point_to_its_last() -> None:
    columns = [("d", "day", DATE), ("price", "price", NUMBER)]
    said = reported(columns, ("2024-01-03", 7), ("2024-01-01", 5), ("2024-01-02", 4))
    assert said == (
        "From 1 January 2024 to 3 January 2024 it rose from 5 to 7. "
        "Highest price: 3 January 2024 (7). Lowest: 2 January 2024 (4)."
    )


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (1234.5, NUMBER, "1,234.5"),
        ("1234567.891", NUMBER, "1,234,567.89"),
        (-0.5, NUMBER, "-0.5"),
        (0.000123456, NUMBER, "0.000123"),
        (3, INTEGER, "3"),
        ("007", TEXT, "007"),
        (True, ColumnKind.BOOLEAN, "yes"),
        (0, ColumnKind.BOOLEAN, "no"),
        ("2024-02-30", DATE, "2024-02-30"),
        ("2024-03-05T14:30:00Z", ColumnKind.DATETIME, "5 March 2024 14:30"),
        ("nan", NUMBER, "nan"),
        (float("inf"), NUMBER, "inf"),
        (None, TEXT, ""),
        ("x" * 100, TEXT, "x" * 79 + "…"),
    ],
)
def test_values_are_written_as_people_write_them(value: Scalar, kind: ColumnKind, words: str) -> None:
    assert in_words(value, kind, WORDS["en", "business"]) == words


LARGE = {
    "": Decimal(1),
    " million": Decimal(10**6),
    " billion": Decimal(10**9),
    "万": Decimal(10**4),
    "亿": Decimal(10**8),
}
_CELLS = st.one_of(st.integers(-(10**9), 10**9), st.floats(-1e6, 1e6, allow_nan=False).map(lambda item: round(item, 2)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), _CELLS), min_size=0, max_size=12), st.sampled_from(["en", "zh"]))
def test_no_number_is_invented(rows: list[tuple[str, int | float]], language: Language) -> None:
    said = reported([("k", "letter", TEXT), ("SUM(v)", "Total", NUMBER)], *rows, language=language)
    amounts = [Decimal(str(value)) for _, value in rows]
    allowed = {Decimal(1), Decimal(len(rows)), sum(amounts, Decimal(0)), *amounts}
    if sum(amounts):
        allowed.add(round(max(amounts) * 100 / sum(amounts), 1))
    for digits, word in re.findall(r"(-?\d[\d,]*(?:\.\d+)?)( million| billion|万|亿)?", said):
        scale = LARGE[word]
        value = Decimal(digits.replace(",", "")) * scale
        assert any(abs(value - item) <= Decimal("0.005") * scale for item in allowed), said


def test_large_numbers_are_said_as_people_say_them_unless_different_ones_would_read_alike() -> None:
    columns = [("m", "month", TEXT), ("amount", "Revenue", NUMBER)]
    far = [("a", 18_445_281.6), ("b", 2_449_777.4), ("c", 862_000.5)]
    near = [("a", 18_445_281.6), ("b", 18_445_300.0), ("c", 18_445_281.5)]
    assert "Highest revenue: a (18.45 million). Lowest: c (862,000.50)." in reported(columns, *far)
    assert "最高：a（1,844.53万）。最低：c（86.2万）" in reported(columns, *far, language="zh")
    assert "Highest revenue: b (18,445,300.00). Lowest: c (18,445,281.50)." in reported(columns, *near)


def test_amounts_are_said_and_drawn_with_the_unit_that_the_owner_gave() -> None:
    texts = WORDS["en", "business"]
    columns = (ResultColumn(name="city", kind=TEXT), ResultColumn(name="amount", kind=NUMBER))
    result = Result(columns=columns, rows=(("Bern", 12), ("Lyon", 30), ("Rome", 7)), row_count=3)
    shape = shape_of(result, ("City", "Amount"), (PLAIN_TEXT, ColumnFormat(kind=FormatKind.MONEY, unit="CNY")))
    assert "Highest amount: Lyon (30 CNY). Lowest: Rome (7 CNY)." in summary(shape, ("City", "Amount"), texts)
    drawn = chart(shape, texts, title="Amount by city.")
    assert drawn.spec is not None
    assert drawn.spec["title"] == {"text": ["Amount by city"], "subtitle": ["In CNY"]}


# Charts


def drawn(columns: list[tuple[str, str, ColumnKind]], *rows: tuple[Scalar, ...]) -> Any:
    result = Result(
        columns=tuple(ResultColumn(name=name, kind=kind) for name, _, kind in columns), rows=rows, row_count=len(rows)
    )
    return chart(shape_of(result, [column[1] for column in columns]), WORDS["en", "business"]).spec


@pytest.mark.requirement("002.62")
def test_a_category_and_a_number_are_bars_from_zero() -> None:
    spec = drawn(COUNTS, ("Bern", 3), ("Lyon", "4.5"))
    assert spec["layer"][0]["mark"]["type"] == "bar"
    assert spec["encoding"]["y"]["scale"] == {"zero": True}
    assert spec["encoding"]["x"]["field"] == "city"
    assert spec["encoding"]["y"]["field"] == "Count"
    assert spec["data"]["values"] == [{"city": "Bern", "Count": 3}, {"city": "Lyon", "Count": 4.5}]
    assert "cty" not in str(spec)


def test_a_time_and_a_number_are_a_line_in_order() -> None:
    columns = [("SUM(x)", "Total", NUMBER), ("d", "day", DATE)]
    spec = drawn(columns, (3, "2024-01-03"), (1, "2024-01-01"), (2, "2024-01-02"))
    assert spec["layer"][0]["mark"]["type"] == "line"
    assert spec["encoding"]["x"]["type"] == "temporal"
    assert [value["day"] for value in spec["data"]["values"]] == ["2024-01-01", "2024-01-02", "2024-01-03"]
    years = drawn([("year", "year", INTEGER), ("COUNT(*)", "Count", INTEGER)], (2022, 3), (2020, 1), (2021, 2))
    assert [value["year"] for value in years["data"]["values"]] == [2020, 2021, 2022]


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (COUNTS, [("Bern", 3)]),
        (COUNTS, [("Bern", 3), ("Bern", 4)]),
        (COUNTS, [("Bern", 3), (None, 4)]),
        (COUNTS, [("Bern", 3), ("Lyon", None)]),
        ([("a", "a", TEXT), ("b", "b", TEXT)], [("x", "y"), ("z", "w")]),
        ([("name", "name", TEXT), ("customer_id", "customer", INTEGER)], [("x", 1), ("z", 2)]),
        ([("name", "name", TEXT), ("birth_year", "born", INTEGER)], [("x", 1987), ("z", 1990)]),
        ([("a", "a", INTEGER), ("b", "b", INTEGER)], [(1, 2), (2, 3), (3, 4)]),
        ([("a", "a", TEXT), ("b", "b", INTEGER), ("c", "c", INTEGER)], [("x", 1, 2000), ("y", 2, 3000)]),
        ([("d", "day", DATE), ("n", "n", INTEGER)], [("soon", 1), ("later", 2), ("never", 3)]),
        ([("n", "n", INTEGER)], [(1,), (2,)]),
        ([], []),
    ],
)
def test_no_chart_where_none_is_clear(
    columns: list[tuple[str, str, ColumnKind]], rows: list[tuple[Scalar, ...]]
) -> None:
    assert drawn(columns, *rows) is None


def test_of_many_bars_the_largest_are_drawn_and_that_is_said() -> None:
    spec = drawn(COUNTS, *((f"city {n}", n) for n in range(BARS_MAX + 1)))
    assert [value["Count"] for value in spec["data"]["values"]] == list(range(BARS_KEPT))
    assert spec["usermeta"]["notes"] == ["The 20 smallest of 31 are drawn."]
    shuffled = drawn(COUNTS, *((f"city {n}", n * 7 % 31) for n in range(BARS_MAX + 1)))
    assert [value["Count"] for value in shuffled["data"]["values"]] == list(range(30, 30 - BARS_KEPT, -1))
    assert shuffled["title"]["text"] == ["The 20 largest of 31 are drawn."]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("sales by city as a pie", Kind.PIE),
        ("sales by city as a pie chart, please", Kind.PIE),
        ("show it in a table", Kind.TABLE),
        ("画成折线图", Kind.LINE),
        ("各城市客户数，用饼图", Kind.PIE),
        ("金额直方图", Kind.HISTOGRAM),
        ("a scatter plot of price and stock", Kind.SCATTER),
        ("which bar has the most visitors", None),
        ("tables per room", None),
        ("area of each country", None),
        ("各产品线的销售额", None),
    ],
)
def test_a_person_may_ask_for_a_picture_by_name(question: str, kind: Kind | None) -> None:
    assert picture_kind(question) == kind


def asked(question: str, columns: list[tuple[str, str, ColumnKind]], *rows: tuple[Scalar, ...], **more: Any) -> Any:
    result = Result(
        columns=tuple(ResultColumn(name=name, kind=kind) for name, _, kind in columns),
        rows=rows,
        row_count=more.get("row_count", len(rows)),
    )
    language: Language = more.get("language", "en")
    return chart(shape_of(result, [column[1] for column in columns]), WORDS[language, "business"], question)


def test_a_picture_that_would_mislead_is_not_drawn_and_the_reason_is_said() -> None:
    made = asked("as a pie", COUNTS, ("Bern", -3), ("Lyon", 4))
    assert (made.kind, made.notes) == (Kind.BAR, ("A pie needs a few positive parts that make up a whole.",))
    averages = asked(
        "画成饼图", [("a", "城市", TEXT), ("AVG(b)", "平均值", NUMBER)], ("北京", 3.5), ("上海", 4), language="zh"
    )
    assert (averages.kind, averages.notes) == (Kind.BAR, ("饼图需要少量构成整体的正数。",))
    assert asked("as a line", COUNTS, ("Bern", 3), ("Lyon", 4)).kind is Kind.BAR
    assert asked("as a pie", COUNTS, ("Bern", 3), ("Lyon", 4)).kind is Kind.PIE


def test_part_of_a_result_is_drawn_only_where_a_part_says_something() -> None:
    rows = [(f"city {chr(97 + n)}", 100 - n) for n in range(10)]
    made = asked("", COUNTS, *rows, row_count=500)
    assert (made.kind, made.notes) == (Kind.BAR, ("The 10 largest of 500 are drawn.",))
    assert asked("", COUNTS, *reversed(rows[:4]), rows[7], row_count=500).kind is Kind.TABLE
    days = [("d", "day", DATE), ("n", "n", INTEGER)]
    assert asked("", days, *((f"2024-01-0{n}", n) for n in range(1, 6)), row_count=500).kind is Kind.TABLE


def test_weekdays_months_and_ranges_keep_their_own_order() -> None:
    for places, ordered in (
        (["Sun", "Mon", "Fri"], ["Mon", "Fri", "Sun"]),
        (["周日", "周一", "周五"], ["周一", "周五", "周日"]),
        (["10月", "2月", "1月"], ["1月", "2月", "10月"]),
        (["18-29", "<18", "60+"], ["<18", "18-29", "60+"]),
    ):
        spec = drawn([("k", "k", TEXT), ("n", "n", INTEGER)], *((place, n) for n, place in enumerate(places, 1)))
        assert [value["k"] for value in spec["data"]["values"]] == ordered
        assert spec["encoding"]["x"]["sort"] is None


def test_two_categories_are_bars_side_by_side_or_a_grid() -> None:
    columns = [("c", "city", TEXT), ("d", "channel", TEXT), ("n", "sales", INTEGER)]
    small = asked("", columns, *((c, d, 3) for c in "abc" for d in "xy"))
    assert (small.kind, small.spec["encoding"]["xOffset"]["field"]) == (Kind.BAR, "channel")
    large = asked("", columns, *((c, d, 3) for c in "abcdefgh" for d in "uvwxyz"))
    assert large.kind is Kind.HEATMAP
    assert asked("", columns, *(("a", d, 3) for d in "xx")).kind is Kind.TABLE


def test_one_value_is_a_big_number_and_many_are_a_histogram() -> None:
    amount = [("amount", "amount", NUMBER)]
    assert asked("", amount, (4000,)).spec["encoding"]["text"]["field"] == "amount"
    spread = asked("", amount, *((n * 1.5,) for n in range(40)))
    assert spread.kind is Kind.HISTOGRAM
    counted = spread.spec["encoding"]["y"]
    assert (counted["aggregate"], counted["scale"], counted["title"]) == ("count", {"zero": True}, "Count")
    assert asked("", [("id", "id", INTEGER)], *((n,) for n in range(40))).kind is Kind.TABLE


def test_untyped_numbers_are_numbers_and_signs_in_a_label_are_no_path() -> None:
    spec = drawn([("c", "a.b [c]", TEXT), ("n", "n", OTHER)], ("x", 1), ("y", 2.5))
    assert spec["encoding"]["x"]["field"] == "a\\.b \\[c\\]"
    assert spec["encoding"]["x"]["title"] == "a.b [c]"
    assert spec["data"]["values"][0] == {"a.b [c]": "x", "n": 1}


def test_a_number_is_read_from_text_and_from_nothing_else() -> None:
    assert [number(item) for item in ("1.50", "1e3", "x", True, None, float("nan"))] == [
        Decimal("1.50"),
        Decimal(1000),
        None,
        None,
        None,
        None,
    ]


@pytest.mark.parametrize(("language", "unit"), [("en", "'M'"), ("zh", "'万'")])
def test_a_picture_says_what_it_is_and_writes_large_numbers_short(language: Language, unit: str) -> None:
    columns = [("y", "year", TEXT), ("revenue", "revenue", NUMBER)]
    rows = (("2024", 2_000_000), ("2022", 1_000_000), ("2023", 1_500_000))
    result = Result(
        columns=tuple(ResultColumn(name=name, kind=kind) for name, _, kind in columns), rows=rows, row_count=3
    )
    title = "Total revenue per year, where the channel is one of a long list of channels that goes on, oldest first."
    drawn = chart(shape_of(result, ["year", "revenue"]), WORDS[language, "business"], title=title)
    assert drawn.spec is not None
    spec: Any = drawn.spec
    assert " ".join(spec["title"]["text"]) == title.rstrip(".")
    assert all(len(line) <= 84 for line in spec["title"]["text"])
    assert spec["width"] == 640
    assert unit in spec["encoding"]["y"]["axis"]["labelExpr"]
    # Years in a text are in order, whatever order the rows came in.
    assert [value["year"] for value in spec["data"]["values"]] == ["2022", "2023", "2024"]


def test_from_six_names_on_bars_lie_beside_their_names() -> None:
    few = asked("", COUNTS, *((f"n{n}", n) for n in range(5)))
    many = asked("", COUNTS, *((f"n{n}", n) for n in range(6)))
    assert few.spec["encoding"]["x"]["type"] == "nominal"
    assert (many.spec["encoding"]["y"]["type"], many.spec["height"]) == ("nominal", {"step": 26})


def test_a_ring_names_each_part_with_its_share_largest_first() -> None:
    drawn = asked("as a pie", COUNTS, ("Bern", 10), ("Lyon", 60), ("Oslo", 30))
    assert drawn.kind is Kind.PIE
    assert [value["city"] for value in drawn.spec["data"]["values"]] == ["Lyon · 60.0%", "Oslo · 30.0%", "Bern · 10.0%"]


def test_the_first_of_a_month_stands_for_the_month_and_new_years_day_for_the_year() -> None:
    columns = [("m", "month", DATE), ("revenue", "revenue", NUMBER)]
    rows = [(f"2025-{month:02d}-01", 100 * month % 700) for month in range(1, 10)]
    assert "From January 2025 to September 2025" in reported(columns, *rows)
    assert "2025年1月" in reported(columns, *rows, language="zh")
    texts = [("2025-01", 5), ("2025-02", 9), ("2025-03", 7)]
    assert "From January 2025 to March 2025" in reported([("m", "month", TEXT), columns[1]], *texts)
    years = [(f"{year}-01-01", year % 7) for year in range(2019, 2026)]
    assert "From 2019 to 2025" in reported(columns, *years)
    days = [("2025-01-01", 5), ("2025-01-02", 9), ("2025-01-03", 7)]
    assert "From 1 January 2025" in reported(columns, *days)


@pytest.mark.parametrize(
    ("called", "rows", "said"),
    [
        ("quarter", [("2026-01-01", 4), ("2026-04-01", 6)], "From Q1 2026 to Q2 2026 it rose from 4 to 6."),
        ("month", [("2026-04-01", 6), ("2026-05-01", 4)], "From April 2026 to May 2026 it fell from 6 to 4."),
        ("order_year", [("2025-01-01", 4), ("2026-01-01", 5)], "From 2025 to 2026"),
        ("day", [("2026-04-01", 4), ("2026-05-01", 6)], "From 1 April 2026 to 1 May 2026"),
    ],
)
def test_two_points_in_time_are_called_after_their_unit_and_compared_once(
    called: str, rows: list[tuple[str, int]], said: str
) -> None:
    sentence = reported([(called, called, DATE), ("revenue", "revenue", NUMBER)], *rows)
    assert said in sentence
    assert "Highest" not in sentence


def test_a_single_figure_is_said_with_what_it_is_a_figure_of() -> None:
    result = Result(columns=(ResultColumn(name="n", kind=INTEGER),), rows=((374,),), row_count=1)
    read_as = {"en": "Number of customers, where city name is Shanghai.", "zh": "城市名称为上海的客户数。"}
    languages: tuple[Language, ...] = ("en", "zh")
    said = [
        summary(
            shape_of(result, ["n"]),
            ["n"],
            WORDS[language, "business"],
            reading=Reading(text=read_as[language], measures=("n",)),
        )
        for language in languages
    ]
    assert said == ["Number of customers, where city name is Shanghai: 374.", "城市名称为上海的客户数：374。"]
