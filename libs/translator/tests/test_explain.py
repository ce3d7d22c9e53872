"""Claims about the explanation of a reading: every word stands in it once, and what was not read is said."""

from __future__ import annotations

import unicodedata
from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus_translator.answers.explain import Explanation, explain

TODAY = date(2026, 6, 30)


def column(name: str, kind: ColumnKind, values: tuple[str, ...] = (), **names: str) -> Column:
    return Column(name=name, type=kind.value, kind=kind, values=values, display_names=names)  # pyright: ignore[reportArgumentType]


def garden() -> Catalog:
    beds = Table(
        name="beds",
        columns=(
            column("bed_id", ColumnKind.INTEGER),
            column("bed_name", ColumnKind.TEXT, ("Rose Row", "Herb Yard")),
            column("soil", ColumnKind.TEXT, ("clay", "sand"), zh="土壤"),
        ),
        primary_key=("bed_id",),
        display_names={"en": "Flower beds", "zh": "花坛"},
    )
    plants = Table(
        name="plants",
        columns=(
            column("plant_id", ColumnKind.INTEGER),
            column("plant_name", ColumnKind.TEXT, ("Thyme", "Ivy")),
            column("height_cm", ColumnKind.NUMBER, en="Height", zh="高度"),
            column("planted_on", ColumnKind.DATE),
            column("bed_id", ColumnKind.INTEGER),
        ),
        primary_key=("plant_id",),
        foreign_keys=(ForeignKey(columns=("bed_id",), referred_table="beds", referred_columns=("bed_id",)),),
        display_names={"en": "Plants", "zh": "植物"},
    )
    return Catalog(connection="garden", dialect=Dialect.SQLITE, tables=(beds, plants))


def reported(question: str) -> Explanation:
    return explain(question, garden(), today=TODAY)


@pytest.mark.parametrize(
    "question",
    ["How many plants are there per soil since last month?", "每种土壤有多少植物？", "purple plants of the moon"],
)
def test_every_word_of_the_question_is_explained_once_and_in_order(question: str) -> None:
    joined = "".join(word.text for word in reported(question).words)
    assert joined.replace(" ", "") == unicodedata.normalize("NFKC", question).replace(" ", "")


def test_a_word_says_what_it_was_read_as() -> None:
    read = {word.text: (word.role, word.meaning) for word in reported("average height of plants in clay").words}
    assert read["average"] == ("phrase", "average")
    assert read["height"] == ("column", "plants.height_cm")
    assert read["plants"] == ("table", "plants")
    assert read["clay"] == ("value", "beds.soil = 'clay'")


def test_a_time_range_is_shown_as_days() -> None:
    read = {word.text: word.meaning for word in reported("plants planted in 2025").words}
    assert "2025-01-01 up to, without, 2026-01-01" in read.values()


def test_a_word_that_nobody_took_is_not_accounted_for() -> None:
    answer = reported("purple plants")
    assert [word.text for word in answer.words if not word.accounted] == ["purple"]
    assert answer.not_accounted == ("purple",)


def test_a_reading_too_unsure_to_answer_still_shows_its_sql_and_what_is_asked() -> None:
    answer = reported("purple fizzy plants of the moon")
    assert not answer.is_answered
    assert answer.confidence < answer.confidence_min
    assert answer.asked
    assert answer.sql


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("How many plants are there?", "Number of Plants."),
        ("average height of plants", "Average height of plants."),
        ("每种土壤有多少植物？", "花坛的土壤、植物的数量，按土壤分别统计。"),
        ("植物的平均高度", "植物的高度的平均值。"),
    ],
)
def test_the_sentence_uses_names_for_people(question: str, sentence: str) -> None:
    said = reported(question).sentence
    assert said.casefold() == sentence.casefold()
    assert "_" not in said


def test_days_in_the_sentence_end_with_the_last_day_that_counts() -> None:
    assert "from 2025-01-01 to 2025-12-31" in reported("How many plants were planted in 2025?").sentence
