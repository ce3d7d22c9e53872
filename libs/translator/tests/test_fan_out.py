"""A property: whatever tables are joined, no row is counted, added up or averaged more than once in a group.

Catalogs and rows are made by a seeded chance: a table in the middle, tables that it refers to and tables that refer to
it. Each statement is run and compared with a naive evaluation: rows that go together by nested loops, each row of the
measured table once for a group. A form that cannot be written so is not written: it will be asked about.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from datetime import date
from itertools import product
from random import Random
from typing import Any

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus_translator import NotRead, translate
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.writing.form import Aggregate, ColumnRef, Comparison, Form, Literal, Measure, Operator
from querybus_translator.writing.semijoins import semi_joined
from querybus_translator.writing.write import write

NAMES = ("alder", "birch", "cedar", "elder")


def world(chance: Random) -> tuple[Catalog, dict[str, list[dict[str, Any]]]]:
    """A tree of up to four tables: each later one refers to an earlier one, or is referred to by it."""
    parents: dict[str, list[str]] = {name: [] for name in NAMES}
    names = NAMES[: chance.randint(2, 4)]
    for number, name in enumerate(names[1:], 1):
        other = names[chance.randrange(number)]
        source, target = (name, other) if chance.random() < 0.6 else (other, name)
        parents[source].append(target)
    tables = tuple(
        Table(
            name=name,
            columns=tuple(
                Column(name=item, type="", kind=ColumnKind.TEXT if item == f"{name}_kind" else ColumnKind.INTEGER)
                for item in (f"{name}_key", f"{name}_kind", f"{name}_size", *(f"to_{one}" for one in parents[name]))
            ),
            primary_key=(f"{name}_key",),
            foreign_keys=tuple(
                ForeignKey(columns=(f"to_{one}",), referred_table=one, referred_columns=(f"{one}_key",))
                for one in parents[name]
            ),
        )
        for name in names
    )
    counts = {name: chance.randint(2, 6) for name in names}
    rows = {
        name: [
            {
                f"{name}_key": key,
                f"{name}_kind": chance.choice("xyz"),
                f"{name}_size": chance.randint(1, 9),
                **{f"to_{one}": chance.randint(1, counts[one]) for one in parents[name]},
            }
            for key in range(1, counts[name] + 1)
        ]
        for name in names
    }
    return Catalog(connection="wood", dialect=Dialect.SQLITE, tables=tables), rows


def asked(chance: Random, catalog: Catalog) -> Form:
    """Count, sum or average of one table, by the kind of another or for all, perhaps with a condition."""
    number = chance.randrange(len(catalog.tables))
    aggregate = chance.choice((Aggregate.COUNT, Aggregate.SUM, Aggregate.AVERAGE))
    measure = (
        Measure(aggregate=aggregate, table=number)
        if aggregate is Aggregate.COUNT
        else Measure(ColumnRef(number, 2), aggregate)
    )
    group = (ColumnRef(chance.randrange(len(catalog.tables)), 1),) if chance.random() < 0.6 else ()
    where = ()
    if chance.random() < 0.6:
        at = ColumnRef(chance.randrange(len(catalog.tables)), 1)
        where = (Comparison(Measure(at), Operator.EQUAL, Literal(chance.choice("xyz"))),)
    return Form(targets=(*(Measure(part) for part in group), measure), tables=(number,), where=where, group=group)


def naively(
    form: Form, catalog: Catalog, rows: dict[str, list[dict[str, Any]]], needed: set[int]
) -> list[tuple[Any, ...]]:
    measure = form.targets[-1]
    home = measure.home or 0
    groups: dict[tuple[Any, ...], dict[int, int]] = defaultdict(dict)
    if not form.group:
        groups[()] = {}
    used = sorted(needed)
    for chosen in product(*(rows[catalog.tables[item].name] for item in used)):
        row = dict(zip(used, chosen, strict=True))
        if not all(
            row[number][key.columns[0]] == row[other][key.referred_columns[0]]
            for number in used
            for key in catalog.tables[number].foreign_keys
            for other in used
            if catalog.tables[other].name == key.referred_table
        ):
            continue
        if any(
            isinstance(condition, Comparison)
            and condition.left.column is not None
            and isinstance(condition.right, Literal)
            and row[condition.left.column.table][catalog.tables[condition.left.column.table].columns[1].name]
            != condition.right.value
            for condition in form.where
        ):
            continue
        name = catalog.tables[home].name
        group = tuple(row[part.table][catalog.tables[part.table].columns[1].name] for part in form.group)
        groups[group][row[home][f"{name}_key"]] = row[home][f"{name}_size"]
    pairs: list[tuple[Any, ...]] = []
    for group, sizes in groups.items():
        figure: Any = len(sizes)
        if measure.aggregate is not Aggregate.COUNT:
            figure = sum(sizes.values()) if sizes else None
            if measure.aggregate is Aggregate.AVERAGE and sizes:
                figure = figure / len(sizes)
        pairs.append((*group, figure))
    return sorted(pairs, key=repr)


def between(catalog: Catalog, tables: set[int]) -> set[int]:
    """The tables of the tree that lie on the ways between the given ones."""
    names = [table.name for table in catalog.tables]
    edges = {
        frozenset((number, names.index(key.referred_table)))
        for number, table in enumerate(catalog.tables)
        for key in table.foreign_keys
    }
    kept = set(range(len(names)))
    shrunk = True
    while shrunk:
        leaves = {item for item in kept - tables if sum(item in edge and edge <= kept for edge in edges) <= 1}
        shrunk = bool(leaves)
        kept -= leaves
    return kept


@pytest.mark.parametrize("part", range(6))
def test_no_row_is_measured_more_than_once_whatever_is_joined(part: int) -> None:
    written = 0
    for seed in range(part * 30, part * 30 + 30):
        chance = Random(seed)
        catalog, rows = world(chance)
        index = CatalogIndex(catalog)
        database = sqlite3.connect(":memory:")
        for name, made in rows.items():
            database.execute(f"CREATE TABLE {name} ({', '.join(made[0])})")
            database.executemany(
                f"INSERT INTO {name} VALUES ({', '.join('?' * len(made[0]))})",
                [tuple(column.values()) for column in made],
            )
        for _ in range(3):
            form = asked(chance, catalog)
            joined = semi_joined(form, index)
            sql = write(joined, index) if joined is not None else None
            if sql is None:
                continue
            written += 1
            tables = {part.table for part in form.group} | {form.targets[-1].home or 0}
            tables |= {
                condition.left.column.table
                for condition in form.where
                if isinstance(condition, Comparison) and condition.left.column
            }
            expected = naively(form, catalog, rows, between(catalog, tables))
            got = sorted(database.execute(sql.sql).fetchall(), key=repr)
            assert [tuple(map(str, item)) for item in got] == [tuple(map(str, item)) for item in expected], (
                seed,
                sql.sql,
            )
    assert written > 45, "most forms can be written"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many owners have more than 2 dogs?", 2),
        ("How many owners have at least 3 dogs?", 2),
        ("Number of owners with more than one dog", 3),
        ("What is the average age of owners with more than 2 dogs?", 50),
        ("How many owners have more than 2 dogs with size above 5?", 1),
    ],
)
def test_rows_that_are_counted_one_by_one_are_not_one_group(question: str, answer: int) -> None:
    database = sqlite3.connect(":memory:")
    database.executescript(
        """CREATE TABLE owners (owner_id INTEGER PRIMARY KEY, name TEXT, age INTEGER);
        CREATE TABLE dogs (dog_id INTEGER PRIMARY KEY, owner_id INTEGER, size INTEGER);
        INSERT INTO owners VALUES (1, 'Ann', 40), (2, 'Bob', 60), (3, 'Cid', 20), (4, 'Dee', 10);
        INSERT INTO dogs VALUES (1,1,9),(2,1,9),(3,1,9),(4,2,1),(5,2,1),(6,2,1),(7,3,9),(8,3,1),(9,4,9);"""
    )
    integer, text = ColumnKind.INTEGER, ColumnKind.TEXT
    owners = [("owner_id", integer), ("name", text), ("age", integer)]
    dogs = [("dog_id", integer), ("owner_id", integer), ("size", integer)]
    catalog = Catalog(
        connection="kennel",
        dialect=Dialect.SQLITE,
        tables=(
            Table(name="owners", columns=_columns(owners), primary_key=("owner_id",)),
            Table(
                name="dogs",
                columns=_columns(dogs),
                primary_key=("dog_id",),
                foreign_keys=(
                    ForeignKey(columns=("owner_id",), referred_table="owners", referred_columns=("owner_id",)),
                ),
            ),
        ),
    )
    found = translate(question, catalog, today=date(2026, 1, 1))
    assert not isinstance(found, NotRead), found
    assert database.execute(found.sql).fetchall() == [(answer,)]


def _columns(described: list[tuple[str, ColumnKind]]) -> tuple[Column, ...]:
    return tuple(Column(name=name, type="", kind=kind) for name, kind in described)
