"""The words by which a follow-up opens, ends and refers to what was said before; `words/follow.toml` has them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Final

_MARKS: Final = " \t?？。.!！,，、"


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What of a text is left without the words that make it a follow-up; `adds` where it says "also".

    `changes` where these words change the question before ("only", "what about"), which "and" and "then" alone do not.
    """

    text: str
    adds: bool
    is_marked: bool
    changes: bool = False


@lru_cache(maxsize=1)
def _words() -> dict[str, tuple[str, ...]]:
    file = resources.files("querybus_translator").joinpath("words", "follow.toml")
    read = tomllib.loads(file.read_text(encoding="utf-8"))
    return {key: tuple(sorted(words, key=len, reverse=True)) for key, words in read.items()}


def follow_up(text: str) -> FollowUp:
    """Return a text without the words by which follow-ups open and end.

    >>> follow_up("And by month?"), follow_up("再按城市分").adds, follow_up("only Kiel").changes
    (FollowUp(text='by month', adds=False, is_marked=True, changes=False), True, True)
    """
    rest = text.strip(_MARKS)
    marks: set[str] = set()
    while True:
        opening = _longest(_OPENING, lambda word, rest=rest: _opens(rest, word))
        if opening is not None:
            rest = rest[len(opening[1]) :].strip(_MARKS)
        ending = _longest(_ENDING, lambda word, rest=rest: _ends(rest, word))
        if ending is not None:
            rest = rest[: -len(ending[1])].strip(_MARKS)
        if opening is None and ending is None:
            break
        marks |= {mark[0] for mark in (opening, ending) if mark is not None}
    changes = not marks.isdisjoint(("opens", "ends")) or asks_which(rest)
    return FollowUp(
        rest,
        adds=not marks.isdisjoint(("adds", "ends_adding")),
        is_marked=changes or bool(marks - {"ends_politely"}),
        changes=changes,
    )


_OPENING: Final = ("opens", "links", "adds")
_ENDING: Final = ("ends", "ends_linking", "ends_adding", "ends_politely")


def _longest(keys: Sequence[str], fits: Callable[[str], bool]) -> tuple[str, str] | None:
    """Return the longest word that fits, with its list: "and only" is more than "and"."""
    found = ((key, word) for key in keys for word in _words()[key] if fits(word))
    return max(found, key=lambda pair: len(pair[1]), default=None)


def asks_which(text: str) -> bool:
    """Return whether a text asks for the rows that were counted: "which ones", "list them", 是哪些."""
    return text.lower() in _words()["lists"]


def refers_back(text: str) -> bool:
    """Return whether a text speaks of what was spoken of before it.

    >>> [refers_back(each) for each in ("What is their average wage?", "which of those", "List stores and their sales")]
    [True, True, False]
    """
    return _referring().search(text) is not None


def speaks_of_owners(text: str) -> bool:
    """Return whether a text asks for what belongs to the rows that were spoken of: "their fines", 他们的罚款."""
    return _OWNERS.search(text) is not None


_OWNERS: Final = re.compile(r"\b(?:their|its)\b|[它他她]们的", re.IGNORECASE)


@lru_cache(maxsize=1)
def _referring() -> re.Pattern[str]:
    words = _words()["refers"]
    english = "|".join(re.escape(word) for word in words if word.isascii())
    chinese = "|".join(word for word in words if not word.isascii())
    # "Who lives there?" speaks of a place, "how many are there?" of none.
    place = r"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )\bthere(?=\W*$)"
    # Whose "and their orders" are was said in the same sentence; 其他 and 其余 are others, 及其 is "and its".
    return re.compile(
        rf"(?<!\band )(?<!\bwith )(?<!\bby )\b(?:{english})\b|{place}|{chinese}|(?<![及和与])其(?![他它余次实])",
        re.IGNORECASE,
    )


def _opens(text: str, word: str) -> bool:
    beyond = text[len(word) : len(word) + 1]
    return text.lower().startswith(word) and not (word.isascii() and beyond.isalnum())


def _ends(text: str, word: str) -> bool:
    before = text[-len(word) - 1 : -len(word)]
    return text.lower().endswith(word) and not (word.isascii() and before.isalnum())
