"""Cells are written as people read them, by the format of their column, in both languages."""

from __future__ import annotations

from typing import Any

import pytest

from querybus.core.catalog import Language
from querybus.text.rows.shown_rows import is_figure, shown_rows


def shown(how: dict[str, Any] | None, cells: list[Any], language: Language = "en") -> list[str]:
    return [row[0] for row in shown_rows([{"label": "Year id", "format": how}], [[cell] for cell in cells], language)]


@pytest.mark.parametrize(
    ("how", "cells", "texts"),
    [
        ({"kind": "number", "digits": 2}, [1_011_954.2700000091, 5, None], ["1,011,954.27", "5.00", ""]),
        ({"kind": "integer"}, [1_846, 3, -0.0], ["1,846", "3", "0"]),
        ({"kind": "number", "digits": 4}, [0.12344, 0.5], ["0.1234", "0.50"]),
        ({"kind": "number", "digits": 2}, [0.125, -0.125, 0.1 + 0.2], ["0.13", "-0.13", "0.30"]),
        ({"kind": "percent", "digits": 1, "factor": 100.0}, [0.2768, -0.5, "n/a"], ["27.7%", "-50.0%", "n/a"]),
        ({"kind": "money", "digits": 2, "factor": 0.01}, [1_703_134_404, 5], ["17,031,344.04", "0.05"]),
        ({"kind": "year"}, [2024, 2025, "2026"], ["2024", "2025", "2026"]),
        ({"kind": "id"}, [10_248, "A-7"], ["10248", "A-7"]),
        ({"kind": "date", "grain": "month"}, ["2025-01-01", "2025-02", None], ["Jan 2025", "Feb 2025", ""]),
        ({"kind": "date", "grain": "month"}, ["spring", "2025-13"], ["spring", "2025-13"]),
        ({"kind": "date", "grain": "quarter"}, ["2025-01-01", "2025-04-01"], ["Q1 2025", "Q2 2025"]),
        ({"kind": "date"}, ["2025-01-02T00:00:00", "2025-01-02"], ["2025-01-02", "2025-01-02"]),
        ({"kind": "datetime"}, ["2025-01-02T10:30:00.5Z"], ["2025-01-02 10:30:00 UTC"]),
        ({"kind": "datetime"}, ["2025-01-02 10:30:00+02:00"], ["2025-01-02 10:30:00+02:00"]),
        ({"kind": "number", "digits": 2}, ["12345678901234567.89"], ["12,345,678,901,234,567.89"]),
        ({"kind": "number", "digits": 2}, [1e18, 1e300, "NaN"], ["1,000,000,000,000,000,000.00", "1.00e+300", "NaN"]),
        ({"kind": "boolean"}, [True, 0, None], ["yes", "no", ""]),
    ],
)
def test_a_cell_is_written_by_the_format_of_its_column(how: dict[str, Any], cells: list[Any], texts: list[str]) -> None:
    assert shown(how, cells) == texts


def test_dates_and_truths_are_written_in_the_readers_language() -> None:
    assert shown({"kind": "date", "grain": "month"}, ["2025-11-01"], "zh") == ["2025年11月"]
    assert shown({"kind": "date", "grain": "quarter"}, ["2025-10-01"], "zh") == ["2025年第4季度"]
    assert shown({"kind": "date", "grain": "year"}, ["2025-01-01"], "zh") == ["2025年"]
    assert shown({"kind": "boolean"}, [1], "zh") == ["是"]


def test_a_column_without_a_format_is_shown_as_it_is_whatever_it_is_called() -> None:
    assert shown(None, [12_345, 0.1 + 0.2, "2025-01-01", 5.0, True]) == ["12345", "0.3", "2025-01-01", "5", "True"]
    assert is_figure({"kind": "integer"})
    assert not is_figure({"kind": "integer", "format": {"kind": "id"}})


def test_no_columns_have_no_rows() -> None:
    assert shown_rows([], [[]], "en") == [[]]
