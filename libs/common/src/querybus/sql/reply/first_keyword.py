"""A statement whose first keyword is misspelt is a statement with a syntax error, not an explanation."""

from __future__ import annotations

import re
from typing import Final

from querybus.sql.reply.blocks import COMMENT
from querybus.text.similarity import typing_distance

KEYWORDS: Final = ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")
"""What most statements begin with; of shorter or rarer words a near word is as likely another word."""
DISTANCE_MAX: Final = 2
_FIRST_WORD: Final = re.compile(r"\(*\s*([A-Za-z]{3,12})(?=[\s(*])")
_INFLECTED: Final = re.compile(r"(s|d|ed|or|ors|ion|ions|ing|ive|in|out|er|ers)", re.IGNORECASE)


def correct_first_keyword(text: str) -> str | None:
    """Return the text with its first word spelled as the keyword that it nearly is; None where it is none or is right.

    An inflected keyword ("selects", "inserted") is a word of prose. Source of the distance: two slips of typing.

    >>> correct_first_keyword("SELCT 1"), correct_first_keyword("Selects one"), correct_first_keyword("SELECT 1")
    ('SELECT 1', None, None)
    """
    lead = COMMENT.match(text)
    start = lead.end() if lead else 0
    first = _FIRST_WORD.match(text, start)
    if first is None:
        return None
    word = first[1].upper()
    if word in KEYWORDS:
        return None
    for keyword in KEYWORDS:
        stem = keyword.removesuffix("E")
        if word.startswith(stem) and _INFLECTED.fullmatch(word[len(stem) :]):
            return None
    keyword = min(KEYWORDS, key=lambda known: typing_distance(word, known))
    # Of WITH only a swap or one letter is a slip: "which", "wish" and "width" are two away or are words.
    if typing_distance(word, keyword) > (1 if len(keyword) < 6 else DISTANCE_MAX):
        return None
    return text[: first.start(1)] + keyword + text[first.end(1) :]
