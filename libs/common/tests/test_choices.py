"""What a person chose is counted by kind of question, in a value of bounded size."""

from __future__ import annotations

from querybus.core.credential import Credential
from querybus.core.stored.choices import COUNT_MAX, KINDS_MAX, OPTIONS_MAX, Choices, choices_name
from querybus.core.subjects import token


def test_a_choice_is_counted_for_its_kind_of_question_alone() -> None:
    choices = Choices().with_choice("amount.aggregate").with_choice("amount.aggregate").with_choice("column.aggregate")
    assert (choices.count_of("amount.aggregate"), choices.count_of("column.aggregate")) == (2, 1)
    assert choices.count_of("amount.add_filter") == 0


def test_one_kind_or_all_are_forgotten() -> None:
    choices = Choices().with_choice("amount.aggregate").with_choice("column.retry_as_is")
    assert choices.without("amount").counts == {"column": {"retry_as_is": 1}}
    assert choices.without(None) == Choices()


def test_the_value_stays_small_whatever_is_chosen() -> None:
    choices = Choices()
    for kind in range(3 * KINDS_MAX):
        for option in range(3 * OPTIONS_MAX):
            choices = choices.with_choice(f"k{'abcdefghij'[kind % 10]}{'abcdefghij'[kind // 10]}.o{option}")
    assert len(choices.counts) <= KINDS_MAX
    assert all(len(options) <= OPTIONS_MAX for options in choices.counts.values())
    for key in ("", "no_kind", "a.b.c", "x" * 99 + ".y", "kind.<script>"):
        assert choices.with_choice(key) == choices


def test_newer_habits_win() -> None:
    choices = Choices()
    for _ in range(5 * COUNT_MAX):
        choices = choices.with_choice("amount.aggregate")
    assert choices.count_of("amount.aggregate") <= COUNT_MAX
    for _ in range(COUNT_MAX):
        choices = choices.with_choice("amount.add_filter")
    assert choices.count_of("amount.add_filter") > choices.count_of("amount.aggregate")


def test_choices_lie_beside_the_preferences_of_nobody() -> None:
    name = choices_name("ann")
    assert name != choices_name("bob")
    assert token(name) not in (token("ann"), token(Credential(name="c", tenant="t", user="ann").user))
