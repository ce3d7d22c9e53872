"""Words of a question that say by which of several keys two tables are joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.stems import base_form
from querybus_translator.schema.other_names import doers_of
from querybus_translator.schema.phrases import Node


def hints_of(nodes: Sequence[Node]) -> frozenset[str]:
    """Return the base forms of a question's words, and what those are called who do what its verbs say: who won is the winner."""
    words = [word for node in nodes for word in node.text.lower().split()]
    known = lexicon()
    verbs = [
        word
        for word in words
        if word.endswith("ed") or word in known.verbs or word in known.deeds or word in known.relating
    ]
    home = _HOME if not _LIVING.isdisjoint(words) else frozenset[str]()
    return frozenset((*map(base_form, words), *(doer for verb in verbs for doer in doers_of(verb)), *home))


_LIVING: Final = frozenset({"live", "lives", "living", "lived", "reside", "resides", "residing"})
_HOME: Final = frozenset({"home", "current", "residence", "residential"})
