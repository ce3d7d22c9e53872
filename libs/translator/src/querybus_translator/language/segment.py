"""A run of Chinese characters is cut into known words: the cut that leaves the fewest characters unknown, then the fewest words.

Limits: no statistics and no dictionary beyond the words that are given; unknown characters stay together.
"""

from __future__ import annotations

from collections.abc import Container


def segment(run: str, words: Container[str], length_max: int) -> tuple[tuple[str, bool], ...]:
    """Return the pieces of a run in order, each with whether it is a known word.

    >>> segment("有多少个客户", {"多少个", "有", "客户", "有多少"}, 4)
    (('有', True), ('多少个', True), ('客户', True))
    """
    best: list[tuple[int, int, int]] = [(0, 0, 0)]
    for end in range(1, len(run) + 1):
        unknown, count, _ = best[end - 1]
        choice = (unknown + 1, count + 1, end - 1)
        for start in range(max(0, end - length_max), end):
            if run[start:end] in words:
                unknown, count, _ = best[start]
                # Ties go to the later start of the longest word seen last: the longest one ending here.
                if (unknown, count + 1) < choice[:2]:
                    choice = (unknown, count + 1, start)
        best.append(choice)
    pieces: list[tuple[str, bool]] = []
    end = len(run)
    while end:
        start = best[end][2]
        pieces.append((run[start:end], run[start:end] in words))
        end = start
    pieces.reverse()
    return _merged(pieces)


def _merged(pieces: list[tuple[str, bool]]) -> tuple[tuple[str, bool], ...]:
    pairs: list[tuple[str, bool]] = []
    for text, known in pieces:
        if pairs and not known and not pairs[-1][1]:
            pairs[-1] = (pairs[-1][0] + text, False)
        else:
            pairs.append((text, known))
    return tuple(pairs)
