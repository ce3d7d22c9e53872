"""Each column has one format, by what its statement and the catalog say and by its cells; never by its label."""

from __future__ import annotations

from typing import Any

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Language, Table
from querybus.core.messages import Analysis, ColumnFormat, Concluded, FormatKind, Outcome, Result, ResultColumn, Scalar
from querybus.core.subjects import StageName
from querybus.text.rows.shown_rows import shown_cell
from querybus_presenter.formats.columns import column_formats

INT, NUM, TXT, DAY = ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.TEXT, ColumnKind.DATE
MOMENT, TRUTH, OTHER = ColumnKind.DATETIME, ColumnKind.BOOLEAN, ColumnKind.OTHER
EUR = {"en": "EUR", "zh": "欧元"}


def column(name: str, type_: str, kind: ColumnKind, **more: Any) -> Column:
    return Column(name=name, type=type_, kind=kind, **more)


CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.POSTGRESQL,
    default_schema="public",
    tables=(
        Table(
            name="sales",
            primary_key=("sale_no",),
            foreign_keys=(ForeignKey(columns=("client",), referred_table="clients", referred_columns=("client",)),),
            columns=(
                column("sale_no", "int8", INT),
                column("client", "int8", INT),
                column("channel", "text", TXT),
                column("gross", "numeric(12,2)", NUM, unit=EUR),
                column("refund", "numeric(12,2)", NUM, unit=EUR),
                column("price", "numeric(12,2)", NUM),
                column("fee", "money", NUM),
                column("tip_cents", "int8", INT),
                column("tax", "int8", INT, unit={"en": "US cents", "zh": "美分"}),
                column("pieces", "int4", INT),
                column("discount", "int4", INT, unit={"en": "%", "zh": "%"}),
                column("weight", "float8", NUM, unit={"en": "kg", "zh": "千克"}),
                column("rating", "float8", NUM),
                column("paid", "bool", TRUTH),
                column("state", "text", TXT),
                column("sold_on", "date", DAY),
                column("sold_at", "timestamptz", MOMENT),
                column("starts_on", "date", DAY),
                column("month", "date", DAY),
                column("model_year", "int4", INT),
                column("room_number", "int4", INT),
                column("lat", "float8", NUM),
                column("percent_cents", "text", TXT),
            ),
        ),
        Table(name="clients", primary_key=("client",), columns=(column("client", "int8", INT),)),
    ),
)


def decided(
    select: str,
    kind: ColumnKind,
    cells: tuple[Scalar, ...],
    *,
    language: Language = "en",
    label: str = "Number",
    analysis: Analysis | None = None,
    row_count: int | None = None,
    are_names: bool = False,
) -> tuple[str, ColumnFormat]:
    sql = (
        select
        if " " in select.strip() and select.upper().startswith(("SELECT", "WITH"))
        else f"SELECT {select} FROM sales"
    )
    result = Result(
        columns=(ResultColumn(name="x", kind=kind),),
        rows=tuple((cell,) for cell in cells),
        row_count=row_count or len(cells),
    )
    body = Concluded(
        outcome=Outcome.ANSWERED,
        stage=StageName.EXECUTOR,
        sql=sql,
        dialect=Dialect.POSTGRESQL,
        result=result,
        analysis=analysis or Analysis(),
    )
    (shown,), (how,) = column_formats(body, result, [label], CATALOG, language, are_names=are_names)
    return shown, how


