"""Words that people say of their data, in English: the dictionary by which a name is distinguished from a word.

Base forms only, in `vocabulary.txt`; plurals, past and -ing forms, comparatives and -ly forms follow by rule. Limits: everyday and
business speech, not a full dictionary; a rare word that is missing counts as a name, never the other way round.
"""

from __future__ import annotations

from importlib import resources
from typing import Final

from querybus.text.words import word_set

WORDS: Final = word_set(resources.files("querybus.text").joinpath("vocabulary.txt").read_text(encoding="utf-8"))

_DOUBLED: Final = "bdglmnprt"


def is_word(text: str) -> bool:
    """Return whether a text in lower case is a word of the list or one of its regular forms.

    >>> [word for word in ("city", "cities", "hired", "running", "songid", "albumid", "qty") if is_word(word)]
    ['city', 'cities', 'hired', 'running']
    """
    return text in WORDS or any(stem in WORDS for stem in stems(text))


def stems(text: str) -> list[str]:
    """Return what a regular form could be made of; short stems are left out, because they prove little."""
    names: list[str] = []
    for ending, others in (
        ("ies", ("y",)),
        ("ied", ("y",)),
        ("ier", ("y",)),
        ("iest", ("y",)),
        ("ily", ("y",)),
        ("es", ("", "e")),
        ("s", ("",)),
        ("ed", ("", "e")),
        ("ing", ("", "e")),
        ("ings", ("", "e")),
        ("er", ("", "e")),
        ("ers", ("", "e")),
        ("est", ("", "e")),
        ("ly", ("", "le")),
        ("ness", ("",)),
    ):
        if not text.endswith(ending):
            continue
        stem = text[: -len(ending)]
        if len(stem) < 3:
            continue
        names += [stem + item for item in others]
        if ending in ("ed", "ing", "er", "ers", "est") and stem[-1] == stem[-2] and stem[-1] in _DOUBLED:
            names.append(stem[:-1])
    return names
