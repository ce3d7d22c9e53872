"""A Chinese measure word belongs to the word before it: 每座 asks what 每个 asks, 哪部 what 哪个, 几首 what 几个."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from querybus_translator.language.lexicon import Op, lexicon

_BOUNDS: Final = frozenset({Op.OR_MORE, Op.OR_LESS})


def measured(pieces: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pieces of a run, each with what it is read as.

    >>> measured(["每", "座", "山", "有", "几", "首", "歌"])
    [('每座', '每个'), ('山', '山'), ('有', '有'), ('几首', '几个'), ('歌', '歌')]
    """
    words = lexicon()
    result: list[tuple[str, str]] = []
    for place, piece in enumerate(pieces):
        before = pieces[place - 1] if place else ""
        behind = words.chinese.get(pieces[place + 1], ()) if place + 1 < len(pieces) else ()
        if piece == "一个" and any(phrase.op in _BOUNDS for phrase in behind):
            # It is a number here, where it is an article elsewhere: 一个以上的客户.
            result.append(("一", "一"))
            continue
        if before in words.measured and piece in words.measure_words:
            # 有多少种 asks for kinds, whatever 有多少个 asks for.
            whole = before + piece
            result[-1] = (whole, whole if whole in words.chinese else words.measured[before])
        else:
            result.append((piece, piece))
    return result
