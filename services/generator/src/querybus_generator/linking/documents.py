"""What of a table is searched: words of its names, comments and values with their weights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from querybus.core.catalog import Column, Table
from querybus.text.words import cached_words, stem, words_of

BEGINNING_MIN: Final = 3


NAME_WEIGHT: Final = 4.0


_TABLE_TEXT_WEIGHT: Final = 3.0


_COLUMN_WEIGHT: Final = 1.5


_COLUMN_TEXT_WEIGHT: Final = 1.0


_KEY_WEIGHT: Final = 0.6


# A word of the lexicon and another form of the word say less than the word itself.
RELATED_SHARE: Final = 0.5


SATURATION: Final = 1.2


_LENGTH_SHARE: Final = 0.4


_STOP_WORDS = (
    "a an and are as at be been by did do does each every find for from give had has have how in is it its list "
    "many me more most much of on or our please return show than that the their them then there these they this "
    "those to us was we were what when where which who whose will with you your all any per not no also only "
    "both"
)


STOP: Final = frozenset(_STOP_WORDS.split())


def weights(table: Table) -> dict[str, float]:
    """Return each word of a table with its saturated weight; long tables count a little less."""
    result: dict[str, float] = defaultdict(float)
    for text, weight in _texts(table):
        for word in cached_words(text):
            result[word] += weight
    length = 1 - _LENGTH_SHARE + _LENGTH_SHARE * (len(table.columns) + 4) / 12
    return {
        word: weight * (SATURATION + 1) / (weight + SATURATION * length) * NAME_WEIGHT / 4
        for word, weight in result.items()
        if word not in STOP
    }


def named_of(table: Table) -> dict[str, float]:
    result: dict[str, float] = {}
    for name in (table.name, *table.display_names.values(), *table.synonyms):
        words = set(cached_words(name))
        for word in words:
            result[word] = max(result.get(word, 0.0), 1 / len(words))
    return result


def _texts(table: Table) -> Iterator[tuple[str, float]]:
    yield table.name, NAME_WEIGHT
    for text in (*table.display_names.values(), *table.synonyms):
        yield text, NAME_WEIGHT
    yield table.comment[:300], _TABLE_TEXT_WEIGHT / 2
    referring = {name for key in table.foreign_keys for name in key.columns}
    for column in table.columns:
        # The column of a key is named for the other table.
        yield column.name, _KEY_WEIGHT if column.name in referring else _COLUMN_WEIGHT
        for text in (*column.display_names.values(), *column.synonyms):
            yield text, _COLUMN_WEIGHT
        yield column.comment[:200], _COLUMN_TEXT_WEIGHT


def beginnings(question: str, owned: Sequence[set[str]]) -> Iterator[dict[str, float]]:
    """Yield, for words of the question, the shortened words of names that they begin with: `bal` of `balance`."""
    known = {word for words in owned for word in words if len(word) >= BEGINNING_MIN and word.isascii()}
    for word in dict.fromkeys(words_of(question)):
        if word in STOP or len(word) <= BEGINNING_MIN:
            continue
        root = stem(word)
        result = {
            other: RELATED_SHARE
            for other in known
            if other != word and (word.startswith(other) or (len(root) > BEGINNING_MIN and other.startswith(root)))
        }
        if result:
            yield result


def owners_of(table: Table) -> dict[str, str | None]:
    """Return for each word of a table the column that has it, None for a word of the table's own name."""
    result: dict[str, str | None] = {}
    for column in reversed(table.columns):
        for word in words_of(column_text(column)):
            result[word] = column.name
    for word in words_of(_table_text(table)):
        result[word] = None
    return result


def _table_text(table: Table) -> str:
    return " ".join((table.name, *table.display_names.values(), *table.synonyms))


def column_text(column: Column) -> str:
    return " ".join((column.name, *column.display_names.values(), *column.synonyms, column.comment[:200]))
