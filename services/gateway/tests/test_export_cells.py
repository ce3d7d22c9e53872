"""A text that a spreadsheet would run as a formula leaves as a text; numbers and plain texts leave as they are."""

from __future__ import annotations

import pytest

from querybus.text.rows.csv_cells import csv_cell


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"), ("@SUM(A1)", "'@SUM(A1)"), ("+1+1", "'+1+1"), ("-2+3", "'-2+3"),
        ("\t=1", "'\t=1"), ("-12345678901234567.89", "-12345678901234567.89"), ("+49", "+49"), (-5, -5), (None, ""),
        (True, "true"), ("a=b", "a=b"), ("＝1+1", "'＝1+1"), ("＠SUM(1)", "'＠SUM(1)"), ("＋1", "'＋1"), ("－2", "'－2"),
    ],
)  # fmt: skip
def test_no_cell_of_a_csv_begins_a_formula(cell: object, written: object) -> None:
    assert csv_cell(cell) == written
