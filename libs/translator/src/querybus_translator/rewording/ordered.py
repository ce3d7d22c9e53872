"""Orders and comparisons that name their figure in passing or not at all, and figures that are called values."""

from __future__ import annotations

import re
from typing import Final

from querybus.text.readable_name import spoken_name
from querybus_translator.language.names import name_words
from querybus_translator.language.stems import base_form
from querybus_translator.schema.comparison import recalled
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.labels import holds_years

_SIZES: Final = "highest|largest|greatest|biggest|lowest|smallest|least|most"
_TIMES: Final = "most recent|latest|newest|earliest|oldest"
_FROM_TO: Final = re.compile(
    rf",? (?:(?:ranked|sorted|ordered|listed|arranged) )?from (?:the )?(?P<one>{_TIMES}|{_SIZES})"
    rf" (?P<key>[a-z_ ]{{1,40}}?) to (?:the )?(?:{_TIMES}|{_SIZES})(?: (?:ones?|(?P=key)))?\b",
    re.IGNORECASE,
)
_VALUES: Final = re.compile(
    r"\b(?P<which>highest|lowest|largest|smallest|greatest|biggest) values (?:of|for) (?:the )?(?=[a-z])", re.IGNORECASE
)
_UPWARDS: Final = frozenset({"lowest", "smallest", "least", "earliest", "oldest"})
_NAMED_MIN: Final = 0.9


def sorted_from_to(question: str, index: CatalogIndex) -> str:
    """ "From the highest age to the lowest", where a column is called so; of rows ("the largest city") no figure is said."""

    def sorted_by(said: re.Match[str]) -> str:
        words = [base_form(word) for word in re.split(r"[_ ]", said["key"].lower())]
        best = recalled(words, index, bounded=False)[:1]
        columns = [index.column(link.table, link.column) for link in best if link.column is not None]
        is_named = bool(columns) and best[0].value is None and best[0].score >= _NAMED_MIN
        one = said["one"].lower()
        # "From the oldest age" is no time.
        if not is_named or (one in _TIMES.split("|") and not holds_years(columns[0])):
            return said[0]
        way = "ascending" if one in _UPWARDS else "descending"
        return f", sorted by {said['key']} in {way} order"

    return _FROM_TO.sub(sorted_by, question)


def without_values(question: str, index: CatalogIndex) -> str:
    """ "The 3 lowest values of age" are the 3 lowest ages, unless something of the catalog is called a value."""
    return question if index.own.get("value") else _VALUES.sub(r"\g<which> ", question)


_HIGHER: Final = re.compile(r"\b(?P<rows>[a-z]+) (?P<how>higher|lower) than (?=\d)", re.IGNORECASE)
_HEIGHTS: Final = frozenset({"height", "elevation", "altitude"})


def higher_than(question: str, index: CatalogIndex) -> str:
    """ "Mountains higher than 8000" are mountains with a height above it, where they have one height."""

    def written(said: re.Match[str]) -> str:
        names = [
            column.name
            for table in index.called_by(base_form(said["rows"].lower()))
            for column in index.table(table).columns
            if not _HEIGHTS.isdisjoint(name_words(column.name))
        ]
        return f"{said['rows']} with a {spoken_name(names[0])} {said['how']} than " if len(names) == 1 else said[0]

    return _HIGHER.sub(written, question)
