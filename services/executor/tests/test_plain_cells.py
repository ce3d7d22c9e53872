"""What a cell of an embedded database is in JSON: sums of cents without dust, and every digit that a number needs."""

from __future__ import annotations

import json
import math
import random
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querybus_executor.workers.loop import Statement, plain_cell, stream


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (1011954.2700000091, 1011954.27),
        (0.1 + 0.2, 0.3),
        (-0.30000000000000004, -0.3),
        (1e22, 1e22),
        (0.5, 0.5),
        (b"\x00\xff", "00ff"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
        (12345678901234567, 12345678901234567),
        (True, True),
        (None, None),
    ],
)
def test_a_cell_is_as_people_mean_it(value: object, plain: object) -> None:
    assert plain_cell(value) == plain


@pytest.mark.parametrize("value", [math.pi, math.e, 1 / 3, 2 / 3, 123456789.12345679])
def test_a_number_that_needs_its_digits_keeps_them(value: float) -> None:
    assert plain_cell(value) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_no_cell_is_changed_before_its_thirteenth_digit(value: float) -> None:
    plain = plain_cell(value)
    assert isinstance(plain, float)
    assert math.isclose(plain, value, rel_tol=1e-12)


def test_sums_of_cents_are_cents() -> None:
    dice = random.Random(7)
    for _ in range(200):
        cents = [dice.randrange(1, 100_000) for _ in range(500)]
        assert plain_cell(sum(cent / 100 for cent in cents)) == sum(cents) / 100


def test_a_small_answer_has_no_dust_either() -> None:
    rows = [("app", 521663.76000000135), ("1.23456789 is a text", 0.1 + 0.2), ("half", 0.5), ("third", 1 / 3)]
    Statement.begin(60)
    sent = stream(lambda _: list(rows), {}, {"rows_max": 10, "bytes_max": 1_000, "first": 9}, BytesIO())
    assert sent is not None
    assert json.loads(sent[1]) == [["app", 521663.76], ["1.23456789 is a text", 0.3], ["half", 0.5], ["third", 1 / 3]]
