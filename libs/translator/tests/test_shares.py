"""Claims on shares and rates: one figure of many rows, with what it is a share of, and never a word passed over."""

from __future__ import annotations

import pytest

from querybus_translator import NotRead, translate

from .test_translator import TODAY, answer, library


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What share of readers is from Lyon?", [(50.0,)]),
        ("What percentage of volumes are novels?", [(50.0,)]),
        ("Percentage of readers who are older than 60", [(25.0,)]),
        ("来自Lyon的读者占比", [(50.0,)]),
        ("share of readers per home town", [("Lyon", 50.0), ("Porto", 25.0), ("Turin", 25.0)]),
        ("各城市读者占比", [("Lyon", 50.0), ("Porto", 25.0), ("Turin", 25.0)]),
        ("Average number of readers per home town", [(4 / 3,)]),
        ("average number of volumes per genre", [(2.0,)]),
    ],
)
def test_shares_and_rates_are_computed_of_all_rows(question: str, rows: list[tuple[object, ...]]) -> None:
    assert sorted(answer(question)) == sorted(rows)


@pytest.mark.parametrize(
    "question",
    [
        "share",
        "What share of readers?",
        "读者占比",
        "What share of old readers is from Lyon and younger than 30?",
        "What percentage of the price of volumes are novels?",
        "average number of readers",
        "What is the average lent on of lendings?",
        # A lending may have no reader: joined to readers, it would be missing from all lendings.
        "What share of lendings are by readers from Lyon?",
    ],
)
def test_a_share_of_nothing_or_of_two_things_is_asked_back(question: str) -> None:
    read = translate(question, library()[0], today=TODAY)
    assert isinstance(read, NotRead), read


def test_what_many_rows_share_is_ranked_by_all_of_them() -> None:
    rows = library()[1]
    gold = rows.execute(
        "SELECT genre FROM volumes JOIN lendings USING (volume_id) GROUP BY genre ORDER BY COUNT(*) DESC LIMIT 1"
    ).fetchall()
    assert answer("Which genre has the most lendings?") == gold
    read = translate("Which genre has the highest total fine amount?", library()[0], today=TODAY)
    assert isinstance(read, NotRead) or "volume_id" not in read.sql.partition("GROUP BY")[2]


@pytest.mark.parametrize(
    "question", ["Which readers spent the most?", "Which genre sells the most?", "Which readers earn the most?"]
)
def test_a_verb_before_the_most_is_not_taken_for_how_many_there_are(question: str) -> None:
    read = translate(question, library()[0], today=TODAY)
    assert isinstance(read, NotRead), read


@pytest.mark.parametrize("question", ["by home town", "and by genre?", "按城市呢", "按城市"])
def test_a_grouping_of_nothing_is_no_question(question: str) -> None:
    read = translate(question, library()[0], today=TODAY)
    assert isinstance(read, NotRead), read
