"""What English words are called in Chinese, by a general dictionary (CC-CEDICT) and by words of work.

The dictionary is read anew for each catalog that is asked in Chinese and named in English, some 30 ms; nothing of it is kept but
the words of that catalog.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Final

from querybus.text.readable_name import bilingual
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.stems import base_form
from querybus_translator.language.time.words import time_words

_WORDS_MAX: Final = 2


@lru_cache(maxsize=1)
def business_words() -> Mapping[str, tuple[str, ...]]:
    """Return Chinese words of work, each with the English names that things of work have for it, the likeliest first."""
    return _listed("zh")


def _listed(part: str) -> Mapping[str, tuple[str, ...]]:
    text = resources.files("querybus_translator").joinpath("words", "business.toml").read_text(encoding="utf-8")
    return {word: tuple(names) for word, names in tomllib.loads(text)[part].items()}


@lru_cache(maxsize=1)
def column_words() -> Mapping[str, tuple[str, ...]]:
    """Return what columns of ordinary databases are called in Chinese, each with English names beside the dictionary's."""
    return _listed("columns")


def chinese_words(english: frozenset[str], *, partly: bool = False) -> Mapping[str, frozenset[str]]:
    """Return the Chinese words that stand for one of the English words, or for two of them, each with what it stands for.

    With `partly` one word of two suffices: 急诊 is an emergency treatment, where an emergency is known. What a word means at
    work goes before what the dictionary has for it. Words that have a meaning of their own in a question, such as 最多 or
    去年, stand for none.

    >>> chinese_words(frozenset({"stadium", "singer"}))["歌手"]
    frozenset({'singer'})
    >>> chinese_words(frozenset({"blood", "type"}))["血型"]
    frozenset({'blood type'})
    >>> chinese_words(frozenset({"builder"}))["建造商"]
    frozenset({'builder'})
    """
    # Loaded where a Chinese question meets English names: most questions need no dictionary.
    from querybus_translator.language.chinese_dictionary import read_chinese_dictionary

    words = lexicon()
    agents = _agents(english)
    result: dict[str, set[str]] = defaultdict(set)
    for line in read_chinese_dictionary():
        word, _, called = line.partition(" ")
        first, _, second = word.partition("_")
        known = first in english, not second or second in english
        if all(known) or (partly and second and any(known)):
            for chinese in called.split():
                result[chinese].add(f"{first} {second}".rstrip())
        if not second and first in agents:
            for chinese in called.split():
                for agent in _AGENTS if len(chinese) > 1 else "":
                    result[chinese + agent].add(agents[first])
    for name, chinese in bilingual()["chinese"].items():
        # What a name is called in a header is what people ask for.
        is_name = len(chinese) > 1 and chinese not in words.verbs
        if is_name and name.count(" ") < _WORDS_MAX and english.issuperset(name.split()):
            result[chinese].add(name)
    for listed, is_alone in ((business_words(), True), (column_words(), False)):
        for chinese, names in listed.items():
            said = (form for name in names for form in (name, " ".join(map(base_form, name.split()))))
            meant = {name for name in said if english.issuperset(name.split()) and name.count(" ") < _WORDS_MAX}
            if meant:
                result[chinese] = meant if is_alone else result[chinese] | meant
    taken = (words.chinese, words.chinese_stopwords, words.stored, time_words())
    return {
        chinese: frozenset(meant) for chinese, meant in result.items() if not any(chinese in list_ for list_ in taken)
    }


_AGENTS: Final = "者人商员师手家"


def _agents(english: frozenset[str]) -> Mapping[str, str]:
    """Return by verb who does it, of the words that are so formed: a builder by "build", a writer by "write"."""
    result: dict[str, str] = {}
    for word in english:
        if word.endswith(("er", "or")) and len(word) > _AGENT_LENGTH_MIN:
            for verb in (word[:-2], word[:-1], word[:-3] if word[-3] == word[-4] else ""):
                if verb:
                    result.setdefault(verb, word)
    return result


_AGENT_LENGTH_MIN: Final = 5
