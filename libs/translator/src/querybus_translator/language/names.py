"""A name of a schema becomes words: split at underscores, camelCase and digits, abbreviations spelt out.

`OrderLineID` -> order, line, id. Limits: a name written as one lower-case word is split only at a known short prefix.
"""

from __future__ import annotations

import re
from functools import lru_cache

from querybus.text.readable_name import is_time
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.stems import base_form

_HAN_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+|[^\W\d_]+")


_BYTES = re.compile(r"(?<![A-Za-z])[KMGTkmgt]i?B(?![a-z])")
"""Units that are written in both cases: a MiB is one word."""
_TIMES = {"min": "minute", "sec": "second", "hr": "hour"}


@lru_cache(maxsize=65_536)
def name_words(name: str) -> tuple[str, ...]:
    """Return the lower-case base forms of a name's words; Chinese runs stay whole.

    >>> name_words("cust_firstName"), name_words("OrderLineID")
    (('customer', 'first', 'name'), ('order', 'line', 'id'))
    """
    whole = lexicon().abbreviations.get(name.lower())
    if whole is not None:
        return whole
    names: list[str] = []
    parts = _PART.findall(_BYTES.sub(lambda said: said[0].lower(), name))
    for place, part in enumerate(parts):
        word = part.lower()
        spelt = lexicon().abbreviations.get(word)
        if place and place == len(parts) - 1 and is_time(parts[place - 1], word):
            # The `min` of a runtime are minutes, and no least.
            spelt = (_TIMES[word.removesuffix("s")],)
        if word == "no" and (place == len(parts) - 1 or parts[place + 1].lower() == "of"):
            # `invoice_no`, `no_of_loans`.
            spelt = ("number",)
        names += spelt if spelt is not None else (base_form(word),)
    return tuple(names)


def is_han(text: str) -> bool:
    """Return whether the text is one run of Chinese characters."""
    return _HAN_RUN.fullmatch(text) is not None


def split_prefix(word: str, known: frozenset[str], owner: str) -> tuple[str, ...]:
    """Split `stuid`, `cname` into a short prefix of the owner (or none) and a known word; else return the word alone.

    >>> split_prefix("cname", frozenset({"name"}), "college")
    ('name',)
    """
    for cut in range(1, min(5, len(word) - 1)):
        prefix, rest = word[:cut], word[cut:]
        if rest in known and (owner.startswith(prefix) or prefix in lexicon().abbreviations):
            return (rest,) if cut == 1 or owner.startswith(prefix) else (*lexicon().abbreviations[prefix], rest)
    return (word,)
