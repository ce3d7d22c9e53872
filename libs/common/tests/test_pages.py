"""A page decodes to exactly the cells that were encoded, whatever JSON can carry."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from querybus.bus.pages import PageUnreadable, decode_page, encode_page, page_sha256
from querybus.core.catalog import ColumnKind
from querybus.core.messages import ResultColumn, Scalar

CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.text(alphabet="\ud800a")
)


def columns(*names: str, kind: ColumnKind = ColumnKind.OTHER) -> tuple[ResultColumn, ...]:
    return tuple(ResultColumn(name=name, kind=kind) for name in names)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 4).flatmap(
        lambda width: st.lists(st.tuples(*[CELLS] * width), max_size=6).map(lambda rows: (width, rows))
    )
)
def test_any_rows_come_back_as_they_were(case: tuple[int, list[tuple[Scalar, ...]]]) -> None:
    width, rows = case
    heads = columns(*[f"c{index}" for index in range(width)])
    found, cells = decode_page(encode_page(heads, rows))
    assert found == heads
    assert cells == tuple(rows)
    assert [[type(cell) for cell in row] for row in cells] == [[type(cell) for cell in row] for row in rows]


def test_a_column_keeps_its_kind_and_its_engine_type() -> None:
    heads = (ResultColumn(name="价格", kind=ColumnKind.NUMBER, type="DECIMAL(10, 2)"),)
    assert decode_page(encode_page(heads, [("12.50",), (None,)])) == (heads, (("12.50",), (None,)))


def test_two_columns_may_have_the_same_name() -> None:
    heads = columns("id", "id")
    assert decode_page(encode_page(heads, [(1, "a")])) == (heads, ((1, "a"),))


def test_whole_numbers_and_fractions_in_one_column_stay_what_they_are() -> None:
    _, rows = decode_page(encode_page(columns("n"), [(1,), (2.0,), (2**53 + 1,)]))
    assert [type(cell) for (cell,) in rows] == [int, float, int]
    assert rows[2] == (2**53 + 1,)


def test_numbers_that_are_none_survive() -> None:
    _, rows = decode_page(encode_page(columns("n"), [(math.nan,), (math.inf,)]))
    assert isinstance(rows[0][0], float)
    assert math.isnan(rows[0][0])
    assert rows[1] == (math.inf,)


def test_an_empty_result_keeps_its_columns() -> None:
    heads = columns("a", "b", kind=ColumnKind.INTEGER)
    assert decode_page(encode_page(heads, [])) == (heads, ())


def test_equal_rows_have_equal_bytes() -> None:
    one, other = (encode_page(columns("a"), [(1,), (2,)]) for _ in range(2))
    assert page_sha256(one) == page_sha256(other)


def test_a_row_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="one cell per column"):
        encode_page(columns("a", "b"), [(1,)])


@pytest.mark.parametrize("data", [b"", b"no arrow", b"\xff" * 64, encode_page(columns("a"), [(1,)])[:40]])
def test_bytes_that_are_no_page_are_named_so(data: bytes) -> None:
    with pytest.raises(PageUnreadable):
        decode_page(data)
