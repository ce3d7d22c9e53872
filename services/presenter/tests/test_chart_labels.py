"""Figures and names stand in the picture where there is space for them; a last point that is not whole is dashed."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from querybus.core.catalog import ColumnKind
from querybus.core.messages import Result, ResultColumn, Scalar
from querybus_presenter.charts.chart import chart
from querybus_presenter.charts.labels import BARS_LABELLED_MAX, LINES_NAMED_MAX, apart
from querybus_presenter.charts.shape import shape_of
from querybus_presenter.summaries.cut_ends import Days
from querybus_presenter.wording.texts import load_texts

WORDS = load_texts()
TEXT, NUMBER, DATE = ColumnKind.TEXT, ColumnKind.NUMBER, ColumnKind.DATE
COUNTS = [("city", TEXT), ("orders", NUMBER)]
COURSE = [("month", DATE), ("orders", NUMBER)]
COURSES = [("month", DATE), ("city", TEXT), ("orders", NUMBER)]
MONTHS = [f"2025-{month:02d}-01" for month in range(1, 7)]


def drawn(columns: list[tuple[str, ColumnKind]], *rows: tuple[Scalar, ...], question: str = "", **more: Any) -> Any:
    made = tuple(ResultColumn(name=name, kind=kind) for name, kind in columns)
    result = Result(columns=made, rows=rows, row_count=len(rows))
    shape = shape_of(result, [name for name, _ in columns])
    return chart(shape, WORDS["en", "business"], question, **more).spec


def texts_of(spec: Any) -> list[Any]:
    return [layer for layer in spec.get("layer", ()) if layer["mark"]["type"] == "text"]


def test_each_of_a_few_bars_has_its_figure_and_of_many_steps_only_the_highest() -> None:
    few = drawn(COUNTS, ("Bern", 3), ("Lyon", -4))
    (label,) = texts_of(few)
    assert 'datum["orders"]' in label["encoding"]["text"]["value"]["expr"]
    assert "transform" not in label
    hours = [(f"2025-01-01 {hour:02d}:00", hour) for hour in range(BARS_LABELLED_MAX + 1)]
    many = drawn([("hour", TEXT), ("orders", NUMBER)], *hours, question="as bars")
    (label,) = texts_of(many)
    assert label["transform"] == [{"filter": 'datum["orders"] === 12.0'}]


def test_lying_bars_have_a_figure_each_however_many() -> None:
    spec = drawn(COUNTS, *((f"city {n}", n) for n in range(20)))
    (label,) = texts_of(spec)
    assert spec["encoding"]["y"]["type"] == "nominal"
    assert "transform" not in label


def test_a_line_has_the_figures_of_its_highest_and_its_last_point() -> None:
    spec = drawn(COURSE, *zip(MONTHS, (1, 9, 3, 4, 5, 6), strict=True))
    assert [label["data"]["values"] for label in texts_of(spec)] == [
        [{"month": "2025-06-01", "orders": 6}],
        [{"month": "2025-02-01", "orders": 9}],
    ]
    rising = drawn(COURSE, *zip(MONTHS, range(6), strict=True))
    assert len(texts_of(rising)) == 1


def test_lines_are_named_at_their_ends_instead_of_in_a_legend() -> None:
    spec = drawn(COURSES, *((month, city, place) for month in MONTHS for place, city in enumerate("abc")))
    (label,) = texts_of(spec)
    assert [value["city"] for value in label["data"]["values"]] == ["a", "b", "c"]
    assert {value["month"] for value in label["data"]["values"]} == {MONTHS[-1]}
    assert spec["encoding"]["color"]["legend"] is None
    many = [chr(97 + n) for n in range(LINES_NAMED_MAX + 1)]
    legend = drawn(COURSES, *((month, city, place) for month in MONTHS for place, city in enumerate(many)))
    assert "legend" not in legend["encoding"]["color"]
    assert texts_of(legend) == []


def test_lines_that_do_not_end_together_keep_their_legend() -> None:
    rows = [(month, city, place) for month in MONTHS for place, city in enumerate("abc")]
    spec = drawn(COURSES, *(row for row in rows if row[:2] != (MONTHS[-1], "b")))
    assert "legend" not in spec["encoding"]["color"]
    assert texts_of(spec) == []


@given(st.lists(st.floats(-1e6, 1e6), max_size=5), st.floats(0.01, 1e5))
def test_names_at_ends_never_touch_and_keep_their_order(numbers: list[float], least: float) -> None:
    places = apart(sorted(numbers), least)
    assert len(places) == len(numbers)
    assert all(b - a >= least * 0.999 - 1e-6 for a, b in pairwise(places))


def test_a_ring_is_named_around_it_unless_names_would_touch() -> None:
    spec = drawn(COUNTS, ("Bern", 10), ("Lyon", 60), ("Oslo", 30), question="as a pie")
    (label,) = texts_of(spec)
    assert label["mark"]["align"]["expr"].startswith('indexof(["Oslo · 30.0%", "Bern · 10.0%"]')
    assert spec["encoding"]["color"]["legend"] is None
    thin = drawn(COUNTS, ("Bern", 1), ("Lyon", 97), ("Oslo", 1), ("Rome", 1), question="as a pie")
    assert texts_of(thin) == []
    assert thin["encoding"]["color"]["legend"]["orient"] == "right"


def test_cells_of_a_small_grid_hold_their_figures() -> None:
    columns = [("city", TEXT), ("channel", TEXT), ("orders", NUMBER)]
    grid = drawn(columns, *((a, b, 3) for a in "abcdefgh" for b in "uvwxyz"), question="as a heatmap")
    assert len(texts_of(grid)) == 1
    wide = [(f"c{n:02d}", b, n) for n in range(30) for b in "uvw"]
    assert texts_of(drawn(columns, *wide, question="as a heatmap")) == []


def test_a_few_points_are_named_where_there_is_space() -> None:
    columns = [("product", TEXT), ("price", NUMBER), ("stock", NUMBER)]
    points = [("a", 1, 9000), ("b", 500, 1), ("c", 900, 40000), ("d", 901, 40001), ("e", 300, 20000)]
    (label,) = texts_of(drawn(columns, *points, question="as a scatter plot"))
    assert [value["product"] for value in label["data"]["values"]] == ["a", "b", "c", "e"]
    assert texts_of(drawn(columns[1:], *(point[1:] for point in points), question="as a scatter plot")) == []


def test_a_period_that_is_not_over_is_dashed_and_named() -> None:
    rows = list(zip(MONTHS, (1, 9, 3, 4, 5, 6), strict=True))
    spec = drawn(COURSE, *rows, title="Orders by month", days=Days(today=dt.date(2025, 6, 10)))
    whole, rest = spec["layer"][:2]
    assert [len(layer["data"]["values"]) for layer in (whole, rest)] == [5, 2]
    assert rest["mark"]["strokeDash"] == [4, 4]
    assert spec["title"]["subtitle"] == ["June 2025 is not over yet."]
    assert len(spec["data"]["values"]) == 6
    over = drawn(COURSE, *rows, title="Orders by month", days=Days(today=dt.date(2025, 7, 1)))
    assert "strokeDash" not in str(over)
    assert "subtitle" not in over["title"]


def test_days_of_one_year_are_called_as_chinese_readers_call_them() -> None:
    made = tuple(ResultColumn(name=name, kind=kind) for name, kind in (("日期", DATE), ("订单数", NUMBER)))
    rows = tuple((f"2025-01-{day:02d}", day) for day in range(3, 20))
    shape = shape_of(Result(columns=made, rows=rows, row_count=len(rows)), ["日期", "订单数"])
    spec: Any = chart(shape, WORDS["zh", "business"]).spec
    assert spec["encoding"]["x"]["axis"]["format"] == "%-m月%-d日"
