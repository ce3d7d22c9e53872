"""The values of a catalog that a question names: which texts of it stand in the database, and in which columns."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import OSA

from querybus.core.catalog import Catalog
from querybus.core.messages import Link
from querybus.text.vocabulary import is_word
from querybus.text.words import HAN, singular
from querybus_generator.linking.documents import STOP

QUESTION_WORDS_MAX: Final = 200
VALUE_WORDS_MAX: Final = 5
VALUE_LENGTH_MIN: Final = 2
SQUEEZED_LENGTH_MIN: Final = 4
NEAR_LENGTH_MIN: Final = 5
NEAR_SCORE_MIN: Final = 0.8
NEAR_WORDS_MAX: Final = 4
QUESTIONS_KEPT_MAX: Final = 16
"""Questions whose words are kept: one is looked at for its tables and for its prompt in turn."""
PLACES_MAX: Final = 20
"""Columns that are kept for one value."""

Place = tuple[int, str, str]
"""The table's position in the catalog, the column, and the value as it is written there."""


class NamedValues:
    """The values that a catalog holds; personal columns have none."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._values: dict[str, list[Place]] = defaultdict(list)
        self._squeezed: dict[str, list[Place]] = defaultdict(list)
        """By their letters and digits alone, where something else stands between them."""
        for position, table in enumerate(catalog.tables):
            for column in table.columns:
                for value in column.values:
                    self._add((position, column.name, value))

    def _add(self, place: Place) -> None:
        folded, squeezed = _folded(place[2]), _squeezed(place[2])
        if len(folded) >= VALUE_LENGTH_MIN and len(self._values[folded]) < PLACES_MAX:
            self._values[folded].append(place)
        if squeezed != folded and len(squeezed) >= SQUEEZED_LENGTH_MIN and len(self._squeezed[squeezed]) < PLACES_MAX:
            self._squeezed[squeezed].append(place)

    def count(self, value: str) -> int:
        """Return in how many columns a value stands."""
        return len(self._values.get(_folded(value), ()))

    def found(self, question: str) -> Iterator[tuple[str, Place]]:
        """Yield the words of a question that are a value, case and blanks ignored, with every place that has it."""
        if not self._values:
            return
        seen: set[str] = set()
        for text, folded, _ in _spans(question):
            if folded in seen:
                continue
            seen.add(folded)
            for place in self._values.get(folded, ()):
                yield text, place

    def named(self, question: str) -> tuple[Link, ...]:
        """Return the values that a question names, in every column that has them.

        As it writes them, else without regard to blanks and signs, or in the singular.
        """
        found: dict[Place, str] = {}
        for text, folded, squeezed in _spans(question):
            places = list(self._values.get(folded, ()))
            if folded.endswith("s"):
                places += self._values.get(singular(folded), ())
            if len(squeezed) >= SQUEEZED_LENGTH_MIN:
                places += self._squeezed.get(squeezed, ())
                places += self._values.get(squeezed, ())
            for place in places:
                found.setdefault(place, text)
        return tuple(
            Link(text=text, table=self._catalog.tables[position].name, column=column, value=value, score=0.9)
            for (position, column, value), text in found.items()
        )

    def near(self, question: str) -> tuple[Link, ...]:
        """Return values that names in the question are a typing slip away from: "Shangai" for Shanghai.

        Looked up are words with a capital that are no value as they stand and no ordinary word; at most NEAR_WORDS_MAX.
        """
        found: list[Link] = []
        looked_up = 0
        for match in _SPAN_WORD.finditer(question):
            word = match[0]
            if (
                len(word) < NEAR_LENGTH_MIN
                or not word[0].isupper()
                or _folded(word) in self._values
                or is_word(word.lower())
            ):
                continue
            if (looked_up := looked_up + 1) > NEAR_WORDS_MAX:
                break
            near = process.extractOne(
                _folded(word), self._values.keys(), scorer=OSA.normalized_similarity, score_cutoff=NEAR_SCORE_MIN
            )
            for position, column, value in self._values.get(near[0], ()) if near is not None else ():
                table = self._catalog.tables[position].name
                found.append(Link(text=word, table=table, column=column, value=value, score=0.7))
        return tuple(found)


_SIGNS: Final = re.compile(r"[\W_]+")


def _squeezed(text: str) -> str:
    return _SIGNS.sub("", text.casefold())


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


_SPAN_WORD = re.compile(r"[^\W\u3400-\u9fff]+(?:['’.&-][^\W\u3400-\u9fff]+)*")


@lru_cache(maxsize=QUESTIONS_KEPT_MAX)
def _spans(question: str) -> tuple[tuple[str, str, str], ...]:
    """Return what could be a value, as written, folded and squeezed: runs of up to VALUE_WORDS_MAX words, pieces of Han text."""
    return tuple((text, _folded(text), _squeezed(text)) for text in _runs(question))


def _runs(question: str) -> Iterator[str]:
    words = list(_SPAN_WORD.finditer(question))[:QUESTION_WORDS_MAX]
    for first in range(len(words)):
        for last in range(first, min(first + VALUE_WORDS_MAX, len(words))):
            if last == first and words[first][0].lower() in STOP:
                continue
            yield question[words[first].start() : words[last].end()]
    for run in HAN.findall(question):
        for start in range(len(run)):
            for end in range(start + VALUE_LENGTH_MIN, min(start + 8, len(run)) + 1):
                yield run[start:end]
