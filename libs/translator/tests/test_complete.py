"""Claims about what a question of a thread takes over: a complete one nothing, a fragment what it does not name."""

from __future__ import annotations

import pytest
from libs.translator.tests.test_follow import TODAY, answer, ferries

from querybus_translator import NotRead, is_complete, is_fragment, translate_in_thread

LAST_YEAR = "How many crossings were there last year?"


@pytest.mark.parametrize(
    "question",
    [
        "How many harbours are there?",
        "How many harbours are there per island?",
        "Number of harbours per island",
        "And how many harbours do we have?",
        "then show me all harbours",
        "How many harbours are there please",
        "每个岛屿有多少个港口？",
        "那有多少个港口？",
        "List the harbours and their islands",
    ],
)
def test_a_complete_question_takes_nothing_over(question: str) -> None:
    assert is_complete(question, LAST_YEAR, ferries(), today=TODAY)


@pytest.mark.parametrize(
    "question",
    [
        "and in 2024?",
        "only Norvik",
        "by ferry",
        "what about Freya?",
        "and number of harbours?",
        "And how many crossings were there from Norvik?",
        "what is their average fare?",
        "which of those were at night?",
        "how many were at night?",
        "which ferry has the most?",
        "which ones?",
        "去年呢？",
        "只看Norvik的",
        "它们的平均票价是多少？",
        "那每艘渡轮有多少航次？",
        "哪艘渡轮最多？",
    ],
)
def test_a_fragment_goes_on(question: str) -> None:
    assert not is_complete(question, LAST_YEAR, ferries(), today=TODAY)


def test_words_alone_show_most_fragments() -> None:
    assert [is_fragment(text) for text in ("only Norvik", "and in 2024?", "what about June?", "去年呢？")] == [True] * 4
    assert not any(map(is_fragment, ("Crossings per ferry", "And how many harbours are there?", "有多少个港口？")))


def test_the_answer_to_a_complete_question_is_what_it_is_without_its_thread() -> None:
    assert answer(LAST_YEAR, "How many harbours are there per island?") == [("Big", 2), ("Little", 1)]
    assert answer("去年有多少航次？", "每个岛屿有多少个港口？") == [("Big", 2), ("Little", 1)]
    assert answer(LAST_YEAR, "And how many harbours do we have?") == [(3,)]


def test_a_complete_question_that_cannot_be_read_is_asked_about_and_not_taken_for_a_change() -> None:
    read = translate_in_thread("How many harbours are closed by storm?", (LAST_YEAR,), ferries(), today=TODAY)
    assert isinstance(read, NotRead)


def test_a_follow_up_goes_on_from_the_complete_question_before_it() -> None:
    assert answer(LAST_YEAR, "How many harbours are there?", "by island") == [("Big", 2), ("Little", 1)]
