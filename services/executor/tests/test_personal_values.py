"""Whose names a column holds where its own name leaves it open: values decide, and doubt hides."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from querybus.core.catalog import Catalog
from querybus_executor.catalog.personal_columns import list_personal
from querybus_executor.engines.sqlite.introspect import introspect, sqlite_engine

TEXT = Path(__file__).with_name("personal_value_schemas.txt").read_text(encoding="utf-8")
Columns = dict[str, list[str]]


def schemas() -> list[tuple[dict[str, Columns], set[str]]]:
    """Return of each database its tables with values, and its personal columns."""
    made: list[tuple[dict[str, Columns], set[str]]] = []
    for block in TEXT.split("\n\n"):
        tables: dict[str, Columns] = {}
        personal: set[str] = set()
        for line in block.splitlines():
            if line.startswith("#"):
                continue
            key, _, values = line.partition(": ")
            table, _, column = key.rstrip("*").partition(".")
            tables.setdefault(table, {})[column] = values.split(" | ")
            if key.endswith("*"):
                personal.add(key.rstrip("*"))
        if tables:
            made.append((tables, personal))
    return made


def statements(tables: dict[str, Columns]) -> list[str]:
    """Return the SQL that makes the tables; columns with fewer values repeat theirs."""
    script: list[str] = []
    for table, columns in tables.items():
        listed = ", ".join(f'"{name}" text' for name in columns)
        script.append(f'CREATE TABLE "{table}" ({listed})')
        for place in range(max(map(len, columns.values()))):
            row = ", ".join("'" + values[place % len(values)].replace("'", "''") + "'" for values in columns.values())
            script.append(f'INSERT INTO "{table}" VALUES ({row})')
    return script


def catalog_of(path: Path, tables: dict[str, Columns], **said: Any) -> Catalog:
    raw = sqlite3.connect(path)
    for statement in statements(tables):
        raw.execute(statement)
    raw.commit()
    raw.close()
    return introspect(sqlite_engine(path), "c", **said)


def personal_of(catalog: Catalog) -> set[str]:
    return {f"{table.name}.{column.name}" for table in catalog.tables for column in table.columns if column.personal}


@pytest.mark.parametrize("place", range(len(schemas())))
def test_names_of_people_are_hidden_and_names_of_companies_are_not(place: int, tmp_path: Path) -> None:
    tables, personal = schemas()[place]
    assert personal_of(catalog_of(tmp_path / "x.sqlite", tables)) == personal


def test_no_value_of_a_name_that_stays_hidden_is_kept_and_those_of_companies_are(tmp_path: Path) -> None:
    hidden = catalog_of(tmp_path / "people.sqlite", schemas()[1][0])
    shown = catalog_of(tmp_path / "firms.sqlite", schemas()[0][0])
    (name, *_) = [column for table in hidden.tables for column in table.columns if column.name == "name"]
    (firm, *_) = [column for table in shown.tables for column in table.columns if column.name == "name"]
    assert (name.values, name.distinct_count, name.person_name) == ((), 8, True)
    assert "Cobble & Finch" in firm.values
    assert [item.key for item in list_personal(hidden)] == ["customers.name"]
    assert list_personal(shown) == ()


def test_an_owner_decides_against_the_values(tmp_path: Path) -> None:
    firms, people = schemas()[0][0], schemas()[1][0]
    assert "customers.name" in personal_of(catalog_of(tmp_path / "a.sqlite", firms, personal=["customers.name"]))
    assert personal_of(catalog_of(tmp_path / "b.sqlite", people, not_personal=["customers.name"])) == set()
    without = catalog_of(tmp_path / "c.sqlite", firms, without_values=["customers"])
    assert personal_of(without) == {"customers.name"}, "names that must not be read stay hidden"


def test_a_table_with_a_birthday_needs_no_values(tmp_path: Path) -> None:
    tables = {"customers": {"name": ["Harrow Ltd", "Pratt Brothers", "Elm Foods"], "birth_date": ["1990-01-01"]}}
    assert personal_of(catalog_of(tmp_path / "x.sqlite", tables)) == {"customers.name", "customers.birth_date"}
