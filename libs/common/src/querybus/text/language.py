"""Which of the two languages a text is written in, and whether a question that is offered to a person is sound in it.

A text is Chinese as soon as it holds a Han character, else English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from querybus.core.catalog import Language
from querybus.text.words import is_plural, is_uncounted

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def detect_language(text: str) -> Language:
    """Return the language in which a question is to be answered.

    >>> detect_language("有多少 customers?")
    'zh'
    >>> detect_language("How many customers are there?")
    'en'
    """
    return "zh" if _HAN.search(text) else "en"


def is_in_language(text: str, language: Language) -> bool:
    """Return whether a text reads as one in the language, whatever names of the other it holds.

    >>> [is_in_language("没有 unicorns 的数据", language) for language in ("zh", "en")]
    [True, False]
    >>> [is_in_language("No relevant data was found for 上海.", language) for language in ("zh", "en")]
    [False, True]
    """
    signs, words = len(_HAN.findall(text)), len(_LATIN_WORD.findall(text))
    # Two Chinese signs make about one word.
    return signs > 0 and signs >= words if language == "zh" else 2 * words >= signs


_LATIN_WORD: Final = re.compile(r"[^\W\d_\u3400-\u9fff]{2,}")


def grammar_faults(question: str) -> frozenset[str]:
    """Return what is wrong with the words of a question that a program made, by fault; empty where nothing is.

    >>> [sorted(grammar_faults(text)) for text in ("How many weather are there?", "How many tickets are opened by by day?", "Did revenue in May?")]
    [['counted'], ['doubled', 'prepositions'], ['verb']]
    >>> grammar_faults("How many bakeries are there for each city?") | grammar_faults("What is the average price of a used car?")
    frozenset()
    """
    if detect_language(question) == "zh":
        return frozenset({"doubled"}) if _DOUBLED_HAN.search(question) else frozenset()
    return frozenset(fault for fault, is_there in _english_faults(question) if is_there)


def _english_faults(question: str) -> Iterator[tuple[str, bool]]:
    text = " ".join(question.split())
    yield "doubled", _DOUBLED.search(text) is not None
    yield "prepositions", _PREPOSITIONS.search(text) is not None
    yield "article", _A_BEFORE_VOWEL.search(text) is not None or _AN_BEFORE_CONSONANT.search(text) is not None
    yield "verb", _VERB_FIRST.match(text) is not None
    counted = _COUNTED.match(text)
    yield "counted", counted is not None and not any(map(is_plural, counted[1].lower().split()))
    figure = _FIGURE.search(text)
    yield "figure", figure is not None and is_plural(figure[1].lower()) and not is_uncounted(figure[1].lower())
    yield "piled", _PILED.search(text) is not None


_DOUBLED: Final = re.compile(r"\b(?!that\b|had\b)([a-z]+) \1\b", re.IGNORECASE)
_DOUBLED_HAN: Final = re.compile("的的|每每|个个个|多少多少")
_PREPOSITIONS: Final = re.compile(
    r"\b(?:by|of|for|per|with|at|in|from|each|every) (?:by|of|per|for|with|each each|per each)\b", re.IGNORECASE
)
_A_BEFORE_VOWEL: Final = re.compile(r"\ba (?!u[bcfhjkqrst][aeiou]|uni|eu|one\b|once\b)[aeiou]\w", re.IGNORECASE)
_AN_BEFORE_CONSONANT: Final = re.compile(r"\ban (?!hour|honest|honou?r|heir)[bcdfghjklmnpqrstvwxz][a-z]", re.IGNORECASE)
_VERB_FIRST: Final = re.compile(r"(?:did|does|do|has|have|had|was|were|is|are) (?!there\b|it\b|they\b)", re.IGNORECASE)
_COUNTED: Final = re.compile(
    r"how many (?!(?:per|for|in|by|of|with|from|at|on|each|are|were|is|was|do|did|does|have|has)\b)([\w '’-]+?)"
    r"(?= (?:are|were|is|was|do|did|does|have|has|per|for|in|by|with|from|at|on|each)\b|\?|$)",
    re.IGNORECASE,
)
_FIGURE: Final = re.compile(
    r"\b(?:average|mean|median|highest|lowest|maximum|minimum) (?!number of)(?:[\w-]+ ){0,3}?([a-z-]+) (?:of|for|per|in) ",
    re.IGNORECASE,
)
_PILED: Final = re.compile(r"\b(?:total|average|sum of) (?:[a-z]+ ){2,}[a-z]+s (?:per|by|in|for) ", re.IGNORECASE)
