"""Columns of codes of countries and states are found, and others that look like them are not."""

from __future__ import annotations

import pytest

from querybus.text.names.places import names_of_codes


def test_codes_are_called_as_people_call_the_places() -> None:
    assert names_of_codes("country", ["DE", "US"]) == {
        "DE": ("Germany", "德国"),
        "US": ("United States", "USA", "America", "the States", "美国"),
    }
    assert names_of_codes("ship_country", ["DEU", "fra"])["fra"] == ("France", "法国")
    assert "Nevada" in names_of_codes("stores state", ["NV", "CA", "TX"])["NV"]


def test_what_could_be_either_says_by_its_name_which_it_is() -> None:
    assert names_of_codes("country", ["CA", "DE"])["CA"][0] == "Canada"
    assert names_of_codes("state", ["CA", "DE"])["CA"][0] == "California"
    assert names_of_codes("code", ["CA", "DE"]) == {}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("language", ["DE", "FR", "IT"]),
        ("currency", ["USD", "EUR"]),
        ("size", ["S", "M", "L", "XL"]),
        ("grade", ["A1", "B2"]),
        ("country", ["Germany", "France"]),
        ("country", ["DE"]),
        ("initials", ["AB", "QX", "ZZ", "DE"]),
    ],
)
def test_other_columns_are_left_alone(column: str, values: list[str]) -> None:
    assert names_of_codes(column, values) == {}
