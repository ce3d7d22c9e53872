"""Makes the Chinese words for English ones by which a Chinese question is read over a catalog that is named in English.

The source is CC-CEDICT (https://www.mdbg.net/chinese/dictionary?page=cc-cedict), published under CC BY-SA 4.0; what is made of it,
`words/chinese.txt` of the translator, is published under the same licence. Of each entry the first meanings are taken, those of one
English word or of two, which are written with a line between them; of a name (Leipzig, city in Germany) what stands before a comma. It is a tool, because the dictionary itself is not part of the project: python tools/chinese_words.py cedict_ts.u8
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

TARGET = Path(__file__).parents[1] / "libs/translator/src/querybus_translator/words/chinese.txt"
MEANINGS_MAX = 3
WORD_LENGTH_MAX = 4
HEAD = """\
# English words and what they are called in Chinese, simplified and traditional, made by tools/chinese_words.py from CC-CEDICT
# (https://www.mdbg.net/chinese/dictionary?page=cc-cedict) by its contributors. Licence of this file: Creative Commons
# Attribution-ShareAlike 4.0 (https://creativecommons.org/licenses/by-sa/4.0/), as that of its source.
"""
_ENTRY = re.compile(r"(\S+) (\S+) \[([^\]]*)\] /(.*)/\s*")
_WORDS = r"[a-z]{3,}( [a-z]{3,})?"
_NAME = r"[A-Z][a-z]{2,}( [A-Z][a-z]{2,})?"
_NO_MEANING = ("CL:", "variant of", "see ", "old variant", "surname", "abbr.", "erhua variant", "used in")


def gathered(lines: Iterable[str]) -> Mapping[str, list[str]]:
    """Return Chinese words by English word, those first of which it is the first meaning."""
    ranks: dict[str, dict[str, int]] = defaultdict(dict)
    for line in lines:
        entry = _ENTRY.fullmatch(line)
        if entry is None or not re.fullmatch(r"[\u4e00-\u9fff]{2,6}", entry[2]):
            continue
        meanings = [re.sub(r"\([^)]*\)", "", text).strip() for text in re.split(r"[/;]", entry[4])]
        meanings = [text for text in meanings if text and not text.startswith(_NO_MEANING)][:MEANINGS_MAX]
        # A pronunciation in capitals is that of a name.
        is_name = entry[3][:1].isupper()
        for rank, text in enumerate(meanings[:1] if is_name else meanings):
            word = text.split(",")[0] if is_name else re.sub(r"^(to|a|an|the) ", "", text)
            if re.fullmatch(_NAME if is_name else _WORDS, word) and (is_name or len(entry[2]) <= WORD_LENGTH_MAX):
                word = word.lower().replace(" ", "_")
                for chinese in {entry[1], entry[2]}:
                    ranks[word][chinese] = min(rank, ranks[word].get(chinese, rank))
    return {word: sorted(found, key=lambda chinese: (found[chinese], chinese)) for word, found in ranks.items()}


def main() -> None:
    with Path(sys.argv[1]).open(encoding="utf-8") as source:
        words = gathered(source)
    lines = (f"{word} {' '.join(chinese)}\n" for word, chinese in sorted(words.items()))
    TARGET.write_text(HEAD + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
