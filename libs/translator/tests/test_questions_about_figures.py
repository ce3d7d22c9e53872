"""Questions about an owner's figures as people put them: each gives the right rows, or no number at all."""

from __future__ import annotations

from datetime import date
from functools import lru_cache

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, ColumnProfile, Dialect, Language, Table
from querybus_semantic.formats.entries import pieces_of
from querybus_semantic.layer.request import Asker
from querybus_translator.definitions.answer import (
    ByDefinition,
    Defined,
    NotByDefinition,
    answer_question,
    defined_of,
)
from tests.support.semantic_freight import FREIGHT, freight_rows

ASKER = Asker(date(2025, 3, 15), "ann")
_VALUES = {
    "country": ("NL", "DE", "NO"),
    "grade": ("A", "B"),
    "grade_now": ("B",),
    "currency": ("EUR", "USD", "JPY"),
    "kind": ("dry", "cold"),
    "name": ("Anker", "Boje"),
}
_KINDS = {"DATE": ColumnKind.DATE, "INTEGER": ColumnKind.INTEGER, "TEXT": ColumnKind.TEXT}
_FLAGS = frozenset({"late", "insured"})


def _table(name: str) -> Table:
    described = [(row[1], row[2]) for row in freight_rows().execute(f"PRAGMA table_info({name})")]
    return Table(
        name=name,
        columns=tuple(
            Column(
                name=column,
                type=kind,
                kind=_KINDS[kind],
                values=_VALUES.get(column, ()),
                profile=ColumnProfile(value_min="0", value_max="1") if column in _FLAGS else None,
            )
            for column, kind in described
        ),
    )


@lru_cache(maxsize=1)
def freight() -> Defined:
    tables = tuple(_table(name) for name in FREIGHT.datasets)
    found = defined_of(pieces_of(FREIGHT), Catalog(connection="freight", dialect=Dialect.SQLITE, tables=tables))
    assert found is not None
    return found


def rows(question: str, *earlier: str) -> list[tuple[object, ...]]:
    found = answer_question(question, earlier, freight(), ASKER, "en")
    assert isinstance(found, ByDefinition), found
    return sorted(freight_rows().execute(found.sql).fetchall(), key=str)


def reading(question: str, language: Language = "en") -> str:
    found = answer_question(question, (), freight(), ASKER, language)
    assert isinstance(found, ByDefinition), found
    return found.read_as.text


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("tonnes to NL", [(140,)]),
        ("tonnes from NL to NO", [(20,)]),
        ("tonnes by origin country", [("DE", 40), ("NL", 30), ("NO", 100)]),
        ("tonnes by country of origin", [("DE", 40), ("NL", 30), ("NO", 100)]),
        ("运往NL的tonnes", [(140,)]),
        ("从NL到NO的tonnes", [(20,)]),
        ("按起运country的tonnes", [("DE", 40), ("NL", 30), ("NO", 100)]),
    ],
)
def test_the_side_that_is_named_decides_between_two_relations(question: str, answer: list[tuple[object, ...]]) -> None:
    assert rows(question) == answer