GROUPS = "(SELECT channel, SUM(gross) AS part, COUNT(*) AS n, COUNT(*) FILTER (WHERE paid) AS k FROM sales GROUP BY channel) AS g"
COLUMNS: list[tuple[str, str, ColumnKind, tuple[Scalar, ...], str, str, str]] = [
    # label, SQL, kind, cells, format, first cell in English, first cell in Chinese
    ("Revenue year before", "SUM(price)", NUM, (878072.460000008, 941605.15), "number", "878,072.46", "878,072.46"),
    ("去年销售额", "SUM(price)", NUM, (0.1 + 0.2, 2.5), "number", "0.30", "0.30"),
    ("Number", "SUM(price)", NUM, (9285269.76,), "number", "9,285,269.76", "9,285,269.76"),
    ("Order number", "COUNT(*)", INT, (12345,), "integer", "12,345", "12,345"),
    ("Year", "COUNT(*)", INT, (2024,), "integer", "2,024", "2,024"),
    ("年份", "COUNT(DISTINCT client)", INT, (2024,), "integer", "2,024", "2,024"),
    ("id", "SUM(pieces)", INT, (1234567,), "integer", "1,234,567", "1,234,567"),
    ("Customer code", "AVG(pieces)", NUM, (1234.5,), "number", "1,234.50", "1,234.50"),
    ("编号", "SUM(price)", NUM, (12345,), "number", "12,345", "12,345"),
    ("Share", "SUM(pieces)", INT, (27,), "integer", "27", "27"),
    ("Percent", "price", NUM, (0.25, 10), "number", "0.25", "0.25"),
    ("Month", "COUNT(*)", INT, (3,), "integer", "3", "3"),
    ("Count", "sale_no", INT, (1234567,), "id", "1234567", "1234567"),
    ("Customers", "client", INT, (10248,), "id", "10248", "10248"),
    ("Last", "MAX(sale_no)", INT, (10248,), "id", "10248", "10248"),
    ("Rooms", "room_number", INT, (1204,), "id", "1204", "1204"),
    ("How many", "COUNT(sale_no)", INT, (10248,), "integer", "10,248", "10,248"),
    ("Built", "model_year", INT, (1998, 2024), "year", "1998", "1998"),
    ("Newest", "MAX(model_year)", INT, (2024,), "year", "2024", "2024"),
    ("Average built", "AVG(model_year)", NUM, (2011.25,), "number", "2,011.25", "2,011.25"),
    ("Built", "model_year", INT, (98, 2024), "integer", "98", "98"),
    ("Pieces", "pieces", INT, (2000, 2999), "integer", "2,000", "2,000"),
    ("Total", "EXTRACT(YEAR FROM sold_on)", NUM, (2025,), "year", "2025", "2025"),
    ("Total", "CAST(EXTRACT(YEAR FROM sold_at) AS INTEGER)", INT, (2025,), "year", "2025", "2025"),
    ("Next", "EXTRACT(YEAR FROM sold_on) + 1", NUM, (2026,), "year", "2026", "2026"),
    ("Period", "TO_CHAR(sold_on, 'YYYY')", TXT, ("2025",), "year", "2025", "2025"),
    ("Period", "TO_CHAR(sold_on, 'YYYY-MM')", TXT, ("2025-03", "2025-04"), "date month", "Mar 2025", "2025年3月"),
    ("x", "DATE_TRUNC('month', sold_on)", DAY, ("2025-03-01",), "date month", "Mar 2025", "2025年3月"),
    ("x", "DATE_TRUNC('month', sold_at)", MOMENT, ("2025-03-01 00:00:00+00:00",), "date month", "Mar 2025", "2025年3月"),
    ("x", "DATE_TRUNC('quarter', sold_at)", MOMENT, ("2025-04-01 00:00:00",), "date quarter", "Q2 2025", "2025年第2季度"),
    ("x", "DATE_TRUNC('year', sold_on)", DAY, ("2025-01-01", "2026-01-01"), "date year", "2025", "2025年"),
    ("x", "DATE_TRUNC('day', sold_at)", MOMENT, ("2025-04-01 00:00:00",), "date", "2025-04-01", "2025-04-01"),
    ("Month", "sold_on", DAY, ("2025-04-17", "2025-05-01"), "date", "2025-04-17", "2025-04-17"),
    ("Month", "starts_on", DAY, ("2025-04-01", "2025-05-01", "2025-06-01"), "date", "2025-04-01", "2025-04-01"),
    ("When", "month", DAY, ("2025-04-01", None), "date month", "Apr 2025", "2025年4月"),
    ("x", "sold_at", MOMENT, ("2025-04-17 10:30:00+00:00",), "datetime", "2025-04-17 10:30:00 UTC", "2025-04-17 10:30:00 UTC"),
    ("x", "sold_at", MOMENT, ("2025-04-17T10:30:00.123",), "datetime", "2025-04-17 10:30:00", "2025-04-17 10:30:00"),
    ("x", "EXTRACT(MONTH FROM sold_on)", NUM, (4,), "number", "4", "4"),
    ("Revenue", "SUM(gross)", NUM, (1454365.37,), "money EUR", "1,454,365.37", "1,454,365.37"),
    ("Revenue", "gross", NUM, (19.9, 20), "money EUR", "19.90", "19.90"),
    ("Revenue", "SUM(gross) / COUNT(*)", NUM, ("31.6666666666666667",), "money EUR", "31.67", "31.67"),
    ("Revenue", "SUM(gross * pieces)", NUM, (5,), "money EUR", "5", "5"),
    ("Revenue", "COALESCE(SUM(gross), 0)", NUM, (5.5,), "money EUR", "5.50", "5.50"),
    ("In thousands", "SUM(gross) / 1000", NUM, (5.5,), "number", "5.50", "5.50"),
    ("Net", "SUM(gross) - SUM(refund)", NUM, (5.25,), "money EUR", "5.25", "5.25"),
    ("Fees", "SUM(fee)", NUM, (5.25,), "money", "5.25", "5.25"),
    ("Tips", "SUM(tip_cents)", INT, (1703134404,), "money × 0.01", "17,031,344.04", "17,031,344.04"),
    ("Tips", "tip_cents", INT, (5,), "money × 0.01", "0.05", "0.05"),
    ("Tips", "SUM(tip_cents) / 100.0", NUM, (17.5,), "money", "17.50", "17.50"),
    ("Tips", "AVG(tip_cents)", NUM, (1250.5,), "money × 0.01", "12.51", "12.51"),
    ("Number of tips", "COUNT(tip_cents)", INT, (1200,), "integer", "1,200", "1,200"),
    ("Weight", "AVG(weight)", NUM, (1.256,), "number kg", "1.26", "1.26"),
    ("Discount", "discount", INT, (15,), "percent", "15%", "15%"),
    ("Discount", "AVG(discount)", NUM, (7.125,), "percent", "7.13%", "7.13%"),
    ("x", "AVG(paid::int)", NUM, (0.2768,), "percent × 100", "27.7%", "27.7%"),
    ("x", "AVG(CASE WHEN state = 'lost' THEN 1.0 ELSE 0 END)", NUM, (0.0116,), "percent × 100", "1.16%", "1.16%"),
    ("x", "100.0 * SUM(CASE WHEN paid THEN 1 ELSE 0 END) / COUNT(*)", NUM, (27.68,), "percent", "27.7%", "27.7%"),
    ("x", "ROUND(COUNT(*) FILTER (WHERE paid) * 100.0 / COUNT(*), 1)", NUM, (27.7,), "percent", "27.7%", "27.7%"),
    ("x", "SUM(gross) FILTER (WHERE paid) / NULLIF(SUM(gross), 0)", NUM, (0.5,), "percent × 100", "50%", "50%"),
    ("x", "SUM(refund) / NULLIF(SUM(gross), 0)", NUM, (0.0116,), "percent × 100", "1.16%", "1.16%"),
    ("x", "SUM(gross) / SUM(SUM(gross)) OVER ()", NUM, (0.348,), "percent × 100", "34.8%", "34.8%"),
    ("x", "COUNT(*)::float / (SELECT COUNT(*) FROM sales)", NUM, (0.348,), "percent × 100", "34.8%", "34.8%"),
    ("x", "1 - AVG(paid::int)", NUM, (0.348,), "percent × 100", "34.8%", "34.8%"),
    ("x", "(SUM(gross) - LAG(SUM(gross)) OVER (ORDER BY channel)) / LAG(SUM(gross)) OVER (ORDER BY channel)", NUM, (-0.25,), "percent × 100", "-25%", "-25%"),
    ("Share", "COUNT(*)::float / COUNT(DISTINCT client)", NUM, (3.4,), "number", "3.40", "3.40"),
    ("Rate", "SUM(gross) / SUM(weight)", NUM, (0.4,), "number", "0.40", "0.40"),
    ("x", f"SELECT g.part / SUM(g.part) OVER () FROM {GROUPS}", NUM, (0.348,), "percent × 100", "34.8%", "34.8%"),
    ("x", f"SELECT g.k::numeric / g.n FROM {GROUPS}", NUM, (0.348,), "percent × 100", "34.8%", "34.8%"),
    ("Year", f"SELECT g.part FROM {GROUPS}", NUM, (2024.5,), "money EUR", "2,024.50", "2,024.50"),
    ("Year", f"WITH g AS (SELECT * FROM {GROUPS}) SELECT MAX(part) FROM g", NUM, (2024.5,), "money EUR", "2,024.50", "2,024.50"),
    ("x", "SELECT SUM(gross) FROM sales UNION ALL SELECT SUM(refund) FROM sales", NUM, (1.5, 2), "money EUR", "1.50", "1.50"),
    ("x", "SELECT model_year FROM sales UNION ALL SELECT pieces FROM sales", INT, (1500, 2000), "integer", "1,500", "1,500"),
    ("Rating", "AVG(rating)", NUM, (4.0, 3.6667), "number", "4.00", "4.00"),
    ("Tiny", "AVG(rating)", NUM, (0.0000123,), "number", "0.000012", "0.000012"),
    ("Place", "lat", NUM, (48.85661,), "number", "48.85661", "48.85661"),
    ("Exact", "price", NUM, ("12345678901234567.89",), "number", "12,345,678,901,234,567.89", "12,345,678,901,234,567.89"),
    ("Paid", "paid", TRUTH, (True,), "boolean", "yes", "是"),
    ("Paid", "paid", TRUTH, (0,), "boolean", "no", "否"),
    ("Year", "state", TXT, ("2024",), "text", "2024", "2024"),
    ("Month", "channel", TXT, ("2025-02",), "text", "2025-02", "2025-02"),
    ("x", "SUM(price)", NUM, ("NaN",), "text", "NaN", "NaN"),
    ("Unknown", "some_function(price)", OTHER, (1234.5,), "number", "1,234.50", "1,234.50"),
    ("Year", "some_function(price)", OTHER, (2024,), "integer", "2,024", "2,024"),
]  # fmt: skip


