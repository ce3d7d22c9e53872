"""A page decodes to exactly the cells that were encoded, whatever JSON can carry."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from querybus.bus.stores.pages import PageUnreadable, decode_page, encode_page, page_sha256
from querybus.core.catalog import ColumnKind
from querybus.core.messages import ResultColumn, Scalar
from querybus.text.rows.cells import cell

CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.text(alphabet="\ud800a"),
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
    result, cells = decode_page(encode_page(heads, rows))
    assert result == heads
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


def test_numbers_that_are_none_are_kept_as_they_are_and_read_by_their_names() -> None:
    data = encode_page(columns("n"), [(math.nan,), (math.inf,), (0.5,)])
    kept = pa.ipc.open_stream(data).read_all().column(0)
    assert (kept.type, str(kept.to_pylist())) == (pa.float64(), "[nan, inf, 0.5]")
    assert decode_page(data)[1] == (("NaN",), ("Infinity",), (0.5,))


EAST = timezone(timedelta(hours=5, minutes=30))


@pytest.mark.parametrize(
    ("values", "kept", "cells"),
    [
        ([Decimal("19.90"), Decimal("5.00")], pa.decimal128(38, 2), [19.9, 5]),
        ([Decimal("1E-20"), Decimal("12345678901234567.89")], pa.string(), [1e-20, "12345678901234567.89"]),
        ([Decimal("9" * 60), None], pa.decimal256(76, 0), [int("9" * 60), None]),
        ([2**63, 1], pa.string(), [2**63, 1]),
        ([-(2**63), 2**63 - 1], pa.int64(), [-(2**63), 2**63 - 1]),
        ([b"\x00\xff", b""], pa.binary(), ["00ff", ""]),
        ([date(2026, 1, 31)], pa.date32(), ["2026-01-31"]),
        ([datetime.fromisoformat("2026-01-31T09:05:00.000007")], pa.timestamp("us"), ["2026-01-31 09:05:00.000007"]),
        ([datetime(2026, 1, 31, 9, tzinfo=EAST)], pa.timestamp("us", "+05:30"), ["2026-01-31 09:00:00+05:30"]),
        (
            [datetime(2026, 1, 31, 9, tzinfo=EAST), datetime(2026, 1, 31, 9, tzinfo=UTC)],
            pa.string(),
            ["2026-01-31 09:00:00+05:30", "2026-01-31 09:00:00+00:00"],
        ),
        ([time(9, 5)], pa.time64("us"), ["09:05:00"]),
        ([timedelta(hours=-1)], pa.duration("us"), ["-01:00:00"]),
        ([[1, Decimal("0.5")], {"a": None}], pa.string(), ["[1, 0.5]", '{"a": null}']),
        ([True, None], pa.bool_(), [True, None]),
    ],
)
def test_a_page_keeps_the_type_and_is_read_as_the_cells_of_the_same_values(
    values: list[Any], kept: Any, cells: list[Scalar]
) -> None:
    data = encode_page(columns("v"), [(value,) for value in values])
    assert pa.ipc.open_stream(data).read_all().column(0).type == kept
    read = [row[0] for row in decode_page(data)[1]]
    assert read == cells == [cell(value) for value in values]
    assert [type(item) for item in read] == [type(cell) for cell in cells]


def test_decimals_of_every_page_have_one_type() -> None:
    one, other = (encode_page(columns("v"), [(Decimal(text),)]) for text in ("1.50", "123456789.25"))
    assert (
        pa.ipc.open_stream(one).read_all().schema.field(0).type
        == pa.ipc.open_stream(other).read_all().schema.field(0).type
    )


@pytest.mark.parametrize(
    ("array", "cells"),
    [
        (pa.array([-(2**31), 2**31 - 1, 0], pa.date32()), ["-5877641-06-23", "5881580-07-11", "1970-01-01"]),
        (pa.array([86_400_000_000, 1], pa.time64("us")), ["24:00:00", "00:00:00.000001"]),
        (pa.array([9_102_502_400_000_000_00], pa.timestamp("us")), ["30814-09-06 16:53:20"]),
        (pa.array([9_102_502_400_000_000_00], pa.timestamp("us", "UTC")), ["30814-09-06 16:53:20+00:00"]),
        (pa.array([0], pa.timestamp("us", "Asia/Shanghai")), ["1970-01-01 08:00:00+08:00"]),
        (pa.array([1, None], pa.uint8()), [1, None]),
        (pa.array([0.5], pa.float32()), [0.5]),
        (pa.array(["a", "甲", None]), ["a", "甲", None]),
        (pa.nulls(9, pa.bool_()), [None] * 9),
    ],
)
def test_what_another_writer_of_arrow_wrote_is_read(array: Any, cells: list[Scalar]) -> None:
    field = pa.field("v", array.type, metadata={"querybus.column": columns("v")[0].model_dump_json()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([field])) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([array], schema=pa.schema([field])))
    assert [row[0] for row in decode_page(sink.getvalue().to_pybytes())[1]] == cells


@given(st.lists(st.one_of(st.none(), st.text(), st.booleans()), max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_rows_of_a_page_are_read_from_any_place(values: list[Any], begin: int, end: int) -> None:
    for one in (values, [value for value in values if type(value) is not str], [v for v in values if v is not True]):
        data = encode_page(columns("v"), [(value,) for value in one])
        assert decode_page(data, begin, end)[1] == tuple((value,) for value in one[begin:end])


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
