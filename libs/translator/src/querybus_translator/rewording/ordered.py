"""Orders that name their figure in passing: "from the highest age to the lowest" is sorted by age, the highest first."""

from __future__ import annotations

import re
from typing import Final

from querybus_translator.language.stems import base_form
from querybus_translator.schema.comparison import recalled
from querybus_translator.schema.index import CatalogIndex

_FROM_TO: Final = re.compile(
    r",? (?:(?:ranked|sorted|ordered|listed|arranged) )?from (?:the )?(?P<one>highest|largest|greatest|biggest|lowest|smallest|least|most)"
    r" (?P<key>[a-z_ ]{1,40}?) to (?:the )?(?:highest|largest|greatest|biggest|lowest|smallest|least|most)(?: (?:ones?|(?P=key)))?\b",
    re.IGNORECASE,
)
_SMALL: Final = frozenset({"lowest", "smallest", "least"})
_NAMED_MIN: Final = 0.9


def sorted_from_to(question: str, index: CatalogIndex) -> str:
    """ "From the highest age to the lowest", where a column is called so; of rows ("the largest city") no figure is said."""

    def sorted_by(said: re.Match[str]) -> str:
        words = [base_form(word) for word in re.split(r"[_ ]", said["key"].lower())]
        best = recalled(words, index, bounded=False)[:1]
        if not any(link.column is not None and link.value is None and link.score >= _NAMED_MIN for link in best):
            return said[0]
        way = "ascending" if said["one"].lower() in _SMALL else "descending"
        return f", sorted by {said['key']} in {way} order"

    return _FROM_TO.sub(sorted_by, question)
