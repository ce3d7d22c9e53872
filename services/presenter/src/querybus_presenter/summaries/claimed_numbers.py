"""Every number that a text states must be one that is known: read strictly, in both languages, nothing is rounded.

A number is digits with their separators, also before 万, 亿, thousand or million; a written number ("three", 三个,
"half") counts as a claim as well. What is not recognised as known makes the text unfit; it is never the other way
round. Limits: "one" and 一 are words of speech and are not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Final

_SCALES: Final = {
    "万": 10**4,
    "亿": 10**8,
    "k": 10**3,
    "thousand": 10**3,
    "m": 10**6,
    "million": 10**6,
    "bn": 10**9,
    "billion": 10**9,
}
_DIGITS = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:\s?(?P<scale>thousand|million|billion|bn|[kKmM万亿])(?![A-Za-z]))?",
    re.IGNORECASE,
)
_INSIDE = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_SMALL: Final = [
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
]
_WRITTEN: Final = {word: Decimal(number) for number, word in enumerate(_SMALL, 2)}
_WORDS = re.compile(
    rf"\b(?:{'|'.join(_SMALL)}|(?:six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundreds?|thousands?"
    r"|millions?|billions?|dozens?|half|halves|thirds?|twice|doubled?|tripled?|threefold|twofold)\b",
    re.IGNORECASE,
)
_CHINESE: Final = {sign: Decimal(number) for number, sign in enumerate("二三四五六七八九十", 2)} | {"两": Decimal(2)}
_CHINESE_WORDS = re.compile(
    r"[零一二三四五六七八九十百千两]{2,}[万亿]?|[二三四五六七八九十百千两][万亿]?|一半|翻番|翻倍"
)


def numbers_in(text: str) -> frozenset[Decimal]:
    """Return every number that stands in a text in digits, parts of dates included.

    >>> sorted(numbers_in("1,234.50 on 2024-03-05"))
    [Decimal('3'), Decimal('5'), Decimal('1234.50'), Decimal('2024')]
    """
    return frozenset(Decimal(match.group().replace(",", "")) for match in _INSIDE.finditer(text))


def known_numbers(texts: Iterable[str]) -> frozenset[Decimal]:
    """Return the numbers that texts know."""
    return frozenset(number for text in texts for number in numbers_in(text))


def unknown_numbers(text: str, known: AbstractSet[Decimal], facts: str = "") -> tuple[str, ...]:
    """Return what a text states as a number and nobody knows, as it is written; `facts` may be quoted word by word.

    >>> known = known_numbers(["52,400.5", "3 rows"])
    >>> unknown_numbers("Three cities; Lyon leads with 52,400.50, twice as much.", known)
    ('twice',)
    >>> unknown_numbers("里昂最高，为5.24005万。", known), unknown_numbers("里昂约为5.2万。", known)
    ((), ('5.2万',))
    """
    unknown: list[str] = []
    said = facts.casefold()
    for result in _DIGITS.finditer(text):
        written, scale = result.group().strip(), result["scale"]
        digits = re.sub(r"[^\d.]", "", written.split()[0] if scale and " " in written else written.rstrip("kKmM万亿"))
        digits = _INSIDE.findall(digits)[0]
        stated = Decimal(digits) * (_SCALES[scale.lower()] if scale else 1)
        if stated not in known and not _is_quoted(text, result.start(), result.end(), said):
            unknown.append(written)
    for result in _WORDS.finditer(text):
        word = result.group().casefold()
        if _WRITTEN.get(word) not in known and word not in said:
            unknown.append(result.group())
    for result in _CHINESE_WORDS.finditer(text):
        word = result.group()
        if _CHINESE.get(word) not in known and word not in said:
            unknown.append(word)
    return tuple(unknown)


def _is_quoted(text: str, start: int, end: int, said: str) -> bool:
    """Whether digits belong to a name with letters ("Q3", "B2B") that the facts have."""
    while start and (text[start - 1].isascii() and text[start - 1].isalnum()):
        start -= 1
    while end < len(text) and (text[end].isascii() and text[end].isalnum()):
        end += 1
    name = text[start:end].casefold()
    return (
        any(part.isalpha() for part in name)
        and re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", said) is not None
    )