def test_without_a_side_it_is_asked_which_relation_is_meant() -> None:
    found = answer_question("tonnes by country", (), freight(), ASKER, "en")
    assert isinstance(found, NotByDefinition)
    assert found.options == ("tonnes by country (origin)", "tonnes by country (destination)")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("late tonnes", [(60,)]),
        ("tonnes of late shipments", [(60,)]),
        ("tonnes of shipments that were late", [(60,)]),
        ("late的shipments的tonnes", [(60,)]),
        ("what share of tonnes was late", [(60 / 170,)]),
        ("what percentage of tonnes were in EUR", [(50 / 170,)]),
        ("what share of 2025 tonnes in EUR was late", [(40 / 50,)]),
        ("EUR的tonnes占比", [(50 / 170,)]),
        ("what share of tonnes was late by carrier", [("Anker", 20 / 30), ("Boje", 40 / 140)]),
        ("share of tonnes by carrier in EUR", [("Anker", 10 / 50), ("Boje", 40 / 50)]),
        ("tonnes where the grade is A", [(30,)]),
        ("tonnes with grade A", [(30,)]),
        ("grade为A的tonnes", [(30,)]),
        ("tonnes by today's grade", [("B", 170)]),
        ("tonnes by current grade", [("B", 170)]),
        ("按现在grade的tonnes", [("B", 170)]),
    ],
)
def test_flags_and_named_values_are_conditions(question: str, answer: list[tuple[object, ...]]) -> None:
    assert rows(question) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("average tonnes of shipments with more than two containers", [(40.0,)]),
        ("超过2个containers的shipments的平均tonnes", [(40.0,)]),
        ("average tonnes of shipments with at least 2 containers in January 2025", [(10.0,)]),
        ("carriers with tonnes above 50", [("Boje", 140)]),
        ("tonnes超过50的carriers", [("Boje", 140)]),
        ("currencies with tonnes above 25", [("EUR", 50), ("JPY", 100)]),
        ("tonnes by carrier above 50", [("Boje", 140)]),
        ("how many carriers have more than 1 shipment", [(2,)]),
        ("carriers with damage over 5 in 2025", [("Anker", 12)]),
    ],
)
def test_figures_are_compared_with_numbers_per_row_of_what_is_named(
    question: str, answer: list[tuple[object, ...]]
) -> None:
    assert rows(question) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("freight in dollars by carrier", [("Anker", 300), ("Boje", 1400)]),
        ("美元freight", [(1700,)]),
        ("以美元计的freight", [(1700,)]),
        ("freight of shipments paid in yen in dollars", [(1000,)]),
        ("tonnes paid in euro", [(50,)]),
        ("tonnes in EUR", [(50,)]),
    ],
)
def test_a_currency_is_what_figures_are_in_or_what_rows_are_paid_in(
    question: str, answer: list[tuple[object, ...]]
) -> None:
    assert rows(question) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("how many shipments did we lose", [(1,)]),
        ("how much did we ship in 2025", [(340,)]),
        ("containers per shipment", [(1.5,)]),
        ("average containers per shipment by carrier", [("Anker", 1.5), ("Boje", 1.5)]),
        ("各carrier每shipments的containers数", [("Anker", 1.5), ("Boje", 1.5)]),
        ("monthly fee at the end of January 2025", [(30,)]),
        ("boxes at the end of January 2025", [(15,)]),
        ("2025年1月末的boxes", [(15,)]),
        ("tonnes and number by carrier", [("Anker", 30, 2), ("Boje", 140, 2)]),
        ("按carrier的tonnes和笔数", [("Anker", 30, 2), ("Boje", 140, 2)]),
        ("tonnes growth month over month", [("2025-01-01", None), ("2025-02-01", 110)]),
        ("按月的tonnes及较上月变化", [("2025-01-01", 30, None), ("2025-02-01", 140, 110)]),
        ("按shipments月份的tonnes", [("2025-01-01", 30), ("2025-02-01", 140)]),
        ("tonnes sent in January 2025", [(30,)]),
    ],
)
def test_a_figure_is_known_by_other_words_than_its_name(question: str, answer: list[tuple[object, ...]]) -> None:
    assert rows(question) == answer


@pytest.mark.parametrize(
    "question",
    [
        "freight in euro",
        "欧元freight",
        "tonnes of late or insured shipments",
        "tonnes of late and insured shipments",
        "tonnes of shipments that are not late",
        "tonnes of cancelled shipments",
        "tonnes where grade was not A",
        "grade不为A的tonnes",
        "tonnes over 50 by carrier",
        "tonnes of shipments over 2024",
        "tonnes by carrier with more than 30%",
        "tonnes in more than 3 months",
        "how many carriers have more than 1 shipment in 2025",
        "share of late tonnes",
        "share of late tonnes by carrier",
        "budget used by carrier",
        "tonnes per carrier monthly",
        "boxes by country",
        "tonnes sent on",
        "late shipments",
    ],
)
def test_what_may_mean_two_things_is_not_answered_by_a_definition(question: str) -> None:
    assert answer_question(question, (), freight(), ASKER, "en") is None


