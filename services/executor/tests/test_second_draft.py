"""Two results of one question are compared as they are shown; the second replaces the first where that is by far the likelier slip."""

from __future__ import annotations

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus.core.messages import Alternative, Analysis, Approved, Origin, ResultColumn, Scalar
from querybus.core.options import Agreement
from querybus_executor.ports import Rows
from querybus_executor.results.second_draft import agreement_of, finds_by_slip, joins_by_slip

Cells = list[tuple[Scalar, ...]]


def rows(*cells: tuple[Scalar, ...], count: int | None = None, truncated: bool = False) -> Rows:
    return Rows(
        (ResultColumn(name="n"),),
        list(cells),
        truncated,
        cut_bytes=False,
        duration_ms=1.0,
        row_count=len(cells) if count is None else count,
    )


@pytest.mark.parametrize(
    ("first", "second", "agreement"),
    [
        (rows((1, "a"), (2, "b")), rows(("b", 2), ("a", 1)), Agreement.EQUAL),
        (rows((0.1 + 0.2,)), rows((0.3,)), Agreement.EQUAL),
        (rows(), rows(), Agreement.EQUAL),
        (rows((1,)), rows((1,), (1,)), Agreement.DIFFERENT),
        (rows((1,)), rows((1, 2)), Agreement.DIFFERENT),
        (rows((None,)), rows((3,)), Agreement.REPLACED),
        (rows(), rows((3,)), Agreement.REPLACED),
        (rows((0,)), rows((3,)), Agreement.REPLACED),
        (rows((0,), (0,)), rows((3,)), Agreement.DIFFERENT),
        (rows((3,)), rows(), Agreement.DIFFERENT),
        (rows((1,), count=500), rows(*[(n,) for n in range(500)]), Agreement.NOT_COMPARED),
        (rows((1,), count=500), rows((1,)), Agreement.DIFFERENT),
        (rows((1,), truncated=True), rows((1,)), Agreement.NOT_COMPARED),
        # What was read of the second may be the beginning of the first.
        (rows((1,), count=5_000), rows((1,), count=1_000, truncated=True), Agreement.NOT_COMPARED),
        (rows((1,), (2,)), rows((1,), count=1_000, truncated=True), Agreement.DIFFERENT),
    ],
)
def test_what_two_results_say_of_each_other(first: Rows, second: Rows, agreement: Agreement):
    assert agreement_of(first, second, may_replace=True) is agreement


def test_nothing_is_replaced_without_a_reason():
    assert agreement_of(rows(), rows((3,)), may_replace=False) is Agreement.DIFFERENT


HOTEL = Catalog(
    connection="hotel",
    dialect=Dialect.SQLITE,
    tables=(
        Table(
            name="rooms",
            columns=(
                Column(name="id", type="INTEGER", kind=ColumnKind.INTEGER),
                Column(
                    name="kind", type="TEXT", kind=ColumnKind.TEXT, values=("single", "suite"), values_complete=True
                ),
            ),
            primary_key=("id",),
        ),
        Table(
            name="stays",
            columns=(
                Column(name="id", type="INTEGER", kind=ColumnKind.INTEGER),
                Column(name="room_id", type="INTEGER", kind=ColumnKind.INTEGER),
                Column(name="nights", type="INTEGER", kind=ColumnKind.INTEGER),
                Column(name="guest", type="TEXT", kind=ColumnKind.TEXT, values=("Ann",)),
            ),
            primary_key=("id",),
            foreign_keys=(ForeignKey(columns=("room_id",), referred_table="rooms", referred_columns=("id",)),),
        ),
    ),
)
BY_KEY = "SELECT COUNT(*) FROM stays JOIN rooms ON stays.room_id = rooms.id WHERE kind = 'suite'"


def approved(sql: str) -> Approved:
    return Approved(
        sql=sql,
        dialect=Dialect.SQLITE,
        origin=Origin.MODEL,
        tables=(),
        alternative=Alternative(draft=BY_KEY, sql=BY_KEY),
        row_limit=10,
        checked=("static",),
        analysis=Analysis(second_reading="Number of stays.", second_confidence=0.9),
    )


@pytest.mark.parametrize(
    ("sql", "is_slip"),
    [
        # The same values, and both are there: only the way of joining differs.
        ("SELECT COUNT(*) FROM stays JOIN rooms ON stays.id = rooms.id WHERE kind = 'suite'", True),
        ("SELECT COUNT(*) FROM stays JOIN rooms ON stays.id = rooms.id WHERE kind IN ('suite')", True),
        # Nobody need have stayed there: what is compared may be what was asked for.
        ("SELECT COUNT(*) FROM stays JOIN rooms ON stays.id = rooms.id WHERE kind = 'penthouse'", False),
        ("SELECT COUNT(*) FROM stays JOIN rooms ON stays.id = rooms.id WHERE kind = 'single'", False),
        ("SELECT COUNT(*) FROM stays WHERE guest = 'Ben'", False),
        ("SELECT COUNT(*) FROM stays JOIN rooms ON stays.id = rooms.id WHERE kind = 'suite' AND nights > 90", False),
        ("SELECT COUNT(*) FROM rooms WHERE kind = 'suite' AND NOT id IN (SELECT room_id FROM stays)", False),
        ("SELECT kind FROM rooms EXCEPT SELECT kind FROM rooms WHERE kind = 'suite'", False),
        ("SELECT room_id FROM stays GROUP BY room_id HAVING COUNT(*) > 9", False),
        ("SELECT FROM WHERE", False),
    ],
)
def test_a_first_draft_without_a_row_is_a_slip_only_where_both_ask_for_the_same_values_and_these_are_there(
    sql: str, is_slip: bool
):
    assert finds_by_slip(approved(sql), HOTEL) is is_slip


@pytest.mark.parametrize(
    ("doubts", "second", "is_shown"),
    [
        (("undeclared_join",), rows((3,)), True),
        (("undeclared_join", "second_doubtful"), rows((3,)), False),
        (("undeclared_join",), rows((0,)), False),
        (("unused_table",), rows((3,)), False),
    ],
)
def test_a_join_by_what_no_key_relates_gives_way_to_a_draft_without_a_doubt(
    doubts: tuple[str, ...], second: Rows, is_shown: bool
):
    body = Approved(
        sql="SELECT 1",
        dialect=Dialect.SQLITE,
        origin=Origin.MODEL,
        tables=(),
        alternative=Alternative(draft="SELECT 2", sql="SELECT 2"),
        row_limit=1,
        checked=("static",),
        analysis=Analysis(doubts=doubts),
    )
    assert joins_by_slip(body, second) is is_shown
