"""Pictures in plain text: what is drawn, what is left to the table, and that widths hold for Chinese as well."""

from __future__ import annotations

from typing import Any

import pytest

from querybus_cli.terminal.chart import BARS_MAX, chart_lines
from querybus_cli.terminal.outcome import cell_text


def spec(mark: str, values: list[dict[str, Any]], **encoding: Any) -> dict[str, Any]:
    return {"mark": {"type": mark}, "data": {"values": values}, "encoding": encoding}


CITY = {"field": "city", "type": "nominal"}
N = {"field": "n", "type": "quantitative"}


def test_the_longest_bar_fills_the_capacity_and_the_others_their_share_of_it() -> None:
    lines = chart_lines(spec("bar", [{"city": "a", "n": 8}, {"city": "b", "n": 4}], x=CITY, y=N), 40)
    full, half = (line.count("█") for line in lines)
    assert full == 2 * half
    assert all(len(line) <= 40 for line in lines)


def test_lying_bars_and_pies_are_drawn_too() -> None:
    values = [{"city": "a", "n": 2}, {"city": "b", "n": 1}]
    assert chart_lines(spec("bar", values, x=N, y=CITY), 40) == chart_lines(spec("bar", values, x=CITY, y=N), 40)
    assert len(chart_lines(spec("arc", values, theta=N, color=CITY), 40)) == 2


def test_labels_over_a_picture_change_nothing_of_it() -> None:
    values = [{"city": "a", "n": 2}, {"city": "b", "n": 1}]
    plain = spec("bar", values, x=CITY, y=N)
    layered = {**plain, "layer": [{"mark": plain["mark"]}, {"mark": {"type": "text"}}]}
    del layered["mark"]
    assert chart_lines(layered, 40) == chart_lines(plain, 40) != []


def test_chinese_labels_stand_in_one_column() -> None:
    lines = chart_lines(spec("bar", [{"city": "上海", "n": 2}, {"city": "Bonn", "n": 1}], x=CITY, y=N), 40)
    assert lines[0].startswith("上海  █")
    assert lines[1].startswith("Bonn  █")


def test_what_is_too_long_is_cut_and_counted() -> None:
    values = [{"city": f"c{number}" * 20, "n": number + 1} for number in range(BARS_MAX + 5)]
    lines = chart_lines(spec("bar", values, x=CITY, y=N), 60)
    assert len(lines) == BARS_MAX + 1
    assert lines[-1] == "(5 more)"
    assert all(len(line) <= 60 for line in lines)


def test_a_course_is_a_line_of_blocks_with_its_ends() -> None:
    values = [{"month": f"2025-{month:02}", "n": month} for month in range(1, 9)]
    month = {"field": "month", "type": "temporal"}
    line, ends = chart_lines(spec("line", values, x=month, y=N), 80)
    assert line.startswith("▁▂▃▄▅▆▇█  1 … 8")
    assert ends == "2025-01 → 2025-08"
    groups = [{**value, "kind": kind} for value in values for kind in ("new", "old")]
    lines = chart_lines(spec("line", groups, x=month, y=N, color={"field": "kind", "type": "nominal"}), 80)
    assert [line.split()[0] for line in lines[:2]] == ["new", "old"]


def test_a_long_course_fits_the_width() -> None:
    values = [{"day": str(day), "n": day % 7} for day in range(1_000)]
    lines = chart_lines(spec("area", values, x={"field": "day", "type": "ordinal"}, y=N), 80)
    assert len(lines[0]) <= 80


@pytest.mark.parametrize(
    "nothing",
    [
        None,
        {},
        spec("point", [{"a": 1, "n": 2}] * 5, x={"field": "a", "type": "quantitative"}, y=N),
        spec("rect", [{"city": "a", "n": 2}] * 5, x=CITY, y={"field": "b", "type": "nominal"}),
        spec("bar", [{"city": "a", "n": 2}], x=CITY, y=N),
        spec("bar", [{"city": "a", "n": -2}, {"city": "b", "n": 2}], x=CITY, y=N),
        spec("bar", [{"city": "a", "n": None}, {"city": "b", "n": "x"}], x=CITY, y=N),
        spec("text", [{"n": 2}], text=N),
    ],
)
def test_what_text_cannot_show_is_left_to_the_table(nothing: Any) -> None:
    assert chart_lines(nothing, 60) == []


def test_a_value_cannot_command_the_terminal() -> None:
    assert "\x1b" not in cell_text("\x1b[2Jgone\x07")
    assert "\u202e" not in cell_text("abc\u202etxt")
