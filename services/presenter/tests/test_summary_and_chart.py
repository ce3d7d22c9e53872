"""Claims on summaries and charts: only what the rows say, written as people write it, never misleading."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from querybus.core.catalog import ColumnKind, Language
from querybus.core.messages import Result, ResultColumn, Scalar
from querybus_presenter.chart import BARS_MAX, chart
from querybus_presenter.summary import summary
from querybus_presenter.texts import load_texts
from querybus_presenter.values import in_words, number

WORDS = load_texts()
INTEGER, NUMBER, TEXT = ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.TEXT
DATE, OTHER = ColumnKind.DATE, ColumnKind.OTHER


def told(
    columns: list[tuple[str, str, ColumnKind]], *rows: tuple[Scalar, ...], language: Language = "en", **more: Any
) -> str:
    result = Result(
        columns=tuple(ResultColumn(name=name, kind=kind) for name, _, kind in columns),
        rows=rows,
        row_count=more.get("row_count", len(rows)),
        truncated=more.get("truncated", False),
    )
    texts = WORDS[language, "business"]
    return summary(result, [each[0] for each in columns], [each[1] for each in columns], texts)


COUNTS = [("cty", "city", TEXT), ("COUNT(*)", "Count", INTEGER)]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "3 results. Highest Count: Bern (1,200). Lowest: Rome (5). Total: 1,235."),
        ("zh", "共 3 条结果。Count最高：Bern（1,200）。最低：Rome（5）。合计：1,235。"),
    ],
)
def test_a_small_result_tells_extremes_and_total(language: Language, text: str) -> None:
    assert told(COUNTS, ("Bern", 1200), ("Lyon", 30), ("Rome", 5), language=language) == text


def test_what_does_not_add_up_has_no_total() -> None:
    columns = [("cty", "city", TEXT), ("AVG(amount)", "Average", NUMBER)]
    assert "Total" not in told(columns, ("Bern", 1.5), ("Lyon", 2.5))
    assert told([("id", "number", INTEGER), ("age", "age", INTEGER)], (1, 30), (2, 40)) == (
        "2 results. Highest age: 2 (40). Lowest: 1 (30)."
    )


def test_no_one_is_called_the_highest_where_several_are() -> None:
    assert told(COUNTS, ("Bern", 5), ("Lyon", 5), ("Rome", 1)) == "3 results. Lowest: Rome (1). Total: 11."
    assert told(COUNTS, ("Bern", 5), ("Lyon", 5)) == "2 results."


def test_a_result_that_is_not_wholly_at_hand_is_only_counted() -> None:
    assert told(COUNTS, ("Bern", 5), ("Lyon", 6), row_count=2_000) == "2,000 results."
    assert told(COUNTS, ("Bern", 5), ("Lyon", 6), truncated=True) == (
        "2 results. Only the first 2 are kept; there are more."
    )


@pytest.mark.parametrize(
    ("columns", "row", "english", "chinese"),
    [
        ([("x", "Value 1", INTEGER)], (1234567,), "The answer is 1,234,567.", None),
        ([("x", "数值 1", INTEGER)], (1234567,), None, "结果为 1,234,567。"),
        ([("x", "Count", INTEGER)], (42,), "Count: 42.", "Count：42。"),
        ([("x", "Count", INTEGER)], (None,), "There is no value for this.", "没有对应的数值。"),
        ([("x", "birth year", INTEGER)], (1987,), "birth year: 1987.", None),
        (
            [("a", "name", TEXT), ("b", "since", DATE)],
            ("Ann", "2024-03-05"),
            "name: Ann; since: 5 March 2024.",
            "name：Ann；since：2024年3月5日。",
        ),
    ],
)
def test_one_row_is_told_whole(
    columns: list[tuple[str, str, ColumnKind]], row: tuple[Scalar, ...], english: str | None, chinese: str | None
) -> None:
    if english is not None:
        assert told(columns, row) == english
    if chinese is not None:
        assert told(columns, row, language="zh") == chinese


def test_no_row_is_said_so() -> None:
    assert told(COUNTS) == "Nothing matches this question."
    assert told(COUNTS, language="zh") == "没有符合条件的结果。"


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


_CELLS = st.one_of(st.integers(-(10**9), 10**9), st.floats(-1e6, 1e6, allow_nan=False).map(lambda each: round(each, 2)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), _CELLS), min_size=0, max_size=12), st.sampled_from(["en", "zh"]))
def test_no_number_is_invented(rows: list[tuple[str, int | float]], language: Language) -> None:
    said = told([("k", "letter", TEXT), ("SUM(v)", "Total", NUMBER)], *rows, language=language)
    amounts = [Decimal(str(value)) for _, value in rows]
    allowed = {Decimal(1), Decimal(len(rows)), sum(amounts, Decimal(0)), *amounts}
    for found in re.findall(r"-?\d[\d,]*(?:\.\d+)?", said):
        assert any(abs(Decimal(found.replace(",", "")) - each) < Decimal("0.005") for each in allowed), said


# Charts


def drawn(columns: list[tuple[str, str, ColumnKind]], *rows: tuple[Scalar, ...]) -> Any:
    return chart([each[0] for each in columns], [each[2] for each in columns], [each[1] for each in columns], rows)


def test_a_category_and_a_number_are_bars_from_zero() -> None:
    spec = drawn(COUNTS, ("Bern", 3), ("Lyon", "4.5"))
    assert spec["mark"]["type"] == "bar"
    assert spec["encoding"]["y"]["scale"] == {"zero": True}
    assert spec["encoding"]["x"]["field"] == "city"
    assert spec["encoding"]["y"]["field"] == "Count"
    assert spec["data"]["values"] == [{"city": "Bern", "Count": 3}, {"city": "Lyon", "Count": 4.5}]
    assert "cty" not in str(spec)


def test_a_time_and_a_number_are_a_line_in_order() -> None:
    columns = [("SUM(x)", "Total", NUMBER), ("d", "day", DATE)]
    spec = drawn(columns, (3, "2024-01-03"), (1, "2024-01-01"), (2, "2024-01-02"))
    assert spec["mark"]["type"] == "line"
    assert spec["encoding"]["x"]["type"] == "temporal"
    assert [each["day"] for each in spec["data"]["values"]] == ["2024-01-01", "2024-01-02", "2024-01-03"]
    years = drawn([("y", "year", INTEGER), ("COUNT(*)", "Count", INTEGER)], (2022, 3), (2020, 1), (2021, 2))
    assert [each["year"] for each in years["data"]["values"]] == [2020, 2021, 2022]


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (COUNTS, [("Bern", 3)]),
        (COUNTS, [("Bern", 3), ("Bern", 4)]),
        (COUNTS, [("Bern", 3), (None, 4)]),
        (COUNTS, [("Bern", 3), ("Lyon", None)]),
        (COUNTS, [(f"city {n}", n) for n in range(BARS_MAX + 1)]),
        ([("a", "a", TEXT), ("b", "b", TEXT)], [("x", "y"), ("z", "w")]),
        ([("name", "name", TEXT), ("customer_id", "customer", INTEGER)], [("x", 1), ("z", 2)]),
        ([("name", "name", TEXT), ("birth_year", "born", INTEGER)], [("x", 1987), ("z", 1990)]),
        ([("a", "a", INTEGER), ("b", "b", INTEGER)], [(1, 2), (2, 3), (3, 4)]),
        ([("a", "a", TEXT), ("b", "b", INTEGER), ("c", "c", INTEGER)], [("x", 1, 2), ("y", 2, 3)]),
        ([("d", "day", DATE), ("n", "n", INTEGER)], [("soon", 1), ("later", 2), ("never", 3)]),
        ([("n", "n", INTEGER)], [(1,), (2,)]),
        ([], []),
    ],
)
def test_no_chart_where_none_is_clear(
    columns: list[tuple[str, str, ColumnKind]], rows: list[tuple[Scalar, ...]]
) -> None:
    assert drawn(columns, *rows) is None


def test_untyped_numbers_are_numbers_and_signs_in_a_label_are_no_path() -> None:
    spec = drawn([("c", "a.b [c]", TEXT), ("n", "n", OTHER)], ("x", 1), ("y", 2.5))
    assert spec["encoding"]["x"]["field"] == "a\\.b \\[c\\]"
    assert spec["encoding"]["x"]["title"] == "a.b [c]"
    assert spec["data"]["values"][0] == {"a.b [c]": "x", "n": 1}


def test_a_number_is_read_from_text_and_from_nothing_else() -> None:
    assert [number(each) for each in ("1.50", "1e3", "x", True, None, float("nan"))] == [
        Decimal("1.50"),
        Decimal(1000),
        None,
        None,
        None,
        None,
    ]
