"""Claims about the hints that a model's prompt may carry: what the translator reads, and no value that must not be seen."""

from __future__ import annotations

from datetime import date

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus_translator.answers.hints import HINTS_MAX, hints_for

TODAY = date(2026, 6, 30)


def kites() -> Catalog:
    columns = (
        Column(name="kite_id", type="", kind=ColumnKind.INTEGER),
        Column(name="fabric", type="", kind=ColumnKind.TEXT, values=("silk", "Ripstop Nylon")),
        Column(name="flown_on", type="", kind=ColumnKind.DATE),
    )
    return Catalog(
        connection="kites",
        dialect=Dialect.SQLITE,
        tables=(Table(name="kites", columns=columns, primary_key=("kite_id",)),),
    )


def test_names_values_and_time_ranges_become_hints() -> None:
    hints = hints_for("How many silk kites were flown last month?", kites(), today=TODAY, with_values=True)
    assert '"kites" is probably kites' in hints
    assert "\"silk\" is probably a value: kites.fabric = 'silk'" in hints
    assert any("2026-05-01 up to, without, 2026-06-01" in hint for hint in hints)
    assert any(hint.startswith("the whole may be read as") for hint in hints)
    assert len(hints) <= HINTS_MAX


def test_a_stored_value_is_not_reported_where_values_may_not_be_seen() -> None:
    hints = hints_for("kites of ripstop nylon", kites(), today=TODAY, with_values=False)
    assert hints
    assert not any("Ripstop Nylon" in hint for hint in hints)


def test_a_question_about_something_else_gives_no_hint() -> None:
    assert hints_for("hello there", kites(), today=TODAY, with_values=True) == ()
