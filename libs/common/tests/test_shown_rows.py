"""Cells are written as people read them, a column at a time, in both languages."""

from __future__ import annotations

from typing import Any

import pytest

from querybus.text.rows.shown_rows import shown_rows


@pytest.mark.parametrize(
    ("label", "kind", "cells", "shown"),
    [
        ("Revenue", "number", [1_011_954.2700000091, 5, None], ["1,011,954.27", "5.00", ""]),
        ("Orders", "integer", [1_846, 3], ["1,846", "3"]),
        ("Share", "number", [0.12344, 0.5], ["0.1234", "0.50"]),
        ("Year", "integer", [2024, 2025], ["2024", "2025"]),
        ("Yearly revenue", "number", [2_024.5, 12_000.25], ["2,024.50", "12,000.25"]),
        ("order_id", "integer", [10_248], ["10248"]),
        ("month", "date", ["2025-01-01", None], ["Jan 2025", ""]),
        ("month", "text", ["2025-02"], ["Feb 2025"]),
        ("month", "text", ["2025-02", "spring"], ["2025-02", "spring"]),
        ("month", "text", ["2025-13"], ["2025-13"]),
        ("quarter", "date", ["2025-01-01", "2025-04-01", None], ["Q1 2025", "Q2 2025", ""]),
        ("quarter", "date", ["2025-01-01", "2025-02-01"], ["2025-01-01", "2025-02-01"]),
        ("ordered", "datetime", ["2025-01-02T00:00:00", "2025-01-02T10:30:00"], ["2025-01-02", "2025-01-02 10:30:00"]),
        ("Balance", "number", ["12345678901234567.89"], ["12345678901234567.89"]),
        ("Rows", "number", [1e18, float("nan")], ["1e+18", "nan"]),
    ],
)
def test_a_column_is_written_as_people_read_it(label: str, kind: str, cells: list[Any], shown: list[str]) -> None:
    rows = shown_rows([{"label": label, "kind": kind}], [[cell] for cell in cells], "en")
    assert [row[0] for row in rows] == shown


def test_months_have_their_name_in_the_readers_language() -> None:
    assert shown_rows([{"label": "\u6708\u4efd", "kind": "date"}], [["2025-11-01"]], "zh") == [["2025\u5e7411\u6708"]]
    assert shown_rows([{"label": "季度", "kind": "date"}], [["2025-10-01"]], "zh") == [["2025年第4季度"]]


def test_no_columns_have_no_rows() -> None:
    assert shown_rows([], [[]], "en") == []
