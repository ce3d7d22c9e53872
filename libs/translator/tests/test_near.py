"""Claims on what is offered for a question that was not read: the same question, answered for sure, with nothing of weight lost."""

from __future__ import annotations

import pytest

from querybus.core.catalog import Column, ColumnKind
from querybus_translator import NotRead, Translated, translate

from .test_translator import TODAY, answer, library


def asked_back(question: str) -> NotRead:
    read = translate(question, library()[0], today=TODAY)
    assert isinstance(read, NotRead), read
    return read


@pytest.mark.parametrize(
    ("question", "about", "read_as"),
    [
        ("How many loyal readers from Lyon are there?", "loyal", "How many readers from Lyon are there?"),
        ("How many snazzy volumes are there?", "snazzy", "How many volumes are there?"),
        ("忠实读者有多少个？", "忠实", "读者有多少个？"),
    ],
)
def test_the_question_without_its_unknown_word_is_the_first_option(question: str, about: str, read_as: str) -> None:
    back = asked_back(question)
    assert (back.about, back.read_as, back.options[0]) == (about, read_as, read_as)


@pytest.mark.parametrize(
    "question",
    [
        "How many readers never borrowed from Zanzibar?",
        "How many unlent volumes are there?",
        "How many readers were expelled?",
        "How many readers from Gotham are there?",
        "How many readers bought a flurb?",
        "没有注销的读者有多少个？",
    ],
)
def test_no_negation_verb_or_name_is_left_out(question: str) -> None:
    assert asked_back(question).read_as == ""


@pytest.mark.parametrize(
    "question",
    [
        "How many readers never borrowed anything?",
        "How many readers never smiled?",
        "How many readers ordered in May 2026?",
    ],
)
def test_an_unread_negation_is_never_passed_over(question: str) -> None:
    back = asked_back(question)
    assert back.options or back.best


def test_a_value_that_was_mistyped_is_offered_as_it_is_stored() -> None:
    back = asked_back("How many readers from Turinn are there?")
    assert back.options[0] == "How many readers from Turin are there?"
    assert back.read_as == ""


@pytest.mark.parametrize(
    "question",
    [
        "How many loyal readers from Lyon are there?",
        "Which volumes are doing best?",
        "How many readers from Turinn are there?",
    ],
)
def test_every_option_is_answered_and_no_two_alike(question: str) -> None:
    rows = [str(translate(option, library()[0], today=TODAY)) for option in asked_back(question).options]
    assert 1 <= len(rows) <= 2
    assert all(row.startswith("Translated(") for row in rows)
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize(
    "question",
    [
        "Hi, how many readers are there?",
        "Hello there! How many readers are there, please",
        "How many readers are there? Thank you very much!",
        "你好，请问有多少个读者？",
        "麻烦帮我查一下有多少个读者，谢谢",
    ],
)
def test_courtesy_asks_for_nothing(question: str) -> None:
    assert answer(question) == [(4,)]


def test_courtesy_alone_is_no_question() -> None:
    assert not isinstance(translate("Hello", library()[0], today=TODAY), Translated)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("How many checkouts were there in 2025?", "How many lendings were there in 2025?"),
        ("How many checkouts per month?", "How many lendings per month?"),
        ("Which reader had the most checkouts?", "Which reader had the most lendings?"),
    ],
)
def test_the_tables_that_can_be_counted_are_offered_for_an_unknown_word_that_is_counted(
    question: str, first: str
) -> None:
    assert asked_back(question).options[0] == first


@pytest.mark.parametrize(
    "question",
    ["How many angry readers are there?", "How many readers grumbled?", "How many checkouts never happened?"],
)
def test_no_table_stands_for_a_word_that_describes_or_denies(question: str) -> None:
    assert not [option for option in asked_back(question).options if "lendings" in option]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("How much did each reader spend?", "Total {figure} of each reader"),
        ("How much did each reader waste in 2025?", "Total {figure} of each reader in 2025"),
        ("2025年每位读者一共花了多少钱？", "2025年每位读者的总{figure}"),
    ],
)
def test_how_much_somebody_did_of_anything_is_asked_back_with_the_totals_there_are(question: str, first: str) -> None:
    before, behind = first.split("{figure}")
    options = asked_back(question).options
    assert options[0].startswith(before)
    assert options[0].endswith(behind)


@pytest.mark.parametrize(
    "question",
    [
        "How much did each reader spend on gizmos?",
        "How much did each reader from Lyon spend?",
        "How much did each reader never pay?",
        "How much more than Ann did each reader spend?",
    ],
)
def test_no_total_is_offered_where_more_is_said(question: str) -> None:
    assert not [option for option in asked_back(question).options if option.startswith("Total")]


@pytest.mark.parametrize(
    ("question", "begins", "ends"),
    [
        ("Who are the best readers?", "Top 5 readers by total ", ""),
        ("Which three readers did best in 2025?", "Top 3 readers by total ", " in 2025"),
    ],
)
def test_the_best_of_something_is_asked_back_with_the_totals_that_rank_it(
    question: str, begins: str, ends: str
) -> None:
    option = asked_back(question).options[0]
    assert option.startswith(begins)
    assert option.endswith(ends)


@pytest.mark.parametrize("question", ["best readers from Lyon", "Which readers never did best?", "best snazzy readers"])
def test_no_ranking_is_offered_where_more_is_said(question: str) -> None:
    assert not [option for option in asked_back(question).options if option.startswith("Top")]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Which volumes are most popular?", "Which volumes have the most lendings?"),
        ("What are the 3 most popular volumes?", "Which 3 volumes have the most lendings?"),
    ],
)
def test_what_is_popular_is_asked_back_with_what_refers_to_it(question: str, first: str) -> None:
    assert first in asked_back(question).options


def test_beside_the_name_of_a_column_with_few_values_these_are_offered() -> None:
    catalog, _ = library()
    status = Column(
        name="status", type="TEXT", kind=ColumnKind.TEXT, values=("lent", "kept", "sold"), values_complete=True
    )
    tables = tuple(
        table.model_copy(update={"columns": (*table.columns, status)}) if number == 0 else table
        for number, table in enumerate(catalog.tables)
    )
    name = catalog.tables[0].name
    with_status = catalog.model_copy(update={"tables": tables})
    read = translate(f"How many {name} have status burnt?", with_status, today=TODAY)
    assert isinstance(read, NotRead), read
    assert read.about == "burnt"
    assert f"How many {name} have status lent?" in read.options