def written(how: ColumnFormat) -> str:
    parts = [how.kind.value, how.unit, how.grain if how.grain != "day" else ""]
    return " ".join(part for part in (*parts, f"× {how.factor:g}" if how.factor != 1 else "") if part)


@pytest.mark.parametrize(("label", "sql", "kind", "cells", "format_", "english", "chinese"), COLUMNS)
def test_a_column_has_the_format_that_is_known_of_it_whatever_it_is_called(
    label: str, sql: str, kind: ColumnKind, cells: tuple[Scalar, ...], format_: str, english: str, chinese: str
) -> None:
    both: tuple[tuple[Language, str], ...] = (("en", english), ("zh", chinese))
    for language, said in both:
        shown, how = decided(sql, kind, cells, label=label, language=language)
        if language == "en":
            assert written(how) == format_
            assert shown == label
        assert shown_cell(cells[0], how.model_dump(mode="json"), language) == said
    # Another label changes nothing.
    assert decided(sql, kind, cells, label="Year id number 年 编号")[1] == decided(sql, kind, cells, label="x")[1]


def test_the_table_of_columns_has_what_it_promises() -> None:
    assert len(COLUMNS) >= 60
    assert {kind.value for kind in FormatKind} <= {format_.split()[0] for *_, format_, _, _ in COLUMNS}


