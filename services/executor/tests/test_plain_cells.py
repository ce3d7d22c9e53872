"""What a cell of an embedded database is in JSON: sums of cents without dust, and every digit that a number needs."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querybus_executor.workers.loop import plain_cell


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
