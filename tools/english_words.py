"""Makes the English words that mean the same or a broader thing, by which a question's word finds a name that it is not.

The source is WordNet 3.1 (https://wordnet.princeton.edu), whose licence stands at the head of what is made of it,
`words/english.txt` of the translator. Of each word the first three meanings as a noun and as a verb are taken: words of the same
meaning are near if it is a likely one of both, else far; what a usual word is a kind of is broader. It is a tool, because WordNet itself is not
part of the project: python tools/english_words.py FOLDER, with its files data.noun, index.noun, data.verb and index.verb.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

TARGET = Path(__file__).parents[1] / "libs/translator/src/querybus_translator/words/english.txt"
MEANINGS_MAX = 3
BROADER_MEANINGS_MAX = 2
NEAR_RANKS_MAX = 1
HEAD = """\
# English words, near ones of the same meaning, far ones, broader ones; made by tools/english_words.py from WordNet 3.1
# (https://wordnet.princeton.edu). This software and database is being provided to you, the LICENSEE, by Princeton University under the
# following license. By obtaining, using and/or copying this software and database, you agree that you have read, understood, and will
# comply with these terms and conditions: Permission to use, copy, modify and distribute this software and database and its
# documentation for any purpose and without fee or royalty is hereby granted, provided that you agree to comply with the following
# copyright notice and statements, including the disclaimer, and that the same appear on ALL copies of the software, database and
# documentation, including modifications that you make for internal use or for distribution. WordNet 3.1 Copyright 2011 by Princeton
# University. All rights reserved. THIS SOFTWARE AND DATABASE IS PROVIDED "AS IS" AND PRINCETON UNIVERSITY MAKES NO REPRESENTATIONS OR
# WARRANTIES, EXPRESS OR IMPLIED. BY WAY OF EXAMPLE, BUT NOT LIMITATION, PRINCETON UNIVERSITY MAKES NO REPRESENTATIONS OR WARRANTIES OF
# MERCHANTABILITY OR FITNESS FOR ANY PARTICULAR PURPOSE OR THAT THE USE OF THE LICENSED SOFTWARE, DATABASE OR DOCUMENTATION WILL NOT
# INFRINGE ANY THIRD PARTY PATENTS, COPYRIGHTS, TRADEMARKS OR OTHER RIGHTS. The name of Princeton University or Princeton may not be used
# in advertising or publicity pertaining to distribution of the software and/or database. Title to copyright in this software, database
# and any associated documentation shall at all times remain with Princeton University and LICENSEE agrees to preserve same.
"""
_WORD = re.compile(r"[a-z]{3,}")
# So broad that everything is a kind of them.
_UNSAYING = frozenset({"person", "individual", "someone", "somebody", "object", "artifact", "thing", "entity", "whole"})


@dataclass
class Meanings:
    """One part of speech: words and broader meanings by meaning, each word's meanings, the likeliest first, and the usual words."""

    words: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    broader: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    of: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    usual: set[str] = field(default_factory=set[str])

    def rank(self, word: str, meaning: str) -> int:
        return self.of[word].index(meaning)


def read(data: Iterable[str], index: Iterable[str]) -> Meanings:
    """Return the meanings of WordNet's two files of one part of speech (format: its manual page wndb)."""
    result = Meanings()
    for line in data:
        if line.startswith(" "):
            continue
        parts = line.split(" | ")[0].split()
        count = int(parts[3], 16)
        pointers = parts[5 + 2 * count :]
        result.words[parts[0]] = tuple(parts[4 + 2 * number].lower() for number in range(count))
        result.broader[parts[0]] = tuple(
            pointers[at + 1] for at in range(0, len(pointers) - 3, 4) if pointers[at] == "@"
        )
    for line in index:
        if not line.startswith(" "):
            parts = line.split()
            count = int(parts[2])
            result.of[parts[0]] = tuple(parts[-count:])
            # How many of its meanings occur in the texts that WordNet counted.
            if int(parts[-count - 1]):
                result.usual.add(parts[0])
    return result


def _same(word: str, kind: Meanings) -> Iterator[tuple[str, int]]:
    for rank, meaning in enumerate(kind.of.get(word, ())[:MEANINGS_MAX]):
        for other in kind.words[meaning]:
            if other != word and _WORD.fullmatch(other):
                theirs = kind.rank(other, meaning)
                if theirs < MEANINGS_MAX and rank + theirs <= MEANINGS_MAX:
                    yield other, rank + theirs


def _broader(word: str, kind: Meanings) -> Iterator[str]:
    for meaning in kind.of.get(word, ())[:BROADER_MEANINGS_MAX]:
        for above in kind.broader[meaning]:
            for other in kind.words[above]:
                if _WORD.fullmatch(other) and other not in _UNSAYING and kind.rank(other, above) < BROADER_MEANINGS_MAX:
                    yield other


def gathered(nouns: Meanings, verbs: Meanings) -> Mapping[str, tuple[list[str], list[str], list[str]]]:
    """Return the near, far and broader words of each word that has any."""
    result: dict[str, tuple[list[str], list[str], list[str]]] = {}
    for word in sorted({*nouns.of, *verbs.of}):
        if not _WORD.fullmatch(word):
            continue
        ranks: dict[str, int] = {}
        for other, rank in (*_same(word, nouns), *_same(word, verbs)):
            ranks[other] = min(rank, ranks.get(other, rank))
        near = sorted(other for other, rank in ranks.items() if rank <= NEAR_RANKS_MAX)
        far = sorted(other for other, rank in ranks.items() if rank > NEAR_RANKS_MAX)
        broader = sorted(set(_broader(word, nouns)) - set(ranks) - {word}) if word in nouns.usual else []
        if near or far or broader:
            result[word] = (near, far, broader)
    return result


def main() -> None:
    folder = Path(sys.argv[1])
    kinds: list[Meanings] = []
    for name in ("noun", "verb"):
        with (folder / f"data.{name}").open() as data, (folder / f"index.{name}").open() as index:
            kinds.append(read(data, index))
    lines = (
        f"{' '.join((word, *near, ';', *far, ';', *broader))}\n"
        for word, (near, far, broader) in gathered(*kinds).items()
    )
    TARGET.write_text(HEAD + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
