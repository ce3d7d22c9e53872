"""Whether the values of a column are names of persons or of companies: known by common names, legal forms and lines of trade.

Two lists of words decide over a column, never over a single value. Limits: names of peoples that the lists do not know are
"unclear", and so is a column that mixes companies with private persons; the caller then hides rather than shows.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Final, Literal

from querybus_executor.catalog.personal_words import plain_letters

PERSONS_SHARE_IN_COMPANIES_MAX: Final = 0.03
COMPANIES_SHARE_MIN: Final = 0.5
VALUES_MIN: Final = 3
VALUES_OF_PARTNERS_MIN: Final = 8
WORDS_MAX: Final = 5
_READ: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_PERSONS: Final[dict[str, str]] = _READ["persons"]
_TITLES: Final = frozenset(_PERSONS["title"].split())
_BETWEEN: Final = frozenset(_PERSONS["between"].split())
_FIRST: Final = frozenset(_PERSONS["first"].split())
_LAST: Final = frozenset(_PERSONS["last"].split())
_ENDINGS: Final = tuple(_PERSONS["endings"].split())
_ENDING_LENGTH_MIN: Final = 6
_FORMS: Final = frozenset(_READ["companies"]["form"].split())
_TRADES: Final = frozenset(_READ["companies"]["trade"].split())
_THINGS: Final = frozenset(_READ["things"]["word"].split())
_INITIAL: Final = re.compile(r"[^\W\d_]\.")
_HAN_COMPANY: Final = re.compile("|".join(_READ["companies"]["han"].split()))
_HAN_PERSON: Final = re.compile(
    rf"[{_PERSONS['surnames_han']}]·?[\u4e00-\u9fff]{{1,2}}|(?:欧阳|司马|上官|诸葛|夏侯)[\u4e00-\u9fff]{{1,2}}"
)
_NAME: Final = re.compile(r"[^\W\d_]+(?:['’.-][^\W\d_]*)*")

Holding = Literal["persons", "companies", "unclear"]


def name_kind(value: str) -> Literal["person", "company", ""]:
    """Return what a value is the name of, empty where its words do not say.

    >>> [name_kind(text) for text in ("Anna de Vries", "Müller, Jens", "Dr. Chiamaka Obi", "J. Okafor", "王小明")]
    ['person', 'person', 'person', 'person', 'person']
    >>> [name_kind(text) for text in ("Jens Müller GmbH", "Blue Harbour Foods", "Smith & Sons", "Contoso", "Mary Motors", "宏达贸易有限公司")]
    ['company', 'company', 'company', '', '', 'company']
    """
    text = value.strip()
    if _HAN_COMPANY.search(text):
        return "company"
    if _HAN_PERSON.fullmatch(text):
        return "person"
    plain = plain_letters(text).casefold()
    dotless = [part.replace(".", "") for part in re.split(r"[\s,/()]+", plain) if part.strip(".")]
    if len(dotless) > 1 and not _FORMS.isdisjoint(dotless[-2:]) and not (len(dotless) == 2 and dotless[0] in _FORMS):
        return "company"
    words = [word for part in dotless for word in re.split(r"[-–]", part) if word]
    is_trade = not _TRADES.isdisjoint(words) or "&" in dotless
    is_named = bool(words) and (words[0] in _FIRST or words[0] in _TITLES)
    if is_trade:
        return "" if is_named else "company"
    return "person" if _is_person(text, words, has_comma="," in text) else ""


def _is_person(text: str, words: list[str], *, has_comma: bool) -> bool:
    parts = text.replace(",", " ").split()
    if not 2 <= len(parts) <= WORDS_MAX or not all(_NAME.fullmatch(part) for part in parts):
        return False
    if words[0] in _TITLES:
        return True
    names = [word for word in words if word not in _BETWEEN or word in _FIRST]
    if len(names) < 2:
        return False
    first, last = (names[-1], names[0]) if has_comma else (names[0], names[-1])
    if not _THINGS.isdisjoint(names) and not (first in _FIRST and last in _LAST):
        return False
    is_last = last in _LAST or (len(last) >= _ENDING_LENGTH_MIN and last.endswith(_ENDINGS))
    # "J. Smith", "Smith J.": an initial says as much as a first name.
    return not _FIRST.isdisjoint((first, *names[1:-1])) or is_last or any(map(_INITIAL.fullmatch, parts))


def names_held(values: Collection[str], *, persons_share_min: float, are_partners: bool = False) -> Holding:
    """Return what the values of a column are names of: `persons` from a share of them on, `companies` where no person is among them.

    `are_partners`: the columns beside it are those of a trading partner, so that unknown names are of companies.

    >>> names_held(["Ann Lee", "Bob Stone", "Eva Kaya"], persons_share_min=0.5)
    'persons'
    >>> names_held(["Cobalt Foods", "Vertex Ltd", "Maple"], persons_share_min=0.5)
    'companies'
    >>> [names_held(names, persons_share_min=0.5) for names in (["Cobalt Foods", "Vertex Ltd", "Ann Lee"], ["Contoso", "Vertex", "Maple"])]
    ['unclear', 'unclear']
    """
    filled = {value.strip() for value in values if value.strip()}
    if len(filled) < VALUES_MIN:
        return "unclear"
    kinds = [name_kind(value) for value in filled]
    persons, companies = kinds.count("person") / len(kinds), kinds.count("company") / len(kinds)
    if persons >= persons_share_min and persons > companies:
        return "persons"
    is_known = companies >= COMPANIES_SHARE_MIN or (are_partners and len(kinds) >= VALUES_OF_PARTNERS_MIN)
    return "companies" if is_known and persons <= PERSONS_SHARE_IN_COMPANIES_MAX else "unclear"
