"""A stem is the same whichever threads look for theirs at the same moment."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from querybus.text.words import stem

THREADS = 8
ENDINGS = ("ational", "iveness", "izations", "ingly", "ements", "fulness", "edly", "ies")
WORDS = [
    f"{first}{second}{ending}" for first in "bcdfgklmnprst" for second in ("and", "ert", "ol") for ending in ENDINGS
]


@pytest.fixture
def many_switches() -> Iterator[None]:
    """Let threads take turns after every few steps."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_do_not_spoil_each_others_stems(many_switches: None) -> None:
    expected = {word: stem.__wrapped__(word) for word in WORDS}

    def stems(start: int) -> dict[str, str]:
        own = WORDS[start:] + WORDS[:start]
        return {word: stem.__wrapped__(word) for word in own}

    with ThreadPoolExecutor(THREADS) as threads:
        found = list(threads.map(stems, range(0, len(WORDS), len(WORDS) // THREADS)))
    assert [item for item in found if item != expected] == []
