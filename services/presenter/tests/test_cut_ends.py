"""A trend goes from one whole period to another; the one that a period cuts, or that is not over, is named and not compared."""

from __future__ import annotations

from datetime import date

from querybus.core.catalog import ColumnKind, Dialect, Language
from querybus.core.messages import ColumnFormat, FormatKind, Reading, Result, ResultColumn, Scalar
from querybus_presenter.charts.shape import shape_of
from querybus_presenter.formats.decide import format_of
from querybus_presenter.formats.facts import ColumnFacts
from querybus_presenter.summaries.cut_ends import Days, days_of
from querybus_presenter.summaries.summary import summary
from querybus_presenter.wording.statement import read
from querybus_presenter.wording.texts import load_texts

WORDS = load_texts()
TODAY = date(2026, 6, 17)


def said(
    where: str, *rows: tuple[Scalar, ...], language: Language = "en", today: date = TODAY, defined: bool = False
) -> str:
    columns = (
        ResultColumn(name="when", kind=ColumnKind.DATE if len(str(rows[0][0])) > 7 else ColumnKind.TEXT),
        ResultColumn(name="n", kind=ColumnKind.INTEGER),
    )
    result = Result(columns=columns, rows=rows, row_count=len(rows))
    labels = ["Month", "Number of sales"]
    tree = read(f"SELECT substr(day, 1, 7), COUNT(*) FROM sales {where} GROUP BY 1", Dialect.SQLITE)
    reading = Reading(text="", definitions=("sales",) if defined else ())
    return summary(
        shape_of(
            result,
            labels,
            [
                format_of(ColumnFacts("month"), columns[0].kind, [row[0] for row in rows]),
                ColumnFormat(kind=FormatKind.INTEGER, unit="笔" if language == "zh" else ""),
            ],
        ),
        labels,
        WORDS[language, "business"],
        reading=reading,
        days=days_of(tree, today),
    )


MONTHS = (("2026-03", 10), ("2026-04", 20), ("2026-05", 30), ("2026-06", 5))


def test_the_month_that_is_not_over_is_named_and_neither_compared_nor_the_lowest() -> None:
    text = said("", *MONTHS)
    assert "From March 2026 to May 2026 it rose from 10 to 30. June 2026 is not over yet." in text
    assert "Lowest" not in text
    whole = said("", *MONTHS, today=date(2026, 6, 30))
    assert "From March 2026 to June 2026 it fell from 10 to 5." in whole
    assert "over yet" not in whole


def test_a_year_that_is_not_over_is_named_where_years_are_texts_too() -> None:
    text = said("", ("2024", 30), ("2025", 40), ("2026", 5))
    assert "From 2024 to 2025 it rose from 30 to 40. 2026 is not over yet." in text


def test_the_first_and_last_months_that_a_period_cuts_are_named() -> None:
    text = said("WHERE day >= '2026-03-10' AND day < '2026-06-12'", *MONTHS)
    assert "From April 2026 to May 2026 it rose from 20 to 30." in text
    assert "March 2026 counts from 10 March 2026 on. June 2026 counts up to 11 June 2026." in text
    assert "counts" not in said("WHERE day >= '2026-03-01' AND day < '2026-07-01'", *MONTHS)


def test_what_definitions_say_of_a_cut_month_is_not_said_twice() -> None:
    text = said("WHERE day >= '2026-03-10'", *MONTHS, defined=True)
    assert "From April 2026" in text
    assert "counts from" not in text
    assert "June 2026 is not over yet." in text


def test_days_a_week_apart_are_weeks_and_single_days_are_never_cut() -> None:
    weeks = tuple(
        (f"2026-{day}", count) for day, count in (("05-18", 4), ("05-25", 5), ("06-01", 6), ("06-08", 7), ("06-15", 1))
    )
    assert "The week of 15 June 2026 is not over yet." in said("", *weeks)
    days = tuple((f"2026-06-{day}", count) for day, count in ((14, 4), (15, 5), (16, 6), (17, 1)))
    assert "it fell from 4 to 1" in said("", *days)


def test_the_period_of_an_inner_query_counts_where_all_have_the_same() -> None:
    inner = "SELECT m FROM (SELECT substr(day, 1, 7) AS m FROM sales WHERE day >= '2026-03-10') AS s"
    assert days_of(read(inner, Dialect.SQLITE), TODAY).period.begin == date(2026, 3, 10)
    two = f"{inner} JOIN (SELECT id FROM sales WHERE day >= '2025-01-01') AS t ON TRUE"
    assert days_of(read(two, Dialect.SQLITE), TODAY).period.begin is None
    assert days_of(None, TODAY) == Days(today=TODAY)


def test_a_chinese_figure_with_its_measure_word_is_followed_by_no_space() -> None:
    assert "由 10笔上升到 30笔。2026年6月尚未结束。" in said("", *MONTHS, language="zh")
