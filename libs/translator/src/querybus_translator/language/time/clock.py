"""Times of day: "8 pm", "8:30pm", "20:00", 晚上8点, 下午三点半."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from querybus_translator.language.time.words import chinese_number, times
from querybus_translator.language.tokens import Token, TokenKind

_WRITTEN: Final = re.compile(r"(\d{1,2})(?::(\d{2})(?::\d{2})?)?(am|pm)?")
_HALVES: Final = {"am": 0, "a.m.": 0, "pm": 12, "p.m.": 12}
_OCLOCK: Final = frozenset({"点", "点钟", "时"})


def read_clock(tokens: Sequence[Token], start: int) -> tuple[int, str] | None:
    """Return the place after a time of day that begins here, and the time as HH:MM; None where none begins."""
    written = _WRITTEN.fullmatch(tokens[start].norm) if tokens[start].kind is TokenKind.WORD else None
    if written is not None:
        after = tokens[start + 1].norm if start + 1 < len(tokens) else ""
        end = start + 1 + (written[3] is None and after in _HALVES)
        return _at(end, int(written[1]), int(written[2] or 0), _HALVES.get(written[3] or after))
    half = times().day_parts.get(tokens[start].norm)
    place = start if half is None else start + 1
    hour = _number(tokens, place)
    if hour is None:
        return None
    norms = [token.norm for token in tokens[place + 1 : place + 4]]
    if norms[:1] == ["点半"]:
        return _at(place + 2, hour, 30, half)
    if norms[:1] and norms[0] in _OCLOCK:
        minute = 30 if norms[1:2] == ["半"] else _number(tokens, place + 2) if norms[2:3] == ["分"] else None
        length = 2 if minute is None else 3 if minute == 30 and norms[1] == "半" else 4
        return _at(place + length, hour, minute or 0, half)
    if half is not None:
        return None
    return _at(place + 2, hour, 0, _HALVES[norms[0]]) if norms[:1] and norms[0] in _HALVES else None


def _number(tokens: Sequence[Token], place: int) -> int | None:
    if place >= len(tokens):
        return None
    token = tokens[place]
    if token.norm.isdecimal():
        return int(token.norm)
    return chinese_number(token.norm) if token.kind is TokenKind.HAN else None


def _at(end: int, hour: int, minute: int, half: int | None) -> tuple[int, str] | None:
    """Return an hour of a half of the day: 12 am is midnight, 12 pm noon, and 晚上20点 is what it says."""
    if half is not None and hour <= 12:
        hour = hour % 12 + half
    return (end, f"{hour:02d}:{minute:02d}") if hour < 24 and minute < 60 else None
