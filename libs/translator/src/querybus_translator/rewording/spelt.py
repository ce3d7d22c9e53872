"""Words that the catalog spells or calls otherwise: British and American spelling, records that are of somebody."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache
from typing import Final

from querybus.text.vocabulary import is_word
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.stems import base_form
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.values import stored_as

_WORD: Final = re.compile(r"(?<![\w'\"-])[A-Za-z]{4,}(?![\w'\"-])")
_ENDINGS: Final = (
    ("our", "or"), ("ours", "ors"), ("tre", "ter"), ("tres", "ters"), ("ise", "ize"), ("ised", "ized"),
    ("isation", "ization"), ("isations", "izations"), ("yse", "yze"), ("ogue", "og"), ("ogues", "ogs"),
    ("licence", "license"), ("licences", "licenses"), ("defence", "defense"), ("grey", "gray"),
    ("programme", "program"), ("programmes", "programs"), ("lled", "led"), ("lling", "ling"), ("ller", "ler"),
    ("cheque", "check"), ("cheques", "checks"), ("storey", "story"), ("storeys", "stories"), ("tyre", "tire"),
    ("tyres", "tires"), ("enrolment", "enrollment"), ("enrolments", "enrollments"), ("jewellery", "jewelry"),
)  # fmt: skip
"""British endings, each with the American one."""
_ASKING: Final = (
    "average", "total", "number", "maximum", "minimum", "highest", "lowest", "largest", "smallest", "between", "greater",
    "ascending", "descending", "distinct", "different", "latest", "earliest", "alphabetical", "percentage", "without",
    "before", "after", "above", "below", "where", "which", "order", "sorted", "count", "oldest", "youngest", "longest", "shortest",
)  # fmt: skip
_TYPED_LENGTH_MIN: Final = 5
_TYPED_MIN: Final = 0.8
_DONE_MIN: Final = 0.9


def as_spelt(question: str, index: CatalogIndex) -> str:
    """Return a question with the spelling of the catalog: "colour" where it has a color, and the other way round."""
    return _WORD.sub(lambda word: _spelt(word[0], index), question)


def _spelt(word: str, index: CatalogIndex) -> str:
    lower = word.lower()
    if index.own.get(base_form(lower)) or index.own.get(lower):
        return word
    if word == lower and len(word) >= _TYPED_LENGTH_MIN and not is_word(lower) and (lower,) not in index.values:
        # "The avarage price": passed over, every price would be shown.
        meant = get_close_matches(lower, _ASKING, n=1, cutoff=_TYPED_MIN)
        if meant and _is_slip(lower, meant[0]) and not get_close_matches(lower, index.own, n=1, cutoff=_TYPED_MIN):
            return meant[0]
        done = get_close_matches(lower, _verbs(), n=1, cutoff=_DONE_MIN)
        if done and _is_slip(lower, done[0]) and not get_close_matches(lower, index.own, n=1, cutoff=_TYPED_MIN):
            # "Artists who perfomed": what relates rows says no more when it is spelt right.
            return done[0]
    for one, other in (*_ENDINGS, *((american, british) for british, american in _ENDINGS)):
        if lower.endswith(one) and len(lower) > len(one):
            spelt = lower[: -len(one)] + other
            if index.own.get(base_form(spelt)):
                return spelt
    return word


@cache
def _verbs() -> tuple[str, ...]:
    words = lexicon()
    return tuple(
        sorted(word for word in {*words.verbs, *words.relating} if len(word) >= _VERB_LENGTH_MIN and word.isascii())
    )


_VERB_LENGTH_MIN: Final = 7


def _is_slip(typed: str, word: str) -> bool:
    """Whether letters within a word are missing, doubled or moved: lattes are not the latest."""
    return typed[0] == word[0] and (typed[-1] == word[-1] or word.startswith(typed))


def as_stored(question: str, index: CatalogIndex) -> str:
    """Return a question with what is stored with signs in it in quotes: blood type A+, C#, R&B."""

    def quoted(said: re.Match[str]) -> str:
        return f'"{said[0]}"' if any(one.value == said[0] for one in stored_as(said[0], index)) else said[0]

    return _WITH_SIGNS.sub(quoted, question)


_WITH_SIGNS: Final = re.compile(r"(?<![\w\"'“‘+#&*/-])[A-Za-z0-9]+[+#&*/-]+[A-Za-z0-9]*(?![\w\"'”’+#&*/-])")


def by_initials(question: str, index: CatalogIndex) -> str:
    """ "Miles per gallon" is what a column `mpg` holds, where no name says the words themselves."""
    said = list(_LETTERS.finditer(question))
    words = [one[0].lower() for one in said]
    for begun in range(len(words)):
        for end in range(begun + _INITIALS_MIN, min(len(words), begun + _WORDS_MAX) + 1):
            span = words[begun:end]
            if span[0] in _PASSED_OVER or span[-1] in _PASSED_OVER:
                continue
            if any(index.own.get(base_form(word)) for word in span):
                continue
            every = "".join(word[0] for word in span)
            main = "".join(word[0] for word in span if word not in _PASSED_OVER)
            found = next((letters for letters in (every, main) if _is_initials_of_column(letters, index)), None)
            if found is None or found in words[:begun] + words[end + 1 :]:
                continue
            behind = question[said[end - 1].end() :]
            if words[end : end + 1] == [found]:
                # "Miles per gallon (mpg)".
                behind = question[said[end].end() :].removeprefix(")")
            return question[: said[begun].start()] + found + behind
    return question


def _is_initials_of_column(letters: str, index: CatalogIndex) -> bool:
    if not _INITIALS_MIN <= len(letters) <= _INITIALS_MAX or letters not in index.own or is_word(letters):
        return False
    named = (index.entries[entry] for entry in index.own[letters])
    return any(entry.column is not None and (letters,) in entry.names for entry in named)


_LETTERS: Final = re.compile(r"[A-Za-z]+")
_PASSED_OVER: Final = frozenset({"of", "the", "to", "and", "per"})
_INITIALS_MIN: Final = 3
_INITIALS_MAX: Final = 5
_WORDS_MAX: Final = 7


_HERE: Final = re.compile(
    r" (?:available )?(?:in|of|at) (?:this|our|the whole|the entire|the) (?P<place>hotel|inn|network|bank|shop|company|database|school|club|organization)(?= *[?.]?$)",
    re.IGNORECASE,
)


def here(question: str, index: CatalogIndex) -> str:
    """ "How many beds are in this inn" is about all of them, where nothing is called an inn."""
    said = _HERE.search(question)
    is_known = said is None or index.similar(said["place"].lower()) or (said["place"].lower(),) in index.values
    return question if is_known else _HERE.sub("", question)
