"""Gathers the words by which linking and search go from a question's word to a name's: bundled, of no database.

`business.txt` beside this file holds Chinese business words with their English; `querybus/text/bilingual.toml` adds its groups
and abbreviations. English words stand in their base form, as `querybus.text.words.words_of` gives them. What is gathered
stands in `querybus/text/synonyms.txt`, where every service finds it. It is a tool, because no service may write another
member's files: `make synonyms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from querybus.text.words import words_of
from querybus_translator.language.lexicon import lexicon

_FILE = "business.txt"
TARGET = Path(__file__).parents[1] / "libs/common/src/querybus/text/synonyms.txt"


def gathered() -> Mapping[str, tuple[str, ...]]:
    """Return other words for a word; ValueError for a line of the file without `=`."""
    result: dict[str, dict[str, None]] = {}

    def add(word: str, others: str) -> None:
        for other in words_of(others):
            if other != word:
                result.setdefault(word, {})[other] = None

    known = lexicon()
    for word, others in known.related.items():
        for other in sorted(others):
            if other.isascii():
                for own in (word,) if not word.isascii() else tuple(words_of(word)):
                    add(own, other)
    for word, spelt in known.abbreviations.items():
        for other in spelt:
            add(word, other)
            for own in words_of(other):
                add(own, word)
    for key, phrases in known.english.items():
        for concept in [concept for phrase in phrases for concept in phrase.concepts]:
            for own in words_of(key[0] if key[-1] in ("than", "") or len(key) == 1 else key[-1]):
                add(own, " ".join(concept.of))
    listed = Path(__file__).with_name(_FILE).read_text(encoding="utf-8")
    for number, line in enumerate(listed.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        chinese, separator, english = line.partition("=")
        if not separator:
            raise ValueError(f"{_FILE}, line {number}: expected `中文 = English words`")
        for word in chinese.split():
            add(word, english)
    return {word: tuple(others) for word, others in result.items()}


def text() -> str:
    """Return the text of `synonyms.txt` with what is gathered."""
    return "".join(f"{word} = {' '.join(others)}\n" for word, others in sorted(gathered().items()))


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
