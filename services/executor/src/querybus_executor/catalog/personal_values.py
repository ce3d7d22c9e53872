"""What the values of a column say of persons, where its name leaves it open: names of companies are shown, names of people hidden.

A column of names beside a birthday, a sex or a first name needs no values. All other names of customers, owners or members
may be those of companies, and a column that no word marks (`mechanic`, `approved_by`, `name` of growers) may hold people.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from querybus.core.catalog import Column, Table
from querybus_executor.catalog.personal_columns import is_of_public_persons, is_open_name
from querybus_executor.catalog.personal_forms import personal_form
from querybus_executor.catalog.personal_names import names_held
from querybus_executor.catalog.personal_words import (
    BY_WHOM,
    MARKS,
    NAME,
    NO_PERSONS,
    PERSONS,
    PUBLIC,
    name_parts,
    table_parts,
)

PERSONS_SHARE_HINTED_MIN: Final = 0.25
"""Where the name of column or table speaks of a person."""
PERSONS_SHARE_NAMED_MIN: Final = 0.35
"""Where the column is called a name."""
PERSONS_SHARE_MIN: Final = 0.6


def may_be_companies(table: Table, column: Column) -> bool:
    """Return whether names that look personal may be those of companies: values decide."""
    return column.person_name and is_open_name(table, column)


def judge_values(table: Table, column: Column, values: Collection[str]) -> Column:
    """Return the column as personal or not by its values; as it is where they are unclear."""
    if not column.personal and personal_form(values):
        return column.model_copy(update={"personal": True})
    least = _persons_share_min(table, column)
    if column.personal:
        held = names_held(values, persons_share_min=least, are_partners=_are_partners(table))
        return column.model_copy(update={"personal": False, "person_name": False}) if held == "companies" else column
    if is_of_public_persons(table) or not (PUBLIC | NO_PERSONS).isdisjoint(name_parts(column.name)):
        return column
    if names_held(values, persons_share_min=least) != "persons":
        return column
    return column.model_copy(update={"personal": True, "person_name": True})


def _persons_share_min(table: Table, column: Column) -> float:
    parts, own = name_parts(column.name), table_parts(table.name)
    others = [part for part in parts if part not in NAME]
    is_plain = len(others) < len(parts) and (not others or tuple(others) == own)
    is_role = bool(others) and (others[-1] in PERSONS or others[-1] in BY_WHOM or others[0] in PERSONS)
    if is_role or (is_plain and own[-1:] and own[-1] in PERSONS):
        return PERSONS_SHARE_HINTED_MIN
    return PERSONS_SHARE_NAMED_MIN if is_plain else PERSONS_SHARE_MIN


def _are_partners(table: Table) -> bool:
    """Return whether the rows of a table have what trading partners have: terms of payment, a person to contact, a VAT number."""
    known = MARKS["companies"] | MARKS["partners"]
    return any(
        not known.isdisjoint((*parts, "".join(parts)))
        for parts in (name_parts(column.name) for column in table.columns)
    )