@pytest.mark.parametrize(
    ("sql", "unit", "kind", "cells", "format_"),
    [
        ("SUM(refund) / NULLIF(SUM(price), 0)", "%", NUM, (0.0116,), "percent × 100"),
        ("100 * SUM(refund) / NULLIF(SUM(price), 0)", "%", NUM, (1.16,), "percent"),
        (
            "SELECT p.rate FROM (SELECT SUM(refund) / SUM(price) AS rate FROM sales) AS p",
            "%",
            NUM,
            (0.0116,),
            "percent × 100",
        ),
        ("rating", "%", NUM, (87.5,), "percent"),
        ("AVG(paid::int)", "%", NUM, (0.0116,), "percent × 100"),
        ("SUM(price)", "CNY", NUM, (2.5,), "money CNY"),
        ("COUNT(*)", "笔", INT, (2,), "integer 笔"),
        ("AVG(rating)", "days", NUM, (2.5,), "number days"),
        ("SUM(price)", "EUR cents", INT, (250,), "money EUR × 0.01"),
    ],
)
def test_a_definition_says_what_its_figure_is_in(
    sql: str, unit: str, kind: ColumnKind, cells: tuple[Scalar, ...], format_: str
) -> None:
    assert written(decided(sql, kind, cells, analysis=Analysis(units=(unit,)))[1]) == format_


def test_what_is_shown_in_a_currency_is_not_called_cents_and_a_name_of_the_database_keeps_its_cents() -> None:
    for label, shown in (("Tip cents", "Tip"), ("Total of tips in cents", "Total of tips"), ("Tip (cents)", "Tip")):
        assert decided("SUM(tip_cents)", INT, (1250,), label=label) == (shown, decided("tip_cents", INT, (1250,))[1])
    kept, how = decided("SUM(tip_cents)", INT, (1250,), label="tip_cents", are_names=True)
    assert (kept, written(how)) == ("tip_cents", "integer")
    assert written(decided("SUM(tip_cents)", INT, (1250,), label="total", are_names=True)[1]) == "money × 0.01"


def test_where_more_rows_may_come_numbers_show_a_fraction_and_whole_ones_show_none() -> None:
    assert decided("SUM(price)", NUM, (5, 12), row_count=2_000)[1].digits == 2
    assert decided("SUM(price)", NUM, (5, 12))[1].digits == 0
    assert decided("SUM(pieces)", NUM, (5, 12), row_count=2_000)[1].digits == 0
    assert decided("AVG(paid::int)", NUM, (0.5, 0.25), row_count=2_000)[1].digits == 1


def test_a_statement_that_cannot_be_read_leaves_plain_numbers() -> None:
    sql = "SHOW whatever"
    result = Result(
        columns=(ResultColumn(name="year", kind=INT), ResultColumn(name="id", kind=INT)),
        rows=((2024, 1024),),
        row_count=1,
    )
    body = Concluded(
        outcome=Outcome.ANSWERED, stage=StageName.EXECUTOR, sql=sql, dialect=Dialect.POSTGRESQL, result=result
    )
    _, formats = column_formats(body, result, ["Year", "id"], CATALOG, "en")
    assert [written(how) for how in formats] == ["integer", "integer"]
