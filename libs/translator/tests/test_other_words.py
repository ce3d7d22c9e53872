"""Questions in words that the catalog does not use: near words of a general dictionary, verbs that say a figure, units of measure."""

from __future__ import annotations

from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus_translator import NotRead, Translated, translate
from querybus_translator.language.english_words import FAR, NEAR, english_words

from .test_translator import answer

TODAY = date(2026, 6, 1)


def column(name: str, kind: ColumnKind = ColumnKind.TEXT, **more: object) -> Column:
    return Column.model_validate({"name": name, "type": kind.value, "kind": kind, "nullable": False, **more})


def films() -> Catalog:
    """Films with their length in minutes, and the pay of who plays in them."""
    film = Table(
        name="film",
        columns=(
            column("film_id", ColumnKind.INTEGER),
            column("title"),
            column("genre", values=("drama", "comedy")),
            column("duration_minutes", ColumnKind.INTEGER),
            column("reel_length", ColumnKind.NUMBER, unit={"en": "km"}),
            column("released_on", ColumnKind.DATE),
        ),
        primary_key=("film_id",),
    )
    performer = Table(
        name="performer",
        columns=(column("performer_id", ColumnKind.INTEGER), column("name"), column("salary", ColumnKind.NUMBER)),
        primary_key=("performer_id",),
    )
    return Catalog(connection="films", dialect=Dialect.SQLITE, tables=(film, performer))


def sql(question: str) -> str:
    result = translate(question, films(), today=TODAY)
    assert isinstance(result, Translated), (question, result)
    return result.sql


@pytest.mark.parametrize(
    "question", ["How many films are there?", "How many movies are there?", "How many pictures are there?"]
)
def test_a_word_of_the_same_meaning_stands_for_a_name(question: str) -> None:
    assert sql(question) == 'SELECT COUNT(*) FROM "film"'


@pytest.mark.parametrize(
    ("said", "meant", "closeness"),
    [("tune", "song", NEAR), ("altitude", "elevation", NEAR), ("winner", "champion", NEAR), ("size", "area", FAR)],
)
def test_what_people_say_for_each_others_names_is_known_beside_the_dictionary(
    said: str, meant: str, closeness: float
) -> None:
    assert english_words(frozenset({meant}))[said][meant] == closeness


def test_a_rarer_meaning_is_less_close_than_a_likely_one() -> None:
    words = english_words(frozenset({"student", "area"}))
    assert words["pupil"] == {"student": NEAR}
    assert words["size"] == {"area": FAR}
    assert NEAR > FAR


def test_a_word_that_is_stored_as_a_value_stands_for_no_other_name() -> None:
    # "Drama" and "play" mean the same; here it is a genre.
    assert sql("How many dramas are there?") == """SELECT COUNT(*) FROM "film" WHERE "genre" = 'drama'"""


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How old are readers on average?", [(39.25,)]),
        ("What do volumes cost on average?", [(26.375,)]),
        ("Which volumes cost more than 30?", [("Old Maps",)]),
        ("Which volumes cost between 10 and 40?", [("Deep Water",), ("Red Clay",)]),
        ("Which volume costs the most?", [("Old Maps",)]),
        ("Which volumes cost more than the average?", [("Red Clay",), ("Old Maps",)]),
    ],
)
def test_a_verb_says_the_figure_of_its_subject(question: str, rows: list[tuple[object, ...]]) -> None:
    assert sorted(answer(question)) == sorted(rows)


def test_a_participle_behind_ever_says_no_more_than_the_superlative() -> None:
    assert answer("What is the highest price ever charged?") == [(55.0,)]


def test_each_kind_is_a_group_where_a_column_holds_kinds() -> None:
    assert sorted(answer("How many volumes are there of each genre?")) == [("History", 2), ("Novel", 2)]
    kinds = Table(
        name="building",
        columns=(column("building_id", ColumnKind.INTEGER), column("building_type", values=("barn", "mill"))),
        primary_key=("building_id",),
    )
    result = translate(
        "How many buildings are there of each kind?",
        Catalog(connection="b", dialect=Dialect.SQLITE, tables=(kinds,)),
        today=TODAY,
    )
    assert isinstance(result, Translated)
    assert result.sql.endswith('GROUP BY "building_type"')


def test_the_earliest_first_sorts_by_a_time_or_is_asked_back() -> None:
    assert sql("List the films, earliest first").endswith('ORDER BY "released_on" ASC')
    assert isinstance(translate("List the performers, earliest first", films(), today=TODAY), NotRead)


def test_an_average_that_nothing_is_averaged_of_is_never_passed_over() -> None:
    assert isinstance(translate("List the films on average", films(), today=TODAY), NotRead)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("List volumes, the cheapest first", [("Tall Grass",), ("Deep Water",), ("Red Clay",), ("Old Maps",)]),
        ("List the readers, oldest first.", [("Di Frost",), ("Bo Reed",), ("Ada Stone",), ("Cy Marsh",)]),
        ("Show all readers, the youngest ones first", [("Cy Marsh",), ("Ada Stone",), ("Bo Reed",), ("Di Frost",)]),
    ],
)
def test_a_superlative_with_first_behind_it_sorts_all_rows(question: str, rows: list[tuple[object, ...]]) -> None:
    assert answer(question) == rows


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("Films longer than two hours", '"duration_minutes" > 120'),
        ("Films with a duration of at least 1.5 hours", '"duration_minutes" >= 90'),
        ("Films with a duration under 90 minutes", '"duration_minutes" < 90'),
        ("Films with a reel length above 1500 meters", '"reel_length" > 1.5'),
        (
            "films with a duration between 90 minutes and 2 hours",
            '"duration_minutes" >= 90 AND "duration_minutes" <= 120',
        ),
    ],
)
def test_a_figure_in_another_unit_is_turned_into_the_columns(question: str, condition: str) -> None:
    assert sql(question) == f'SELECT "title" FROM "film" WHERE {condition}'


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Number of Novel and History volumes", [("History", 2), ("Novel", 2)]),
        ("How many readers are from Lyon and from Porto?", [("Lyon", 2), ("Porto", 1)]),
        ("How many readers are from Lyon or Porto?", [(3,)]),
    ],
)
def test_kinds_that_are_counted_side_by_side_have_a_count_each(question: str, rows: list[tuple[object, ...]]) -> None:
    assert sorted(answer(question)) == rows


def writings() -> Catalog:
    """Plays by their authors, and tickets that nobody is named for."""
    play = Table(
        name="play",
        columns=(column("play_id", ColumnKind.INTEGER), column("title"), column("author")),
        primary_key=("play_id",),
    )
    ticket = Table(
        name="ticket",
        columns=(
            column("ticket_id", ColumnKind.INTEGER),
            column("price", ColumnKind.NUMBER),
            column("sold_on", ColumnKind.DATE),
        ),
        primary_key=("ticket_id",),
    )
    return Catalog(connection="stage", dialect=Dialect.SQLITE, tables=(play, ticket))


def test_who_did_the_most_is_the_column_that_is_called_after_the_one_who_does_it() -> None:
    result = translate("Who wrote the most plays?", writings(), today=TODAY)
    assert isinstance(result, Translated)
    assert result.sql == 'SELECT "author" FROM "play" GROUP BY "author" ORDER BY COUNT(*) DESC LIMIT 1'


def test_rows_that_are_each_counted_once_rank_nothing() -> None:
    assert isinstance(translate("Who sold the most tickets?", writings(), today=TODAY), NotRead)
