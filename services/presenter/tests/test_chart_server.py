"""A chart server of others draws what we would draw, is asked only for what it can, and never holds an answer up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querybus_presenter.charts.chart_server import PAUSE_MS, McpChartServer, address_in
from querybus_presenter.charts.external_call import POINTS_MAX, call_of

ROWS = [{"a.b": "x", "n": 1}, {"a.b": "y", "n": 2.5}]
NAMES = {"field": "a\\.b", "type": "nominal", "title": "a.b"}
AMOUNTS = {"field": "n", "type": "quantitative", "title": "Orders"}


def spec(kind: str, values: list[Any] | None = None, **encoding: Any) -> dict[str, Any]:
    return {
        "usermeta": {"chart": kind, "notes": []},
        "data": {"values": ROWS if values is None else values},
        "encoding": encoding,
        "title": {"text": ["Orders", "by name"]},
    }


@pytest.mark.parametrize(
    ("kind", "encoding", "tool", "first"),
    [
        ("line", {"x": NAMES, "y": AMOUNTS}, "line", {"time": "x", "value": 1}),
        ("area", {"x": NAMES, "y": AMOUNTS, "color": NAMES}, "area", {"time": "x", "value": 1, "group": "x"}),
        ("bar", {"x": NAMES, "y": AMOUNTS}, "column", {"category": "x", "value": 1}),
        ("bar", {"x": AMOUNTS, "y": NAMES}, "bar", {"category": "x", "value": 1}),
        ("pie", {"theta": AMOUNTS, "color": NAMES}, "pie", {"category": "x", "value": 1}),
        ("scatter", {"x": AMOUNTS, "y": AMOUNTS}, "scatter", {"x": 1, "y": 1}),
    ],
)
@pytest.mark.requirement("002.63")
def test_a_chart_becomes_the_call_of_its_tool(kind: str, encoding: Any, tool: str, first: Any) -> None:
    call = call_of(spec(kind, **encoding))
    assert call is not None
    assert call.tool == f"generate_{tool}_chart"
    assert call.arguments["data"][0] == first
    assert len(call.arguments["data"]) == 2
    assert call.arguments["title"] == "Orders by name"


def test_what_such_a_server_does_not_draw_as_we_do_is_left_to_us() -> None:
    both: Any = {"x": NAMES, "y": AMOUNTS}
    assert call_of(spec("heatmap", **both)) is None
    assert call_of(spec("number", text=AMOUNTS)) is None
    assert call_of(spec("bar", [{"a.b": "x", "n": None}], **both)) is None
    assert call_of(spec("bar", [], **both)) is None
    assert call_of(spec("bar", ROWS * POINTS_MAX, **both)) is None


_JSON = st.recursive(st.none() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["field", "type", "title", "text", "values", "chart", "x", "y", "color"]), inner, max_size=4))  # fmt: skip


@pytest.mark.long
@given(st.dictionaries(st.sampled_from(["usermeta", "data", "encoding", "title"]), st.dictionaries(st.sampled_from(["chart", "values", "x", "y", "theta", "color", "text"]), _JSON, max_size=4)))  # fmt: skip
def test_no_specification_raises(made: dict[str, Any]) -> None:
    made.get("data", {}).pop("values", None)
    call_of(made)


def test_only_an_address_of_the_web_is_taken() -> None:
    assert address_in(["", "http://charts.internal:1122/a.png\n"]) == "http://charts.internal:1122/a.png"
    for text in ("file:///etc/passwd", "https://x/)\n[a](b", 'https://x/"onload=1', "https://x/" + "a" * 30_000):
        assert address_in([text]) is None


@pytest.mark.long
def test_a_server_that_does_not_answer_is_not_asked_again_for_a_while() -> None:
    now = 0
    missed: list[tuple[str, Exception]] = []
    # Nothing listens at the discard port.
    server = McpChartServer(
        "http://127.0.0.1:9/mcp",
        seconds_max=5,
        clock=lambda: now,
        left_out=lambda part, error: missed.append((part, error)),
    )
    chart = spec("bar", x=NAMES, y=AMOUNTS)
    assert asyncio.run(server.picture(chart)) is None
    assert asyncio.run(server.picture(chart)) is None
    assert [part for part, _ in missed] == ["picture"]
    now = PAUSE_MS
    assert asyncio.run(server.picture(chart)) is None
    assert len(missed) == 2
