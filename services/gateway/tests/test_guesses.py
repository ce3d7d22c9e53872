"""Whoever guesses keys is asked to wait longer than guessing pays."""

from __future__ import annotations

from querybus_gateway.access.throttle import GUESSES_MAX, SECONDS_PER_GUESS, SOURCES_MAX, Guesses

NOW = 1_000_000


def test_a_source_that_guesses_has_to_wait_longer_than_it_pays() -> None:
    guesses = Guesses()
    for _ in range(GUESSES_MAX):
        assert guesses.wait_seconds("a", NOW) is None
        guesses.wrong("a", NOW)
    wait = guesses.wait_seconds("a", NOW)
    assert wait == SECONDS_PER_GUESS
    assert guesses.wait_seconds("b", NOW) is None, "another source is another one"
    assert guesses.wait_seconds("a", NOW + round(1_000 * SECONDS_PER_GUESS)) is None
    tried = 0
    for second in range(3_600):
        if guesses.wait_seconds("a", NOW + 1_000 * second) is None:
            tried += 1
            guesses.wrong("a", NOW + 1_000 * second)
    assert tried <= 3_600 / SECONDS_PER_GUESS + 1


def test_memory_is_bounded_by_forgetting_the_oldest() -> None:
    guesses = Guesses()
    for number in range(SOURCES_MAX + 50):
        for _ in range(GUESSES_MAX if number < 50 else 1):
            guesses.wrong(str(number), NOW)
    assert guesses.wait_seconds("0", NOW) is None
