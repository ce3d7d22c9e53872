"""A thread enters a prompt within its budget, and a question that goes on finds what it goes on from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querybus.core.catalog import ColumnKind
from querybus.core.messages import Result, ResultColumn
from querybus.text.tokens import token_estimate
from querybus.text.words import words_of
from querybus_generator.conversation.turns import (
    MESSAGES_MAX,
    TOKENS_MAX,
    Turn,
    bind,
    cut_to,
    enriched,
    goes_on,
    result_text,
    thread_messages,
)


def words(text: str) -> frozenset[str]:
    return frozenset(
        word for word in words_of(text) if word not in {"the", "of", "about", "back", "to", "question", "in"}
    )


def messages(*turns: Turn, with_values: bool = True):
    return thread_messages(turns, with_values=with_values, shown_sql=lambda sql: sql)


def result(rows: int) -> Result:
    columns = (ResultColumn(name="city", kind=ColumnKind.TEXT), ResultColumn(name="total", kind=ColumnKind.NUMBER))
    kept = tuple((f"cell-{n}", n) for n in range(min(rows, 100)))
    return Result(columns=columns, rows=kept, row_count=rows)


@given(
    st.lists(
        st.tuples(st.text(alphabet="ab 中文\n", max_size=9_000), st.one_of(st.none(), st.text(max_size=9_000))),
        max_size=70,
    )
)
@pytest.mark.requirement("002.41")
def test_a_thread_never_exceeds_its_budget(said: list[tuple[str, str | None]]):
    result = messages(*(Turn(question, sql=sql) for question, sql in said))
    assert (MESSAGES_MAX, TOKENS_MAX) == (20, 8_000)
    assert len(result) <= MESSAGES_MAX
    assert sum(token_estimate(message.text) for message in result) <= TOKENS_MAX


@pytest.mark.requirement("002.42")
def test_the_newest_five_are_whole_older_ones_trimmed_and_the_oldest_summarised():
    turns = [Turn(f"question {n} " + "word " * 200, sql=f"SELECT {n}") for n in range(60)]
    result = messages(*turns)
    assert len(result) == MESSAGES_MAX
    assert all(message.text.startswith(("question", "```sql")) for message in result[1:])
    assert [message.text for message in result[-5:]] == [message.text for message in messages(*turns[-3:])[-5:]]
    assert result[3].text.endswith("…") or result[4].text.endswith("…")
    assert "question 0 " in result[0].text
    assert result[0].text.startswith("Asked earlier")


@pytest.mark.requirement("002.44")
def test_a_large_result_enters_as_ten_samples_and_facts():
    text = result_text(result(4_000), with_values=True)
    assert "cell-9" in text
    assert "cell-10" not in text
    assert "4000 rows" in text
    assert "greatest 99" in text
    assert "cell-10" not in result_text(result(51), with_values=True)


@pytest.mark.requirement("002.44")
def test_a_small_result_enters_whole():
    assert "cell-49" in result_text(result(50), with_values=True)


def test_without_leave_no_cell_of_a_result_and_no_reply_is_shown():
    turn = Turn("how many?", sql="SELECT 1", result=result(3))
    shown = "".join(
        message.text for message in messages(turn, Turn("why?", reply="because of cell-1"), with_values=False)
    )
    assert "cell-" not in shown
    assert "3 rows" in shown


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("and by month?", True),
        ("what about 2024?", True),
        ("only Berlin", True),
        ("sort them by name", True),
        ("按月呢？", True),
        ("只看上海的", True),
        ("换成2024年", True),
        ("How many customers are there in Berlin?", False),
        ("Which products have never been ordered by anybody in 2025?", False),
        ("每个城市有多少客户？", False),
        ("back to the question about suppliers", True),
        ("第3个问题按年统计", True),
    ],
)
def test_a_question_that_needs_an_earlier_one_is_reported_from_one_that_stands(question: str, expected: bool):
    assert goes_on(question) is expected


def sixty() -> list[Turn]:
    subjects = ("stores", "employees", "payments", "reviews", "returns", "shipments")
    turns = [Turn(f"How many {subjects[n % 6]} were there in week {n}?", sql="SELECT 1") for n in range(60)]
    turns[2] = Turn("Which suppliers are located in Japan?", sql="SELECT 2")
    return turns


def test_a_follow_up_about_the_third_of_sixty_turns_is_resolved_by_number():
    result = bind("for question 3, only those with rating 5", sixty(), "en", words)
    assert result is not None
    assert result.turn == 2
    assert result.question.startswith("Which suppliers are located in Japan, only those with rating 5")


def test_a_follow_up_about_the_third_of_sixty_turns_is_resolved_by_its_words():
    result = bind("back to the suppliers in Japan: sorted by name", sixty(), "en", words)
    assert result is not None
    assert result.turn == 2
    assert result.question == "Which suppliers are located in Japan, sorted by name?"


def test_a_question_back_that_fits_several_turns_is_asked_about_and_not_guessed():
    result = bind("back to the question about returns", sixty(), "en", words)
    assert result is not None
    assert result.turn is None


def test_a_plain_follow_up_goes_on_from_the_newest_question_as_it_was_read():
    turns = [
        Turn("How many orders in 2025?", sql="x"),
        Turn("and by month?", sql="y", enriched="How many orders in 2025, by month?"),
    ]
    result = bind("only Berlin", turns, "en", words)
    assert result is not None
    assert result.question == "How many orders in 2025, by month, only Berlin?"


def test_a_new_question_goes_on_from_nothing():
    assert bind("How many stores are there in each country?", sixty(), "en", words) is None
    assert bind("and by month?", [], "en", words) is None


def test_chinese_follow_ups_read_by_themselves():
    assert enriched("那2024年呢？", "2025年有多少订单？", "zh") == "2024年有多少订单？"
    assert enriched("按月呢？", "2025年有多少订单？", "zh") == "2025年有多少订单，按月？"


def test_a_cut_text_has_the_tokens_that_it_may_have():
    assert token_estimate(cut_to("中" * 500, 100)) <= 101
    assert cut_to("short", 100) == "short"
