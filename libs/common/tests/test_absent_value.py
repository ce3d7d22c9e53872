"""What a query compares its columns with is looked up among the values that they are known to have."""

from __future__ import annotations

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.sql.conditions.absent_value import asks_for_held_values, names_absent_value
from querybus.sql.edit import read

ORDERS = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(
        Table(
            name="orders",
            columns=(
                Column(name="id", type="INTEGER", kind=ColumnKind.INTEGER),
                Column(name="state", type="TEXT", kind=ColumnKind.TEXT, values=("open", "paid"), values_complete=True),
                Column(name="city", type="TEXT", kind=ColumnKind.TEXT, values=("Bern",)),
            ),
        ),
    ),
)


@pytest.mark.parametrize(
    ("condition", "is_absent", "is_held"),
    [
        ("state = 'open'", False, True),
        ("state IN ('open', 'paid')", False, True),
        ("state = 'OPEN'", False, False),
        ("state = 'gone'", True, False),
        ("state IN ('open', 'gone')", True, False),
        ("city = 'Bern'", False, True),
        # Of a city not all values are known.
        ("city = 'Rome'", False, False),
        ("id = 7", False, False),
        ("id > 7", False, False),
        ("NOT state = 'open'", False, False),
        ("state LIKE 'op%'", False, False),
        ("id IN (SELECT id FROM orders WHERE state = 'gone')", True, False),
    ],
)
def test_a_value_is_absent_or_held_as_far_as_its_column_is_known(condition: str, is_absent: bool, is_held: bool):
    tree = read(f"SELECT id FROM orders WHERE {condition}", Dialect.SQLITE)
    assert tree is not None
    assert names_absent_value(tree, ORDERS) is is_absent
    assert asks_for_held_values(tree, tree, ORDERS) is is_held


def test_a_value_that_the_other_query_does_not_ask_for_is_no_evidence_against_the_first():
    first, second = (read(f"SELECT id FROM orders{where}", Dialect.SQLITE) for where in (" WHERE state = 'open'", ""))
    assert first is not None
    assert second is not None
    assert not asks_for_held_values(first, second, ORDERS)
    assert asks_for_held_values(second, first, ORDERS)