@pytest.mark.parametrize(
    ("question", "language", "said"),
    [
        ("tonnes from NL to NO", "en", "Total tonnes, origin country NL, destination country NO."),
        ("tonnes of late shipments", "en", "Total tonnes, only where late is yes."),
        ("late的shipments的tonnes", "zh", "Total tonnes，late为是。"),
        ("what share of tonnes was late", "en", "Share of total tonnes where late is yes."),
        (
            "average tonnes of shipments with more than two containers",
            "en",
            "Average tonnes, containers count of each shipment more than 2.",
        ),
    ],
)
def test_what_was_read_is_said_in_words(question: str, language: Language, said: str) -> None:
    assert reading(question, language) == said


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("which carrier has the most tonnes", [("Boje", 140)]),
        ("carrier with the highest damage", [("Anker", 12)]),
        ("which carrier had the most shipments in January 2025", [("Anker", 2)]),
        ("top carrier by tonnes", [("Boje", 140)]),
        ("best month by tonnes", [("2025-02-01", 140)]),
        ("which month had the most tonnes", [("2025-02-01", 140)]),
        ("which currency has the most tonnes", [("JPY", 100)]),
        ("top 2 origin countries by tonnes", [("DE", 40), ("NO", 100)]),
        ("the 2 carriers with the most tonnes", [("Anker", 30), ("Boje", 140)]),
        ("哪个carrier的tonnes最多", [("Boje", 140)]),
        ("tonnes最多的carrier", [("Boje", 140)]),
        ("tonnes前2的carriers", [("Anker", 30), ("Boje", 140)]),
    ],
)
def test_what_has_the_most_is_ranked(question: str, answer: list[tuple[object, ...]]) -> None:
    assert rows(question) == answer


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("carriers by tonnes", "Total tonnes, by carrier name, highest first."),
        ("carriers sorted by tonnes ascending", "Total tonnes, by carrier name, lowest first."),
        ("tonnes by carrier, highest first", "Total tonnes, by carrier name, highest first."),
        ("carrier with the most tonnes", "Total tonnes, by carrier name, the highest one."),
        ("top 2 carriers by tonnes", "Total tonnes, by carrier name, the highest 2."),
        ("tonnes by country of origin", "Total tonnes, by origin country."),
    ],
)
def test_an_order_is_read_back(question: str, said: str) -> None:
    assert reading(question) == said


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("tonnes since February 2025", [(140,)]),
        ("tonnes after January 2025", [(140,)]),
        ("tonnes before February 2025", [(30,)]),
        ("tonnes until 2025-02-05", [(70,)]),
        ("tonnes from 2025-01-15 to 2025-02-05", [(60,)]),
        ("tonnes between 2025-01-15 and 2025-02-05", [(60,)]),
        ("tonnes year to date", [(170,)]),
        ("2025年2月以来的tonnes", [(140,)]),
        ("2025年2月以前的tonnes", [(30,)]),
        ("截至2025年1月的tonnes", [(30,)]),
        ("最近两个月的tonnes", [(160,)]),
        ("compare tonnes in January and February 2025", [("2025-01-01", 30), ("2025-02-01", 140)]),
        ("compare tonnes in January 2024 and February 2025", [("2025-02-01", 140)]),
        (
            "compare damage by carrier in January and February 2025",
            [
                ("Anker", "2025-01-01", 5),
                ("Anker", "2025-02-01", 7),
                ("Boje", "2025-02-01", 1),
            ],
        ),
        ("compare tonnes of Anker and Boje", [("Anker", 30), ("Boje", 140)]),
        ("how many late shipments", [(2,)]),
        ("number of cold containers", [(2,)]),
        ("tonnes by country (origin)", [("DE", 40), ("NL", 30), ("NO", 100)]),
    ],
)
def test_periods_may_be_open_and_compared(question: str, answer: list[tuple[object, ...]]) -> None:
    assert rows(question) == answer


def test_two_periods_that_are_compared_leave_out_the_days_between() -> None:
    said = reading("compare tonnes in January 2024 and January 2025")
    assert said == "Total tonnes, by month, in January 2024 and in January 2025."
    assert rows("compare tonnes in January 2024 and January 2025") == [("2025-01-01", 30)]


@pytest.mark.parametrize(
    "question",
    [
        "highest tonnes by carrier",
        "most tonnes",
        "carriers with fewer than 2 containers",
        "which carriers had the fewest shipments",
        "how many carriers have no shipments",
        "tonnes no",
        "the carrier with the second most tonnes",
        "tonnes some month",
        "compare tonnes",
        "list shipments by carrier",
    ],
)
def test_a_ranking_or_comparison_that_is_not_whole_is_not_answered_by_a_definition(question: str) -> None:
    assert answer_question(question, (), freight(), ASKER, "en") is None


def test_an_answer_carries_the_units_that_its_owner_gave() -> None:
    found = answer_question("tonnes and damage by carrier", (), freight(), ASKER, "en")
    assert isinstance(found, ByDefinition)
    assert dict(zip(found.labels, found.units, strict=True)) == {"Carrier name": "", "Total tonnes": "t", "Damage": ""}


@pytest.mark.parametrize(
    ("thread", "answer"),
    [
        (("tonnes by carrier", "highest first", "top 1", "and damage?"), [("Anker", 12)]),
        (("tonnes by carrier", "which one has the most?"), [("Boje", 140)]),
        (("tonnes by carrier", "above 50"), [("Boje", 140)]),
        (("tonnes by carrier", "and by month?", "only late ones", "what about February 2025?"), [("2025-02-01", 40)]),
        (("tonnes", "by origin country", "only NL"), [("NL", 30)]),
        (("tonnes by carrier", "share of each"), [("Anker", 30 / 170), ("Boje", 140 / 170)]),
        (("tonnes in January 2025", "compared with the month before"), [(30, None)]),
        (("how many late shipments", "by carrier", "and insured ones?"), [("Boje", 1)]),
        (("按carrier的tonnes", "只看late的", "2025年1月的呢", "最多的是哪个"), [("Anker", 20)]),
    ],
)
def test_a_follow_up_keeps_what_it_does_not_name(thread: tuple[str, ...], answer: list[tuple[object, ...]]) -> None:
    *earlier, question = thread
    assert rows(question, *earlier) == answer


@pytest.mark.parametrize("question", ["and by colour?", "hello", "thanks", "why?", "only the cheap ones"])
def test_a_follow_up_of_other_words_is_left_to_others(question: str) -> None:
    assert answer_question(question, ("tonnes by carrier",), freight(), ASKER, "en") is None
