"""Every question that is suggested can be asked as it stands: without a model it is read, and its answer has rows."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from benchmarks.plain_databases import write_clinic, write_theatre
from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Language, Table
from querybus.core.envelope import Audience
from querybus_cli.local.demo_database import FIXED_TODAY, demo_connection, write_demo
from querybus_cli.operations.measuring import opened_connection
from querybus_executor.connections.config import ConnectionConfig
from querybus_gateway.use_cases.catalogs.defined_questions import DEFINED_MAX, defined_questions
from querybus_gateway.use_cases.catalogs.suggestions import suggestions
from querybus_semantic.checks.binding import stored_values
from querybus_semantic.formats.entries import layer_of
from querybus_semantic.layer.request import Asker
from querybus_translator import Translated, translate
from querybus_translator.definitions.answer import ByDefinition, Defined, answer_question


def write_camel(file: Path) -> None:
    """Write a database whose names are run together."""
    with sqlite3.connect(file) as connection:
        connection.executescript(
            "CREATE TABLE airports (airportCode TEXT PRIMARY KEY, countryAbbrev TEXT NOT NULL, openedOn DATE);"
            "INSERT INTO airports VALUES ('BRN', 'CH', '2001-05-01'), ('ZRH', 'CH', '2002-06-01'), ('LYS', 'FR', NULL);"
        )


@pytest.mark.process
@pytest.mark.parametrize(
    ("write", "languages"),
    [
        (write_clinic, ("en",)),
        (write_theatre, ("en",)),
        (write_camel, ("en",)),
        (write_demo, ("en", "zh")),
    ],
)
def test_what_is_suggested_is_read_and_answered(
    tmp_path: Path, write: Callable[[Path], None], languages: tuple[Language, ...]
) -> None:
    file = tmp_path / "data.sqlite"
    write(file)
    entry = demo_connection(file) if write is write_demo else {"name": "data", "url": f"sqlite:///{file}"}
    with opened_connection(ConnectionConfig.model_validate(entry)) as (catalog, _):
        pass
    rows = sqlite3.connect(file)
    for language in languages:
        offered = suggestions(catalog, language, "analyst")
        assert len(offered) >= 2
        for question in offered:
            read = translate(question, catalog, today=date(2026, 6, 1))
            assert isinstance(read, Translated), (question, read)
            assert rows.execute(read.sql).fetchone() is not None, question


@pytest.mark.process
@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_suggested_of_definitions_is_read_by_them_and_has_a_figure(tmp_path: Path, language: Language) -> None:
    file = tmp_path / "data.sqlite"
    write_demo(file)
    entry = ConnectionConfig.model_validate(demo_connection(file))
    with opened_connection(entry) as (catalog, rows_of):
        layer = layer_of(catalog.definitions.items())
        assert layer is not None
        offered = defined_questions(layer, catalog, language, "business")
        assert len(offered) == DEFINED_MAX
        defined, asker = Defined(layer, catalog, stored_values(layer, catalog)), Asker(FIXED_TODAY, "")
        for question in offered:
            found = answer_question(question, (), defined, asker, language)
            assert isinstance(found, ByDefinition), question
            assert rows_of(found.sql)[0][-1] is not None, question


FILES = (
    "export (3)", "Sales 2024-03-01", "orders_20240301", "data", "Kopie von Kunden", "trips", "2023 invoices", "new 1",
    "customer-list (copy)", "sheet1", "Q1 report final v2",
)  # fmt: skip


@pytest.mark.parametrize("audience", ["business", "analyst"])
def test_of_files_with_odd_names_only_sound_questions_are_suggested(audience: Audience) -> None:
    def table(file: str) -> Table:
        name = re.sub(r"\W+", "_", file.lower()).strip("_")
        columns = (
            Column(name="city", type="VARCHAR", kind=ColumnKind.TEXT, values=("Rome", "Oslo"), distinct_count=2),
            Column(name="amount", type="DOUBLE", kind=ColumnKind.NUMBER),
            Column(name="ordered_on", type="DATE", kind=ColumnKind.DATE),
        )
        return Table(name=name if name[0].isalpha() else f"t_{name}", comment=file, columns=columns, row_estimate=39)

    catalog = Catalog(connection="files", dialect=Dialect.DUCKDB, tables=tuple(map(table, FILES)))
    made = suggestions(catalog, "en", audience)
    assert any("trips" in question for question in made)
    assert any("invoices" in question for question in made)
    for question in made:
        assert not re.search(r"\d|[()]|\b(?:data|sheet|export|kopie|kunden|copy|new|final)\b", question), question
    for question in suggestions(catalog, "zh", audience):
        assert not re.search(r"\d|[()（）]|data|sheet|export", question), question
